"""Describes a case: a model with training information and the calls to make."""

import copy
import hashlib
import json
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from suite import sentences

DOMAIN = "ai.onnx.preview.training"
OPSET, IR_VERSION = 20, 9


def f32(*values):
    return np.array(values, np.float32)


def spread(*shape, low=-1.0, high=1.0, salt=0):
    """Numbers without a pattern that are the same everywhere."""
    digest = b"".join(
        hashlib.sha256(f"{shape} {salt} {i}".encode()).digest()
        for i in range(int(np.prod(shape)) // 16 + 1)
    )
    parts = np.frombuffer(digest, np.uint16)[: int(np.prod(shape))] / 65536.0
    # Few digits, so that the values are the same in all types.
    return (np.round((low + (high - low) * parts) * 256) / 256).astype(np.float32).reshape(shape)


def graph_of(text, values=None):
    graph = parser.parse_graph(text)
    for name, value in (values or {}).items():
        graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    for tensor in graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    return graph


def entries(pairs):
    items = pairs.items() if isinstance(pairs, dict) else pairs
    return [onnx.StringStringEntryProto(key=key, value=value) for key, value in items]


@dataclass
class Info:
    """A TrainingInfoProto. Graphs are text; bindings are dicts or lists of pairs."""

    algorithm: str = ""
    update: dict = field(default_factory=dict)
    initialization: str = ""
    initial: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)

    def proto(self):
        info = onnx.TrainingInfoProto()
        if self.algorithm:
            info.algorithm.CopyFrom(graph_of(self.algorithm, self.values))
        if self.initialization:
            info.initialization.CopyFrom(graph_of(self.initialization))
        info.update_binding.extend(entries(self.update))
        info.initialization_binding.extend(entries(self.initial))
        return info


def tolerance_of(types):
    """Relative and absolute, by the narrowest type that is computed with."""
    for code, pair in (
        (onnx.TensorProto.BFLOAT16, [4e-2, 4e-2]),
        (onnx.TensorProto.FLOAT16, [1e-2, 5e-3]),
        (onnx.TensorProto.FLOAT, [2e-4, 5e-6]),
    ):
        if code in types:
            return pair
    return [1e-7, 1e-9]


@dataclass
class Call:
    kind: str
    feeds: dict = field(default_factory=dict)
    algorithm: int = 0
    want: dict = field(default_factory=dict)
    random: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)


class Case:
    """`literal`: all expected values are written in the case, since PyTorch lacks the types."""

    def __init__(
        self,
        name,
        quotes,
        main,
        *infos,
        values=None,
        opset=OPSET,
        functions=(),
        literal=False,
        tolerance=None,
        want=None,
    ):
        self.name, self.quotes, self.literal, self.tolerance = name, quotes, literal, tolerance
        self.model = helper.make_model(
            graph_of(main, values),
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=IR_VERSION,
            producer_name="training-conformance",
        )
        self.model.training_info.extend(one.proto() for one in infos)
        if infos:
            self.model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        for text in functions:
            function = parser.parse_function(text)
            self.model.functions.append(function)
            if all(one.domain != function.domain for one in self.model.opset_import):
                self.model.opset_import.append(helper.make_opsetid(function.domain, 1))
        self.refused = False
        self.agreement = None  # of both computations, relative; the usual one if None
        self.calls = [Call("load", want=want or {})]

    def initialize(self, want=None, random=None):
        self.calls.append(Call("initialize", want=want or {}, random=random or {}))
        return self

    def train(self, feeds=None, algorithm=0, want=None, random=None):
        call = Call("train", feeds or {}, algorithm, want or {}, random or {})
        if algorithm < len(self.model.training_info):
            graphs = (self.model.graph, self.model.training_info[algorithm].algorithm)
            call.outputs = list(dict.fromkeys(one.name for graph in graphs for one in graph.output))
        self.calls.append(call)
        return self

    def infer(self, feeds=None, want=None, random=None):
        call = Call("infer", feeds or {}, 0, want or {}, random or {})
        call.outputs = [one.name for one in self.model.graph.output]
        self.calls.append(call)
        return self

    def broken(self, name, quotes, change):
        """A copy that must be refused, at the latest by the calls: `change` breaks its model."""
        case = copy.copy(self)
        case.name, case.quotes, case.twin, case.refused = name, quotes, self, True
        case.model = onnx.ModelProto.FromString(self.model.SerializeToString())
        change(case.model)
        return case

    @property
    def keys(self):
        """State variables, in the order of the bindings."""
        return list(
            dict.fromkeys(
                one.key
                for info in self.model.training_info
                for one in (*info.initialization_binding, *info.update_binding)
            )
        )

    def plan(self, types):
        quotes = [sentences.quoted(tag) for tag in self.quotes]
        calls = []
        for call in self.calls:
            plan = {"call": call.kind}
            if call.kind in ("train", "infer"):
                plan["outputs"] = call.outputs
            if call.kind == "train":
                plan["algorithm"] = call.algorithm
            plan["state"] = [] if self.refused else self.keys
            if call.random:
                plan["random"] = call.random
            calls.append(plan)
        return {
            "expect": "refusal" if self.refused else "results",
            "quotes": [{"tag": one.tag, "source": one.source, "text": one.text} for one in quotes],
            "tolerance": self.tolerance or tolerance_of(types),
            "calls": calls,
        }


def write_tensor(path, name, value):
    path.write_bytes(numpy_helper.from_array(np.asarray(value), name).SerializeToString())


def write(case, folder, results, types):
    """`results` are the expected outputs and state of each call."""
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString(deterministic=True))
    (folder / "case.json").write_text(json.dumps(case.plan(set(types.values())), indent=1) + "\n")
    for i, call in enumerate(case.calls):
        data = folder / f"test_data_set_{i}"
        outputs, state = results[i] if results else ({}, {})
        if call.feeds or outputs or state:
            data.mkdir()
        for prefix, values in (("input", call.feeds), ("output", outputs), ("state", state)):
            shown = {name: one for name, one in values.items() if name not in call.random}
            for k, (name, value) in enumerate(shown.items()):
                write_tensor(data / f"{prefix}_{k}.pb", name, value)
