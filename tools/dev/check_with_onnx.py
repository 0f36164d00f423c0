#!/usr/bin/env python3
"""Checks models with the official packages: check_with_onnx.py MODEL.onnx...

Every model must pass the official checker. A model without training information also runs in
onnxruntime and in build/bin/ondine on the same random inputs; the outputs must agree within 1e-5.
Needs onnx, onnxruntime and numpy from PyPI.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime


def random_input(port, generator):
    dims = [d if isinstance(d, int) and d > 0 else 2 for d in port.shape]
    if "float" in port.type or "double" in port.type:
        dtype = np.float64 if "double" in port.type else np.float32
        return generator.standard_normal(dims).astype(dtype)
    return generator.integers(0, 2, dims).astype(np.int64 if "int64" in port.type else np.int32)


def compare_outputs(model, ondine):
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    feeds = {port.name: random_input(port, generator) for port in session.get_inputs()}
    with tempfile.TemporaryDirectory() as folder:
        command = [ondine, "infer", str(model), "-o", folder]
        for i, (name, value) in enumerate(feeds.items()):
            np.save(f"{folder}/feed{i}.npy", value)
            command += ["--input", f"{name}={folder}/feed{i}.npy"]
        subprocess.run(command, check=True)
        worst = 0.0
        for port, want in zip(session.get_outputs(), session.run(None, feeds)):
            got = np.load(f"{folder}/{port.name.replace('/', '_')}.npy")
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
            worst = max(worst, float(np.max(np.abs(got - want), initial=0)))
    return worst


def check(path, ondine):
    model = onnx.load(path)
    onnx.checker.check_model(path, full_check=True)
    for i, info in enumerate(model.training_info):
        # The checker skips training information: main and algorithm graph together are a graph too.
        whole = onnx.ModelProto()
        whole.CopyFrom(model)
        del whole.training_info[:]
        for field in ("node", "initializer", "sparse_initializer", "input", "output", "value_info"):
            getattr(whole.graph, field).extend(getattr(info.algorithm, field))
        onnx.checker.check_model(whole)
        if info.initialization.node:
            start = onnx.ModelProto()
            start.CopyFrom(whole)
            start.graph.CopyFrom(info.initialization)
            onnx.checker.check_model(start, full_check=True)
        print(f"{path}: training information {i} passes the checker")
    if model.training_info:
        return
    print(f"{path}: passes the checker; onnxruntime differs by {compare_outputs(path, ondine):.2g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--ondine", default=str(root / "build" / "bin" / "ondine"))
    options = parser.parse_args()
    for path in options.models:
        check(path, options.ondine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
