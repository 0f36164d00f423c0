#!/bin/sh
# wasm.sh
# Builds the package for browsers and Node (npm: ondine) as build-wasm/ondine-VERSION.tgz and prints
# the sizes of what it holds. Exits with 77 where emscripten cannot be had. From the environment:
#   WORK TOOLS    folders of the build (build-wasm) and of emscripten (build-wasm-tools)
#   JOBS          1
#   OPERATORS     a file of operators (ondine info --operators): a reduced build, in WORK/reduced
set -eu
cd "$(dirname "$0")/.."
: "${WORK:=build-wasm}" "${TOOLS:=build-wasm-tools}" "${JOBS:=1}" "${OPERATORS:=}"
for program in node npm; do
  command -v "$program" >/dev/null || { echo "skipped: no program $program"; exit 77; }
done
scripts/emscripten.sh "$TOOLS"
TOOLS=$(cd "$TOOLS" && pwd)
tools=$TOOLS/usr/share/emscripten
mkdir -p "$WORK"
WORK=$(cd "$WORK" && pwd)

export EMCC_CORES="$JOBS"
# Objects of both modules: threads are a matter of the link.
flags="-fwasm-exceptions -msimd128 -pthread"
CC=$tools/emcc CXX=$tools/em++ AR=$tools/emar RANLIB=$tools/emranlib CFLAGS=$flags CXXFLAGS=$flags \
  TOOLCHAIN=$tools/cmake/Modules/Platform/Emscripten.cmake JOBS=$JOBS \
  LIBRARIES="protobuf boost1.74 zlib" scripts/dependencies_from_source.sh "$WORK/prefix"

# Checks of CMake compile only: a link without optimization would build a second C library.
build=$WORK/library
out=$WORK
most=7340032
if [ -n "$OPERATORS" ]; then
  build=$WORK/reduced
  out=$build
  most=1887436
fi
cmake -S . -B "$build" -G Ninja --toolchain "$WORK/prefix/toolchain.cmake" \
  -DCMAKE_BUILD_TYPE=Release -DONDINE_STATIC=ON -DONDINE_TESTS=OFF -DONDINE_TOOLS=OFF \
  -DONDINE_EXAMPLES=OFF -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
  ${OPERATORS:+"-DONDINE_OPERATORS=$(realpath "$OPERATORS")"}
# The compiler orders code of exceptions by addresses: without random ones, the same command gives the
# same bytes.
fixed=
if setarch -R true 2>/dev/null; then fixed="setarch -R"; fi
$fixed cmake --build "$build" -j "$JOBS" --target ondine_wasm ondine_wasm_threads

# Terms of what the module holds.
rm -rf "$build/licenses" "$out"/ondine-*.tgz
cp -r "$WORK/prefix/share/licenses" "$build/licenses"
cp /usr/share/doc/libeigen3-dev/copyright "$build/licenses/eigen.txt"
cp "$TOOLS/usr/share/doc/emscripten/copyright" "$build/licenses/emscripten.txt"
version=$(sed -n 's/^project(ondine VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
node bindings/js/pack.mjs "$PWD" "$build/js" "$build/licenses" "$build/package" "$version"
(cd "$out" && npm pack --silent "$build/package")

for file in "$build/package"/*.mjs "$build/package"/*.wasm "$out"/ondine-*.tgz; do
  printf '%-22s %9d bytes, %9d by gzip\n' "$(basename "$file")" "$(stat -c %s "$file")" \
    "$(gzip -9 -c "$file" | wc -c)"
done
size=$(stat -c %s "$build/package/ondine-wasm.wasm")
[ "$size" -le "$most" ] || echo "the module is larger than $most bytes, the aim" >&2
