#!/bin/sh
# Checks the documentation and builds the API reference: docs.sh [FOLDER]
# The pages are FOLDER/html (build/docs/html). Any warning is an error. Installs Doxygen when it is
# missing.
set -eu
cd "$(dirname "$0")/.."
output=${1:-build/docs}
tools/dev/check_docs.py
bench/chart.py --check
bench/growth.py --check
command -v doxygen >/dev/null || scripts/install_dependencies.sh doxygen
mkdir -p "$output"
version=$(sed -n 's/^project(ondine VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
(cat Doxyfile && printf 'PROJECT_NUMBER = %s\nOUTPUT_DIRECTORY = "%s"\n' "$version" "$output") |
  doxygen -
echo "API reference: $output/html/index.html"
