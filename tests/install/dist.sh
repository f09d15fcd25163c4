#!/usr/bin/env bash
# `make dist`: the archive has every file that the build reads, and can be configured. Uncommitted files are not in it.
. "$(dirname "$0")/../support/tap.sh"
if ! git -C "$root" rev-parse HEAD >/dev/null 2>&1; then
  skip "make dist" "this tree is no clone: it may be the archive itself"
  finish
  exit
fi

made=$(make -s -C "$root" dist DIST="$work")
check "make dist" test -s "$work/$made"
version=$(sed -n 's/^#define CPB_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' "$root/include/capball/status.h" | paste -sd.)
[ "$made" = "capball-$version.tar.gz" ] && [ "$(capball --version | head -1)" = "capball $version" ]
verdict $? "it is called by the version that the command tells"
tar xzf "$made"
cd "capball-$version" || exit 1

# Sources and headers, as the compiler has read them here.
ninja -C "$BUILD" -t deps 2>/dev/null | sed -n "s#^ *\\($root/\\|[.][.]/\\)\\(.*\\)\$#\\2#p" | grep -v "^build" | sort -u >../read
[ -s ../read ]
verdict $? "what the compiler has read is known ($(wc -l <../read) files)"
while read -r file; do [ -e "$file" ] || [ ! -e "$root/$file" ] || echo "$file"; done <../read >../missing
[ ! -s ../missing ]
verdict $? "the archive has all of it"
sed 's/^/# not in the archive: /' ../missing

check "it configures" cmake -G Ninja -S . -B build
check "every file that is built is there" ninja -C build -n all tests examples
check "no file of a build is in it" bash -c "! find . -path ./build -prune -o \( -name '*.o' -o -name '*.pyc' -o -name '*.so' \) -print | grep -q ."
check "it has words of its own: README, LICENSE, CHANGELOG, SECURITY, CITATION" ls README.md LICENSE CHANGELOG.md SECURITY.md CITATION.cff
finish
