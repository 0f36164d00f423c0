# SPDX-License-Identifier: Apache-2.0
"""The methods of a training model done wrongly: state, initialization, steps, inference."""

import numpy as np
import onnx

from reference import session


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


class InitializationOneAfterTheOther(session.Session):
    """A binding of an initialization sees what the one before it assigned."""

    def initialize(self):
        self.reset()
        for info in self.model.training_info:
            model = session.alone(self.model, info.initialization)
            for one in info.initialization_binding:
                leaves = {**session.initial_values(self.model.graph), **self.state}
                self.state[one.key] = self.evaluate(model, [one.value], leaves)[0]


class AlgorithmNotReset(session.Session):
    """Initialization leaves variables of algorithms without a binding as they are."""

    def initialize(self):
        kept = dict(self.state)
        bound = {
            one.key for info in self.model.training_info for one in info.initialization_binding
        }
        main = session.initial_values(self.model.graph)
        super().initialize()
        self.state.update(
            (name, value)
            for name, value in kept.items()
            if name not in bound and name not in main
        )


class InitializedAtLoad(session.Session):
    def __init__(self, model):
        super().__init__(model)
        self.initialize()


class InitializationsFromResetValues(session.Session):
    """No initialization sees what an earlier one assigned."""

    def initialize(self):
        self.reset()
        leaves = {**session.initial_values(self.model.graph), **self.state}
        for info in self.model.training_info:
            bindings = {one.key: one.value for one in info.initialization_binding}
            if bindings:
                model = session.alone(self.model, info.initialization)
                self.assign(bindings, self.evaluate(model, list(bindings.values()), leaves))


class InitializationWithoutReset(session.Session):
    """Initialization graphs read what was trained."""

    def reset(self):
        if not self.state:
            super().reset()


class InitializedOnce(session.Session):
    """A second initialization does nothing."""

    done = False

    def initialize(self):
        if not self.done:
            super().initialize()
        self.done = True


class KeptFeeds(session.Session):
    """An input keeps what was fed first."""

    def leaves(self, model, feeds):
        self.kept = {**feeds, **getattr(self, "kept", {})}
        return super().leaves(model, {name: self.kept[name] for name in feeds})


class SinglePrecision(session.Session):
    """State is kept in single precision."""

    def assign(self, bindings, values):
        super().assign(bindings, [narrow(value) for value in values])


def narrow(value):
    value = np.asarray(value)
    return value.astype(np.float32).astype(value.dtype) if value.dtype == np.float64 else value


class IntegersAsDouble(session.Session):
    """Integer state goes through double precision."""

    def assign(self, bindings, values):
        values = [np.asarray(one) for one in values]
        super().assign(
            bindings,
            [one.astype(np.float64).astype(one.dtype) if one.dtype.kind in "iu" else one
             for one in values],
        )


class FirstUpdateOnly(session.Session):
    """Only the first binding of a step is assigned."""

    def train(self, algorithm, feeds, outputs):
        kept = dict(self.state)
        results = super().train(algorithm, feeds, outputs)
        bindings = self.model.training_info[algorithm].update_binding
        for one in bindings[1:]:
            self.state[one.key] = kept[one.key]
        return results


class UpdatesInAlphabeticalOrder(session.Session):
    """Values are assigned to sorted keys."""

    def train(self, algorithm, feeds, outputs):
        results = super().train(algorithm, feeds, outputs)
        keys = [one.key for one in self.model.training_info[algorithm].update_binding]
        values = [self.state[key] for key in keys]
        self.state.update(zip(sorted(keys), values))
        return results


class UpdatesWhenInitialized(session.Session):
    """Initialization also assigns update bindings."""

    def initialize(self):
        super().initialize()
        for i, info in enumerate(self.model.training_info):
            if info.update_binding and not self.model.graph.input and not info.algorithm.input:
                self.train(i, {}, [])


class AlgorithmsInReverse(session.Session):
    """The last algorithm is taken for the first."""

    def train(self, algorithm, feeds, outputs):
        return super().train(len(self.model.training_info) - 1 - algorithm, feeds, outputs)


class InferenceBeforeInitialization(session.Session):
    """Inference ignores initialization for variables that no step updates."""

    def infer(self, feeds, outputs):
        updated = {one.key for info in self.model.training_info for one in info.update_binding}
        kept = dict(self.state)
        initial = session.initial_values(self.model.graph)
        self.state.update((k, session.widen(v)) for k, v in initial.items() if k not in updated)
        results = super().infer(feeds, outputs)
        self.state = kept
        return results


class FoldedBodies(session.Session):
    """Bodies keep the first values that they captured."""

    def evaluate(self, model, outputs, leaves):
        if not hasattr(self, "first"):
            self.first = {name: value for name, value in self.state.items()}
        model = onnx.ModelProto.FromString(model.SerializeToString())
        for node in model.graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    for inner in attribute.g.node:
                        for i, name in enumerate(inner.input):
                            if name in self.first:
                                inner.input[i] = f"{name} at first"
        older = {f"{name} at first": value for name, value in self.first.items()}
        return super().evaluate(model, outputs, {**leaves, **older})
