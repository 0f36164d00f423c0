# SPDX-License-Identifier: Apache-2.0
"""Tests of the rules on training_info: broken models are refused, their valid twins are not."""

import importlib.util
import json
import unittest
from pathlib import Path

import onnx

HERE = Path(__file__).resolve().parent
CASES = HERE / "onnx/backend/test/data/training"
SPEC = importlib.util.spec_from_file_location("training_rules", HERE / "onnx/training_rules.py")
rules = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(rules)


class TestTrainingRules(unittest.TestCase):
    """One test for each case; the tests are added below."""


def add(folder):
    description = json.loads((folder / "data.json").read_text(encoding="utf-8"))

    def test(self):
        model = onnx.load(folder / "model.onnx")
        if description["expect"] == "results":
            rules.validate(model)
            return
        with self.assertRaises(rules.Refused):
            rules.validate(model)
        rules.validate(onnx.load(CASES / description["twin"] / "model.onnx"))

    setattr(TestTrainingRules, folder.name, test)


for one in sorted(CASES.iterdir()):
    add(one)

if __name__ == "__main__":
    unittest.main()
