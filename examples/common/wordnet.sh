#!/bin/sh
# Puts WordNet's files (data.noun and the like) into WORK/wordnet, from Debian's package
# wordnet-base, which does not need to be installed: wordnet.sh WORK
# Exits with 77 where they cannot be had.
set -eu
cd "$1"
[ ! -s wordnet/data.noun ] || exit 0
if [ -s /usr/share/wordnet/data.noun ]; then
  ln -sfn /usr/share/wordnet wordnet
  exit 0
fi
if ! apt-get download -qq wordnet-base >fetch.log 2>&1; then
  echo "skipped: the package wordnet-base cannot be had" >&2
  exit 77
fi
dpkg-deb -x wordnet-base*.deb unpacked
rm wordnet-base*.deb
ln -sfn unpacked/usr/share/wordnet wordnet
