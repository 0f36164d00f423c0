# SPDX-License-Identifier: Apache-2.0
"""Evaluates graphs in PyTorch, in double precision, with Gradient by automatic differentiation."""

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from generate import torch_control, torch_math, torch_network, torch_shape

OPERATORS = {**torch_math.OPERATORS, **torch_shape.OPERATORS, **torch_network.OPERATORS}
TRAINING_DOMAIN = "ai.onnx.preview.training"


def to_torch(array):
    array = np.asarray(array)
    if array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        array = array.astype(np.float64)
    return torch.from_numpy(np.array(array))


def flat_places(places, size):
    """Linear indices of the elements of a sparse tensor."""
    if places.dim() == 1:
        return places
    strides = [int(np.prod(size[i + 1 :], dtype=int)) for i in range(len(size))]
    return (places * torch.tensor(strides)).sum(1)


class Attributes:
    """Attributes of a node by name, with defaults."""

    def __init__(self, node, given):
        self.values = {}
        for one in node.attribute:
            if one.ref_attr_name:
                if one.ref_attr_name in given:
                    self.values[one.name] = given[one.ref_attr_name]
            else:
                self.values[one.name] = self.convert(onnx.helper.get_attribute_value(one))

    @staticmethod
    def convert(value):
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, onnx.TensorProto):
            return to_torch(numpy_helper.to_array(value))
        if isinstance(value, list) and value and isinstance(value[0], bytes):
            return [one.decode() for one in value]
        return value

    def __call__(self, name, default=None):
        return self.values.get(name, default)


class Scope:
    """Values of a graph, computed when they are asked for."""

    def __init__(self, nodes, leaves, functions, outer=None, given=None):
        self.nodes, self.functions, self.outer = nodes, functions, outer
        self.leaves, self.values = leaves, dict(leaves)
        self.given = given or {}
        self.producers = {name: node for node in nodes for name in node.output if name}

    def get(self, name):
        if name in self.values:
            return self.values[name]
        if name not in self.producers:
            if self.outer is None:
                raise KeyError(name)
            return self.outer.get(name)
        node = self.producers[name]
        results = self.apply(node)
        for output, value in zip(node.output, results):
            if output:
                self.values.setdefault(output, value)
        return self.values[name]

    def apply(self, node):
        attributes = Attributes(node, self.given)
        if (node.domain, node.op_type) in self.functions:
            inputs = [self.get(name) if name else None for name in node.input]
            return self.call(self.functions[node.domain, node.op_type], inputs, attributes)
        if node.domain == TRAINING_DOMAIN and node.op_type == "Gradient":
            return self.gradient(node, attributes)
        if node.op_type in torch_control.OPERATORS:
            return torch_control.OPERATORS[node.op_type](self, node, attributes)
        inputs = [self.get(name) if name else None for name in node.input]
        results = OPERATORS[node.op_type](attributes, *inputs)
        return results if isinstance(results, (tuple, list)) else (results,)

    def body(self, graph, inputs):
        """Outputs of a nested graph."""
        leaves = {one.name: value for one, value in zip(graph.input, inputs)}
        leaves.update((one.name, to_torch(numpy_helper.to_array(one))) for one in graph.initializer)
        inner = Scope(graph.node, leaves, self.functions, self, self.given)
        return [inner.get(one.name) for one in graph.output]

    def call(self, function, inputs, attributes):
        given = {
            one.name: Attributes.convert(onnx.helper.get_attribute_value(one))
            for one in function.attribute_proto
        }
        given.update(attributes.values)
        leaves = dict(zip(function.input, inputs))
        inner = Scope(function.node, leaves, self.functions, given=given)
        return [inner.get(name) for name in function.output]

    def substituted(self, values):
        """The same scope, and those around it, with other values; nothing is computed yet."""
        outer = None if self.outer is None else self.outer.substituted(values)
        return Scope(self.nodes, {**self.leaves, **values}, self.functions, outer, self.given)

    def gradient(self, node, attributes):
        xs, names = attributes("xs"), [*attributes("xs"), *attributes("zs", [])]
        inputs = [self.get(name) for name in node.input]
        points = [
            (
                value.clone()
                if value.requires_grad or not value.is_floating_point()
                else value.detach().clone().requires_grad_()
            )
            for value in inputs
        ]
        inner = self.substituted(dict(zip(names, points)))
        total = inner.get(attributes("y")).sum()
        points = points[: len(xs)]
        if not total.requires_grad:
            return [torch.zeros_like(one) for one in points]
        found = torch.autograd.grad(total, points, create_graph=True, allow_unused=True)
        return [
            torch.zeros_like(point) if one is None else one for point, one in zip(points, found)
        ]
