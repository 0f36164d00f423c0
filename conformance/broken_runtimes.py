#!/usr/bin/env python3
"""Runs runtimes that each get one thing wrong; at least one case must fail with every one of them.
Needs onnx."""

import sys

import numpy as np
import onnx
from onnx.reference.op_run import OpRun

from reference import gradient, runner, session
from suite import cases, judge, tensors

FOLDERS = (
    "state",
    "initialization",
    "algorithm",
    "bindings",
    "inference",
    "gradient",
    "optimizers",
)


class OneAfterTheOther(session.Session):
    """A binding sees what the one before it assigned."""

    def train(self, algorithm, feeds, outputs):
        model = session.combined(self.model, algorithm)
        results = self.evaluate(model, outputs, self.leaves(model, feeds))
        for one in self.model.training_info[algorithm].update_binding:
            self.state[one.key] = self.evaluate(model, [one.value], self.leaves(model, feeds))[0]
        return dict(zip(outputs, results))


class NoReset(session.Session):
    """Initialization leaves variables without a binding as they are."""

    def initialize(self):
        kept = dict(self.state)
        bound = {
            one.key for info in self.model.training_info for one in info.initialization_binding
        }
        super().initialize()
        self.state.update((name, value) for name, value in kept.items() if name not in bound)


class Reversed(session.Session):
    """The last initialization first."""

    def initialize(self):
        given = onnx.ModelProto.FromString(self.model.SerializeToString())
        infos = list(given.training_info)[::-1]
        self.model.ClearField("training_info")
        self.model.training_info.extend(infos)
        super().initialize()
        self.model = given


class FirstInitialization(session.Session):
    """Only the first of several initializations."""

    def initialize(self):
        given = onnx.ModelProto.FromString(self.model.SerializeToString())
        del self.model.training_info[1:]
        super().initialize()
        self.model = given


class NoInitialization(session.Session):
    """The initialization method only resets."""

    def initialize(self):
        self.reset()


class FirstAlgorithm(session.Session):
    """Every step is one of the first algorithm."""

    def train(self, algorithm, feeds, outputs):
        return super().train(0, feeds, outputs)


class NoUpdates(session.Session):
    def assign(self, bindings, values):
        pass


class StaleInference(session.Session):
    """Inference with the values of the file."""

    def infer(self, feeds, outputs):
        kept, self.state = self.state, {}
        self.reset()
        results = super().infer(feeds, outputs)
        self.state = kept
        return results


class InferenceWithSideEffect(session.Session):
    def infer(self, feeds, outputs):
        results = super().infer(feeds, outputs)
        self.state.update(
            (name, value + 1) for name, value in self.state.items() if value.dtype.kind == "f"
        )
        return results


class ForgetfulAlgorithm(session.Session):
    """The initializers of an algorithm start anew in every step."""

    def leaves(self, model, feeds):
        values = super().leaves(model, feeds)
        for graph in self.graphs[1:]:
            values.update(
                (name, session.widen(value))
                for name, value in session.initial_values(graph).items()
                if name in values
            )
        return values


class MainOutputsUnbound(session.Session):
    """Bindings to outputs of the main graph are ignored."""

    def assign(self, bindings, values):
        main = {one.name for one in self.model.graph.output}
        kept = {key: value for key, value in self.state.items() if bindings.get(key) in main}
        super().assign(bindings, values)
        self.state.update(kept)


class OutputsAfterTheUpdate(session.Session):
    """Outputs are those of the new values."""

    def train(self, algorithm, feeds, outputs):
        super().train(algorithm, feeds, outputs)
        model = session.combined(self.model, algorithm)
        return dict(zip(outputs, self.evaluate(model, outputs, self.leaves(model, feeds))))


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


def adam(r, t, x, g, v, h, a, inside=False, uncorrected=False, decoupled=False):
    g = g if decoupled else g + a["norm_coefficient"] * x
    v = a["alpha"] * v + (1 - a["alpha"]) * g
    h = a["beta"] * h + (1 - a["beta"]) * g * g
    rate = r if uncorrected or t == 0 else r * np.sqrt(1 - a["beta"] ** t) / (1 - a["alpha"] ** t)
    root = np.sqrt(h + a["epsilon"]) if inside else np.sqrt(h) + a["epsilon"]
    x = (1 - rate * a["norm_coefficient"]) * x if decoupled else x
    return (1 - a["norm_coefficient_post"]) * (x - rate * v / root), v, h


