#!/usr/bin/env bash
# Real engines by command: `wrap`, `recommend --engine-command`, and every way in which a command can fail. The exact
# search of capball itself serves as the engine; hnswlib is used if it was built in.
. "$(dirname "$0")/../support/tap.sh"

seq 1 300 | awk -v OFS=, '{ print sin($1), sin(2.3*$1), cos($1*$1), sin(1.7*$1) + $1 % 5 }' >base.csv
awk -F, -v OFS=, 'NR <= 20 { print $1 + .1, $2 - .1, $3 + .05, $4 + .2 }' base.csv >q.csv
exact='capball knn {base} {queries} --metric {metric} -k {k} -o {ids} -q'
capball knn base.csv q.csv -k 5 -o true.csv --distances true_d.csv -q

check "wrap" capball wrap base.csv q.csv -k 5 -o near.csv --distances d.csv --engine-command "$exact"
check "finds the nearest rows" cmp near.csv true.csv
check "with their true distances" cmp d.csv true_d.csv
for kind in lift-cosine none; do
  metric=$([ $kind = none ] && echo l2 || echo cosine)
  check "wrap by $kind" capball wrap base.csv q.csv -k 5 --candidates 5 --transform $kind --metric $metric -o near.csv --engine-command "$exact"
  check "finds the nearest rows by $kind" cmp near.csv true.csv
done
capball fit --transform lift-ip base.csv -o lift.json -q
check "wrap that asks twice" capball wrap base.csv q.csv -k 5 --candidates 8 --twice -o near.csv --engine-command "$exact"
check "finds the nearest rows in two questions" cmp near.csv true.csv
capball fit --whiten base.csv -o white.json -q
refuses "asking twice by a map that whitens" 2 'a map that whitens is asked once' capball wrap base.csv q.csv -m white.json --twice -o no.csv --engine-command "$exact"
refuses "asking a lift twice" 2 'omit --twice' capball wrap base.csv q.csv --transform lift-cosine --twice -o no.csv --engine-command "$exact"
check "wrap by a file" capball wrap base.csv q.csv -k 5 --candidates 5 -m lift.json --metric ip -o near.csv --engine-command "$exact"
check "finds the nearest rows by a file" cmp near.csv true.csv

