# SPDX-License-Identifier: Apache-2.0
"""Describes a case: a model with training information and the calls to make."""

import copy
import hashlib
import json
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from generate import describe
from suite import cases as stored
from suite import sentences

DOMAIN = "ai.onnx.preview.training"
OPSET, IR_VERSION = 20, 9
SMALLEST_SHARE = 0.05  # of the absolute tolerance in the smallest tensor
RESIDUE = 1e-14  # smaller values are what rounding leaves of zero


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


def tolerance_of(types, operators, values):
    """Relative and absolute, by the narrowest type that is computed with.

    The absolute one is small enough for the smallest of the tensors not to pass as zeros.
    """
    relative, absolute = (1e-8, 1e-9) if describe.GRADIENT in operators else (1e-9, 1e-12)
    for code, pair in (
        (onnx.TensorProto.BFLOAT16, (4e-2, 4e-2)),
        (onnx.TensorProto.FLOAT16, (1e-2, 5e-3)),
        (onnx.TensorProto.FLOAT, (2e-4, 5e-6)),
    ):
        if code in types:
            relative, absolute = pair
            break
    sizes = [np.max(np.abs(one.astype(np.float64)), initial=0) for one in values]
    smallest = min((one for one in sizes if RESIDUE < one < np.inf), default=np.inf)
    return [relative, float(f"{min(absolute, SMALLEST_SHARE * smallest):.1e}")]


@dataclass
class Call:
    kind: str
    feeds: dict = field(default_factory=dict)
    algorithm: int = 0
    want: dict = field(default_factory=dict)
    random: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)
    algorithms: list = field(default_factory=list)


def complete_imports(model):
    """Imports the training domain where it is used, and sets the lowest IR version."""
    used = any(one.domain == DOMAIN for one in describe.every_node(model))
    if used and all(one.domain != DOMAIN for one in model.opset_import):
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    lowest = helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
    model.ir_version = max(IR_VERSION, lowest)


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
        readings=(),
    ):
        self.name, self.quotes, self.literal, self.tolerance = name, quotes, literal, tolerance
        self.readings, self.independent, self.twin = list(readings), [], None
        self.model = helper.make_model(
            graph_of(main, values),
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=IR_VERSION,
            producer_name="training-conformance",
        )
        self.model.training_info.extend(one.proto() for one in infos)
        for text in functions:
            function = parser.parse_function(text)
            self.model.functions.append(function)
            if all(one.domain != function.domain for one in self.model.opset_import):
                self.model.opset_import.append(helper.make_opsetid(function.domain, 1))
        complete_imports(self.model)
        self.refused = False
        self.agreement = None  # of both computations, relative; the usual one if None
        self.calls = [Call("load", want=want or {})]

    def named(self, name):
        self.name = name
        return self

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

    def iterate(self, feeds=None, want=None, random=None):
        """One iteration: every algorithm in order, with the same inputs."""
        call = Call("iterate", feeds or {}, 0, want or {}, random or {})
        call.algorithms = list(range(len(self.model.training_info)))
        self.calls.append(call)
        return self

    def unrelated(self, *pairs):
        """Random tensors, each (call, prefix, name), that must not depend on each other."""
        self.independent += [[list(one) for one in pair] for pair in pairs]
        return self

    def infer(self, feeds=None, want=None, random=None):
        call = Call("infer", feeds or {}, 0, want or {}, random or {})
        call.outputs = [one.name for one in self.model.graph.output]
        self.calls.append(call)
        return self

    def changed(self, name, change):
        """A copy with another model."""
        case = copy.copy(self)
        case.name = name
        case.model = onnx.ModelProto.FromString(self.model.SerializeToString())
        change(case.model)
        complete_imports(case.model)
        return case

    def broken(self, name, quotes, change, twin, readings=()):
        """A copy that must be refused, at the latest by the calls: `change` breaks its model.

        `twin` is the valid case like it, which must run.
        """
        case = self.changed(name, change)
        case.quotes, case.twin, case.refused = quotes, twin, True
        case.readings = list(readings)
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

    def plan(self, types, values):
        for tag in self.quotes:
            sentences.quoted(tag)
        calls = []
        for call in self.calls:
            plan = {"call": call.kind}
            if call.kind in ("train", "infer"):
                plan["outputs"] = call.outputs
            if call.kind == "train":
                plan["algorithm"] = call.algorithm
            if call.kind == "iterate":
                plan["algorithms"] = call.algorithms
            plan["state"] = [] if self.refused else self.keys
            if call.random:
                plan["random"] = call.random
            calls.append(plan)
        needed = describe.operators(self.model)
        result = {
            "format": stored.SUITE["format"],
            "profile": describe.profile(self),
            "expect": "refusal" if self.refused else "results",
            "quotes": self.quotes,
            "readings": describe.readings(self),
            "operators": needed,
            "types": describe.types(self.model),
            "opset_imports": {one.domain: one.version for one in self.model.opset_import},
            "ir_version": self.model.ir_version,
            "tolerance": self.tolerance or tolerance_of(types, needed, values),
            "calls": calls,
        }
        if self.independent:
            result["independent"] = self.independent
        if self.twin:
            result["twin"] = f"valid/{self.twin.name}"
        return result


def write_tensor(path, name, value):
    path.write_bytes(numpy_helper.from_array(np.asarray(value), name).SerializeToString())


def floating(results):
    """The expected tensors of floating point types."""
    for outputs, state in results:
        for one in (*outputs.values(), *state.values()):
            if one.dtype.kind == "f" or one.dtype.name == "bfloat16":
                yield one


def to_text(plan):
    """JSON with one line for each field and call."""
    fields = {key: json.dumps(one) for key, one in plan.items()}
    calls = ",\n  ".join(json.dumps(one) for one in plan["calls"])
    fields["calls"] = f"[\n  {calls}\n ]"
    return "{\n " + ",\n ".join(f'"{key}": {one}' for key, one in fields.items()) + "\n}\n"


def write(case, folder, results, types):
    """`results` are the expected outputs and state of each call."""
    folder.mkdir(parents=True)
    shown = [
        [{key: one for key, one in values.items() if key not in call.random} for values in pair]
        for call, pair in zip(case.calls, results)
    ]
    plan = case.plan(set(types.values()), list(floating(shown)))
    (folder / "model.onnx").write_bytes(case.model.SerializeToString(deterministic=True))
    (folder / "case.json").write_text(to_text(plan))
    for i, call in enumerate(case.calls):
        data = folder / f"call_{i}"
        outputs, state = shown[i] if shown else ({}, {})
        if call.feeds or outputs or state:
            data.mkdir()
        for prefix, values in (("input", call.feeds), ("output", outputs), ("state", state)):
            for k, (name, value) in enumerate(values.items()):
                write_tensor(data / f"{prefix}_{k}.pb", name, value)
