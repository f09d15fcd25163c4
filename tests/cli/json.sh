#!/usr/bin/env bash
# Every command with --json, with all options that change its members, compared with the lists of docs/reference/json.md.
. "$(dirname "$0")/../support/tap.sh"
if ! command -v python3 >/dev/null; then
  skip "members of --json" "no python3 here"
  finish
  exit
fi

seq 1 300 | awk -v OFS=, 'BEGIN { print "name,a,b,c" } { print "r" $1, sin($1), sin(2.3*$1), cos($1*$1) + $1 % 3 }' >rows.csv
awk 'NR <= 21' rows.csv >asked.csv
awk -F, 'NR > 1 { print NR % 9 == 0 }' rows.csv >labels.csv
printf '1,2\nnan,1\n3,4\n' >bad.csv
ids='--id-column name'

# says SECTION COMMAND..: its line of JSON
says() {
  local section=$1
  shift
  "$@" >line.json 2>err
  verdict $? "$section: ${*:2}"
  cat line.json >>"$section.jsonl"
}
exact='capball knn {base} {queries} --metric {metric} -k {k} -o {ids} -q'
# shellcheck disable=SC2086
{
says abid capball abid rows.csv $ids --json -q
says ball capball ball rows.csv $ids -o ball.json --nu 0.2 --json -q
says cosines capball cosines rows.csv $ids --json -q
says fit capball fit rows.csv $ids -o map.json --json -q
says fit capball fit --transform lift-ip rows.csv $ids -o lift.json --json -q
capball index build rows.csv $ids -o rows.index -q
says index-info capball index info rows.index --json
says info capball info rows.csv $ids --json -q
says info capball info bad.csv --json -q
says query capball query -m map.json asked.csv $ids --point -o q.npy --json -q
says recommend capball recommend rows.csv $ids --json -q
says recommend capball recommend rows.csv $ids --engine-command "$exact" --json -q
capball embed -m map.json rows.csv $ids -o sphere.csv -q
capball convert asked.csv queries.csv $ids -q
capball knn sphere.csv q.npy -k 20 --metric ip -o found.npy --distances scores.npy -q
says rescore capball rescore -m map.json queries.csv found.npy --embedded sphere.csv -k 2 -o near.csv --json -q
says rescore capball rescore -m map.json queries.csv found.npy --embedded sphere.csv -k 2 -o near.csv --certificates c.csv --scores scores.npy --json -q
says rescore capball rescore -m map.json queries.csv found.npy --embedded sphere.csv -k 2 -o near.csv --approximate --json -q
cp sphere.csv unsealed.csv && capball convert sphere.csv unsealed.npy -q && head -n 2 queries.csv >two.csv && capball convert found.npy two.npy --rows :1 -q
says rescore capball rescore -m map.json two.csv two.npy --embedded unsealed.npy -k 2 -o near.csv --certificates c.csv --json -q
says rescore capball rescore -m map.json queries.csv found.npy --embedded unsealed.csv -k 2 -o near.csv --certificates c.csv --json -q
says seal capball seal -m map.json rows.csv unsealed.npy $ids --json -q
says score capball score -m ball.json rows.csv $ids --labels labels.csv --json -q
says score capball score -m ball.json rows.csv $ids -o s.csv --json -q
capball ball rows.csv $ids -o calibrated.json --nu 0.5 --calibrate -q
says score capball score -m calibrated.json rows.csv $ids --alpha 0.2 --json -q
says score capball score -m "$root/tests/golden/classes.json" rows.csv $ids --json -q
says sketch-train capball sketch train rows.csv $ids -o sketch.json --bits 16 --json -q
says sketch-curve capball sketch curve rows.csv $ids --json -q
says theory capball theory --json
says wrap capball wrap rows.csv asked.csv $ids -k 2 -o near.csv --engine-command "$exact" --json -q
for metric in l2 ip cosine; do says lines capball range rows.csv asked.csv $ids --radius 0.9 --metric $metric -o - -q; done
says lines capball rescore -m map.json queries.csv found.npy --embedded sphere.csv --within 0.5 -o - -q
says lines capball rescore -m map.json queries.csv found.npy --embedded sphere.csv --within 0.5 --certificates c.csv -o - -q
says lines capball rescore -m map.json queries.csv found.npy --embedded unsealed.csv --within 0.5 --certificates c.csv -o - -q
}
while read -r line; do
  [ "${line%% *}" = ok ]
  verdict $? "${line#*ok }"
done < <(python3 "$root/tests/cli/json_members.py" "$root/docs/reference/json.md" ./*.jsonl)

# A command with --json that is not looked at here is a hole.
# shellcheck disable=SC2086 # a verb may have two words
while read -r verb; do
  capball help $verb | grep -q -- '-j, --json' || continue
  [ -s "${verb// /-}.jsonl" ]
  verdict $? "$verb has --json, and is looked at"
done < <(capball help | sed -n '/^Commands/,/^$/s/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p')
finish
