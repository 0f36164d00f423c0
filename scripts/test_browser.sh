#!/bin/sh
# test_browser.sh [WORK]
# Drives examples/browser in headless Chromium, over the npm package that scripts/wasm.sh built (a
# reduced one if there is one: OPERATORS=examples/browser/operators.txt), and leaves pictures of the
# page in WORK (build-browser). Then trains with Fashion-MNIST in Node and in Chromium: FASHION is its
# folder, ONDINE_REFERENCE the program bindings_reference of a native build, whose losses must be the
# same (that of build/ if there is one), EPOCHS 3. Exits with 77 where Chromium, the package or npm's
# puppeteer-core and axe-core cannot be had.
set -eu
cd "$(dirname "$0")/.."
source=$PWD
mkdir -p "${1:-build-browser}"
work=$(cd "${1:-build-browser}" && pwd)
skip() { echo "skipped: $*"; exit 77; }

[ "$(id -u)" -ne 0 ] || scripts/install_dependencies.sh chromium dataset-fashion-mnist || :
for program in node npm chromium; do
  command -v "$program" >/dev/null || skip "no program $program"
done
package=
for folder in "${ONDINE_WASM:-build-wasm/reduced}" build-wasm; do
  [ -n "$package" ] || package=$(ls "$folder"/ondine-*.tgz 2>/dev/null | head -n 1)
done
[ -n "$package" ] || skip "no package (scripts/wasm.sh builds it)"
package=$(realpath "$package")
cd "$work"
[ -e package.json ] || echo '{ "private": true }' >package.json
npm install --no-audit --no-fund --silent puppeteer-core axe-core || skip "cannot install from npm"
npm install --no-audit --no-fund --silent --no-save "$package"
node "$source/examples/browser/build.mjs" node_modules/ondine digits.html
cp "$source"/tests/browser/*.mjs .
CHROMIUM=$(command -v chromium)
export CHROMIUM
node --test page.test.mjs

: "${FASHION:=/usr/share/datasets/fashion-mnist}" "${ONDINE_REFERENCE:=$source/build/bin/bindings_reference}"
[ -x "$ONDINE_REFERENCE" ] || ONDINE_REFERENCE=
[ -e "$FASHION/train-images-idx3-ubyte.gz" ] || skip "no Fashion-MNIST in $FASHION"
export FASHION ONDINE_REFERENCE
node --test fashion.test.mjs