export TMPDIR=$PWD/desk
mkdir desk
words='# {base} {queries} {k} {ids}'
bad() { local text=$1 pattern=$2; shift 2; refuses "$text" 1 "^capball wrap: $pattern" timeout 100 capball wrap base.csv q.csv -k 5 --candidates 8 -o no.csv --timeout 120 --engine-command "$* $words"; }
bad "an engine that fails" 'the engine failed: its exit code must be 0, got 1$' 'exit 1'
bad "an engine that fails and says why" 'the engine failed and said "no such index": its exit code must be 0, got 3$' 'echo no such index >&2; exit 3'
bad "an engine that fails after many words" 'the engine failed and said "no such index": its exit code must be 0, got 3$' 'seq 100000; echo no such index >&2; exit 3'
bad "an engine that is none" 'the engine failed and said ".*not found": its exit code must be 0, got 127$' 'no-engine-of-this-name'
bad "an engine that is killed" 'the engine failed: its signal must be 0, got 9$' 'kill -9 $$'
bad "an engine that writes nothing" 'the engine must write one file of ids' true
bad "an engine whose answer is a pipe" 'the engine must write one file of ids, \{ids\}: a regular file' 'mkfifo {ids}'
bad "an engine whose answer is a link to a pipe" 'the engine must write one file of ids, \{ids\}: a regular file' 'mkfifo {ids}.pipe; ln -s {ids}.pipe {ids}'
bad "an engine whose answer is a directory" 'the engine must write one file of ids, \{ids\}: a regular file' 'mkdir -p {ids}/a/b; echo >{ids}/a/c; mkfifo {ids}/d; ln -s / {ids}/e; chmod 0 {ids}/a'
bad "an engine that fails and leaves a pipe for its words" 'the engine failed: its exit code must be 0, got 1' 'cd "$(dirname {ids})"; rm said; mkfifo said; exit 1'
bad "an engine that locks its directory" 'the engine failed: its exit code must be 0, got 1' 'chmod 0 "$(dirname {ids})"; exit 1'
bad "an engine that writes no npy" 'the engine must write an npy file' 'echo 1,2 >{ids}'
cat >answer.sh <<'A'
# answer.sh EDIT QUERIES IDS: eight ids for every query, edited by sed
n=$(capball info "$2" --json | sed 's/.*"rows":\([0-9]*\).*/\1/')
seq "$n" | sed "s/.*/0,1,2,3,4,5,6,7/;$1" >answer.csv
capball convert answer.csv "$3" --dtype "${4:-f64}" -q
A
bad "ids beyond the rows" "the engine's answer to query 2 must be rows 0 .. 299, or -1 after the last, got 300" 'sh answer.sh "3s/7/300/" {queries} {ids}'
bad "ids that are NaN" "the engine's answer to query 4 must be rows .* got -?nan" 'sh answer.sh "5s/7/nan/" {queries} {ids}'
bad "ids that are no whole numbers" "the engine's answer to query 0 must be rows .* got 7.5" 'sh answer.sh "1s/7/7.5/" {queries} {ids}'
bad "ids below -1" "the engine's answer to query 0 must be rows .* got -2" 'sh answer.sh "1s/7/-2/" {queries} {ids}'
bad "a row that is named twice" 'the engine must name a row once for query 1, got 3' 'sh answer.sh "2s/7/3/" {queries} {ids}'
bad "too few ids" 'the engine must give 8 ids per query, got 7' 'sh answer.sh "s/,7//" {queries} {ids}'
bad "too few answers" 'the engine must answer 20 queries, got 19' 'sh answer.sh 20d {queries} {ids}'
bad "too few rows found" 'the engine must find 5 rows for query 6, got 4' 'sh answer.sh "7s/.*/0,1,2,3,-1,-1,-1,-1/" {queries} {ids}'
check "some rows fewer are no fault" capball wrap base.csv q.csv -k 5 --candidates 8 -o some.csv --engine-command 'sh answer.sh "7s/,7/,-1/" {queries} {ids} # {base} {k}'
check "a pipe for times is not waited for" timeout 100 capball wrap base.csv q.csv -k 5 --candidates 8 -o some.csv --engine-command 'mkfifo {times}; sh answer.sh "" {queries} {ids} # {base} {k}'
began=$SECONDS
refuses "an engine that hangs" 1 '^capball wrap: the engine must end within 0.3 seconds, got ' capball wrap base.csv q.csv -o no.csv --timeout 0.3 --engine-command "sleep 60 $words"
[ $((SECONDS - began)) -lt 30 ]
verdict $? "is not waited for"
refuses "a command without {ids}" 2 'must contain \{ids\} at least once' capball wrap base.csv q.csv -o no.csv --engine-command 'x {base} {queries} {k}'
refuses "no time at all" 2 '--timeout must be a number > 0' capball wrap base.csv q.csv -o no.csv --timeout 0 --engine-command "x $words"
cut -d, -f1-3 q.csv >narrow.csv
refuses "queries of another d" 1 'narrow.csv has 3 columns' capball wrap base.csv narrow.csv -o no.csv --engine-command "$exact"
[ -z "$(ls desk)" ] && [ -z "$(find . -name 'no.*')" ]
verdict $? "nothing is left behind"

capball wrap base.csv q.csv -o no.csv --engine-command "echo \$\$ >began; exec sleep 60 $words" -q &
running=$!
for _ in $(seq 600); do [ -s began ] || sleep 0.1; done
check "a run beside it leaves its files alone" bash -c "capball wrap base.csv q.csv -k 5 -o near.csv --engine-command '$exact' -q && [ \$(ls desk | wc -l) = 1 ]"
kill -KILL "$running" "$(cat began)"
wait "$running" 2>/dev/null
check "a run that was killed leaves them" test -n "$(ls desk)"
check "the next one clears up" bash -c "capball wrap base.csv q.csv -k 5 -o near.csv --engine-command '$exact' -q && [ -z \"\$(ls desk)\" ]"

