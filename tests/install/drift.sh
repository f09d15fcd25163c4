#!/usr/bin/env bash
# The checks of the tree detect pages and tables that no longer match the source. Each case changes one thing in a copy
# of the tree. TAP.
. "$(dirname "$0")/../support/tap.sh"
mkdir pristine
(cd "$root" && cp -R include src engines show cli docs tools README.md SECURITY.md "$work/pristine/")

# finds TEXT CHECK PATTERN COMMAND..: the check passes on the tree and reports PATTERN after the command.
finds() {
  local text=$1 check=$2 pattern=$3
  shift 3
  rm -rf tree && cp -R pristine tree
  (cd tree && "$@")
  if diff -rq pristine tree >/dev/null; then verdict 1 "$text: nothing was changed"; return; fi
  if "tree/tools/$check" >drift.out 2>&1; then
    verdict 1 "$text"
  else
    grep -qE -- "$pattern" drift.out
    verdict $? "$text"
    grep -qE -- "$pattern" drift.out || sed 's/^/# /' drift.out
  fi
}

for check in check-layers check-pages; do check "$check passes on the tree" "pristine/tools/$check"; done
finds "a module that is not in the table" check-layers 'lacks attic' bash -c 'mkdir src/attic && echo >src/attic/a.h'
finds "a module of the table that is gone" check-layers 'a module json that does not exist' rm -r src/json
finds "an include that the table does not allow" check-layers 'core may not include "?io/format.h' \
  bash -c 'echo "#include \"io/format.h\"" >>src/base/fail.c'
finds "a public header of a module above" check-layers 'geometry may not include capball/fit.h' \
  bash -c 'echo "#include \"capball/fit.h\"" >>src/sphere/t1_embed.c'
finds "a row of the table that allows less" check-layers 'learn may not include scale/' \
  sed -i '/^| `src\/learn/s/ batch scale / batch /' docs/house.md
finds "a public header without a module" check-layers 'no module has the public header extra' bash -c 'echo >include/capball/extra.h'
finds "a header missing from the reading list" check-pages 'include/capball has extra.h' bash -c 'echo >include/capball/extra.h'
finds "a reading list in another order" check-pages 'or their order' \
  sed -i '/^#include "capball\/view.h"/d;/^#include "capball\/exec.h"/a #include "capball/view.h"' include/capball/capball.h
finds "an instruction set that the header does not name" check-pages 'src/loops has sve' \
  sed -i 's/\.name = "avx2"/.name = "sve"/' src/loops/loop_avx2.c
finds "a limit that changed in the source" check-pages 'CPB_COLS_MAX is 33554432' \
  sed -i 's/CPB_COLS_MAX = 1 << 24/CPB_COLS_MAX = 1 << 25/' src/files/format.h
finds "a limit that another page no longer says" check-pages 'does not say "at most 2\^24"' \
  sed -i 's/at most 2^24/at most 2^20/' include/capball/file.h
finish
