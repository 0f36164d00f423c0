# SPDX-License-Identifier: Apache-2.0
"""The category `training` of onnx.backend.test: sequences of calls of one stateful model.

A backend offers `prepare_training(model)`, whose result has the methods

    initialize()
    train(algorithm, outputs, inputs) -> list of arrays
    infer(outputs, inputs) -> list of arrays
    get_state(name) -> array

Inputs are a dict from names to arrays: they are matched by name, not by position.
"""

from __future__ import annotations

import functools
import json
import os
import unittest

import numpy as np

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.runner import Runner

DATA_DIR = os.path.join(os.path.dirname(os.path.realpath(__file__)), "data", "training")


def read_description(folder: str) -> dict:
    with open(os.path.join(folder, "data.json"), encoding="utf-8") as file:
        return json.load(file)


def nodes_of(model: onnx.ModelProto):
    """All nodes of a model, those of bodies and functions as well."""
    pending = [one.node for one in model.functions]
    pending += [model.graph.node]
    pending += [graph.node for one in model.training_info for graph in (one.initialization, one.algorithm)]
    while pending:
        for node in pending.pop():
            yield node
            pending += [one.g.node for one in node.attribute if one.HasField("g")]


def load_training_tests(data_dir: str = DATA_DIR) -> list[TestCase]:
    """Cases with calls; `model_dir` is the folder, the calls are in its data.json."""
    found = []
    for name in sorted(os.listdir(data_dir)):
        folder = os.path.join(data_dir, name)
        description = read_description(folder)
        found.append(
            TestCase(
                name=name,
                model_name=name[len("test_") :],
                url=None,
                model_dir=folder,
                model=None,
                data_sets=None,
                kind="training",
                rtol=description["rtol"],
                atol=description["atol"],
            )
        )
    return found


def read_tensors(folder: str, prefix: str) -> dict[str, np.ndarray]:
    """Tensors of PREFIX_0.pb, PREFIX_1.pb, ... by their names."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    files = [os.path.join(folder, one) for one in names if one.startswith(f"{prefix}_")]
    tensors = [onnx.load_tensor(path) for path in files]
    return {one.name: numpy_helper.to_array(one) for one in tensors}


def make(model, call: dict, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    outputs = call.get("outputs", [])
    if call["call"] == "initialize":
        model.initialize()
    for algorithm in call.get("algorithms", ()):  # of an iteration
        model.train(algorithm, [], inputs)
    if call["call"] == "train":
        return dict(zip(outputs, model.train(call["algorithm"], outputs, inputs)))
    if call["call"] == "infer":
        return dict(zip(outputs, model.infer(outputs, inputs)))
    return {}


def run_training(test_case: TestCase, backend) -> None:
    """Makes the calls of a case. Random tensors are checked for type and shape only."""
    description = read_description(test_case.model_dir)
    model = backend.prepare_training(onnx.load(os.path.join(test_case.model_dir, "model.onnx")))
    for k, call in enumerate(description["calls"]):
        folder = os.path.join(test_case.model_dir, f"call_{k}")
        outputs = make(model, call, read_tensors(folder, "input"))
        found = {
            "output": outputs,
            "state": {name: model.get_state(name) for name in call["state"]},
        }
        for prefix, values in found.items():
            expected = read_tensors(folder, prefix)
            for name, value in values.items():
                if name in call.get("random", {}):
                    assert list(value.shape) == call["random"][name]["dims"]
                    continue
                assert_same(expected[name], np.asarray(value), test_case)


def assert_same(expected: np.ndarray, found: np.ndarray, test_case: TestCase) -> None:
    assert expected.dtype == found.dtype, f"{found.dtype}, expected {expected.dtype}"
    assert expected.shape == found.shape, f"{found.shape}, expected {expected.shape}"
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(found, expected, test_case.rtol, test_case.atol)
    else:
        np.testing.assert_array_equal(found, expected)


class TrainingRunner(Runner):
    """The runner of ONNX with the category `Training`, for backends with prepare_training.

    Models that must be refused are left to the tests of the rules of the checker.
    """

    def __init__(self, backend, parent_module: str | None = None, data_dir: str = DATA_DIR):
        super().__init__(backend, parent_module)
        for test_case in load_training_tests(data_dir):
            if read_description(test_case.model_dir)["expect"] == "results":
                self._add_training_test(test_case)

    def _add_training_test(self, test_case: TestCase) -> None:
        @functools.wraps(run_training)
        def run(test_self, device: str, **_kwargs) -> None:
            if not self.backend.supports_device(device):
                raise unittest.SkipTest(f"no device {device}")
            run_training(test_case, self.backend)

        self._add_test("Training", test_case.name, run, [None])
