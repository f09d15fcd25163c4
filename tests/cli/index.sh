#!/usr/bin/env bash
# An index file: built, changed, searched, with little memory; damaged files and wrong arguments are rejected.
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

awk 'BEGIN { srand(5); for (i = 0; i < 3000; i++) { for (j = 0; j < 40; j++) printf "%s%.4f", j ? "," : "", rand(); print "" } }' >base.csv
head -n 7 base.csv | sed 's/^0\./0.1/' >queries.csv
same() { capball knn "$1" queries.csv -k 4 -o near.csv --distances far.csv && capball index search "$2" queries.csv -k 4 -o ids.csv --distances away.csv &&
  cmp near.csv ids.csv && cmp far.csv away.csv; }

check "an index is built" capball index build base.csv -o base.index
check "its answers are those of knn" same base.csv base.index
built_in_pieces() { head -n 1000 base.csv >a.csv && tail -n 2000 base.csv >b.csv && capball index build a.csv -o pieces.index &&
  capball index add pieces.index b.csv; }
check "rows are added" built_in_pieces
check "the answers do not see the cut" same base.csv pieces.index
check "nor that it was compacted" capball index compact pieces.index
check "and still do not" same base.csv pieces.index
check "a compacted file has the bytes of a new one, the centre aside" test "$(stat -c %s base.index)" = "$(stat -c %s pieces.index)"

without_first() { capball index remove base.index 0 1 && capball index info base.index | grep -q '^2998 rows of 40, f64, l2; 2 removed, next id 3000' &&
  capball index search base.index queries.csv -k 1 -o ids.csv && ! grep -Eqx '0|1' ids.csv; }
check "rows are removed" without_first
ranges() { capball index range base.index queries.csv --radius 1.5 >lines && [ "$(wc -l <lines)" = 7 ] && grep -q '"query":6,"ids":\[6' lines; }
check "a range has the rows within it" ranges
from_pipe() { capball index build - --format csv -o pipe.index <base.csv && same base.csv pipe.index; }
check "a stream becomes an index" from_pipe

printf 'a,b,c\n1,2,3\n10,20,30\n3,2,1\n' >named.csv
printf 'c,b,a\n1,2,3\n' >permuted.csv
by_name() { capball index build named.csv -o named.index && capball index add named.index permuted.csv && capball index compact named.index &&
  capball index search named.index permuted.csv -k 2 -o ids.csv && [ "$(cat ids.csv)" = "2,3" ] &&
  capball index range named.index permuted.csv --radius 0 >lines && grep -q '"ids":\[2,3\]' lines; }
check "columns are taken by name" by_name
printf 'a,b,z\n1,2,3\n' >renamed.csv
refuses "a column that is missing" 1 'renamed.csv.* c' capball index search named.index renamed.csv -k 1 -o x.csv
refuses "another file is no index" 1 'this is not an index of capball' capball index info base.csv
refuses "an id that is not there" 1 'id 1 is not in the index' capball index remove base.index 2 1
refuses "an id that is none" 2 'is not an id' capball index remove base.index two
refuses "an id that is too large" 2 '"18446744073709551616" is not an id' capball index remove base.index 18446744073709551616
refuses "a negative id" 2 '"-1" is not an id' capball index remove base.index 5 -- -1
refuses "a command that is none" 2 'index has no command "foo"' capball index foo
refuses "more neighbours than rows" 1 'base.index: 4000 neighbours asked for, more than the number of rows of the index, 2998' capball index search base.index queries.csv -k 4000 -o x.csv
cut -d, -f1-3 queries.csv >short.csv
refuses "queries of other columns" 1 'short.csv has 3 columns, but base.index takes queries of 40' capball index search base.index short.csv -o x.csv
head -c 5000 base.index >torn.index
refuses "rows of other columns" 1 'short.csv has 3 columns, but base.index holds rows of 40' capball index add base.index short.csv
refuses "a truncated file" 1 'torn.index: its size does not agree with its header' capball index info torn.index
head -c 50 base.index >header.index
refuses "a truncated header" 1 'header.index: the file is truncated within its header' capball index info header.index
cp base.index flipped.index
printf '\377' | dd of=flipped.index bs=1 seek=61 conv=notrunc status=none
refuses "a damaged header" 1 'checksum' capball index info flipped.index
check "an undamaged index" capball index check pieces.index
cp pieces.index flipped.index
printf '\377\377\377' | dd of=flipped.index bs=1 seek=30000 conv=notrunc status=none
check "opening does not read the codes" capball index info flipped.index
refuses "damaged codes" 1 'flipped.index: bytes [0-9]* to [0-9]* do not match their checksum: the file is damaged' capball index check flipped.index
flip_in_log() { cp base.index flipped.index && head -n 2 base.csv >two.csv && end=$(stat -c %s flipped.index) &&
  capball index add flipped.index two.csv && capball index add flipped.index two.csv &&
  printf '\377' | dd of=flipped.index bs=1 seek=$((end + 60)) conv=notrunc status=none; }
check "two records are appended, and one is damaged" flip_in_log
refuses "a damaged log" 1 "flipped.index: its last [0-9]* bytes are not a record of its log" capball index check flipped.index
# Text keys, put, filters and export.
printf '0,0\n3,4\n6,8\n' >points.csv
printf 'red\n"bl,ue"\ngr\303\251en\n' >names.txt
keyed() { capball index build points.csv --keys names.txt -o keyed.index && capball index search keyed.index points.csv -k 1 -o ids.csv &&
  printf 'red\n"""bl,ue"""\ngr\303\251en\n' | cmp - ids.csv; }
