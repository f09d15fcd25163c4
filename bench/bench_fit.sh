#!/usr/bin/env bash
# Fitting a file in the page cache, per pass over it, against `cat file > /dev/null`.
#
#   bench/bench_fit.sh [MiB [runs]]     default 1024 MiB, best of 5, taking turns
#   D=128          columns, f32          WORK      where the file goes; /dev/shm unless set
#
# cat is told to read into memory and throw away: `cat file > /dev/null` copies every byte once.
mib=${1:-1024} runs=${2:-5} d=${D:-128}
. "$(dirname "$0")/support/big_file.sh"

cat_best='' one_best='' two_best=''
for ((run = 0; run < runs; run++)); do
  cat_best=$(least "$cat_best" "$(seconds cat "$work/in.fbin")")
  one_best=$(least "$one_best" "$(seconds "$capball" fit "$work/in.fbin" --state "$work/one.state" --quiet)")
  two_best=$(least "$two_best" "$(seconds "$capball" fit "$work/in.fbin" -o "$work/map.json" --quiet)")
done
echo "# $(nproc) processors, $("$capball" --version | sed -n 's/loops: /loops /p'), $mib MiB, $rows x $d f32, best of $runs"
awk -v cat="$cat_best" -v one="$one_best" -v two="$two_best" -v mib="$mib" 'BEGIN {
  printf "cat               %.3f s  %.1f GB/s\n", cat, mib * 1048576e-9 / cat
  printf "pass 1 (--state)  %.3f s  %.2f of cat\n", one, cat / one
  printf "both passes       %.3f s  %.2f of cat per pass\n", two, 2 * cat / two }'
