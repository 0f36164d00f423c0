#!/bin/sh
# The types and functions of <ondine/c.h>, as debugging information has them, are compatible with
# c.abi: programs that were linked before still run.
#   abi.sh LIBRARY WORK       ONDINE_UPDATE_ABI=1 writes c.abi anew
# Exits with 77, which ctest counts as skipped, where abidw and abidiff cannot be installed.
set -eu
library=$1
work=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
if ! command -v abidw >/dev/null || ! command -v abidiff >/dev/null; then
  "$here/../../scripts/install_dependencies.sh" abigail-tools >"$work/install.log" 2>&1 || :
fi
if ! command -v abidw >/dev/null || ! command -v abidiff >/dev/null; then
  echo "skipped: no abidw and abidiff (Debian package abigail-tools)"
  exit 77
fi
# What lies behind the handles is no part of the interface, and neither is where the sources are.
abidw --exported-interfaces-only --headers-dir "$here/../../include/ondine" \
  --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs --no-architecture \
  "$library" >"$work/c.abi"
if [ -n "${ONDINE_UPDATE_ABI:-}" ]; then
  cp "$work/c.abi" "$here/c.abi"
fi
if ! abidiff "$here/c.abi" "$work/c.abi"; then
  echo "<ondine/c.h> differs from tests/bindings/c.abi. If programs that exist still run with it," \
    "ONDINE_UPDATE_ABI=1 ctest -R bindings/abi writes the file anew." >&2
  exit 1
fi