def adagrad(r, t, x, g, h, a, late=0, inside=False):
    g = g + a["norm_coefficient"] * x
    h = h + g * g
    root = np.sqrt(h + a["epsilon"]) if inside else np.sqrt(h) + a["epsilon"]
    return x - r / (1 + (t + late) * a["decay_factor"]) * g / root, h


def momentum(r, t, x, g, v, a, adjusted=True, old=False):
    g = g + a["norm_coefficient"] * x
    new = a["alpha"] * v + (a["beta"] if t > 0 or not adjusted else 1.0) * g
    nesterov = a["mode"] == "nesterov"
    step = g + a["alpha"] * (v if old else new) if nesterov else new
    return x - r * step, new


def variant(formula, **changes):
    return lambda *given: formula(*given, **changes)


RUNTIMES = {
    "updates one after the other": OneAfterTheOther,
    "no reset": NoReset,
    "initializations in reverse order": Reversed,
    "first initialization only": FirstInitialization,
    "no initialization": NoInitialization,
    "first algorithm always": FirstAlgorithm,
    "no updates": NoUpdates,
    "inference with initial values": StaleInference,
    "inference with a side effect": InferenceWithSideEffect,
    "algorithm that forgets": ForgetfulAlgorithm,
    "main outputs are not bound": MainOutputsUnbound,
    "outputs after the update": OutputsAfterTheUpdate,
    "Gradient at the values of the graph": with_gradient(own_values),
    "Gradient ignores the values of zs": with_gradient(own_zs),
    "Gradient mixes its inputs up": with_gradient(swapped_inputs),
    "Gradient shifts its outputs": RuntimeWithShiftedOutputs,
    "Adam with epsilon in the root": with_optimizer("Adam", variant(adam, inside=True)),
    "Adam without correction": with_optimizer("Adam", variant(adam, uncorrected=True)),
    "Adam with decoupled decay": with_optimizer("Adam", variant(adam, decoupled=True)),
    "Adagrad one step late": with_optimizer("Adagrad", variant(adagrad, late=1)),
    "Adagrad with epsilon in the root": with_optimizer("Adagrad", variant(adagrad, inside=True)),
    "Momentum with beta in the first step": with_optimizer(
        "Momentum", variant(momentum, adjusted=False)
    ),
    "Momentum with the old momentum": with_optimizer("Momentum", variant(momentum, old=True)),
}


class Played:
    """Results of a runtime, in memory."""

    def __init__(self, case, runtime):
        self.found = {}
        model = runtime(onnx.load(case.folder / "model.onnx"))
        for index, call in enumerate(case.calls):
            feeds = runner.load_feeds(call.folder)
            outputs = runner.make(model, call.plan, feeds)
            state = {name: model.state[name] for name in call.plan["state"]}
            for prefix, values in (("output", outputs), ("state", state)):
                self.found[index, prefix] = {
                    name: tensors.read(
                        runner.to_tensor(name, np.asarray(value), model.types).SerializeToString()
                    )
                    for name, value in values.items()
                }

    def report(self):
        return "done", ""

    def tensors(self, call, prefix):
        return self.found[call, prefix]


def fails(case, runtime):
    """A runtime that crashes shows nothing."""
    try:
        played = Played(case, runtime)
    except Exception:  # pylint: disable=broad-except
        return False
    return judge.judge(case, played)[0] == judge.FAILED


def main():
    found = [case for case in cases.read_cases() if case.folder.parent.name in FOLDERS]
    survivors = [case.name for case in found if fails(case, session.Session)]
    if survivors:
        sys.exit(f"the reference itself fails: {survivors}")
    for what, runtime in RUNTIMES.items():
        caught = [case.name for case in found if fails(case, runtime)]
        print(f"{len(caught):4} cases fail: {what}", flush=True)
        survivors += [] if caught else [what]
    print(f"{len(RUNTIMES)} broken runtimes, {len(survivors)} pass every case")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
