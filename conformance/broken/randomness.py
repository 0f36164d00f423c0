# SPDX-License-Identifier: Apache-2.0
"""Random numbers that are not random enough."""

import collections

import numpy as np
from onnx.reference.op_run import OpRun

from reference import gradient, session


def runtime(draw, ops=("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")):
    """A runtime whose random nodes return draw(rng, count) of levels in (0, 1).

    `rng(step, node)` gives a generator; `count` is the number of elements.
    """

    class Runtime(session.Session):
        step = 0

        def evaluate(self, model, outputs, leaves):
            self.step += 1
            operators = [operator(name, draw, self.step) for name in ops]
            return evaluated(model, outputs, leaves, operators)

    return Runtime


def evaluated(model, outputs, leaves, operators):
    class Random(gradient.Differentiable):
        pass

    Random.operators = [*gradient.Differentiable.operators, *operators]
    return Random(model).run(outputs, leaves)


class OneSeedPerPlace(session.Session):
    """Each graph counts its own steps, and a node draws by its place in the graph."""

    def __init__(self, model):
        super().__init__(model)
        self.runs = collections.Counter()

    def evaluate(self, model, outputs, leaves):
        graph = model.graph.SerializeToString(deterministic=True)
        self.runs[graph] += 1
        places = {one.output[0]: place for place, one in enumerate(model.graph.node)}

        def draw(step, node, count):
            return right(step, places[node], count)

        names = ("RandomNormal", "RandomNormalLike")
        operators = [operator(name, draw, self.runs[graph]) for name in names]
        return evaluated(model, outputs, leaves, operators)


def quantile(levels, mean, scale):
    """Of the normal distribution, by bisection of its distribution function."""
    from statistics import NormalDist

    law = NormalDist(mean, scale)
    return np.array([law.inv_cdf(float(one)) for one in levels])


def operator(name, draw, step):
    def run(self, *inputs, **attributes):
        shape = inputs[0].shape if inputs else tuple(attributes["shape"])
        levels = draw(step, self.output[0], int(np.prod(shape)))
        if "Normal" in name:
            values = quantile(levels, attributes.get("mean", 0.0), attributes.get("scale", 1.0))
        else:
            low, high = attributes.get("low", 0.0), attributes.get("high", 1.0)
            values = low + (high - low) * np.asarray(levels)
        return (np.asarray(values).reshape(shape),)

    return type(name, (OpRun,), {"op_domain": "", "_run": run})


def levels(seed, count):
    return np.clip(np.random.default_rng(seed).random(count), 1e-9, 1 - 1e-9)


def seed_of(*parts):
    return [ord(letter) for part in parts for letter in str(part)]


def right(step, node, count):
    return levels(seed_of(step, node), count)


def frozen(step, node, count):
    return levels(seed_of(node), count)


def one_seed(step, node, count):
    return levels(seed_of(step), count)


def ordered(step, node, count):
    return np.sort(right(step, node, count))


def repeated_halves(step, node, count):
    return np.tile(right(step, node, count // 2), 2)


def mirrored_neighbors(step, node, count):
    half = right(step, node, count // 2)
    return np.stack([half, 1 - half], 1).ravel()


def few(step, node, count):
    return right(step, node, 50)[np.random.default_rng(seed_of(node)).integers(0, 50, count)]


def narrow(step, node, count):
    return 0.5 + 0.7 * (right(step, node, count) - 0.5)


def mirrored_steps(step, node, count):
    """Every second step has one minus the numbers of the one before."""
    base = levels(seed_of(step // 2, node), count)
    return 1 - base if step % 2 else base


def dropout(step_matters):
    """A Dropout whose mask is the same in every step, or is not."""

    class Runtime(session.Session):
        step = 0

        def evaluate(self, model, outputs, leaves):
            self.step += 1
            seed = seed_of(self.step if step_matters else 0)

            class Dropout(OpRun):
                op_domain = ""

                def _run(self, data, ratio=None, training_mode=None, seed=None):
                    kept = levels(seed_, data.size).reshape(data.shape) >= float(ratio)
                    return (np.where(kept, data / (1 - float(ratio)), 0.0), kept)

            seed_ = seed

            class Random(gradient.Differentiable):
                pass

            Random.operators = [*gradient.Differentiable.operators, Dropout]
            return Random(model).run(outputs, leaves)

    return Runtime
