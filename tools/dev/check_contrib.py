#!/usr/bin/env python3
"""Compares operators that onnxruntime adds with onnxruntime: check_contrib.py [--only NAME] [--ondine PATH]

Every case is a model of one node with random inputs, once with the dims declared and once with
symbolic ones. The greatest difference, relative to the greatest element, must be below 1e-4;
integers must be equal, quantized ones may be one step apart where both round. Operators that
onnxruntime's CPU does not run are compared with standard nodes that say the same. Needs onnx,
onnxruntime and numpy from PyPI.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from contrib_cases import DOMAIN, cases


def make_model(case, nodes, symbolic):
    inputs, constants = [], []
    for i, value in enumerate(case.inputs):
        if value is None:
            continue
        value = np.asarray(value)
        if i in case.constants:
            constants.append(numpy_helper.from_array(value, f"i{i}"))
            continue
        dims = [f"d{i}_{a}" for a in range(value.ndim)] if symbolic else value.shape
        inputs.append(helper.make_tensor_value_info(f"i{i}", helper.np_dtype_to_tensor_dtype(value.dtype), dims))
    names = sorted(name for node in nodes for name in node.output if name.startswith("o"))
    outputs = [helper.make_empty_tensor_value_info(name) for name in names]
    graph = helper.make_graph(nodes, "case", inputs, outputs, constants)
    imports = [helper.make_opsetid("", case.opset), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def make_node(case):
    names = [f"i{i}" if value is not None else "" for i, value in enumerate(case.inputs)]
    present = case.present or range(case.outputs)
    outputs = [f"o{i}" if i in present else "" for i in range(case.outputs)]
    return helper.make_node(case.op, names, outputs, domain=case.domain, **case.attrs)


def run_onnxruntime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # the ranges of a quantized LSTM depend on it
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, feeds)
    types = [output.type for output in session.get_outputs()]
    return results, types


def run_ondine(model, feeds, types, results, ondine, folder):
    """Runs build/bin/ondine; the declared outputs need types, onnxruntime's are taken."""
    for output, value in zip(model.graph.output, results):
        dims = [f"{output.name}_{axis}" for axis in range(value.ndim)]
        dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
        output.CopyFrom(helper.make_tensor_value_info(output.name, dtype, dims))
    onnx.save(model, f"{folder}/model.onnx")
    command = [ondine, "infer", f"{folder}/model.onnx", "-o", folder]
    for name, value in feeds.items():
        np.save(f"{folder}/{name}.npy", value)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return [np.load(f"{folder}/{output.name}.npy") for output in model.graph.output]


def difference(case, got, want):
    """The greatest difference, in steps for integers; an error text where the results cannot match."""
    if case.keep:
        got, want = case.keep(got), case.keep(want)
    worst = 0.0
    for a, b in zip(got, want):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
        if b.size == 0:
            continue
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
        if not np.all(np.isfinite(apart)):
            return "not finite"
        scale = 1.0 if np.issubdtype(b.dtype, np.integer) else max(float(np.max(np.abs(b))), 1e-6)
        limit = case.steps if np.issubdtype(b.dtype, np.integer) else case.tolerance
        relative = float(np.max(apart)) / scale
        if relative > limit:
            return f"differs by {relative:.3g}"
        worst = max(worst, relative)
    return worst


def check(case, symbolic, ondine):
    feeds = {f"i{i}": np.asarray(v) for i, v in enumerate(case.inputs) if v is not None and i not in case.constants}
    want, types = run_onnxruntime(make_model(case, case.reference or [make_node(case)], symbolic), feeds)
    with tempfile.TemporaryDirectory() as folder:
        got = run_ondine(make_model(case, [make_node(case)], symbolic), feeds, types, want, ondine, folder)
    return difference(case, got, want)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="operators whose names contain this")
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--ondine", default=str(root / "build/bin/ondine"))
    options = parser.parse_args()
    rows, failures = {}, []
    for number, case in enumerate(cases()):
        if options.only and options.only not in case.op:
            continue
        count, worst = rows.get(case.op, (0, 0.0))
        for symbolic in (False, True) if case.symbolic else (False,):
            try:
                result = check(case, symbolic, options.ondine)
            except Exception as error:  # one case must not hide the others
                result = str(error)
            if isinstance(result, str):
                shapes = [None if v is None else np.asarray(v).shape for v in case.inputs]
                failures.append(f"case {number} {case.op} {case.attrs} {shapes} symbolic={symbolic}: {result}")
            else:
                worst = max(worst, result)
            count += 1
        rows[case.op] = (count, worst)
    print("| operator | models | greatest difference |\n|---|---|---|")
    for name, (count, worst) in sorted(rows.items()):
        print(f"| {name} | {count} | {worst:.1e} |")
    print("\n".join(failures) if failures else "no findings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
