# SPDX-License-Identifier: Apache-2.0
"""Gradient and the optimizers computed wrongly."""

import numpy as np
from onnx.reference.op_run import OpRun

from reference import gradient, session


def with_gradient(change):
    """A runtime whose Gradient is changed: `change` gets names, values, leaves and the results."""

    class Wrong(gradient.Differentiable):
        def derivatives(self, names, values, y, outputs, count):
            values = change(self, names, values, count)
            return super().derivatives(names, values, y, outputs, count)

    class Runtime(session.Session):
        def evaluate(self, model, outputs, leaves):
            return Wrong(model).run(outputs, leaves)

    return Runtime


def own_values(graph, names, values, _):
    """The values in the graph, whatever is fed."""
    nodes, known = graph.model.graph.node, dict(graph.leaves)
    for name in set(names) - set(known):
        evaluator = graph.evaluator(gradient.needed_nodes(nodes, name, set()), [name])
        known[name] = evaluator.run([name], graph.leaves)[0]
    return [known[name] for name in names]


def own_zs(graph, names, values, count):
    return [*values[:count], *own_values(graph, names, values, count)[count:]]


def swapped_inputs(_, names, values, count):
    same = all(one.shape == values[0].shape for one in values)
    return values[::-1] if same else values


class ShiftedOutputs(gradient.Differentiable):
    """Left out outputs are not counted."""

    def derivatives(self, names, values, y, outputs, count):
        found = super().derivatives(names, values, y, [f"_{i}" for i in range(count)], count)
        wanted = iter(found)
        return [next(wanted) if name else np.zeros(()) for name in outputs]


class RuntimeWithShiftedOutputs(session.Session):
    def evaluate(self, model, outputs, leaves):
        return ShiftedOutputs(model).run(outputs, leaves)



def scaled_results(change):
    """A runtime whose Gradient gives change(xs, y, found) of the right results."""

    class Wrong(gradient.Differentiable):
        def derivatives(self, names, values, y, outputs, count):
            found = super().derivatives(names, values, y, outputs, count)
            return change(self, names, y, found)

    class Runtime(session.Session):
        def evaluate(self, model, outputs, leaves):
            return Wrong(model).run(outputs, leaves)

    return Runtime


def a_little_too_large(graph, names, y, found):
    return [1.001 * one for one in found]


def unrelated_is_one(graph, names, y, found):
    needed = {
        name for node in gradient.needed_nodes(graph.scope, y, set(names)) for name in node.input
    }
    return [
        one if name in needed or name == y else one + 1 for name, one in zip(names, found)
    ]


def without_scope(graph, names, y, found):
    """Gradient within a body gives zero."""
    outside = len(graph.scope) == len(graph.model.graph.node)
    return found if outside else [0 * one for one in found]


def reversed_zs(_, names, values, count):
    xs, zs = values[:count], values[count:]
    same = all(one.shape == zs[0].shape for one in zs)
    return [*xs, *(zs[::-1] if same else zs)]


def negated(graph, names, y, found):
    return [-one for one in found]


def clipped(graph, names, y, found):
    return [np.clip(one, -1, 1) for one in found]


class NoSecondOrder(gradient.Differentiable):
    """Gradient of a Gradient is zero."""

    def derivatives(self, names, values, y, outputs, count):
        found = super().derivatives(names, values, y, outputs, count)
        nodes = gradient.needed_nodes(self.scope, y, set(names))
        inner = any(one.op_type == "Gradient" for one in nodes)
        return [0 * one for one in found] if inner else found


class RuntimeWithoutSecondOrder(session.Session):
    def evaluate(self, model, outputs, leaves):
        return NoSecondOrder(model).run(outputs, leaves)


def with_optimizer(op, formula):
    """A runtime whose optimizer computes `formula` for each tensor."""
    groups = {"Adam": 4, "Adagrad": 3, "Momentum": 3}[op]

    def run(self, r, t, *rest, **attributes):
        count = len(rest) // groups
        results = [formula(r, t, *rest[i::count], attributes) for i in range(count)]
        return tuple(one for group in zip(*results) for one in group)

    operator = type(op, (OpRun,), {"op_domain": "ai.onnx.preview.training", "_run": run})

    class Wrong(gradient.Differentiable):
        operators = [*gradient.Differentiable.operators, operator]

    class Runtime(session.Session):
        def evaluate(self, model, outputs, leaves):
            return Wrong(model).run(outputs, leaves)

    return Runtime


def adam(r, t, x, g, v, h, a, wrong=""):
    raw, old, t = g, x, t + 1 if wrong == "late" else t % 2**15 if wrong == "short" else t
    g = g if wrong == "decoupled" else g + a["norm_coefficient"] * x
    squared = raw if wrong == "raw" else g
    v = a["alpha"] * v + (1 - a["alpha"]) * g
    h = a["beta"] * h + (1 - a["beta"]) * squared * squared
    power = max(t, 1) if wrong == "from one" else t
    corrected = wrong != "uncorrected" and power > 0
    rate = r * np.sqrt(1 - a["beta"] ** power) / (1 - a["alpha"] ** power) if corrected else r
    epsilon = {"small": 1e-8, "none": 1e-30}.get(wrong, a["epsilon"])
    root = np.sqrt(h + epsilon) if wrong == "inside" else np.sqrt(h) + epsilon
    x = (1 - rate * a["norm_coefficient"]) * x if wrong == "decoupled" else x
    new, post = x - rate * v / root, a["norm_coefficient_post"]
    return new - post * old if wrong == "post of old" else (1 - post) * new, v, h


def adagrad(r, t, x, g, h, a, wrong=""):
    raw = g
    g = g + a["norm_coefficient"] * x
    h = h + (raw * raw if wrong == "raw" else g * g)
    epsilon = 1e-30 if wrong == "none" else a["epsilon"]
    root = np.sqrt(h + epsilon) if wrong == "inside" else np.sqrt(h) + epsilon
    t = t + 1 if wrong == "late" else t
    return x - r / (1 + t * a["decay_factor"]) * g / root, h


def momentum(r, t, x, g, v, a, wrong=""):
    raw = g
    g = g + a["norm_coefficient"] * x
    first = {"unadjusted": False, "one is first": t <= 1}.get(wrong, t == 0)
    new = a["alpha"] * v + (1.0 if first else a["beta"]) * g
    if wrong == "damped":
        new = a["alpha"] * v + (1 - a["alpha"]) * g
    nesterov = a["mode"] == "nesterov" and wrong != "standard always"
    step = (raw if wrong == "raw" else g) + a["alpha"] * (v if wrong == "old" else new)
    return x - r * (step if nesterov else new), new


def variant(formula, **changes):
    return lambda *given: formula(*given, **changes)
