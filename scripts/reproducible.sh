#!/bin/sh
# Builds the command line and the library twice, from copies of the last commit in two folders of
# different names, and compares them byte by byte.
set -eu
cd "$(dirname "$0")/.."
work=$(pwd)/build-reproducible
rm -rf "$work"
for copy in first another-name/second; do
  mkdir -p "$work/$copy"
  git archive HEAD | tar -x -C "$work/$copy"
  cmake -S "$work/$copy" -B "$work/$copy/build" -G Ninja -DONDINE_TESTS=OFF -DONDINE_EXAMPLES=OFF
  cmake --build "$work/$copy/build" --target ondine_cli
done
failed=0
for file in bin/ondine libondine.a; do
  if cmp "$work/first/build/$file" "$work/another-name/second/build/$file"; then
    echo "same bytes: $file"
  else
    failed=1
  fi
done
exit $failed
