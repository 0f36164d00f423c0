#!/bin/sh
# tokenizers.sh TOKENIZE SOURCE WORK: compares ids and decoded texts of many kinds of tokenizer.json
# with those of the package `tokenizers` from PyPI, which it installs below WORK. Exits with 77,
# which ctest counts as skipped, where PyPI cannot be reached.
set -eu
"$2/scripts/python_packages.sh" "$3/tokenizers" tokenizers
exec "$3/tokenizers/bin/python" -B "$2/tools/dev/check_tokenizers.py" "$1" "$2"
