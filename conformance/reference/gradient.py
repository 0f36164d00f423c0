# SPDX-License-Identifier: Apache-2.0
"""Operator Gradient by central differences."""

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

STEP = 1e-2
WEIGHTS = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}  # of f(x + k h) - f(x - k h), error of order h^6


def needed_nodes(nodes, wanted, given):
    """The nodes that compute `wanted` from `given` and leaves, in order."""
    missing, kept = {wanted} - given, []
    for node in reversed(nodes):
        if missing.isdisjoint(node.output):
            continue
        copy = onnx.NodeProto.FromString(node.SerializeToString())
        for i, name in enumerate(copy.output):
            if name in given:
                copy.output[i] = f"{name} of the graph itself"
        missing -= set(node.output)
        missing |= names_read(node) - given
        kept.append(copy)
    return kept[::-1]


def names_read(node):
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                names |= names_read(inner)
            names |= {one.name for one in attribute.g.output}
    return names


def visible_nodes(model):
    """By the outputs of each node: the nodes of the graphs around it, outer ones first."""

    def walk(nodes, outer):
        visible = [*outer, *nodes]
        for node in nodes:
            yield tuple(node.output), visible
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    yield from walk(attribute.g.node, visible)

    yield from walk(model.graph.node, [])
    for function in model.functions:
        yield from walk(function.node, [])


def slope(function, values, which):
    """Derivative of `function` with respect to each element of values[which]."""
    result = np.zeros(values[which].shape)
    for index in np.ndindex(values[which].shape):
        for k, weight in WEIGHTS.items():
            for sign in (1, -1):
                moved = [np.array(value) for value in values]
                moved[which][index] += sign * k * STEP
                result[index] += sign * weight * function(moved)
    return result / STEP


class Multinomial(OpRun):
    """onnx.reference lacks it."""

    def _run(self, logits, dtype=None, sample_size=None, seed=None):
        weights = np.exp(logits - logits.max(1, keepdims=True))
        bounds = np.cumsum(weights / weights.sum(1, keepdims=True), 1)[:, None, :-1]
        points = np.random.default_rng().random((len(logits), sample_size, 1))
        return ((points >= bounds).sum(2).astype(np.int32),)


class Differentiable:
    """A graph whose Gradient nodes can be evaluated."""

    operators = [Multinomial]

    def __init__(self, model):
        self.model, self.leaves, self.scope = model, {}, model.graph.node
        self.scopes = dict(visible_nodes(model))
        owner = self

        class Gradient(OpRun):
            op_domain = "ai.onnx.preview.training"

            def _run(self, *inputs, xs=None, y=None, zs=None):
                names = [*xs, *(zs or [])]
                owner.scope = owner.scopes.get(tuple(self.output), owner.model.graph.node)
                results = owner.derivatives(names, list(inputs), y, self.output, len(xs))
                return tuple(results)

        self.gradient = Gradient

    def evaluator(self, nodes, outputs):
        model = onnx.ModelProto.FromString(self.model.SerializeToString())
        graph = model.graph
        for field in ("node", "output", "value_info", "input", "sparse_initializer"):
            graph.ClearField(field)
        graph.node.extend(nodes)
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
        # It would not give new operators to functions.
        functions = []
        for one in model.functions:
            functions.append(
                ReferenceEvaluator(one, functions=list(functions), new_ops=self.new_operators())
            )
        versions = {one.domain: one.version for one in model.opset_import}
        return ReferenceEvaluator(graph, versions, functions, new_ops=self.new_operators())

    def new_operators(self):
        return [self.gradient, *self.operators]

    def run(self, outputs, leaves):
        self.leaves = leaves
        evaluator = self.evaluator(self.model.graph.node, outputs)
        return evaluator.run(outputs, leaves)

    def derivatives(self, names, values, y, outputs, count):
        evaluator = self.evaluator(needed_nodes(self.scope, y, set(names)), [y])

        def function(inputs):
            feeds = {**self.leaves, **dict(zip(names, inputs))}
            return float(np.sum(evaluator.run([y], feeds)[0]))

        wanted = [i < len(outputs) and outputs[i] != "" for i in range(count)]
        found = [
            slope(function, values, i) if wanted[i] else np.zeros(values[i].shape)
            for i in range(count)
        ]
        return found[: max(1, len(outputs))]
