#!/usr/bin/env bash
# `make release`: what it refuses, and a release of archives alone in a clone, dry and applied.
. "$(dirname "$0")/../support/tap.sh"
if ! git -C "$root" rev-parse HEAD >/dev/null 2>&1; then
  skip "make release" "this tree is no clone: it may be the archive itself"
  finish
  exit
fi

git clone -q "$root" "$work/clone" && cd "$work/clone" || exit 1
git config user.name test && git config user.email test@localhost
version=$(grep -m 1 '^## ' CHANGELOG.md | sed -E 's/^## ([0-9.]+).*/\1/')
export PARTS=archive
rejects() { # words arguments..
  local words=$1
  shift
  ! tools/release "$@" >out 2>&1 && grep -q "$words" out
  verdict $? "refused: $words"
}
rejects "three numbers" 1.2
rejects "begins with" 99.0.0
rejects "usage" "$version" now
echo >>README.md
rejects "not committed" "$version"
git checkout -q README.md

check "a dry release" make -s release VERSION="$version"
(cd "build/release/$version" && sha256sum -c SHA256SUMS) >out 2>&1
verdict $? "its sums"
tar xzf "build/release/$version/capball-$version.tar.gz" && grep -qE "^## $version \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$" "capball-$version/CHANGELOG.md"
verdict $? "the archive has the date of the release"
[ -z "$(git tag -l "v$version")" ] && git diff --quiet HEAD
verdict $? "nothing was changed"

sed -i "0,/^## /s/^## $version.*/## 99.1.0/" CHANGELOG.md && git commit -qam "changes of another version"
check "an applied release" make -s release VERSION=99.1.0 APPLY=1
git diff --quiet HEAD && [ "$(git rev-parse 'v99.1.0^{commit}')" = "$(git rev-parse HEAD)" ]
verdict $? "its commit has the tag"
grep -q '^#define CPB_VERSION_MAJOR 99$' include/capball/status.h && grep -qE '^## 99\.1\.0 \(20' CHANGELOG.md
verdict $? "the version is in status.h, the date in CHANGELOG.md"
rejects "there is a tag" 99.1.0
sed -i '0,/^## /s/^## .*/## 98.0.0/' CHANGELOG.md && git commit -qam "an older version"
rejects "is before" 98.0.0
sed -i '0,/^## /s/^## .*/## 99.1.1/' CHANGELOG.md && sed -i 1d tools/symbols.txt && git commit -qam "a patch that takes something away"
rejects "are gone" 99.1.1
finish
