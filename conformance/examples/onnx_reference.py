#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""onnx_reference.py CASE RESULTS [CASE RESULTS]...: a runner over onnx.reference, as an example."""

import json
import sys
from pathlib import Path

import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

PARTS = ("input", "initializer", "sparse_initializer", "output", "node", "value_info")


class Model:
    def __init__(self, path):
        self.proto = onnx.load(path)
        graphs = [self.proto.graph, *(one.algorithm for one in self.proto.training_info)]
        tensors = [one for graph in graphs for one in graph.initializer]
        self.initial = {one.name: numpy_helper.to_array(one) for one in tensors}
        infos = self.proto.training_info
        bindings = [(*one.initialization_binding, *one.update_binding) for one in infos]
        self.state = {one.key: self.initial[one.key] for pairs in bindings for one in pairs}

    def evaluate(self, graphs, names, feeds):
        """Values of a graph that is the concatenation of others, with the current state."""
        model = onnx.ModelProto.FromString(self.proto.SerializeToString())
        model.ClearField("training_info")
        model.graph.Clear()
        for graph in graphs:
            for part in PARTS:
                getattr(model.graph, part).extend(getattr(graph, part))
        for tensor in model.graph.initializer:
            if tensor.name in self.state:
                tensor.CopyFrom(numpy_helper.from_array(self.state[tensor.name], tensor.name))
        model.graph.ClearField("output")
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        return ReferenceEvaluator(model).run(names, feeds)

    def initialize(self):
        self.state = {name: self.initial[name] for name in self.state}
        for info in self.proto.training_info:
            main = onnx.GraphProto(initializer=self.proto.graph.initializer)
            pairs = {one.key: one.value for one in info.initialization_binding}
            values = self.evaluate([main, info.initialization], list(pairs.values()), {})
            self.state.update(zip(pairs, values))

    def train(self, algorithm, names, feeds):
        info = self.proto.training_info[algorithm]
        pairs = {one.key: one.value for one in info.update_binding}
        wanted = [*names, *pairs.values()]
        values = self.evaluate([self.proto.graph, info.algorithm], wanted, feeds)
        self.state.update(zip(pairs, values[len(names) :]))
        return values[: len(names)]


def write(folder, prefix, names, values):
    folder.mkdir(exist_ok=True)
    for i, (name, value) in enumerate(zip(names, values)):
        data = numpy_helper.from_array(value, name).SerializeToString()
        (folder / f"{prefix}_{i}.pb").write_bytes(data)


def make(model, call, feeds):
    if call["call"] == "initialize":
        model.initialize()
    for algorithm in call.get("algorithms", ()):
        model.train(algorithm, [], feeds)
    if call["call"] == "train":
        return model.train(call["algorithm"], call["outputs"], feeds)
    if call["call"] == "infer":
        return model.evaluate([model.proto.graph], call["outputs"], feeds)
    return []


def run(case, results):
    plan = json.loads((case / "case.json").read_text())
    if "ai.onnx.preview.training.Gradient" in plan["operators"]:
        return {"status": "unsupported", "message": "onnx.reference lacks Gradient"}
    model = Model(case / "model.onnx")
    for k, call in enumerate(plan["calls"]):
        files = sorted((case / f"call_{k}").glob("input_*.pb"))
        tensors = [onnx.load_tensor(path) for path in files]
        feeds = {one.name: numpy_helper.to_array(one) for one in tensors}
        values = make(model, call, feeds)
        write(results / f"call_{k}", "output", call.get("outputs", []), values)
        write(results / f"call_{k}", "state", call["state"], [model.state[n] for n in call["state"]])
    return {"status": "done"}


if __name__ == "__main__":
    for case, results in zip(map(Path, sys.argv[1::2]), map(Path, sys.argv[2::2])):
        try:
            report = run(case, results)
        except Exception as error:  # pylint: disable=broad-except
            report = {"status": "refused", "message": f"{type(error).__name__}: {error}"}
        (results / "report.json").write_text(json.dumps(report))