check "recommend asks the engine" bash -c "capball recommend base.csv --queries q.csv -k 5 --candidates 10 --engine-command '$exact' --json >by_cosine.json"
grep -q '"pick":{"transform":"lift-cosine","scale":null,"radius":0.0,"twice":false,"recall":1.0,"rescored":1.0' by_cosine.json
verdict $? "an exact engine of cosines wants the exact lift"
check "an engine of inner products" bash -c "capball recommend base.csv --queries q.csv -k 5 --candidates 10 --metric ip --engine-command '$exact' --json >by_ip.json"
grep -q '"pick":{"transform":"lift-ip"' by_ip.json && ! grep -q normalize by_ip.json
verdict $? "is offered what it can rank by"
check "a first round" bash -c "capball recommend base.csv --queries q.csv -k 5 --candidates 10 --first 100 --seeds 1 --engine-command '$exact' --json >rounds.json"
grep -q '"first_rows":100' rounds.json && grep -q '"index_rows":100' rounds.json && grep -q '"pick":{"transform":"lift-cosine"[^}]*"index_rows":300,' rounds.json
verdict $? "comes before an index of all rows"
check "one transform" bash -c "capball recommend base.csv --queries q.csv -k 5 --candidates 10 --transform normalize --engine-command '$exact' >only.txt"
[ "$(grep -c '^[> ~] [a-z-]* .*%' only.txt)" = 2 ] && grep -q '^[> ~] normalize ' only.txt
verdict $? "is measured beside rows as they are"
refuses "a transform that the engine cannot rank by" 2 '--transform: transforms must suit an engine that ranks by l2' capball recommend base.csv -k 5 --metric l2 --transform lift-ip --engine-command "$exact"
sed '8s/^[^,]*/nan/' base.csv >nan.csv
refuses "a row with NaN" 1 'nan.csv: row 7 holds NaN' capball recommend nan.csv -k 5 --engine-command "$exact"
refuses "a query with NaN" 1 'nan.csv: row 7 holds NaN' capball recommend base.csv --queries nan.csv -k 5 --engine-command "$exact"
head -3 base.csv >three.csv
refuses "too few rows to ask by" 1 'at least 1 query is wanted' capball recommend three.csv -k 1 --engine-command "$exact"
head -4 base.csv >four.csv
check "four rows are enough" capball recommend four.csv -k 1 --engine-command "$exact"
refuses "recommend on an engine that fails" 1 '^capball recommend: the engine failed: its exit code must be 0, got 1$' capball recommend base.csv -k 5 --engine-command "exit 1 $words"
refuses "recommend on an engine whose answer is a pipe" 1 '^capball recommend: the engine must write one file of ids' timeout 100 capball recommend base.csv -k 5 --timeout 60 --engine-command "mkfifo {ids} $words"
refuses "two engines" 2 'exclude each other' capball recommend base.csv --engine int8 --engine-command "$exact"
check "a page of an engine" capball recommend base.csv --queries q.csv -k 5 --candidates 10 --engine-command "$exact" --html engine.html -q
check "the best is also asked twice" bash -c "grep -q '\"twice\":true' by_cosine.json && grep -q ', twice' engine.html"
check "says its criterion and the noise" bash -c "grep -q 'The criterion is 5@10' engine.html && grep -q 'class=\"whisker\"' engine.html && grep -q '\"criterion\":\"choosing_rescored\"' by_cosine.json"
# The commands of the page, by one transform after the other, so that every form of them runs.
for only in none normalize lift-cosine sphere; do
  rm -f nearest.npy
  capball recommend base.csv --queries q.csv -k 5 --candidates 10 --transform $only --seeds 1 --engine-command "$exact" --html engine.html -q >/dev/null
  sed -n '/<pre class="formula"/,/<\/pre>/p' engine.html | sed 's/<[^>]*>//g; s/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >run.sh
  check "$only: the commands of the page run as printed" bash -e run.sh
  check "$only: to the end" test -s nearest.npy
done
refuses "candidates of a flat index" 2 'are for real engines' capball recommend base.csv --candidates 20
capball recommend base.csv --queries q.csv -k 5 --candidates 10 --engine hnsw >hnsw.txt 2>hnsw.err
if grep -q 'without hnswlib' hnsw.err; then
  skip "hnswlib" "$(cat hnsw.err)"
else
  grep -q '^Take ' hnsw.txt
  verdict $? "hnswlib is asked"
fi
finish
