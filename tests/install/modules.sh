#!/usr/bin/env bash
# The modules of the build: each list configures, and its objects use no symbols beyond its allowed libraries. Compiler
# flags and machines that change results are rejected. TAP.
. "$(dirname "$0")/../support/tap.sh"
cc=${CC:-cc}
# Only of existing sources: a build directory keeps the objects of files that moved.
objects() {
  local module object source
  for module; do
    for object in $(find "$BUILD/CMakeFiles/cpb_$module.dir" -name '*.o' 2>/dev/null); do
      source=${object#"$BUILD/CMakeFiles/cpb_$module.dir/"}
      if [ -e "$root/${source%.o}" ]; then echo "$object"; fi
    done
  done
}
sanitizers=$(sed -n 's/^CPB_SANITIZE:STRING=\(.\+\)/-fsanitize=\1/p' "$BUILD/CMakeCache.txt")

links() { # modules, then -- libraries
  local modules=()
  while [ "$1" != -- ]; do modules+=("$1") && shift; done
  shift
  $cc $sanitizers -shared -Wl,--no-undefined -o linked.so $(objects "${modules[@]}") "$@"
}

configures() { # list of modules, then definitions
  local list=$1
  shift
  rm -rf configured && cmake -G Ninja -S "$root" -B configured -DCPB_MODULES="$list" -DCMAKE_C_COMPILER="$cc" "$@"
}
core_alone() {
  configures core -DPKG_CONFIG_EXECUTABLE=/nonexistent -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON &&
    ! ninja -C configured -t commands all | grep -E 'src/(io|json)/|/pool\.c|hdf5|pthread|-lz'
}
without_hdf5() { configures core,json && ! ninja -C configured -t commands all | grep -E 'hdf5/|-lhdf5|HAVE_HDF5|/pool\.c'; }
unknown_module() { ! configures core,sockets && configures core,sockets 2>&1 | grep -q 'no module "sockets"'; }

stops() { # a part of the sentence, then flags
  local sentence=$1
  shift
  ! $cc -std=c17 "$@" -I"$root/include" -I"$root/src" -fsyntax-only "$root/src/sphere/t3_cap_ball.c" 2>stopped &&
    grep -q "$sentence" stopped
}

check "core needs libc and libm alone" links core -- -lm
check "core and threads" links core threads -- -lm -pthread
packed=$(for module in zlib libzstd; do pkg-config --libs "$module" 2>/dev/null; done)
hdf5=$(pkg-config --libs hdf5 2>/dev/null)
if [ -d "$BUILD/CMakeFiles/cpb_hdf5_loaded.dir" ]; then
  check "core and files, HDF5 on demand" links core files hdf5_loaded -- -lm -ldl $packed
fi
check "core and files" links core files hdf5_linked -- -lm $hdf5 $packed
check "core, files and json" links core files hdf5_linked json -- -lm $hdf5 $packed
check "CPB_MODULES=core asks for no package" core_alone
check "CPB_MODULES=core,json leaves out HDF5 and the pool" without_hdf5
check "CPB_MODULES: a module that is none" unknown_module
check "-ffast-math is refused" stops "without -ffast-math" -ffast-math
check "-Ofast is refused" stops "without -ffast-math" -Ofast
check "-ffinite-math-only is refused" stops "without -ffast-math" -ffinite-math-only
case $(uname -m) in
x86_64) check "excess precision is refused" stops "rounded after every operation" -mfpmath=387 ;;
*) skip "excess precision is refused" "no x87 here" ;;
esac
finish
