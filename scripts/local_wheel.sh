#!/bin/sh
# local_wheel.sh BUILD WORK: the wheel of ondine-train for this machine over the library of BUILD, in
# WORK/wheels. Exits with 77, which ctest counts as skipped, where PyPI cannot be reached or Python
# has no headers.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
work=$2
# The time of the files in the wheel: that of the commit.
: "${SOURCE_DATE_EPOCH:=$(git -C "$source" log -1 --format=%ct 2>/dev/null || echo 315532800)}"
export SOURCE_DATE_EPOCH
mkdir -p "$work"
"$source/scripts/python_packages.sh" "$work/make" nanobind scikit-build-core
if ! "$work/make/bin/python" -c 'import os, sysconfig
raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then
  echo "skipped: no headers of Python (Debian package python3-dev)"
  exit 77
fi
# Without the command line, which has a component of its own.
cmake --install "$build" --component Unspecified --prefix "$work/prefix" >/dev/null
rm -rf "$work/wheels"
PATH="$work/make/bin:$PATH" CMAKE_PREFIX_PATH="$work/prefix" "$work/make/bin/pip" wheel -q --no-deps \
  --no-build-isolation -w "$work/wheels" "$source" -C build-dir="$work/build"
