# SPDX-License-Identifier: Apache-2.0
"""Operators Adam, Adagrad and Momentum against their pseudo code, written out in numpy as well."""

import numpy as np

from generate.build import Case, Info, f32, spread

DOMAIN = "ai.onnx.preview.training"
FOLDER = "optimizers"
RATE = np.float32(0.125)


def rounded(value):
    """Attributes are float32 numbers."""
    return float(np.float32(value))


def adam(x, g, v, h, r, t, alpha=0.9, beta=0.999, epsilon=1e-6, norm=0.0, post=0.0):
    alpha, beta, epsilon = rounded(alpha), rounded(beta), rounded(epsilon)
    regularized = rounded(norm) * x + g
    v_new = alpha * v + (1 - alpha) * regularized
    h_new = beta * h + (1 - beta) * regularized * regularized
    adjusted = r * np.sqrt(1 - beta**t) / (1 - alpha**t) if t > 0 else r
    x_new = x - adjusted * v_new / (np.sqrt(h_new) + epsilon)
    return (1 - rounded(post)) * x_new, v_new, h_new


def adagrad(x, g, h, r, t, decay=0.0, epsilon=1e-6, norm=0.0):
    rate = r / (1 + t * rounded(decay))
    regularized = rounded(norm) * x + g
    h_new = h + regularized * regularized
    return x - rate * regularized / (np.sqrt(h_new) + rounded(epsilon)), h_new


def momentum(x, g, v, r, t, alpha, beta, norm, mode):
    regularized = rounded(norm) * x + g
    v_new = rounded(alpha) * v + (rounded(beta) if t > 0 else 1.0) * regularized
    step = regularized + rounded(alpha) * v_new if mode == "nesterov" else v_new
    return x - r * step, v_new


FORMULAS = {
    "Adam": (adam, ("v", "h")),
    "Adagrad": (adagrad, ("h",)),
    "Momentum": (momentum, ("v",)),
}
ATTRIBUTES = {"norm": "norm_coefficient", "post": "norm_coefficient_post", "decay": "decay_factor"}


def attribute_text(attributes):
    words = []
    for key, value in attributes.items():
        shown = f'"{value}"' if isinstance(value, str) else repr(float(value))
        words.append(f"{ATTRIBUTES.get(key, key)} = {shown}")
    return f"<{', '.join(words)}>" if words else ""


def starting_values(op, count, shape, dtype, scale=1.0):
    """Tensors x0, g0, v0, h0, x1, ... with accumulators that are not zero."""
    values = {}
    for i in range(count):
        size = (*shape, i + 1) if count > 1 else shape
        for k, letter in enumerate(("x", "g", *FORMULAS[op][1])):
            low = 0.25 if letter == "h" else -1.0
            power = {"x": 0, "h": 2}.get(letter, 1)
            value = spread(*size, low=low, salt=10 * i + k) * scale**power
            values[f"{letter}{i}"] = value.astype(dtype)
    return values


def expected(op, count, values, rate, t, attributes):
    """Results of a step on `values`."""
    formula, accumulators = FORMULAS[op]
    letters, results = ("x", *accumulators), {}
    for i in range(count):
        given = [values[f"{letter}{i}"].astype(np.float64) for letter in ("x", "g", *accumulators)]
        new = formula(*given, float(rate), int(t), **attributes)
        results.update((f"{letter}{i}", one) for letter, one in zip(letters, new))
    return results


def step(
    name,
    op,
    quotes,
    count=1,
    shape=(3,),
    dtype=np.float32,
    start=0,
    steps=2,
    rate=RATE,
    scale=1.0,
    **attributes,
):
    """An optimizer with its state in the algorithm; T counts the steps, the gradient is fed."""
    kind = {np.float32: "float", np.float64: "double"}[dtype]
    letters = ("x", *FORMULAS[op][1])
    values = starting_values(op, count, shape, dtype, scale)
    dims = {
        key: f"{kind}[{','.join(map(str, one.shape))}]" if one.shape else kind
        for key, one in values.items()
    }
    every = [f"{letter}{i}" for letter in letters for i in range(count)]
    read = [f"{letter}{i}" for letter in ("x", "g", *letters[1:]) for i in range(count)]
    gradients = ", ".join(f"{dims[f'g{i}']} g{i}" for i in range(count))
    text = f"""a ({gradients}) => ({", ".join(f"{dims[key]} new_{key}" for key in every)}, int64 t2)
        <int64 one = {{1}}> {{ t2 = Add(t, one)
        {", ".join("new_" + key for key in every)} = {DOMAIN}.{op}{attribute_text(attributes)}
        (r, t, {", ".join(read)}) }}"""
    fed = {key: one for key, one in values.items() if key.startswith("g")}
    kept = {key: one for key, one in values.items() if not key.startswith("g")}
    own = {key: one for key, one in kept.items() if not key.startswith("x")}
    main = f"main () => ({dims['x0']} y) {{ y = Identity(x0) }}"
    case = Case(
        name,
        quotes,
        main,
        Info(
            text,
            {**{key: f"new_{key}" for key in every}, "t": "t2"},
            values={**own, "t": np.int64(start), "r": rate},
        ),
        values={key: one for key, one in kept.items() if key.startswith("x")},
    )
    for t in range(start, start + steps):
        kept = expected(op, count, {**kept, **fed}, rate, t, attributes)
        case.train(fed, want={**kept, "t": t + 1})
    return case


