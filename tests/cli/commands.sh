#!/usr/bin/env bash
# Commands that are shown to people run as they are shown, whatever files and columns are called.
. "$(dirname "$0")/../support/tap.sh"

rows() { # names of the columns
  echo "$1"
  awk 'BEGIN { srand(5); for (i = 0; i < 60; i++) printf "r%d,%.3f,%.3f,%.3f\n", i, rand() + i % 5, rand(), 3 * rand() }'
}
page_command() { sed -n '/<pre class="formula"/,/<\/pre>/p' "$1" | sed 's/<[^>]*>//g; s/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' | grep .; }

# carried TEXT FILE OPTION..: the commands of a recommendation, on a terminal, in JSON and on a page, run to the end in any shell; so does
# the command of a page of scores, which writes the same page again
carried() {
  local text=$1 file=$2
  shift 2
  capball recommend "$@" -k 5 -q --html page.html -- "$file" | sed -n '/^To carry it out/,$s/^  //p' >run.sh
  rm -f nearest.npy
  check "$text: a recommendation" sh -e run.sh
  check "$text: to the end" test -s nearest.npy
  cmp -s <(page_command page.html) run.sh
  verdict $? "$text: the page has the same lines"
  capball ball "$@" --standardize -o model.json -q -- "$file"
  capball score "$@" -m model.json --top 7 --html again.html -q -- "$file" >/dev/null
  page_command again.html >run.sh
  mv again.html first.html
  check "$text: scores" sh -e run.sh
  cmp -s <(sed 's|\./-|-|g' first.html) <(sed 's|\./-|-|g' again.html)
  verdict $? "$text: the same scores again"
}

id='--id-column name' name='name,height,weight,a b'
for file in rows.csv "it's rows.csv" '-rows.csv' '--help' 'rows $(touch evil) `touch evil` & "x" \ *.csv' '100%s\n.csv' $'new\nline.csv' \
  $'caf\351 \302\233\342\200\256%.csv' "naïve 数.csv"; do
  rows "$name" >"./$file"
  # shellcheck disable=SC2086
  case $file in --help) carried "$file" "$file" $id --format csv ;; *) carried "$(printf %q "$file")" "$file" $id ;; esac
done
check "nothing else was run" test ! -e evil
rows 'name,height,weight,a b' >rows.csv
carried "columns in their order" rows.csv --columns 'a b,height'
carried "columns left out" rows.csv --drop name,weight
awk -F, -v OFS=';' '{ for (i = 1; i <= NF; i++) sub(/[.]/, ",", $i); $1 = $1; print }' rows.csv >comma.csv
# shellcheck disable=SC2086
carried "decimal commas" comma.csv $id --decimal-comma
awk -F, -v OFS=, 'NR == 9 { $3 = "" } { print }' rows.csv >holes.csv
# shellcheck disable=SC2086
carried "filled cells" holes.csv $id --impute median
# shellcheck disable=SC2086
carried "rows left out" holes.csv $id --skip-bad
finish
