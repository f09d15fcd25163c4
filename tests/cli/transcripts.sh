#!/usr/bin/env bash
# Every file of expected/ is a session: lines "$ command", then what it prints; lines of stderr begin with
# "! ", and "? N" is an exit code other than 0. Each command is one case.
# `tests/cli/transcripts.sh --write` rewrites them from the current output: review the diff.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/tap.sh"

replay() {
  local line
  while IFS= read -r line; do
    case $line in '$ '*) ;; *) continue ;; esac
    echo "$line"
    local code=0
    (eval "${line#"$ "}") >"$work/out" 2>"$work/err" </dev/null || code=$?
    if [ -s "$work/out" ]; then cat "$work/out"; fi
    if [ -s "$work/err" ]; then sed "s/^/! /" "$work/err"; fi
    if [ "$code" != 0 ]; then echo "? $code"; fi
  done <"$1" | sed "s|$BUILD|BUILD|g"
}

# Splits a transcript into one file per command.
cut_up() { awk -v to="$2" '/^\$ / { n++ } { print > sprintf("%s.%03d", to, n) }' "$1"; }

# Without a process: diff explains what differs.
same() {
  local a b
  IFS= read -rd '' a <"$1"
  IFS= read -rd '' b <"$2"
  [ "$a" = "$b" ]
}

for session in "$here"/expected/*.txt; do
  name=$(basename "$session" .txt)
  mkdir "$work/$name"
  (cd "$work/$name" && replay "$session") >"$work/$name.got"
  if [ "${1:-}" = --write ]; then
    cp "$work/$name.got" "$session"
    continue
  fi
  cut_up "$session" "$work/want.$name"
  cut_up "$work/$name.got" "$work/got.$name"
  for want in "$work/want.$name".*; do
    got=${want/want.$name/got.$name}
    IFS= read -r line <"$want"
    if same "$want" "$got"; then verdict 0 "$name: ${line:2}"; else check "$name: ${line:2}" diff "$want" "$got"; fi
  done
done
finish
