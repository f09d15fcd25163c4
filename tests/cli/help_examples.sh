#!/usr/bin/env bash
# Every example of every help page runs in an empty directory, and the pages name every option.
. "$(dirname "$0")/../support/tap.sh"

# shellcheck disable=SC2086 # a verb may have two words
mapfile -t verbs < <(capball --help | sed -n '/^Commands/,/^$/s/^  \([a-z][a-z ]\{14\}\).*/\1/p' | sed 's/ *$//')
for verb in "${verbs[@]}"; do
  if [ "$verb" = page ] && [ ! -f "$BUILD/web/index.html" ]; then
    skip "the example of page runs" "the page is not built: make web"
    continue
  fi
  capball help $verb | sed -n '/^Example/,$s/^  //p' >"$work/example.sh"
  mkdir "$work/$verb"
  (cd "$work/$verb" && check "the example of $verb runs" bash -e "$work/example.sh")
  count=$((count + 1))
  check "capball $verb --help is capball help $verb" diff <(capball help $verb) <(capball $verb --help)
done

wide() { for verb in "${verbs[@]}"; do capball help $verb; done | cat - <(capball help) | awk 'length > 80'; }
[ -z "$(wide)" ]
verdict $? "help is at most 80 columns wide"
wide | head -n 3 | sed 's/^/# /'

capball demo -o page.html >/dev/null
check "demo -o - writes the page alone to standard output" diff page.html <(capball demo -o - 2>/dev/null)
sed -n '/id="try"/,/<\/div>/p' page.html | sed 's/.*id="try"[^>]*>//; s/<\/div>//; s/&gt;/>/g' >try.sh
(mkdir "$work/try" && cd "$work/try" && bash -e "$work/try.sh") >try.out 2>&1 && grep -q '^{"cap":{"p":\[' try.out
verdict $? "the last box of the page runs as it stands, and ends with a cap"

check "the manual page is clean roff" bash -c 'capball man > capball.1 && ! command -v groff >/dev/null ||
  [ -z "$(groff -man -Tutf8 -ww -z capball.1 2>&1)" ]'
for verb in "${verbs[@]}"; do check "the manual page knows $verb" grep -q "capball $verb" <(capball man); done

check "the bash completion is bash" bash -n <(capball completion bash)
check "the bash completion offers verbs" bash -c 'source <(capball completion bash)
  COMP_WORDS=(capball unem) COMP_CWORD=1; _capball; [ "${COMPREPLY[*]}" = unembed ]'
check "the bash completion offers second words" bash -c 'source <(capball completion bash)
  COMP_WORDS=(capball sketch en) COMP_CWORD=2; _capball; [ "${COMPREPLY[*]}" = encode ]'
check "the bash completion offers options of two words" bash -c 'source <(capball completion bash)
  COMP_WORDS=(capball sketch train --ce) COMP_CWORD=3; _capball; [ "${COMPREPLY[*]}" = --certain ]'
check "the bash completion offers values" bash -c 'source <(capball completion bash)
  COMP_WORDS=(capball fit --goal h) COMP_CWORD=3; _capball; [ "${COMPREPLY[*]}" = hemisphere ]'
check "the bash completion offers options" bash -c 'source <(capball completion bash)
  COMP_WORDS=(capball fit --wh) COMP_CWORD=2; _capball; [ "${COMPREPLY[*]}" = --whiten ]'
check "the bash completion offers files, whatever their names, and no options" bash -c 'touch "a b.csv"
  source <(capball completion bash); COMP_WORDS=(capball info "") COMP_CWORD=2; _capball
  printf "%s\n" "${COMPREPLY[@]}" | grep -qx "a b.csv" && ! printf "%s\n" "${COMPREPLY[@]}" | grep -q "^--"'
check "the bash completion offers files to options" bash -c 'touch "a b.csv"; source <(capball completion bash)
  COMP_WORDS=(capball fit x -o "a ") COMP_CWORD=4; _capball; [ "${COMPREPLY[*]}" = "a b.csv" ]'
check "the bash completion offers words where there are no files" bash -c 'source <(capball completion bash)
  COMP_WORDS=(capball completion f) COMP_CWORD=2; _capball; [ "${COMPREPLY[*]}" = fish ]'
# A value that the completion offers is named by the help; the formats by that of two commands, and types are those of formats.
while IFS='|' read -r verb option words; do
  # shellcheck disable=SC2086
  help=$(capball help $verb | tr '\n' ' ')
  missing=
  for word in $words; do case $help in *[\ \(]"$word"[\ ,.:\;\)]*) ;; *) missing="$missing $word" ;; esac; done
  [ -z "$missing" ]
  verdict $? "the help of $verb explains the values of --$option"
done < <(capball completion bash | sed -n "s/^ *'\([a-z ]*\) --\([a-z-]*\)'.*) words='\(.*\)' ;;/\1|\2|\3/p" | grep -vE '\|(dtype|format|to)\|'
  capball completion bash | sed -n "s/^ *'\(convert\|info\) --format'.*) words='\(.*\)' ;;/\1|format|\2/p")
check "defaults are in the help" grep -q 'of the polynomial kernel, in .1,1000. (default 3)' <(capball help ball)
check "defaults are in the manual" grep -q 'number of neighbours (default 10)' <(capball man)
check "defaults are in the completion" grep -q 'number of neighbours (default 10)' <(capball completion zsh)
if command -v zsh >/dev/null; then check "the zsh completion is zsh" zsh -n <(capball completion zsh); fi
if command -v fish >/dev/null; then check "the fish completion is fish" fish -n <(capball completion fish); fi

while read -r file; do check "theory names $file" test -e "$root/$file"; done < <(
  capball theory | sed -n 's/^ *\(header\|source\|test\)  *//p' | tr ' ' '\n' | sort -u)
finish
