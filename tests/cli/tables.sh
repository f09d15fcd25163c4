#!/usr/bin/env bash
# Tables found in practice: written by pandas, Excel and R, compressed or not, with cells missing. python/tests/test_tables.py
# compares the same with pandas.
. "$(dirname "$0")/../support/tap.sh"

# reads TEXT WANTED FILE OPTION..: the rows of FILE as csv
reads() {
  local text=$1 wanted=$2 file=$3
  shift 3
  capball convert "$file" - --to csv --bare -q "$@" >out.csv 2>err
  [ "$(cat out.csv)" = "$wanted" ]
  verdict $? "$text"
  if [ "$(cat out.csv)" != "$wanted" ]; then sed 's/^/# /' out.csv err; fi
}
wanted=$'1.5,2\n3,4.25'

printf ',a,b\n0,1.5,2.0\n1,3.0,4.25\n' >pandas.csv
printf ',0,1\n0,1.5,2.0\n1,3.0,4.25\n' >numbered.csv
printf 'a,b\n1.5,2.0\n3.0,4.25\n' >plain.csv
printf '\xef\xbb\xbfa;b\r\n1,5;2\r\n3;4,25\r\n' >excel.csv
printf 'sep=;\r\na;b\r\n1,5;2\r\n3;4,25\r\n' >excel_told.csv
printf '"","a","b"\n"1",1.5,2\n"2",3,4.25\n' >r.csv
printf '"a" "b"\n"1" 1.5 2\n"2" 3 4.25\n' >r_table.txt
printf 'a\tb\n1.5\t2\n3\t4.25\n' >tabs.csv
printf '  1.5   2\n  3.0   4.25\n' >blanks.txt
reads "pandas, with its index" "$wanted" pandas.csv
reads "pandas, columns without names" "$wanted" numbered.csv
reads "pandas, without its index" "$wanted" plain.csv
reads "Excel: semicolons, decimal commas, a byte order mark" "$wanted" excel.csv --decimal-comma
reads "Excel: sep=;" "$wanted" excel_told.csv --decimal-comma
reads "R: write.csv" "$wanted" r.csv
reads "R: write.table" "$wanted" r_table.txt
reads "tabs in a .csv" "$wanted" tabs.csv
reads "blanks" "$wanted" blanks.txt
printf 'x,a,y,b,z\nu,1.5,v,2,w\nu,3,v,4.25,w\n' >mixed.csv
reads "--columns by name" "$wanted" mixed.csv --columns a,b
reads "--columns by number, in their order" $'2,1.5\n4.25,3' mixed.csv --columns 4,2
reads "--drop" "$wanted" mixed.csv --drop x,y,z
reads "--drop with ranges, --id-column" "$wanted" mixed.csv --drop 3,5- --id-column x
printf '"a ""b""","c,d",e\n1,2,3\n' >quoted.csv
reads "names in quotes" '2' quoted.csv --columns '2'
reads "names with quotes in them" $'1' quoted.csv --columns 'a "b"'
printf '1,2\n' >row.csv
reads "--header yes: a first line of numbers are names" '' row.csv --header yes
capball convert plain.csv plain.npy -q
reads "columns of other formats, by number" $'2\n4.25' plain.npy --columns 2

tell() { capball info "$1" 2>&1 >/dev/null; }
[ "$(tell pandas.csv)" = "capball info: pandas.csv: its first column, without a name, contains the names of the rows" ]
verdict $? "an index is told of"
[ "$(tell tabs.csv)" = "capball info: tabs.csv: separated by tabs" ]
verdict $? "a separator is told of"

