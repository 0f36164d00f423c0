#!/bin/sh
# Checks the documentation, builds the API reference and the site: docs.sh [FOLDER]
# They are FOLDER/html and FOLDER/site (build/docs). Any warning is an error. Installs Doxygen when it
# is missing; the site, with search, needs mkdocs-material from PyPI, and is left out where that
# cannot be had.
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

if scripts/python_packages.sh "$output/python" mkdocs-material; then
  tools/dev/make_site.py "$output/work"
  NO_MKDOCS_2_WARNING=1 "$output/python/bin/mkdocs" build --strict --quiet \
    --config-file "$output/work/mkdocs.yml" --site-dir "$(cd "$output" && pwd)/site"
  echo "site: $output/site/index.html"
fi
