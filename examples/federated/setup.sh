# For scripts, to be read with `.`: sets here, this folder, unless it is set, build, data, ondine and
# python, and prepares `work`, which must be set. The interpreter has Flower and ondine_train; the wheel is that of ONDINE_WHEELS, or else built.
here=${here:-$(dirname "$0")}
build=${1:-build}
ondine=$build/bin/ondine
python=$build/examples_flower/bin/python
data=${ONDINE_DATA:-/usr/share/datasets/fashion-mnist}
if [ ! -d "$data" ]; then
  echo "skipped: no data in $data (Debian package dataset-fashion-mnist)"
  exit 77
fi
wheels=${ONDINE_WHEELS:-$build/bindings_python/wheels}
ls "$wheels"/*.whl >/dev/null 2>&1 || "$here/../../scripts/local_wheel.sh" "$build" "${wheels%/wheels}"
"$here/../../scripts/python_packages.sh" "$build/examples_flower" "flwr[simulation]==1.42.0" numpy
"$build/examples_flower/bin/pip" install -q --no-deps --force-reinstall "$wheels"/*.whl
mkdir -p "$work"
"$build/bin/example_make_cnn" "$work/net.onnx"
"$ondine" prepare "$work/net.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --optimizer momentum --learning-rate 0.05 --label label