printf 'a,b\n1,\nNA,4\n3,5\n' >missing.csv
reads "empty cells and NA are NaN" $'1,nan\nnan,4\n3,5' missing.csv
reads "--skip-bad" '3,5' missing.csv --skip-bad
reads "--impute mean" $'1,4.5\n2,4\n3,5' missing.csv --impute mean
printf 'a\n1\n""\n9\n2\n' >median.csv
reads "--impute median" $'1\n2\n9\n2' median.csv --impute median
printf 'a,b\n0,0\n1,\n2,0\n1,1\n' >holes.csv
printf '1,0.9\n' >query.csv
refuses "a bad row is told of" 1 'holes.csv: row 1' capball ball holes.csv -o m.json
check "ball --skip-bad" bash -c "capball ball holes.csv -o m.json --skip-bad 2>&1 | grep -q 'bad rows left out: 1' && grep -q '\"rows\": 3' m.json"
check "score --skip-bad" bash -c "[ \$(capball score -m m.json holes.csv -o - --to csv --skip-bad -q | wc -l) = 3 ]"
check "knn --skip-bad: rows keep their numbers" bash -c "[ \"\$(capball knn holes.csv query.csv -k 2 -o - --to csv --skip-bad -q)\" = 3,0 ]"
check "range --skip-bad: rows keep their numbers" bash -c "capball range holes.csv query.csv --radius 1 -o - --skip-bad -q | grep -q '\"ids\":\[3\]'"
engine='capball knn {base} {queries} --metric cosine -k {k} -o {ids} -q'
check "wrap --skip-bad: rows keep their numbers" bash -c "[ \"\$(capball wrap holes.csv query.csv -k 2 --candidates 3 -o - --to csv --skip-bad -q --engine-command '$engine')\" = 3,0 ]"
capball sketch train holes.csv -o sketch.json --bits 64 --skip-bad -q
check "sketch encode --skip-bad" bash -c "[ \$(capball sketch encode -m sketch.json holes.csv -o - --to csv --skip-bad -q | wc -l) = 3 ]"
{ cat query.csv; sed '$s/[0-9.]*$/nan/' query.csv | tail -n 1; } >asked.csv
capball convert holes.csv kept.csv --skip-bad -q
capball sketch encode -m sketch.json kept.csv -o codes.u8bin -q
check "sketch search --skip-bad: of the queries" bash -c "[ \"\$(capball sketch search -m sketch.json codes.u8bin asked.csv --base kept.csv -k 2 -o - --to csv --skip-bad -q)\" = 2,0 ]"
capball fit kept.csv -o map.json -q
capball embed -m map.json kept.csv -o emb.npy -q
echo 0,1,2 >candidates.csv
check "rescore --skip-bad: of the queries" bash -c "[ \"\$(capball rescore -m map.json asked.csv candidates.csv --approximate --embedded emb.npy -k 2 -o - --to csv --skip-bad -q)\" = 2,0 ]"

if command -v gzip >/dev/null && capball --version | grep -q 'gz: yes'; then
  gzip -k plain.csv && gzip -k plain.npy
  cat plain.csv.gz >two.csv.gz && printf '7,8\n' | gzip >>two.csv.gz
  reads ".csv.gz" "$wanted" plain.csv.gz
  reads ".npy.gz" "$wanted" plain.npy.gz
  reads ".gz of two members" $'1.5,2\n3,4.25\n7,8' two.csv.gz
  check ".gz, read more than once" bash -c "capball fit plain.npy.gz -o m.json -q && capball fit plain.csv.gz -o m.json -q --goal median"
  head -c 30 plain.csv.gz >cut.csv.gz
  refuses ".gz that ends early" 1 'cut.csv.gz: cannot decompress it with gzip' capball info cut.csv.gz
  cp plain.csv liar.csv.gz
  refuses ".gz that is none" 1 'liar.csv.gz: cannot decompress it with gzip' capball info liar.csv.gz
else
  skip ".gz" "built without zlib, or no gzip here"
fi
if command -v zstd >/dev/null && capball --version | grep -q 'zst: yes'; then
  zstd -q plain.csv
  reads ".csv.zst" "$wanted" plain.csv.zst
  check ".zst, read more than once" capball fit plain.csv.zst -o m.json -q --goal median
  head -c 20 plain.csv.zst >cut.csv.zst
  refuses ".zst that ends early" 1 'cut.csv.zst: cannot decompress it with zstd' capball info cut.csv.zst
else
  skip ".zst" "built without libzstd, or no zstd here"
fi
refuses "packed files are not written" 1 'compressed files can only be read' capball convert plain.csv out.csv.gz

