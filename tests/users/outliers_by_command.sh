#!/usr/bin/env bash
# Job: "which rows of my table are strange, and why?" by the command, from the words of its tutorial alone.
. "$(dirname "$0")/../support/tap.sh"

# Columns in different units, empty cells, and 30 rows whose weight does not go with their height.
awk 'function uniform() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  function gauss() { return sqrt(-2 * log(uniform())) * cos(6.283185307 * uniform()) }
  BEGIN { seed = 7; print "name,height,weight,income"
    for (i = 0; i < 3000; i++) {
      height = 170 + 9 * gauss(); weight = 0.9 * height - 85 + 5 * gauss()
      if (i % 100 == 0) weight += 45
      printf "r%d,%.1f,%s,%.0f\n", i, height, i % 50 == 7 ? "" : sprintf("%.1f", weight), exp(10 + 0.4 * gauss())
    } }' >people.csv
awk 'NR > 1 { print (NR - 2) % 100 == 0 }' people.csv >labels.csv

recipe='--robust'
# shellcheck disable=SC2086
capball ball people.csv --id-column name -o ball.json $recipe --impute median -q
check "the model keeps what empty cells became" grep -q '"fill": \[' ball.json
capball score -m ball.json people.csv --id-column name --labels labels.csv --top 30 --html strange.html -o scores.csv -q >told
check "AUC is at least .98" awk '/^AUC/ { good = $2 >= 0.98 } END { exit !good }' told
check "the first reason of most of them is the weight" \
  awk '/ r[0-9]*00 / && / (weight|height) [+-]/ { good++ } END { exit good < 20 }' told
check "the page names the strangest row" grep -q 'The strangest is <b>r[0-9]*00</b>, by weight' strange.html
check "the strangest hundredth of 3000 rows are 30" grep -q '<b>30</b> as strange as the strangest 1&nbsp;% of the training rows' strange.html
check "shares are those of the ranks" awk '$1 ~ /^[0-9]+$/ && $4 ~ /^[0-9.]+$/ { n++; if (($4 - ($1 - 1) / 29.99) ^ 2 > 0.02) bad++ } END { exit n < 30 || bad }' told
check "the command says what it did" bash -c "capball ball people.csv --id-column name -o again.json $recipe --impute median 2>&1 | grep -q 'that look most ordinary'"
check "and does not speak of thousands outside" bash -c '! grep -q "outside the ball" strange.html'

printf 'a,b,c\n1,,3\n,2,3\n4,5,6\n7,,9\n' >empty.csv
check "empty cells are an error that names their columns" \
  bash -c '! capball ball empty.csv -o none.json 2>err && grep -q "3 cells are empty, NaN or inf: a (1), b (2)" err'
printf 'name,income,height\nnew,30000,\n' >two.csv
printf 'name,income,height,weight\nnew,30000,,\n' >new.csv
capball score -m ball.json new.csv --id-column name -o one.csv -q
check "empty cells of new rows become the same" awk -F, 'NR == 2 { good = $2 > -3 } END { exit !good }' one.csv
check "a missing column is an error" bash -c '! capball score -m ball.json two.csv --id-column name -o none.csv -q 2>err'

recipe='--standardize --whiten --ridge 0.1 --nu 0.9' # of several balls
# shellcheck disable=SC2086
capball ball people.csv --id-column name -o balls.json $recipe --impute median --balls 4 --seed 1 -q
check "several balls: the group that the outliers make gets none" grep -q '"balls": {"count": 3, "centers"' balls.json
capball score -m balls.json people.csv --id-column name --labels labels.csv -o many.csv -q >told
check "find the same rows" awk '/^AUC/ { good = $2 >= 0.97 } END { exit !good }' told
check "and the same bits with one thread" bash -c "capball ball people.csv --id-column name -o again.json $recipe --impute median --balls 4 --seed 1 -t 1 -q && cmp balls.json again.json"
check "and on another instruction set" bash -c "CPB_ISA=plain capball ball people.csv --id-column name -o plain.json $recipe --impute median --balls 4 --seed 1 -q && cmp balls.json plain.json"
check "SQL of several balls" bash -c "capball ball people.csv --id-column name -o balls.json $recipe --impute median --balls 4 -q --sql - | grep -c '^ OR ' | grep -qx 2"
check "several balls have no kernel" bash -c '! capball ball people.csv -o k.json --balls 2 --nu 0.5 --kernel rbf 2>err && grep -q "does not go with --kernel" err'
capball ball people.csv --id-column name -o robust.json --robust --balls 4 --seed 1 --impute median -q
capball score -m robust.json people.csv --id-column name --labels labels.csv -o many.csv -q >told
check "several balls of the rows that look most ordinary find them, too" awk '/^AUC/ { good = $2 >= 0.97 } END { exit !good }' told
check "and the same bits with one thread, on another instruction set" bash -c "CPB_ISA=plain capball ball people.csv --id-column name -o plain.json --robust --balls 4 --seed 1 --impute median -t 1 -q && cmp robust.json plain.json"
check "auto takes one ball for one cloud" bash -c "capball ball people.csv --id-column name -o auto.json --robust --balls auto --impute median 2>&1 | grep -q 'one ball: 8 groups tell rows'"
finish
