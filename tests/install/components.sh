#!/bin/sh
# components.sh PROGRAM SOURCE: the list of components names every library that the program needs,
# once, with a version, and is the same when it is written again.
set -eu
program=$1
tool=$2/tools/dev/components.py
first=$("$tool" "$program" 0) || exit $?
second=$("$tool" "$program" 0)
[ "$first" = "$second" ] || { echo "two lists differ" >&2; exit 1; }
failed=0
for library in $(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
  case $library in ld-linux*) continue ;; esac
  count=$(printf '%s\n' "$first" | grep '"linked: ' | grep -oF "$library" | wc -l)
  [ "$count" -eq 1 ] || { echo "$library stands $count times in the list" >&2; failed=1; }
done
names=$(printf '%s\n' "$first" | grep -c '^   "name": ')
versions=$(printf '%s\n' "$first" | grep -cE '^   "version": "[0-9]')
[ "$names" -eq "$versions" ] || { echo "$names components, $versions versions" >&2; failed=1; }
exit $failed
