#!/bin/sh
# Runs the program in C: run.sh PROGRAMS LANGUAGE WORK [--valgrind]
set -eu
programs=$1
language=$2
work=$3
rm -rf "$work"
"$programs/bindings_models" "$work"
if [ "${4:-}" != --valgrind ]; then
  "$programs/bindings_$language" "$work"
  exit
fi
if ! command -v valgrind >/dev/null; then
  echo "skipped: no valgrind (Debian package valgrind)"
  exit 77
fi
valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite,indirect --error-exitcode=9 \
  "$programs/bindings_$language" "$work"
