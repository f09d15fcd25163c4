#!/usr/bin/env bash
# Job: "I write C." The program of the tutorial, compiled against this library, prints what the tutorial says.
. "$(dirname "$0")/../support/tap.sh"

fenced() { awk -v word="$1" '$0 == "```" word { on = 1; next } /^```/ { if (on) exit } on' "$root/docs/tutorials/c-program.md"; }
fenced c >program.c
fenced text >expected
check "the tutorial has a program" test -s program.c
check "and what it prints" test -s expected
library=$BUILD/libcapball.a
if [ ! -f "$library" ]; then
  skip "the program of the tutorial" "libcapball.a is not built"
else
  # shellcheck disable=SC2046
  check "it compiles" ${CC:-cc} -std=c17 -DCPB_STATIC -I "$root/include" program.c "$library" -o program -lm -lpthread -ldl \
    $(for name in libz.so libzstd.so; do ldconfig -p 2>/dev/null | grep -q " $name" && echo "-l${name:3:-3}"; done) \
    $(pkg-config --libs hdf5 2>/dev/null || { [ -d /usr/lib/x86_64-linux-gnu/hdf5/serial ] && echo "-L/usr/lib/x86_64-linux-gnu/hdf5/serial -lhdf5"; })
  check "and prints what the tutorial says" bash -c './program | cmp - expected'
fi
finish
