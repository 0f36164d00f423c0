#!/bin/sh
# Compares the project with the newest released package `onnx`: operator versions that the project
# lacks, facts on operators that changed, and the package's node cases. To be run now and then, for
# example every week. Fails when the standard is ahead of the project; 77 without PyPI.
#   standard.sh [ONDINE]   the command line to test; build/bin/ondine unless given
# New versions are taken over by tools/dev/generate_signatures.py and a newer version in
# tests/conformance/requirements.txt.
set -eu
cd "$(dirname "$0")/.."
ondine=${1:-build/bin/ondine}
if [ ! -x "$ondine" ]; then
  echo "$ondine is not built: scripts/test.sh builds it" >&2
  exit 2
fi
work=build-standard
python=$work/python/bin/python
mkdir -p "$work"
rm -rf "$work/python"  # what is installed may not be the newest any more
scripts/python_packages.sh "$work/python" onnx pillow
"$python" -c 'import onnx; print("onnx", onnx.__version__, "opset", onnx.defs.onnx_opset_version())'

ahead=
echo "operator versions:"
"$python" tools/dev/generate_signatures.py --list-new || ahead="$ahead versions"
echo "facts on operators:"
"$python" tools/dev/generate_signatures.py --from-package "$work/signatures_data.cpp"
if diff "$work/signatures_data.cpp" graph/contract/signatures_data.cpp >"$work/signatures.diff"; then
  echo "the same"
else
  echo "changed: $work/signatures.diff"
  ahead="$ahead facts"
fi
echo "node cases:"
rm -rf "$work/node_cases"
"$python" tools/dev/export_node_cases.py "$work/node_cases"
"$ondine" verify "$work/node_cases" || ahead="$ahead cases"

if [ -n "$ahead" ]; then
  echo "the standard is ahead of the project:$ahead" >&2
  exit 1
fi
echo "the project follows the newest release of the standard"
