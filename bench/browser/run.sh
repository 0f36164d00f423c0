#!/bin/sh
# run.sh [WORK]
# Compares training steps in headless Chromium: the npm package that scripts/wasm.sh built, tf.js, and
# the step graph of onnxsim on onnxruntime-web. WORK (build-browser/bench) gets what npm and pip
# install. TURNS and STEPS: of the measurement. Exits with 77 where something cannot be had.
set -eu
cd "$(dirname "$0")/../.."
source=$PWD
work=${1:-build-browser/bench}
mkdir -p "$work"
work=$(cd "$work" && pwd)
: "${ONDINE_WASM:=build-wasm}" "${FASHION:=/usr/share/datasets/fashion-mnist}"
skip() { echo "skipped: $*"; exit 77; }

[ "$(id -u)" -ne 0 ] || scripts/install_dependencies.sh chromium dataset-fashion-mnist || :
for program in node npm chromium python3; do
  command -v "$program" >/dev/null || skip "no program $program"
done
[ -e "$FASHION/train-images-idx3-ubyte.gz" ] || skip "no Fashion-MNIST in $FASHION"
package=$(ls "$ONDINE_WASM"/ondine-*.tgz 2>/dev/null | head -n 1)
[ -n "$package" ] || skip "no package (scripts/wasm.sh builds it)"
package=$(realpath "$package")

cp bench/browser/*.mjs tests/browser/server.mjs tests/browser/fashion.mjs "$work"
cd "$work"
[ -e package.json ] || echo '{ "private": true }' >package.json
npm install --no-audit --no-fund --silent puppeteer-core @tensorflow/tfjs \
  @tensorflow/tfjs-backend-wasm onnxruntime-web || skip "cannot install from npm"
npm install --no-audit --no-fund --silent --no-save "$package"
[ -x python/bin/python ] || python3 -m venv python
python/bin/pip install -q "onnxsim>=0.8" onnx numpy || skip "cannot install onnxsim"
[ -e networks/cnn-step.onnx ] || python/bin/python "$source/bench/browser/networks.py" networks
CHROMIUM=$(command -v chromium) node compare.mjs "$FASHION"
