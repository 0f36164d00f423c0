# SPDX-License-Identifier: Apache-2.0
"""Runs the category `training` with a backend made of the example of a runner."""

import importlib.util
import io
import unittest
from pathlib import Path

from onnx.backend.base import Backend, Device, DeviceType

HERE = Path(__file__).resolve().parent


def module_of(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


training = module_of(HERE / "onnx/backend/test/training.py", "training")
example = module_of(HERE / "onnx_reference.py", "example")


class Prepared(example.Model):
    """The example's model in the form that the category asks for."""

    def __init__(self, model):
        if any(one.op_type == "Gradient" for one in training.nodes_of(model)):
            raise unittest.SkipTest("onnx.reference lacks Gradient")
        super().__init__(io.BytesIO(model.SerializeToString()))

    def infer(self, outputs, inputs):
        return self.evaluate([self.proto.graph], outputs, inputs)

    def get_state(self, name):
        return self.state[name]


class ExampleBackend(Backend):
    @classmethod
    def supports_device(cls, device):
        return Device(device).type == DeviceType.CPU

    prepare_training = Prepared


runner = training.TrainingRunner(ExampleBackend, __name__)
runner.include("^test_training_")
for line in (HERE / "onnx_reference_defects.txt").read_text().splitlines():
    if not line.startswith("#"):
        name = line.split()[0].replace("/", "_").replace("-", "_")
        runner.xfail(f"^test_training_{name}_cpu$")
OnnxBackendTrainingTest = runner.test_cases["OnnxBackendTrainingTest"]

if __name__ == "__main__":
    unittest.main()