def adam_cases():
    yield step("adam", "Adam", ["adam-new-x", "adam-rate", "adam-inputs"], start=1, steps=3)
    yield step(
        "adam-defaults-from-zero",
        "Adam",
        ["adam-default-alpha", "adam-default-beta", "adam-default-norms", "adam-rate"],
    )
    yield step("adam-powers", "Adam", ["adam-powers", "adam-rate"], start=5, alpha=0.5, beta=0.75)
    yield step("adam-alpha", "Adam", ["adam-first-moment"], start=1, alpha=0.25)
    yield step("adam-beta", "Adam", ["adam-second-moment"], start=1, beta=0.5)
    yield step("adam-epsilon-outside-the-root", "Adam", ["adam-root"], epsilon=0.5, beta=0.25)
    yield step("adam-norm", "Adam", ["adam-regularization"], norm=0.25, beta=0.5)
    yield step("adam-post-norm", "Adam", ["adam-post"], post=0.125)
    yield step(
        "adam-both-norms",
        "Adam",
        ["adam-post", "adam-regularization"],
        start=1,
        norm=0.5,
        post=0.25,
    )
    yield step(
        "adam-two-tensors",
        "Adam",
        ["adam-multiple", "adam-independent", "adam-input-order", "adam-output-order"],
        count=2,
        start=1,
        norm=0.25,
    )
    yield step(
        "adam-three-tensors",
        "Adam",
        ["adam-multiple", "adam-input-order", "adam-output-order"],
        count=3,
        shape=(1, 2),
    )
    yield step(
        "adam-double", "Adam", ["adam-new-x"], dtype=np.float64, start=1, rate=np.float64(0.1)
    )
    yield step("adam-matrix", "Adam", ["adam-broadcasting", "adam-outputs"], shape=(2, 3), start=2)
    yield step("adam-scalar", "Adam", ["adam-broadcasting"], shape=(), start=1)
    yield step("adam-large-count", "Adam", ["adam-powers"], start=5000)
    yield step("adam-count-beyond-16-bits", "Adam", ["adam-powers"], start=70000, beta=0.9999)
    yield step("adam-count-beyond-32-bits", "Adam", ["adam-powers"], start=2**33 + 5)
    yield step("adam-default-epsilon", "Adam", ["adam-root"], start=3, scale=2.0**-20)
    yield step("adam-double-from-zero", "Adam", ["adam-rate"], dtype=np.float64, rate=np.float64(0.1))
    yield step(
        "adam-double-rate-single-tensors", "Adam", ["adam-rate"], start=1, rate=np.float64(0.25)
    )


def adagrad_cases():
    yield step(
        "adagrad",
        "Adagrad",
        ["adagrad-new-x", "adagrad-accumulation", "adagrad-inputs", "adagrad-outputs"],
        steps=3,
    )
    yield step(
        "adagrad-defaults", "Adagrad", ["adagrad-default-decay", "adagrad-default-norm"], start=7
    )
    yield step("adagrad-default-epsilon", "Adagrad", ["adagrad-root"], scale=2.0**-20)
    yield step("adagrad-decay", "Adagrad", ["adagrad-rate"], start=0, steps=3, decay=0.5)
    yield step("adagrad-decay-later", "Adagrad", ["adagrad-rate"], start=10, decay=0.25)
    yield step("adagrad-norm", "Adagrad", ["adagrad-regularization"], norm=0.5)
    yield step("adagrad-epsilon-outside-the-root", "Adagrad", ["adagrad-root"], epsilon=0.5)
    yield step(
        "adagrad-two-tensors",
        "Adagrad",
        ["adagrad-multiple", "adagrad-jointly", "adagrad-input-order", "adagrad-output-order"],
        count=2,
        norm=0.25,
        decay=0.5,
    )
    yield step(
        "adagrad-three-tensors", "Adagrad", ["adagrad-multiple", "adagrad-input-order"], count=3
    )
    yield step(
        "adagrad-double", "Adagrad", ["adagrad-new-x"], dtype=np.float64, rate=np.float64(0.1)
    )
    yield step("adagrad-matrix", "Adagrad", ["adagrad-broadcasting"], shape=(2, 3))
    yield step("adagrad-scalar", "Adagrad", ["adagrad-broadcasting"], shape=())


