#!/bin/sh
# verify_cases.sh ONDINE CASES FOLDER [OPTION...]: runs the cases below CASES/FOLDER. The environment
# variable ONDINE_CASES replaces CASES. Exits with 77, which ctest counts as skipped, without them.
set -eu
ondine=$1
folder=${ONDINE_CASES:-$2}/$3
shift 3
if [ ! -d "$folder" ]; then
  echo "skipped: there is no folder $folder" >&2
  exit 77
fi
exec "$ondine" verify "$folder" --run-setup "$@"
