#!/bin/sh
# reproducible.sh [TARGET...]
# Makes artifacts of the last commit twice, in clones in two folders of different names, and compares
# them byte by byte. Where there is a ccache, the first may take objects from it; the second compiles
# all. The package for browsers is made twice in one folder and without ccache: emscripten's compiler
# orders code of exceptions by addresses, which depend on the words of its command. Targets:
#   linux    the command line and the library (without targets: this one)
#   deb      Debian packages (scripts/deb.sh)
#   wheel    the wheel for Python 3.12 and later (scripts/wheels.sh)
#   npm      the package for browsers and Node (scripts/wasm.sh)
# From the environment: JOBS (1). Exits with 77 where a script does.
set -eu
cd "$(dirname "$0")/.."
source=$PWD
work=$source/build-reproducible
: "${JOBS:=1}"
export JOBS
unset WORK MACHINES OPERATORS # the scripts have folders of their own

make_linux() {
  cmake -S . -B build -G Ninja -DONDINE_TESTS=OFF -DONDINE_EXAMPLES=OFF
  cmake --build build -j "$JOBS" --target ondine_cli
  made="build/bin/ondine build/libondine.a"
}

make_deb() {
  scripts/deb.sh
  made=$(echo build-deb/*.deb)
}

make_wheel() {
  PYTHONS=3.12 scripts/wheels.sh
  made=$(echo build-wheels/dist/*.whl)
}

make_npm() {
  CCACHE_DISABLE=1 TOOLS=$work/emscripten scripts/wasm.sh
  made=$(echo build-wasm/ondine-*.tgz)
}

for target in ${*:-linux}; do
  case $target in
    linux | deb | wheel | npm) ;;
    *) echo "no target $target; there are: linux deb wheel npm" >&2; exit 2 ;;
  esac
done
mkdir -p "$work"
failed=0
for target in ${*:-linux}; do
  copies="first another-name/second"
  if [ "$target" = npm ]; then copies="first first"; fi
  number=1
  for copy in $copies; do
    rm -rf "${work:?}/$copy" "$work/made$number"
    git clone -q "$source" "$work/$copy"
    cd "$work/$copy"
    "make_$target"
    mkdir "$work/made$number"
    # shellcheck disable=SC2086
    cp $made "$work/made$number"
    number=2
    export CCACHE_RECACHE=1
  done
  unset CCACHE_RECACHE
  for file in "$work"/made1/*; do
    if cmp "$file" "$work/made2/$(basename "$file")"; then
      echo "same bytes: $(basename "$file")"
    else
      failed=1
    fi
  done
done
exit $failed
