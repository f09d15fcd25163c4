#!/usr/bin/env bash
# libhdf5 is loaded by the commands that open an HDF5 file and by no other; where it is missing, those commands name
# the package, and the rest works. TAP.
. "$(dirname "$0")/../support/tap.sh"
capball --version | grep -q 'HDF5: yes' || { skip "HDF5 on demand" "built without it"; finish; exit 0; }
loads() { LD_DEBUG=files "$@" 2>&1 >/dev/null | sed -n 's/.*calling init: .*\/\(libhdf5[^/]*\.so[^/]*\)$/\1/p'; }
does_not_load() { [ -z "$(loads "$@")" ]; }
printf '1,2\n3,4\n' >a.csv
library=$(loads capball convert a.csv a.hdf5 -q)
if [ -z "$library" ]; then skip "HDF5 on demand" "this loader does not list what it loads"; finish; exit 0; fi

check "--version loads no libhdf5" does_not_load capball --version
check "fit loads no libhdf5" does_not_load capball fit a.csv -o map.json -q
check "convert to .npy loads no libhdf5" does_not_load capball convert a.csv a.npy -q
check "reading HDF5 loads libhdf5" test "$(loads capball convert a.hdf5 b.csv -q)" = "$library"
check "the rows come back" cmp a.csv b.csv
if nm -D "$BUILD/libcapball.so" >/dev/null 2>&1; then
  check "the shared library does not need libhdf5" bash -c "! ldd '$BUILD/libcapball.so' | grep -q libhdf5"
fi

mkdir broken && : >"broken/$library"
export LD_LIBRARY_PATH=$PWD/broken
refuses "reading without libhdf5" 1 'a\.hdf5: the HDF5 library cannot be loaded \(.*libhdf5.*\); install it, .*libhdf5-dev' \
  capball convert a.hdf5 c.csv
refuses "writing without libhdf5" 1 'c\.hdf5: the HDF5 library cannot be loaded .*libhdf5-dev' capball convert a.csv c.hdf5
check "nothing is left behind" test "$(echo c.* .c.*)" = 'c.* .c.*'
check "other formats work without libhdf5" capball convert a.csv c.npy
finish
