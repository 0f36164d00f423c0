#!/bin/sh
# The shared library exports the public API only: the symbols in exports.txt. A program that sees
# the public headers alone builds against it and runs.
#   exports.sh LIBRARY WORK       ONDINE_UPDATE_DOCS=1 writes the list anew
set -eu
library=$1
work=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
nm --dynamic --defined-only --demangle --format=posix "$library" |
  sed -E 's/ [A-Za-z] [0-9a-f]+( [0-9a-f]+)?$//' | LC_ALL=C sort -u >"$work/exports.txt"
if [ -n "${ONDINE_UPDATE_DOCS:-}" ]; then
  cp "$work/exports.txt" "$here/exports.txt"
fi
if ! diff -u "$here/exports.txt" "$work/exports.txt"; then
  echo "the exports of $library are not those of tests/install/exports.txt;" \
    "ONDINE_UPDATE_DOCS=1 writes the list anew" >&2
  exit 1
fi
"${CXX:-c++}" -std=c++20 -I"$here/../../include" "$here/consumer/main.cpp" "$library" \
  -o "$work/consumer"
LD_LIBRARY_PATH=$(dirname "$library") "$work/consumer"
