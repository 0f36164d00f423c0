#!/bin/sh
# The program and the table of a README's quick start, as they are written: quick_start.sh LANGUAGE
# README PROGRAM TABLE
set -eu
block() {
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$readme" | sed '1d; /^```$/,$d'
}
readme=$2
block "$1" >"$3"
block csv >"$4"
for file in "$3" "$4"; do
  [ -s "$file" ] || { echo "$readme has no block for $file" >&2; exit 1; }
done
