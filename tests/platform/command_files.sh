#!/usr/bin/env bash
# Files as users have them, on another platform: names in Unicode and with spaces, lines that end with CR LF, a file of more than
# 4 GB, an index that is killed while rows are added to it. Prints TAP.
#   command_files.sh DIRECTORY HERE COMMAND..   HERE: the command of this machine; COMMAND.. starts the other one
set -u
export LC_ALL=C.UTF-8
mkdir -p "$1" && cd "$1" || exit 1
here=$2
shift 2
there=("$@")
count=0 failed=0

check() { # name, command..
  local name=$1
  shift
  count=$((count + 1))
  if "$@" >log 2>&1; then echo "ok $count - $name"; else failed=1 && echo "not ok $count - $name" && tail -n 5 log | sed 's/^/# /'; fi
}

# Both commands with the same words, in folders of their own; then the outputs have the same bytes.
both() { # output words..
  local output=$1
  shift
  (cd here && "$here" "$@" 2>/dev/null) && (cd there && "${there[@]}" "$@") || return 1
  cmp "here/$output" "there/$output"
}

rm -rf here there && mkdir here there
awk 'BEGIN { for (i = 0; i < 3000; i++) { printf "%.3f", (i * 7919) % 1000 / 97
  for (k = 1; k < 40; k++) printf ",%.3f", (i * (104729 + 2 * k)) % 997 / 89
  print "" } }' >here/base.csv
sed 's/$/\r/' here/base.csv >here/crlf.csv
head -n 20 here/base.csv >here/queries.csv
mkdir -p 'here/Größe und Gewicht' 'there/Größe und Gewicht'
cp here/base.csv 'here/Größe und Gewicht/données 数据.csv'
cp -r here/. there/

check "names in Unicode and with spaces" both 'Größe und Gewicht/ball é.json' ball 'Größe und Gewicht/données 数据.csv' -o 'Größe und Gewicht/ball é.json' -q
check "a score of them" both 'Größe und Gewicht/σ.npy' score -m 'Größe und Gewicht/ball é.json' 'Größe und Gewicht/données 数据.csv' -o 'Größe und Gewicht/σ.npy' -q
check "lines that end with CR LF" both crlf.npy convert crlf.csv crlf.npy
lf() { both lf.npy convert base.csv lf.npy && cmp there/crlf.npy there/lf.npy; }
check ".. are those that end with LF" lf
check "an index is built" both rows.cpbi index build base.csv -o rows.cpbi -q
check ".. and searched" both hits.csv index search rows.cpbi queries.csv -k 5 -o hits.csv -q
check ".. rows are added" both rows.cpbi index add rows.cpbi queries.csv -q
check ".. and it is compacted" both rows.cpbi index compact rows.cpbi -q

# Killed at moments that differ: the file opens, has all rows of the calls that returned, and searches.
killed() {
  local pause child
  for pause in 0.4 0.9 1.3; do
    (cd there && for _ in 1 2 3; do "${there[@]}" index add rows.cpbi base.csv -q || exit; done) >/dev/null 2>&1 &
    child=$!
    sleep "$pause"
    kill -9 "$(pgrep -P $child | head -n 1)" 2>/dev/null
    kill -9 $child 2>/dev/null
    wait $child 2>/dev/null
    sleep 0.3
    (cd there && "${there[@]}" index check rows.cpbi -q && "${there[@]}" index search rows.cpbi queries.csv -k 5 -o after.csv -q) || return 1
  done
}
check "an index whose writer is killed opens and searches" killed
rewritten() {
  (cd there && "${there[@]}" convert base.csv whole.npy && "${there[@]}" convert queries.csv whole.npy && "${there[@]}" info whole.npy --json | grep -q '"rows":20') &&
    [ -z "$(find there -name '*unfinished*')" ]
}
check "a file is replaced, and nothing is left" rewritten

# 2^20 rows of 1100 floats, all zero but the last: 4.6 GB that take no disk.
facts() {
  large_made && (cd here && "$here" info large.npy --json >large.txt) && (cd there && "${there[@]}" info large.npy --json >large.txt 2>../err) && cmp here/large.txt there/large.txt
}
large_made() {
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1048576, 1100), }" >there/large.npy
  truncate -s $((128 + 1048576 * 1100 * 4 - 4)) there/large.npy && printf '\x00\x00\x80\x3f' >>there/large.npy && ln -f there/large.npy here/large.npy
}
check "a file of more than 4 GB" facts
echo "1..$count"
rm -f there/large.npy here/large.npy
exit $failed
