#!/usr/bin/env bash
# Data in pieces: any division, any order of merging and any number of threads give the same map, to the byte.
. "$(dirname "$0")/../support/tap.sh"
data=$root/../shared/data

# gather PIECES..: each "first:last" of x.npy; both passes, merged in the given order, into map.json
gather() {
  local piece i=0
  rm -f ./*.state map.json
  for piece; do
    capball convert x.npy piece$i.npy --rows "$piece" -q
    capball fit piece$i.npy --state $i.state --first-row "${piece%%:*}" --threads $((i % 2 ? 8 : 1)) -q || return 1
    i=$((i + 1))
  done
  capball merge $(ls -r -- *.state) -o all -q || return 1
  case $goal in spread | recall) capball merge all -o map.json --goal "$goal" -q; return ;; esac
  i=0
  for piece; do
    capball fit piece$i.npy --about all --state $i.norms --threads $((i % 2 ? 1 : 8)) -q || return 1
    i=$((i + 1))
  done
  capball merge $(ls -- *.norms | sort -R --random-source=/dev/zero) -o map.json --goal "$goal" -q
  rm -f ./*.norms
}

even() { for ((i = 0; i < $1; i++)); do echo $(($2 * i / $1)):$(($2 * (i + 1) / $1)); done; }

# nothing but an empty piece, one row, and the rest
skewed="0:0 0:1 1:2 2:2 2:1999 1999:2000"

set=bigann10k-sift-128-euclidean
if [ -e "$data/$set/base.npy" ]; then
  capball convert "$data/$set/base.npy" x.npy --rows :2000 -q
  for goal in mean median hemisphere spread recall; do
    gather 0:2000
    capball fit x.npy -o plain.json --goal $goal -q
    check "$goal: merged is as fitted" diff <(sed 's/"source": [^,]*/"source": null/' plain.json) map.json
  done
  for goal in recall median; do
    gather 0:2000
    cp map.json whole.json
    # a hundred pieces are three hundred commands: once, for the goal that takes both passes
    hundred=$([ $goal = median ] && even 100 2000)
    for cut in "$(even 2 2000)" "$(even 7 2000)" "$skewed" ${hundred:+"$hundred"}; do
      # shellcheck disable=SC2086
      gather $cut
      # shellcheck disable=SC2086
      check "$goal: $(echo $cut | wc -w) pieces give the same map" cmp whole.json map.json
    done
  done
  rm -f piece*.npy
  capball fit x.npy -o one.json --goal recall --threads 1 -q
  capball fit x.npy -o eight.json --goal recall --threads 8 -q
  check "1 and 8 threads give the same map" cmp one.json eight.json
else
  skip "pieces" "../shared/data/$set is not here"
fi
finish
