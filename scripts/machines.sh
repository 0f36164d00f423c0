#!/bin/sh
# machines.sh MACHINE...
# Builds the command line and the library for machines of scripts/targets.txt, and packs them as
# build-machines/ondine-VERSION-linux-MACHINE.tar.gz (for Windows a .zip): bin/ondine, headers, terms,
# and lib/libondine.a with all libraries that it needs but those of C and C++. From the environment:
#   MACHINES JOBS    folder of the builds (build-machines); 1
#   TESTS            yes: the tests of tests/cross as well, which scripts/test_everywhere.sh runs
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,7p' "$0" >&2; exit 2; }
version=$(sed -n 's/^project(ondine VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
. scripts/target.sh
for machine; do read_target; done
get_compiler

# One archive in place of one for each library.
pack() {
  name=ondine-$version-$label
  folder=$work/install/$name
  rm -rf "$work/install"
  mkdir -p "$folder/bin" "$folder/lib"
  cp "$work/library/bin/ondine$exe" "$folder/bin"
  "$zig" ar qLcs "$folder/lib/libondine.a" "$work/library/libondine.a" "$work/prefix/lib"/*.a
  cp -r include LICENSE NOTICE "$folder"
  copy_licenses "$folder/licenses"
  archive=$MACHINES/$name.tar.gz
  [ -z "$exe" ] || archive=$MACHINES/$name.zip
  scripts/archive.sh "$work/install" "$name" "$archive"
  for file in "$folder/bin/ondine$exe" "$folder/lib/libondine.a" "$archive"; do
    printf '%-14s %-40s %9d bytes\n' "$machine" "$(basename "$file")" "$(stat -c %s "$file")"
  done
}

# Tests that link what was packed. Those of Windows are part of its build.
build_tests() {
  [ "${TESTS:-}" = yes ] && [ -z "$exe" ] || return 0
  cmake -S tests/cross -B "$work/tests" -G Ninja --toolchain "$work/prefix/toolchain.cmake" \
    ${emulator:+"-DCMAKE_CROSSCOMPILING_EMULATOR=$emulator;-L;$system"} \
    -DONDINE_ARCHIVE="$folder/lib/libondine.a" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"
  cmake --build "$work/tests" -j "$JOBS" --target golden rooms
}

for machine; do
  read_target
  configure_target
  cmake --build "$work/library" -j "$JOBS" --target ondine_cli ondine \
    ${exe:+test_windows}
  pack
  build_tests
done
