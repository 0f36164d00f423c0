#!/bin/sh
# Installs the package that scripts/wasm.sh built from its file, and runs its tests in Node:
# run.sh SOURCE BUILD WORK [TEST...]. Exits with 77, which ctest counts as skipped, where there is no
# package in SOURCE/build-wasm (or the folder ONDINE_WASM), or no Node.
set -eu
source=$1
build=$2
work=$3
shift 3
for program in node npm; do
  command -v "$program" >/dev/null || { echo "skipped: no program $program"; exit 77; }
done
package=$(ls "${ONDINE_WASM:-$source/build-wasm}"/ondine-*.tgz 2>/dev/null | head -n 1)
[ -n "$package" ] || {
  echo "skipped: no package (scripts/wasm.sh builds it; ONDINE_WASM names another folder of one)"
  exit 77
}
rm -rf "$work"
mkdir -p "$work"
cp "$source"/tests/bindings/js/*.mjs "$work"
cp "$source"/tests/bindings/js/*.cjs "$source"/tests/bindings/js/*.mts "$work"
cp "$source/docs/javascript.md" "$work"
"$build/bin/bindings_models" "$work/models"
cd "$work"
echo '{ "private": true }' >package.json
npm install --offline --no-audit --no-fund --silent "$package"
ONDINE_REFERENCE=$build/bin/bindings_reference node --test ${*:-.}
if npm install --no-audit --no-fund --silent typescript; then
  node_modules/.bin/tsc --noEmit --strict --module nodenext --target es2022 \
    --lib es2022,dom,esnext.disposable typing.mts
else
  echo "without a check of types: npm has no typescript"
fi