printf 'a,b\n1,2\n3,x\n' >text.csv
refuses "text among numbers: line, column and its name" 1 'line 3, column 2 \(b\): "x" is not a number' capball convert text.csv out.csv
refuses "a decimal comma that was not announced" 1 'line 2, column 1 \(a\): "1,5" is not a number .*with a decimal comma it is one' capball convert excel.csv out.csv -q
printf '1.6,0.1\n' >short.csv
refuses "a column that is not there" 1 'there is no column "c"' capball convert plain.csv out.csv --columns a,c
refuses "a column twice" 1 'column 1 is wanted twice' capball convert plain.csv out.csv --columns a,1
refuses "no column is left" 1 'no column is left of 2' capball convert plain.csv out.csv --drop a,b
refuses "ids of rows of numbers alone" 1 'npy files have no columns of text' capball convert plain.npy out.csv --id-column 1
reads "the fewest digits" $'1.6,0.1' short.csv
refuses "lines of JSON keep their name" 2 'writes .jsonl, not .npy' capball range plain.csv plain.csv --radius 1 -o r.npy
refuses "so do maps" 2 'm.npy: --output writes .json, not .npy: give it another name' capball fit plain.csv -o m.npy
refuses "and models" 2 'writes .json, not .csv' capball ball plain.csv -o m.csv
refuses "and SQL" 2 '--sql writes .sql, not .html' capball ball plain.csv -o m.json --sql m.html
refuses "and pages" 2 '--html writes .html, not .svg' capball recommend plain.csv --html page.svg

