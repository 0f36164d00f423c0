#!/bin/sh
# archive.sh FOLDER NAME FILE: packs FOLDER/NAME as FILE (.tar.gz or .zip) with the time of the last
# commit: the same bytes for the same files.
set -eu
date=$(git -C "$(dirname "$0")" log -1 --format=%ct)
case $3 in
  *.zip) exec python3 "$(dirname "$0")/zip_folder.py" "$1" "$2" "$3" "$date" ;;
esac
tar --sort=name --mtime="@$date" --owner=0 --group=0 --numeric-owner -C "$1" -c "$2" |
  gzip -9n >"$3"