USUAL = {"alpha": 0.75, "beta": 0.5, "norm": 0.0}


def momentum_modes():
    for mode, tag in (("standard", "momentum-standard"), ("nesterov", "momentum-nesterov")):
        yield step(
            f"momentum-{mode}",
            "Momentum",
            [tag, "momentum-modes", "momentum-mode-values"],
            start=1,
            mode=mode,
            **USUAL,
        )
        yield step(
            f"momentum-{mode}-first-iteration",
            "Momentum",
            ["momentum-first-iteration", tag],
            steps=3,
            mode=mode,
            **USUAL,
        )
        yield step(
            f"momentum-{mode}-norm",
            "Momentum",
            ["momentum-regularization"],
            start=1,
            mode=mode,
            alpha=0.5,
            beta=1.0,
            norm=0.25,
        )
        yield step(
            f"momentum-{mode}-two-tensors",
            "Momentum",
            [
                "momentum-multiple",
                "momentum-jointly",
                "momentum-input-order",
                "momentum-output-order",
            ],
            count=2,
            start=1,
            mode=mode,
            alpha=0.5,
            beta=0.25,
            norm=0.125,
        )


def momentum_attributes():
    for mode, tag in (("standard", "momentum-standard"), ("nesterov", "momentum-nesterov")):
        yield step(
            f"momentum-{mode}-double",
            "Momentum",
            [tag],
            dtype=np.float64,
            rate=np.float64(0.1),
            start=1,
            mode=mode,
            **USUAL,
        )
        yield step(
            f"momentum-{mode}-alpha-zero",
            "Momentum",
            ["momentum-accumulation"],
            start=2,
            mode=mode,
            alpha=0.0,
            beta=0.5,
            norm=0.0,
        )
        yield step(
            f"momentum-{mode}-beta-zero",
            "Momentum",
            ["momentum-accumulation"],
            start=1,
            mode=mode,
            alpha=0.5,
            beta=0.0,
            norm=0.0,
        )


def momentum_shapes():
    yield step(
        "momentum-matrix",
        "Momentum",
        ["momentum-broadcasting", "momentum-outputs"],
        shape=(2, 3),
        start=1,
        mode="standard",
        **USUAL,
    )
    yield step(
        "momentum-scalar", "Momentum", ["momentum-broadcasting"], shape=(), mode="nesterov", **USUAL
    )
    yield step(
        "momentum-three-tensors",
        "Momentum",
        ["momentum-multiple", "momentum-input-order"],
        count=3,
        mode="nesterov",
        **USUAL,
    )


def rates():
    """R and T are inputs, so that a caller or the model may change them."""
    text = f"""a (float r, int64 t, float[2] g) => (float[2] n, float[2] m) <float[2] v = {{0.5,
        0.25}}>
               {{ n, m = {DOMAIN}.Momentum<alpha = 0.5, beta = 0.5, norm_coefficient = 0.0, mode =
               "standard">
                  (r, t, w, g, v) }}"""
    case = Case(
        "rate-and-count-are-fed",
        ["momentum-input-order", "momentum-first-iteration"],
        "main () => (float[2] y) <float[2] w = {1, 2}> { y = Identity(w) }",
        Info(text, {"w": "n", "v": "m"}),
    )
    w, v, g = np.array([1.0, 2.0]), np.array([0.5, 0.25]), f32(1, -1)
    for rate, t in ((0.5, 0), (0.25, 1), (1.0, 0)):
        w, v = momentum(w, g, v, rate, t, 0.5, 0.5, 0.0, "standard")
        case.train({"r": np.float32(rate), "t": np.int64(t), "g": g}, want={"w": w, "v": v})
    yield case


def cases():
    for group in (
        adam_cases,
        adagrad_cases,
        momentum_modes,
        momentum_attributes,
        momentum_shapes,
        rates,
    ):
        yield from group()
