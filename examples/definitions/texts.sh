#!/bin/sh
# Writes the texts of the example to WORK/texts from Debian's packages bible-kjv, bible-kjv-text and
# wordnet-base, none of which needs to be installed: texts.sh WORK
# Exits with 77 where they cannot be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$1
[ ! -s "$work/texts/definitions_val.jsonl" ] || exit 0
"$here/../common/wordnet.sh" "$work"
"$here/../common/bible.sh" "$work"
"$here/make_texts.py" "$work/bible.txt" "$work/wordnet" "$work/texts"
