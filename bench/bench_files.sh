#!/usr/bin/env bash
# Embedding a file, page cache to page cache, against `cat in > out` of the same file.
#
#   bench/bench_files.sh [MiB [runs]]     default 2048 MiB, best of 3, interleaved
#   D=128          columns                 WORK      where the three files go (about 3 times the size)
#
# WORK is /dev/shm unless set: capball waits until its output is on the disk (fsync), cat does not, so on
# a disk this would measure the disk.
# Prints one line per number of threads: seconds, ratio to cat (bytes in + out per second of either), peak RSS.
mib=${1:-2048} runs=${2:-3} d=${D:-128}
. "$(dirname "$0")/support/big_file.sh"

"$capball" fit "$work/in.fbin" -o "$work/map.json" --scale 11 --center none --quiet
copy() { cat "$work/in.fbin" >"$work/copy"; }
embed() { "$capball" embed -m "$work/map.json" "$work/in.fbin" -o "$work/out.fbin" --threads "$1" --quiet; }

cat "$work/in.fbin" >/dev/null
declare -A best
for ((run = 0; run < runs; run++)); do
  for what in copy 1 2; do
    rm -f "$work/copy" "$work/out.fbin"
    if [ "$what" = copy ]; then now=$(seconds copy); else now=$(seconds embed "$what"); fi
    best[$what]=$(least "${best[$what]:-}" "$now")
  done
done
in_bytes=$(stat -c %s "$work/in.fbin") out_bytes=$(stat -c %s "$work/out.fbin")
echo "# $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $("$capball" --version | tr '\n' ' ')"
echo "# bench/bench_files.sh $mib $runs   f32, n = $rows, d = $d, cat ${best[copy]} s"
for threads in 1 2; do
  rss=$(/usr/bin/env python3 - "$capball" "$work" "$threads" <<'PYTHON'
import resource
import subprocess
import sys
capball, work, threads = sys.argv[1:]
subprocess.run([capball, "embed", "-m", work + "/map.json", work + "/in.fbin", "-o", work + "/out.fbin",
                "--threads", threads, "--quiet"], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
PYTHON
  )
  awk -v t="$threads" -v own="${best[$threads]}" -v cat="${best[copy]}" -v i="$in_bytes" -v o="$out_bytes" -v rss="$rss" \
    'BEGIN { printf "%d thread%s  %.3f s  %.2f GB/s  ratio to cat %.2f  peak RSS %d MiB\n", t, (t > 1 ? "s" : " "), own,
             (i + o) / own / 1e9, (i + o) / own / (2 * i / cat), rss }'
done
