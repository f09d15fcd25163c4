#!/usr/bin/env bash
# Names of columns, rows and files that could control a terminal or change the direction of its text: people are shown them as \xNN,
# in every message, table, picture and page; data have them exactly.
. "$(dirname "$0")/../support/tap.sh"

marks=$(printf 'x\302\233 31m \302\205 \330\234 \342\200\216 \342\200\217 \342\200\250 \342\200\251 \342\200\252 \342\200\253 \342\200\254 \342\200\255 \342\200\256 \342\201\246 \342\201\247 \342\201\250 \342\201\251y')
file="data$marks.csv"
{
  echo "id,h$marks,w$marks,t"
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "r$i$marks,$i,$((i * 7 % 5 + i * i % 11)),word$marks"; done
} >"$file"
model="model$marks.json" map="map$marks.json"

# What a terminal acts on: control characters but line ends, C1 and marks of direction.
acts() { LC_ALL=C grep -aP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' "$@"; }

# shows TEXT TIMES COMMAND..: its output and messages have the marks as \xNN at least this many times, and none as it is
shows() {
  local text=$1 times=$2
  shift 2
  "$@" >out 2>err
  cat out err >both
  ! acts -q both && [ "$(grep -acE '\\302\\233|\\xc2\\x9b|\\xe2\\x81\\xa9' both)" -ge "$times" ]
  verdict $? "$text"
}

id='--id-column id'
# shellcheck disable=SC2086
{
shows "ball: files, columns of text" 1 capball ball "$file" $id -o "$model" --nu 0.5
shows "score --top: columns, rows" 10 capball score -m "$model" "$file" $id --top 9
shows "fit: a cell of text" 1 capball fit "$file" $id -o "$map"
shows "info: columns" 1 capball info "$file" $id --drop t
shows "no index" 1 capball index info "x$marks.index"
shows "recommend: commands" 1 capball recommend "$file" $id --drop t -k 2
shows "a missing file" 1 capball info "none$marks.csv"
shows "a missing column" 1 capball info "$file" --columns "q$marks"
shows "a wrong value" 1 capball fit "$file" -o "$map" --goal "q$marks"
shows "a wrong option" 1 capball fit "$file" "--q$marks"
shows "a word that is no command" 1 capball "q$marks"
shows "an engine's message" 1 capball recommend "$file" $id --drop t -k 2 --engine-command "sh -c 'printf \"%s\" \"$marks\" >&2; exit 1' {base} {queries} {k} {ids}"
for page in score recommend; do
  case $page in
    score) capball score -m "$model" "$file" $id --html score.html -q ;;
    recommend) capball recommend "$file" $id --drop t -k 2 --html recommend.html -q ;;
  esac
  shows "a page of $page" 1 cat $page.html
done
if command -v gnuplot >/dev/null; then
  capball ball "$file" $id -o m.json --nu 0.5 --plot ball.svg -q
  shows "a picture" 1 cat ball.svg
fi

capball convert "$file" $id --drop t -o - --to csv >kept.csv -q
head -1 kept.csv | cmp -s - <(head -1 "$file" | sed 's/^id//; s/,t$//')
verdict $? "csv has names of columns exactly"
cmp -s <(cut -d, -f1 kept.csv | tail -n +2) <(cut -d, -f1 "$file" | tail -n +2)
verdict $? "and of rows"
if command -v python3 >/dev/null; then
  capball info "$file" $id --drop t --json >info.json
  ! acts -q info.json
  verdict $? "JSON escapes them"
  check "and has them exactly" python3 -c "
import json, sys
assert json.load(open('info.json'))['names'] == ['h' + sys.argv[1], 'w' + sys.argv[1]]
assert json.load(open(sys.argv[2]))['columns'] == ['h' + sys.argv[1], 'w' + sys.argv[1]]" "$marks" "$model"
fi
check "what was fitted finds the columns" capball score -m "$model" "$file" $id -o s.npy -q
}
finish
