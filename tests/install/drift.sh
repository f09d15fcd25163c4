#!/usr/bin/env bash
# The checks of the tree detect pages and tables that no longer match the source. Each case changes one thing in a copy
# of the tree. TAP.
. "$(dirname "$0")/../support/tap.sh"
mkdir pristine
(cd "$root" && cp -R include src contrib show cli docs tools README.md SECURITY.md "$work/pristine/")

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

for check in house check-pages; do check "$check passes on the tree" "pristine/tools/$check"; done
finds "a room that is not in the table" house 'lacks src/attic' bash -c 'mkdir src/attic && echo >src/attic/a.h'
finds "a room of the table that is gone" house 'there is no src/engine' rm -r src/engine
finds "an include of a room below" house 'base stands above files, of which it includes files/formats.h' \
  bash -c 'echo "#include \"files/formats.h\"" >>src/base/fail.c'
finds "a public header of a room below" house 'sphere stands above ball, of which it includes capball/ball.h' \
  bash -c 'echo "#include \"capball/ball.h\"" >>src/sphere/t1_embed.c'
finds "a table in another order" house 'sphere stands above statistics' \
  bash -c "sed -n '/^| .src.statistics/p' docs/house.md >row && sed -i -e '/^| .src.statistics/d' -e '/^| .src.sphere/r row' docs/house.md"
finds "a command that uses more than it may" house 'cli may use public headers and base' \
  bash -c 'echo "#include \"sphere/map_object.h\"" >>cli/cmd_fit.c'
finds "a header without a source" house 'lonely.h: has no lonely.c' bash -c 'echo "/* Nobody. */" >src/base/lonely.h'
finds "a public header without a room" house 'no room has the public header extra' bash -c 'echo >include/capball/extra.h'
finds "a header missing from the reading list" check-pages 'include/capball has extra.h' bash -c 'echo >include/capball/extra.h'
finds "a reading list in another order" check-pages 'or their order' \
  sed -i '/^#include "capball\/view.h"/d;/^#include "capball\/exec.h"/a #include "capball/view.h"' include/capball/capball.h
finds "an instruction set that the header does not name" check-pages 'src/loops has sve' \
  sed -i 's/\.name = "avx2"/.name = "sve"/' src/loops/loop_avx2.c
finds "a limit that changed in the source" check-pages 'CPB_COLS_MAX is 33554432' \
  sed -i 's/CPB_COLS_MAX = 1 << 24/CPB_COLS_MAX = 1 << 25/' src/files/formats.h
finds "a limit that another page no longer says" check-pages 'does not say "at most 2\^24"' \
  sed -i 's/at most 2^24/at most 2^20/' include/capball/file.h
finish
