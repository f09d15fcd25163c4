#!/bin/sh
# seed_corpus.sh FUZZER GOLDEN CORPUS: the golden files, and those of fuzz/corpus/NAME, as seeds of fuzz_NAME, in
# CORPUS/NAME.
set -e
fuzzer=$1 golden=$2 corpus=$3/${1#fuzz_}
mkdir -p "$corpus"
# seed NUMBER FILE: the byte that chooses the format, as a file and (bit 7) as a pipe, and the bytes
seed() {
  for byte in "$1" $(($1 + 128)); do
    { printf "\\$(printf %o "$byte")"; cat "$2"; } >"$corpus/$byte-$(basename "$2")"
  done
}
for file in "$golden/../../fuzz/corpus/${fuzzer#fuzz_}"/*; do
  if [ -f "$file" ]; then cp "$file" "$corpus"; fi
done
case $fuzzer in
fuzz_reader)
  i=0
  for extension in fvecs bvecs ivecs fbin u8bin i8bin f16bin ibin npy csv tsv libsvm; do
    for file in "$golden"/*."$extension"; do
      if [ -f "$file" ]; then seed $i "$file"; fi
    done
    i=$((i + 1))
  done
  ;;
fuzz_dual)
  for file in "$golden"/../cli/*.jsonl; do
    i=0
    while read -r line; do
      { printf '\0'; printf '%s\n' "$line" | sed 's/.*"in":\(.*\),"out".*/\1/'; } >"$corpus/line-$i"
      i=$((i + 1))
    done <"$file"
  done
  ;;
fuzz_hdf5)
  for file in "$golden"/*.hdf5; do
    if [ -f "$file" ]; then cp "$file" "$corpus"; fi
  done
  ;;
fuzz_state)
  for file in "$golden"/*.state; do
    if [ -f "$file" ]; then cp "$file" "$corpus"; fi
  done
  ;;
fuzz_json)
  for file in "$golden"/*.json; do
    if [ -f "$file" ]; then cp "$file" "$corpus"; fi
  done
  ;;
fuzz_number)
  i=0
  for text in 1.5e-3 -0.00010 1e5 nan -inf 0x1p3 .1e400 123456789012345678901234567890 4.9406564584124654e-324 \
    1.7976931348623158e308 9007199254740993; do
    printf '\020\000\002%s' "$text" >"$corpus/$i"
    i=$((i + 1))
  done
  printf '\001\000\002 .12 ' >"$corpus/zeros"
  printf ' \020 \t\r' >"$corpus/blanks"
  ;;
esac
