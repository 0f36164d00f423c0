"""Nodes of the training domain that break a rule; a runtime must refuse them."""

import numpy as np
from onnx import numpy_helper

from generate.areas.invalid import base, node
from generate.build import DOMAIN

FOLDER = "invalid"


def gradient(text):
    """Appends a Gradient node to the algorithm."""

    def change(model):
        model.training_info[0].algorithm.node.extend(
            node(text.replace("Gradient", f"{DOMAIN}.Gradient"))
        )

    return change


def gradients():
    """Attributes and inputs of Gradient."""
    names = ["gradient-names-and-values"]
    yield "gradient-of-unknown-x", names, gradient('q = Gradient<xs = ["nothing"], y = "loss">(w)')
    yield "gradient-with-unknown-z", names, gradient(
        'q = Gradient<xs = ["w"], zs = ["nothing"], y = "loss">(w, x)'
    )
    yield "gradient-of-unknown-y", names, gradient(
        'q = Gradient<xs = ["w"], zs = ["x"], y = "nothing">(w, x)'
    )
    yield "gradient-without-y", names, gradient('q = Gradient<xs = ["w"], zs = ["x"]>(w, x)')
    yield "gradient-without-xs", names, gradient('q = Gradient<zs = ["x"], y = "loss">(x)')
    yield "gradient-with-too-few-inputs", ["gradient-ith-input"], gradient(
        'q = Gradient<xs = ["w"], zs = ["x"], y = "loss">(w)'
    )
    yield "gradient-with-too-many-inputs", ["gradient-ith-input"], gradient(
        'q = Gradient<xs = ["w"], y = "loss">(w, x)'
    )
    yield "gradient-with-too-many-outputs", ["gradient-only-xs"], gradient(
        'q, p = Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)'
    )
    yield "gradient-of-a-dependent-x", ["gradient-independent"], gradient(
        'q, p = Gradient<xs = ["w", "h"], zs = ["t"], y = "loss">(w, w, t)'
    )
    yield "gradient-with-a-dependent-z", ["gradient-zs-independent"], gradient(
        'q = Gradient<xs = ["w"], zs = ["x", "h", "t"], y = "loss">(w, x, w, t)'
    )


def optimizers():
    mode = "alpha = 0.5, beta = 0.5, norm_coefficient = 0.0"
    tail = "(rate, one, w, x, t)"
    for what, attributes in (
        ("unknown-mode", mode + ', mode = "fast"'),
        ("no-mode", mode),
        ("no-alpha", 'beta = 0.5, norm_coefficient = 0.0, mode = "standard"'),
        ("mode-of-another-type", mode + ", mode = 1"),
    ):
        yield f"momentum-{what}", ["momentum-mode-values", "momentum-modes"], optimizer(
            f"q, p = {DOMAIN}.Momentum<{attributes}>{tail}"
        )
    yield "momentum-with-an-incomplete-group", ["momentum-input-order"], optimizer(
        f'q, p = {DOMAIN}.Momentum<{mode}, mode = "standard">(rate, one, w, x)'
    )
    yield "adam-with-an-incomplete-group", ["adam-input-order"], optimizer(
        f"q, p, v = {DOMAIN}.Adam(rate, one, w, x, t)"
    )
    yield "adam-with-too-many-outputs", ["adam-output-order"], optimizer(
        f"q, p, v, e = {DOMAIN}.Adam(rate, one, w, x, t, t)"
    )
    yield "adam-with-an-unknown-attribute", ["adam-inputs"], optimizer(
        f"q, p, v = {DOMAIN}.Adam<gamma = 1.0>(rate, one, w, x, t, t)"
    )
    yield "adagrad-with-an-incomplete-group", ["adagrad-input-order"], optimizer(
        f"q, p = {DOMAIN}.Adagrad(rate, one, w, x)"
    )
    yield "adagrad-with-too-many-outputs", ["adagrad-output-order"], optimizer(
        f"q, p, e = {DOMAIN}.Adagrad(rate, one, w, x, t)"
    )
    yield "momentum-with-too-many-outputs", ["momentum-output-order"], optimizer(
        f'q, p, e = {DOMAIN}.Momentum<{mode}, mode = "standard">(rate, one, w, x, t)'
    )


def optimizer(text):
    def change(model):
        graph = model.training_info[0].algorithm
        graph.initializer.append(numpy_helper.from_array(np.float32(0.5), "rate"))
        graph.node.extend(node(text))

    return change


def cases():
    for group in (gradients, optimizers):
        for name, quotes, change in group():
            yield base().broken(name, quotes, change)
