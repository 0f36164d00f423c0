#!/bin/sh
# The thread pool under valgrind's helgrind: no finding beside those of tools/dev/helgrind.supp, and
# the race of a loop's body is one.  helgrind.sh SOURCE BUILD_DIR
set -eu
source=$1
build=$2
if ! command -v valgrind >/dev/null; then
  echo "skipped: no valgrind (Debian package valgrind)"
  exit 77
fi
helgrind() {
  valgrind --tool=helgrind --suppressions="$source/tools/dev/helgrind.supp" --error-exitcode=9 \
    --history-level=approx "$build/bin/test_core" "$@"
}
helgrind "every index*,an exception of*,chunks run*,a loop returns*,no chunk begins*,a pool that*"
if helgrind "[.race]" >"$build/race.log" 2>&1 || ! grep -q "Possible data race" "$build/race.log"; then
  cat "$build/race.log"
  echo "the race was not found"
  exit 1
fi
