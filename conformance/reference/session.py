# SPDX-License-Identifier: Apache-2.0
"""A training model: state, initialization, training steps and inference."""

import numpy as np
import onnx
from onnx import numpy_helper

from reference.gradient import Differentiable
from reference.promote import widen, widen_model
from reference.validate import validate

FIELDS = ("input", "initializer", "output", "node", "value_info", "sparse_initializer")


def combined(model, algorithm):
    """The main graph followed by an algorithm, as a model."""
    result = onnx.ModelProto.FromString(model.SerializeToString())
    result.ClearField("training_info")
    graph = model.training_info[algorithm].algorithm
    for field in FIELDS:
        getattr(result.graph, field).extend(getattr(graph, field))
    return result


def alone(model, graph):
    """A model of one graph."""
    result = onnx.ModelProto.FromString(model.SerializeToString())
    result.ClearField("training_info")
    result.graph.CopyFrom(graph)
    return result


def dense(sparse):
    """The tensor that a sparse initializer stands for."""
    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    result = np.zeros(tuple(sparse.dims), values.dtype)
    for value, index in zip(values, indices):
        place = tuple(index) if indices.ndim == 2 else np.unravel_index(index, result.shape)
        result[place] = value
    return result


def initial_values(graph):
    values = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    values.update((one.values.name, dense(one)) for one in graph.sparse_initializer)
    return values


class Session:
    """Values are in double precision; `types` gives the declared element types."""

    def __init__(self, model):
        validate(model)
        self.types = element_types(model)
        self.model = widen_model(model)
        self.graphs = [self.model.graph, *(one.algorithm for one in self.model.training_info)]
        self.state = {}
        self.reset()

    def reset(self):
        keys = {
            one.key
            for info in self.model.training_info
            for one in (*info.initialization_binding, *info.update_binding)
        }
        for graph in self.graphs:
            for name, value in initial_values(graph).items():
                if name in keys:
                    self.state[name] = widen(value)

    def initialize(self):
        self.reset()
        for info in self.model.training_info:
            bindings = {one.key: one.value for one in info.initialization_binding}
            if bindings:
                model = alone(self.model, info.initialization)
                leaves = {**initial_values(self.model.graph), **self.state}
                self.assign(bindings, self.evaluate(model, list(bindings.values()), leaves))

    def train(self, algorithm, feeds, outputs):
        model = combined(self.model, algorithm)
        bindings = {
            one.key: one.value for one in self.model.training_info[algorithm].update_binding
        }
        wanted = [*outputs, *bindings.values()]
        values = self.evaluate(model, wanted, self.leaves(model, feeds))
        self.assign(bindings, values[len(outputs) :])
        return dict(zip(outputs, values))

    def infer(self, feeds, outputs):
        model = alone(self.model, self.model.graph)
        return dict(zip(outputs, self.evaluate(model, outputs, self.leaves(model, feeds))))

    def leaves(self, model, feeds):
        values = {**initial_values(model.graph), **self.state}
        values.update((name, widen(value)) for name, value in feeds.items())
        return values

    def evaluate(self, model, outputs, leaves):
        return Differentiable(model).run(outputs, leaves)

    def assign(self, bindings, values):
        self.state.update((key, widen(value)) for key, value in zip(bindings, values))


def element_types(model):
    """Declared element types of initializers and of the outputs of graphs."""
    types = {}
    for graph in (model.graph, *(one.algorithm for one in model.training_info)):
        for one in graph.output:
            types[one.name] = one.type.tensor_type.elem_type
        for one in graph.sparse_initializer:
            types[one.values.name] = one.values.data_type
        for one in graph.initializer:
            types.setdefault(one.name, one.data_type)
    return types
