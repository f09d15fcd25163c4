#!/usr/bin/env bash
# capball score by files of classes and of regions.
. "$(dirname "$0")/../support/tap.sh"

seq 1 60 | awk -v OFS=, 'BEGIN { print "name,c,b,a" } { print "r" $1, cos($1*$1) + $1 % 3, sin(2.3*$1), 3*sin($1) }' >rows.csv
classes=$root/tests/golden/classes.json
ids='--id-column name'

# The class by the formula, from the columns in the order of the file.
awk -F, 'function f(w1, w2, w3, w0, b) { return (2*1.5*(w1*x + w2*y + w3*z) + w0*(2.25 - q))/(2.25 + q) + b }
  NR > 1 { x = $4; y = 1.25*$3; z = 0.5*($2 - 1); q = x*x + y*y + z*z
    far = exp(f(0, 0, 0, -2.5, 0.5)); near = exp(f(1.5, -0.5, 0.25, 2, -0.25)) + exp(f(-1.5, 0.25, 0.5, 2, 0.125))
    printf "%s,%d,%.12f\n", $1, (near > far), near/(near + far) }' rows.csv >wanted.csv
# shellcheck disable=SC2086
{
check "classes and probabilities go to a file" capball score -m "$classes" rows.csv $ids -o found.csv -q
awk -F, 'NR > 1 { printf "%s,%d,%.12f\n", $1, $2, $4 }' found.csv | cmp -s - wanted.csv
verdict $? "columns are found by name, and classes and probabilities are those of the formula"
[ "$(head -n 1 found.csv)" = ",class,p of far,p of near" ]
verdict $? "columns of the output have the names of the classes"
check "--predict writes the class alone" capball score -m "$classes" rows.csv $ids -o class.csv --predict -q
cut -d, -f1,2 found.csv | cmp -s - class.csv
verdict $? "the same classes"
capball score -m "$classes" rows.csv $ids -q >counts
awk -F, 'NR > 1 { n += $2 } END { print NR - 1 - n, n }' found.csv >right
awk 'NR > 1 { printf "%s%s", $2, NR == 2 ? " " : "\n" }' counts | cmp -s - right
verdict $? "without a file the rows of each class are counted"
for option in --ranks "--alpha 0.1" "--top 3" "--html page.html"; do
  refuses "$option is refused" 2 "is for a ball" capball score -m "$classes" rows.csv $ids $option -o other.csv
done
}
awk -F, 'NR > 1 { print 0, "1:" $4, "2:" $3, "3:" $2 }' rows.csv >rows.libsvm
check "sparse rows" capball score -m "$classes" rows.libsvm -o sparse.csv --predict -q
awk -F, 'NR > 1 { print $2 }' class.csv >bare
tail -n 60 sparse.csv | cmp -s - bare
verdict $? "sparse rows have the same classes"
printf 'a,b,c\n1,2,3\n1,nan,3\n' >bad.csv
refuses "a row without a number is named" 1 "bad.csv.*row 1.*NaN" capball score -m "$classes" bad.csv -o other.csv
printf 'a,b\n1,2\n' >few.csv
refuses "a missing column is named" 1 '"?c"?' capball score -m "$classes" few.csv -o other.csv
sed 's/softmax/sofdmax/' "$classes" >damaged.json
refuses "a damaged file is refused" 1 "damaged.json.*rule" capball score -m damaged.json rows.csv -o other.csv
# Regions that are no balls; the awk program has the numbers of the files.
golden=$root/tests/golden
region() {
  check "a $1" capball score -m "$golden/region_$1.json" "$golden/rows_60x3.csv" -o "$1.csv" --predict -q
  awk -F, "$2" "$golden/rows_60x3.csv" | cmp -s - "$1.csv"
  verdict $? "a $1 has the verdicts of the formula"
}
region halfspace '{ print (2*$1 - $2 + 2*$3 >= 7.5 ? 1 : -1) }'
region complement '{ x = $1 - 4.6565208779765159; y = $2 - 0.54435721317976427; z = $3 - 1.8189541298550265
  print (x*x + y*y + z*z >= 3.7722406514915336^2 ? 1 : -1) }'
capball fit rows.csv --id-column name -o map.json -q
refuses "a map is no model" 1 'holds a "map", wanted a "model"' capball score -m map.json rows.csv -o other.csv
finish
