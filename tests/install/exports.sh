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
  sed -E 's/ [A-Za-z] [0-9a-f]+( [0-9a-f]+)?$//; s/@@ONDINE_CXX$//; /^ONDINE_[A-Z0-9_]+(@@.*)?$/d' | LC_ALL=C sort -u >"$work/exports.txt"
if [ -n "${ONDINE_UPDATE_DOCS:-}" ]; then
  cp "$work/exports.txt" "$here/exports.txt"
fi
if ! diff -u "$here/exports.txt" "$work/exports.txt"; then
  echo "the exports of $library are not those of tests/install/exports.txt;" \
    "ONDINE_UPDATE_DOCS=1 writes the list anew" >&2
  exit 1
fi
# What <ondine/c.h> declares and what is exported are the same.
sed -n 's/^\(ondine_[a-z0-9_]*\)@@ONDINE_C_[0-9]*$/\1/p' "$work/exports.txt" >"$work/exported_c.txt"
cat "$here"/../../include/ondine/c*.h | tr '\n' ' ' |
  grep -oE 'ONDINE_C_API [a-z_ *]*ondine_[a-z0-9_]*\(' | sed -E 's/.*[ *](ondine_[a-z0-9_]*)\(/\1/' |
  LC_ALL=C sort >"$work/declared_c.txt"
diff -u "$work/declared_c.txt" "$work/exported_c.txt"
"${CXX:-c++}" -std=c++20 -I"$here/../../include" "$here/consumer/main.cpp" "$library" \
  -o "$work/consumer"
libraries=$(cd "$(dirname "$library")" && pwd)
cd "$work" # where it writes its models
LD_LIBRARY_PATH=$libraries ./consumer
