#!/bin/sh
# Writes the King James Bible to WORK/bible.txt, a verse a line, `Ge1:1 In the beginning...`, from
# Debian's packages bible-kjv and bible-kjv-text, which do not need to be installed: bible.sh WORK
# Exits with 77 where they cannot be had.
set -eu
cd "$1"
[ ! -s bible.txt ] || exit 0
if ! command -v bible >/dev/null; then
  if ! apt-get download -qq bible-kjv bible-kjv-text >fetch.log 2>&1; then
    echo "skipped: the packages bible-kjv and bible-kjv-text cannot be had" >&2
    exit 77
  fi
  for package in bible-kjv*.deb; do
    dpkg-deb -x "$package" debian
    rm "$package"
  done
fi
PATH=$PWD/debian/usr/bin:$PATH
bible -f -p "$PWD/debian/usr/lib:/usr/lib" gen1:1-rev22:21 </dev/null >bible.part
mv bible.part bible.txt
