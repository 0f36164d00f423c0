#!/bin/sh
# training_reference.sh SOURCE WORK: runs the training conformance suite with its reference runtime,
# with broken ones, with the example of a runner and in the form of onnx.backend.test, after it
# installed the package `onnx` from PyPI below WORK. Exits with 77,
# which ctest counts as skipped, where PyPI cannot be reached.
set -eu
source=$1
work=$2
mkdir -p "$work"
"$source/scripts/python_packages.sh" "$work/python" -r "$source/tests/conformance/requirements.txt"
python=$work/python/bin/python
suite=$source/conformance
run() {
  script=$1
  shift
  "$python" -B "$suite/run.py" --command "$python -B -W ignore $suite/$script {case} {results}" \
    --batch 20 "$@"
}
run reference/runner.py --none-skipped
run examples/onnx_reference.py --profile core,optimizers,several-algorithms \
  --expected-failures "$suite/examples/onnx_reference_defects.txt"
"$python" -B -W ignore "$suite/broken_runtimes.py"
rm -rf "$work/onnx_form"
"$python" -B "$suite/upstream/export.py" "$work/onnx_form"
cd "$work/onnx_form"
exec "$python" -B -W ignore -m unittest -q test_training_backend test_training_rules
