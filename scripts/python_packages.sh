#!/bin/sh
# python_packages.sh FOLDER PACKAGE...: installs packages from PyPI in a virtual environment in FOLDER,
# below the build folder, and leaves what is there already alone. PACKAGE is what pip takes, also
# `-r FILE`; PYTHON names the interpreter (python3). Exits with 77 when they cannot be had, so that
# ctest counts the test as skipped.
set -u
folder=$1
shift
if [ ! -x "$folder/bin/pip" ] && ! "${PYTHON:-python3}" -m venv "$folder" >"$folder.log" 2>&1; then
  echo "skipped: no virtual environment in $folder (is python3-venv installed?)" >&2
  cat "$folder.log" >&2
  rm -rf "$folder"
  exit 77
fi
# Without a look at the index where everything is there.
"$folder/bin/pip" install -q --no-index "$@" >/dev/null 2>&1 && exit 0
if ! "$folder/bin/pip" install -q --disable-pip-version-check "$@" >"$folder.log" 2>&1; then
  echo "skipped: cannot install from PyPI: $*" >&2
  tail -3 "$folder.log" >&2
  exit 77
fi