# Outliers: columns by name, why a row is strange, labels.
printf 'height,weight\n170,65\n180,80\n160,55\n175,72\n168,60\n' >people.csv
printf 'name,weight,height,odd\nAda,66,171,1\nBo,120,165,-1\n' >new.csv
capball ball people.csv -o ball.json --nu 0.5 --standardize --sql ball.sql -q
check "a model keeps the names of its columns" grep -q '"columns": \["height", "weight"\]' ball.json
check "SQL has them" grep -q '"height" - ' ball.sql
capball score -m ball.json new.csv --id-column name --drop odd --top 2 -q >top
check "--top: the strangest first, by name, and why" bash -c "sed -n 2p top | grep -Eq '^ +1 +Bo .* weight \+98 %'"
check "--predict" bash -c "[ \"\$(capball score -m ball.json new.csv --drop name,odd --predict -o - --to csv -q | tr '\n' ' ')\" = '1 -1 ' ]"
check "--label-column, 1 and -1" bash -c "capball score -m ball.json new.csv --id-column name --label-column odd -o s.csv -q | grep -q 'AUC *1.0000'"
check "--json of the strangest" bash -c "capball score -m ball.json new.csv --id-column name --drop odd --top 1 --json -q | grep -q '\"id\":\"Bo\"'"
refuses "a model's column that the table lacks" 1 'there is no column "weight"' capball score -m ball.json new.csv --drop weight --id-column name
check "standardised, then whitened" capball ball people.csv -o both.json --nu 0.9 --standardize --whiten --ridge 0.1 -q
refuses "whitened and standardised without a ridge" 2 'give a --ridge' capball ball people.csv -o both.json --whiten --standardize
awk 'BEGIN { for (i = 0; i < 60; i++) print (i * 37) % 61 / 10 "," (i * 23) % 59 / 9 }' >sixty.csv
printf '3,3\n90,90\n2,4\n' >three.csv
capball ball sixty.csv -o robust.json --robust --contamination 0.1 2>told
check "--robust says what it did, and what to expect of new rows" bash -c "grep -q 'of 60 rows that look most ordinary' told && grep -q 'p-values from 60 scores; of new rows like these' told"
check "and has it in the model" grep -q '"recipe": "robust"' robust.json
check "--contamination alone is that of --robust" bash -c "capball ball sixty.csv -o alone.json --contamination 0.1 -q && cmp alone.json robust.json"
check "--contamination with another recipe is not" bash -c "capball ball sixty.csv -o other.json --contamination 0.1 --nu 0.5 -q && ! grep -q recipe other.json"
check "--balls auto says what it takes" bash -c "capball ball sixty.csv -o auto.json --robust --balls auto 2>&1 | grep -q 'one ball: there are fewer than 20 ordinary rows for each of 16'"
refuses "balls auto of another recipe" 2 'auto goes with --robust' capball ball sixty.csv -o a.json --nu 0.5 --balls auto
refuses "balls by another word" 2 'balls must be a whole number' capball ball sixty.csv -o a.json --balls many
check "a page has p and what would be ordinary" bash -c "capball score -m robust.json three.csv --alpha 0.05 --html p.html -q && grep -q '>p</th>' p.html && grep -q 'nearest\|ordinary [-0-9.]* to' p.html"
check "--json has what would be ordinary" bash -c "capball score -m robust.json three.csv --top 1 --json -q | grep -q '\"least\":'"
check "--alpha: a column p" bash -c "[ \"\$(capball score -m robust.json three.csv --alpha 0.05 -o - --to csv -q | awk -F, 'NR == 2 { print \$2 }' | cut -c 1-7)\" = 0.01639 ]"
check "--alpha with --predict" bash -c "[ \"\$(capball score -m robust.json three.csv --alpha 0.05 --predict -o - --to csv -q | tr '\n' ' ')\" = '1 -1 1 ' ]"
check "--fdr" bash -c "[ \"\$(capball score -m robust.json three.csv --fdr 0.1 --predict -o - --to csv -q | tr '\n' ' ')\" = '1 -1 1 ' ]"
check "no p is small enough" bash -c "capball score -m robust.json three.csv --alpha 0.001 -o s.csv 2>&1 | grep -q '0 outliers (p at most 0.001)'"
check "--json has p" bash -c "capball score -m robust.json three.csv --alpha 0.05 --top 1 --json -q | grep -q '\"p_outlier\":0.05.*\"p\":0.0163'"
check "--calibrate without --robust" bash -c "capball ball sixty.csv -o other.json --nu 0.5 --calibrate -q && grep -q '\"calibration\"' other.json"
refuses "p-values of a model without any" 1 'has no p-values' capball score -m ball.json new.csv --id-column name --drop odd --alpha 0.1
refuses "two rules for outliers" 2 'give one of the two' capball score -m robust.json three.csv --alpha 0.1 --fdr 0.1
refuses "alpha beyond its range" 2 'alpha must be a number in' capball score -m robust.json three.csv --alpha 1
refuses "robust with a kernel" 2 'robust goes with --method exact and no kernel' capball ball sixty.csv -o r.json --robust --kernel rbf
cat >mixed.csv <<'T'
name,city,height,weight,born
a,Paris,170,65,1990-01-02
b,Rome,180x,80,1991-02-03
c,Oslo,,70,1992-03-04
d,Bonn,165,abc,1980-01-01
e,Bern,175
f,Kiel,160,55,1970-05-05
T
capball ball mixed.csv -o mixed.json --nu 0.5 2>told
check "columns of text are left out, with a remark" grep -q 'columns of text are left out: name, city, born' told
check "all problems of a file are reported at once" bash -c "grep -q 'line 3, column 3 (height): \"180x\"' told &&
  grep -q 'line 5, column 4 (weight): \"abc\"' told && grep -q 'line 6 has 3 fields' told && grep -q '1 cell is empty' told"
sed '/^e/d; s/180x/180/; s/abc/60/; s/Oslo,,/Oslo,168,/' mixed.csv >mended.csv
check "a table of names, text, dates and numbers" capball ball mended.csv --id-column name -o mixed.json --nu 0.5 -q
check "has a model of its numbers" grep -q '"columns": \["height", *"weight"\]' mixed.json
check "which scores it" bash -c "capball score -m mixed.json mended.csv --id-column name --top 1 -q | grep -q ' b '"
sed 1d mended.csv | cut -d, -f2- >nameless.csv
check "without a header, too" capball ball nameless.csv -o nameless.json --nu 0.5 -q
refuses "a typo is no text" 1 'line 1, column 2: "2x" is not a number' bash -c 'printf "1,2x\n3,4\n" >typo.csv && capball ball typo.csv -o t.json'
finish
