# SPDX-License-Identifier: Apache-2.0
"""Nodes of the training domain that break a rule; a runtime must refuse them."""

import numpy as np
from onnx import numpy_helper

from generate.areas.invalid import base, complete, node
from generate.build import DOMAIN

FOLDER = "invalid"
STEP = f'g = {DOMAIN}.Gradient<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t)'


def appended(text):
    """A change that appends nodes to the algorithm."""

    def change(model):
        graph = model.training_info[0].algorithm
        graph.initializer.append(numpy_helper.from_array(np.float32(0.5), "rate"))
        graph.node.extend(node(text.replace("TRAINING", DOMAIN)))

    return change


def gradients():
    """Attributes and inputs of Gradient."""
    names = ["gradient-names-and-values"]
    signature = ["operator-signature"]
    for name, quotes, text in (
        ("gradient-of-unknown-x", names, '<xs = ["nothing"], y = "loss">(w)'),
        ("gradient-with-unknown-z", names, '<xs = ["w"], zs = ["nothing"], y = "loss">(w, x)'),
        ("gradient-of-unknown-y", names, '<xs = ["w"], zs = ["x"], y = "nothing">(w, x)'),
        ("gradient-without-y", signature, '<xs = ["w"], zs = ["x"]>(w, x)'),
        ("gradient-without-xs", signature, '<zs = ["x"], y = "loss">(x)'),
        (
            "gradient-with-too-few-inputs",
            ["gradient-ith-input"],
            '<xs = ["w"], zs = ["x"], y = "loss">(w)',
        ),
        ("gradient-with-too-many-inputs", ["gradient-ith-input"], '<xs = ["w"], y = "loss">(w, x)'),
        (
            "gradient-with-a-dependent-z",
            ["gradient-zs-independent"],
            '<xs = ["w"], zs = ["x", "h", "t"], y = "loss">(w, x, w, t)',
        ),
    ):
        yield name, quotes, f"q = TRAINING.Gradient{text}", "another-gradient"
    for name, quotes, text in (
        (
            "gradient-with-too-many-outputs",
            ["gradient-only-xs"],
            '<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t)',
        ),
        (
            "gradient-of-a-dependent-x",
            ["gradient-independent"],
            '<xs = ["w", "h"], zs = ["t"], y = "loss">(w, w, t)',
        ),
    ):
        yield name, quotes, f"q, p = TRAINING.Gradient{text}", "gradient-with-two-outputs"


MODE = "alpha = 0.5, beta = 0.5, norm_coefficient = 0.0"
ONE = "(rate, one, w, x, t)"


def momentum():
    modes = ["momentum-mode-values", "momentum-modes"]
    signature = ["operator-signature"]
    standard = f'<{MODE}, mode = "standard">'
    for what, quotes, outputs, rest in (
        ("unknown-mode", modes, "q, p", f'<{MODE}, mode = "fast">{ONE}'),
        ("no-mode", signature, "q, p", f"<{MODE}>{ONE}"),
        (
            "no-alpha",
            signature,
            "q, p",
            f'<beta = 0.5, norm_coefficient = 0.0, mode = "standard">{ONE}',
        ),
        (
            "alpha-of-another-type",
            signature,
            "q, p",
            f'<alpha = 1, beta = 0.5, norm_coefficient = 0.0, mode = "standard">{ONE}',
        ),
        (
            "with-an-incomplete-group",
            ["momentum-input-order"],
            "q, p",
            f"{standard}(rate, one, w, x, t, w)",
        ),
        ("with-too-many-outputs", ["momentum-output-order"], "q, p, e", standard + ONE),
    ):
        yield f"momentum-{what}", quotes, f"{outputs} = TRAINING.Momentum{rest}", "momentum"


def others():
    for name, quotes, text in (
        ("with-an-incomplete-group", ["adam-input-order"], "q, p, v = OP(rate, one, w, x, t, t, w)"),
        ("with-too-many-outputs", ["adam-output-order"], "q, p, v, e = OP(rate, one, w, x, t, t)"),
        (
            "with-an-unknown-attribute",
            ["operator-signature"],
            "q, p, v = OP<gamma = 1.0>(rate, one, w, x, t, t)",
        ),
        (
            "alpha-of-another-type",
            ["operator-signature"],
            "q, p, v = OP<alpha = 1>(rate, one, w, x, t, t)",
        ),
    ):
        yield f"adam-{name}", quotes, text.replace("OP", "TRAINING.Adam"), "adam"
    for name, quotes, text in (
        ("with-an-incomplete-group", ["adagrad-input-order"], "q, p = OP(rate, one, w, x, t, w)"),
        ("with-too-many-outputs", ["adagrad-output-order"], "q, p, e = OP(rate, one, w, x, t)"),
        (
            "decay-of-another-type",
            ["operator-signature"],
            "q, p = OP<decay_factor = 1>(rate, one, w, x, t)",
        ),
    ):
        yield f"adagrad-{name}", quotes, text.replace("OP", "TRAINING.Adagrad"), "adagrad"


TWINS = {
    "with-gradient": "",
    "another-gradient": 'q = TRAINING.Gradient<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t)',
    "gradient-with-two-outputs": (
        'q, p = TRAINING.Gradient<xs = ["w", "t"], zs = ["x"], y = "loss">(w, t, x)'
    ),
    "momentum": f'q, p = TRAINING.Momentum<{MODE}, mode = "standard">{ONE}',
    "adam": "q, p, v = TRAINING.Adam<alpha = 0.5>(rate, one, w, x, t, t)",
    "adagrad": "q, p = TRAINING.Adagrad<decay_factor = 0.5>(rate, one, w, x, t)",
}


def model_of(twin):
    return base(STEP) if "gradient" in twin else base()


def valid_cases():
    found = {
        name: model_of(name).changed(name, appended(text)) if text else model_of(name).changed(name, lambda m: None)
        for name, text in TWINS.items()
    }
    for case in found.values():
        complete(case)
    return found


def cases():
    valid = valid_cases()
    for group in (gradients, momentum, others):
        for name, quotes, text, twin in group():
            yield model_of(twin).broken(name, quotes, appended(text), valid[twin])