check "rows have text keys" keyed
printf '1,1\n9,9\n' >changed.csv
printf 'red\nnew\n' >changed.txt
put() { capball index put keyed.index changed.csv --keys changed.txt && capball index export keyed.index -o out.csv --ids out.txt &&
  printf '3,4\n6,8\n1,1\n9,9\n' | cmp - out.csv && printf '"bl,ue"\ngr\303\251en\nred\nnew\n' | cmp - out.txt; }
check "rows are put, and come out" put
printf 'new\nnothing\n' >only.txt
filtered() { capball index search keyed.index points.csv -k 2 -o ids.csv --filter only.txt && printf 'new,\nnew,\nnew,\n' | cmp - ids.csv &&
  capball index range keyed.index points.csv --radius 20 --filter only.txt | grep -c '"ids":\["new"\]' | grep -qx 3; }
check "a filter of keys" filtered
of_ids() { capball index build points.csv -o ids.index && printf '1\n77\n' >i.txt && capball index put ids.index changed.csv --ids i.txt &&
  capball index export ids.index -o out.npy --ids out.csv && [ "$(tr '\n' ' ' <out.csv)" = "0 2 1 77 " ] &&
  capball index search ids.index points.csv -k 2 -o ids.csv --filter 1..70 && [ "$(head -n 1 ids.csv)" = 1,2 ]; }
check "ids of a file, and a range of ids" of_ids
check "a key is removed" capball index remove keyed.index red
refuses "a key that is not there" 1 'key "red" is not in the index' capball index remove keyed.index red
refuses "rows without keys" 2 'has text keys: name a file of keys by --keys' capball index add keyed.index changed.csv
refuses "too few keys" 1 'points.csv has more rows than there are names: 2' capball index build points.csv --keys changed.txt -o x.index
printf 'red\nred\nblue\n' >twice.txt
refuses "a key that is given twice" 1 'key "red" is given twice, for rows 0 and 1' capball index build points.csv --keys twice.txt -o x.index
refuses "an id that is none" 1 'changed.txt: line 1 is not an id: "red"' capball index build points.csv --ids changed.txt -o x.index
refuses "ids and keys" 2 'exclude each other' capball index build points.csv --ids i.txt --keys names.txt -o x.index

# Of 60000 x 96 floats, 23 MB, the process may allocate 5.7 MB. The limit does not apply to the mapped file.
{ printf '\140\352\000\000\140\000\000\000'; head -c 5760000 /dev/urandom; } >bytes.u8bin
large() { capball convert bytes.u8bin -o large.fbin --dtype f32 && capball convert large.fbin -o few.fbin --rows 59997:; }
in_quarter() { (ulimit -d 5760 && "$@" --threads 1); }
if (ulimit -d 5760 && capball --version) >/dev/null 2>&1; then
  check "a set of 60000 x 96" large
  check "an index is built in a quarter of its memory" in_quarter capball index build large.fbin -o large.index
  check "and searched in it" in_quarter capball index search large.index few.fbin -k 4 -o ids.csv --distances away.csv
  same_as_knn() { capball knn large.fbin few.fbin -k 4 -o near.csv --distances far.csv && cmp near.csv ids.csv && cmp far.csv away.csv; }
  check "with the results of knn" same_as_knn
  # Rows are added in blocks of 2^24 numbers, queries are answered in blocks of 4096; both are counted from the first of the file.
  many() { { printf '\260\217\006\000\050\000\000\000'; head -c 17200000 /dev/urandom; } >many.u8bin &&
    capball convert many.u8bin -o many.npy --dtype f16 && capball convert many.npy -o few.npy --rows 0:100 && capball index build few.npy -o many.index &&
    { head -c $((128 + 80 * 429999)) many.npy; printf '\000\176'; tail -c 78 many.npy; } >nan.npy; }
  check "430000 rows, the last with NaN" many
  refuses "a bad row in the second block" 1 'nan.npy: row 429999 .*NaN' capball index add many.index nan.npy
  check "the rows before are there" eval 'capball index info many.index | grep -q "^419532 rows"'
  refuses "it says so" 1 'nan.npy: rows 0 to 419431 have been added' capball index add many.index nan.npy
  { head -c 128 many.npy | sed 's/430000/5000  /'; tail -c 400000 nan.npy; } >last.npy
  refuses "a bad query in the second block" 1 'last.npy: row 4999 .*NaN' capball index search many.index last.npy -k 1 -o x.csv
else
  skip "little memory" "memory cannot be limited here, or a sanitizer needs it"
fi

# A build that is killed at any time leaves nothing, or the whole index.
killed() {
  local delay pid
  for delay in 0.002 0.005 0.01 0.02 0.05 0.1; do
    rm -rf place && mkdir place
    capball index build bytes.u8bin -o place/it.index & pid=$!
    sleep "$delay"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    case $(ls -A place) in '') ;; it.index) capball index check place/it.index || return 1 ;; *) ls -A place && return 1 ;; esac
  done
}
check "a build that is killed leaves no part of a file" killed
finish
