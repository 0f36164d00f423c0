# SPDX-License-Identifier: Apache-2.0
"""Inference of a training model."""

import numpy as np

from generate.build import Case, Info, f32, spread

FOLDER = "inference"
MAIN = "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }"
NEGATE = Info("a () => (float[2] n) { n = Neg(w) }", {"w": "n"})
X = {"x": f32(3, 4)}


def purity():
    yield Case(
        "is-side-effect-free", ["inference-pure", "inference-stateless"], MAIN, NEGATE
    ).infer(X, want={"w": f32(1, 2)}).infer({"x": f32(0, 9)}).infer(
        X, want={"w": f32(1, 2), "y": f32(3, 8)}
    )
    yield Case(
        "same-input-same-output",
        ["inference-stateless"],
        "main (float[3,4] x) => (float[3,4] y) <float[4] w = {1, 2, 3, 4}> { z = Mul(x, w) y = "
        "Softmax(z) }",
        Info("a () => (float[4] n) { n = Neg(w) }", {"w": "n"}),
    ).infer({"x": spread(3, 4)}).infer({"x": spread(3, 4)}).infer({"x": spread(3, 4)})
    yield Case("uses-trained-values", ["three-methods", "stateful"], MAIN, NEGATE).train(X).infer(
        X, want={"y": f32(-3, -8)}
    ).train(X).infer(X, want={"y": f32(3, 8)})
    yield Case(
        "uses-initialized-values",
        ["three-methods"],
        MAIN,
        Info(
            initialization="i () => (float[2] s) { s = Constant<value_floats=[5.0, 6.0]>() }",
            initial={"w": "s"},
        ),
    ).initialize().infer(X, want={"y": f32(15, 24)})
    yield Case(
        "needs-no-algorithm-input",
        ["inference-independent", "main-reads-no-algorithm-input"],
        MAIN,
        Info(
            "a (float[2] t, float rate) => (float[2] n) { d = Mul(t, rate) n = Sub(w, d) }",
            {"w": "n"},
        ),
    ).infer(X, want={"y": f32(3, 8)}).train(
        {**X, "t": f32(1, 1), "rate": np.float32(0.5)}, want={"w": f32(0.5, 1.5)}
    ).infer(
        X, want={"y": f32(1.5, 6)}
    )


def ignoring():
    """No training call is made, so that a runtime for inference only can pass."""
    case = Case(
        "of-a-training-model-that-is-never-trained",
        ["inference-ignores-training", "inference-independent"],
        MAIN,
        Info(
            "a (float[2] t) => (float[2] n) <float[2] v = {0, 0}> { d = Mul(t, v) n = Sub(w, d) }",
            {"w": "n"},
            "i () => (float[2] s) { s = Constant<value_floats=[5.0, 6.0]>() }",
            {"w": "s"},
        ),
    )
    yield case.infer(X, want={"y": f32(3, 8)}).infer({"x": f32(0, -1)}, want={"y": f32(0, -2)})


def variants():
    yield Case(
        "without-training-information",
        ["inference-stateless", "training-info-optional"],
        "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }",
    ).infer(X, want={"y": f32(3, 8)}).infer({"x": f32(1, 1)}, want={"y": f32(1, 2)})


def between():
    yield Case(
        "between-steps-changes-nothing",
        ["inference-pure"],
        MAIN,
        Info(
            "a () => (float[2] n, int64 u) <int64 t = {0}, int64 one = {1}> { n = Add(w, x) u = "
            "Add(t, one) }",
            {"w": "n", "t": "u"},
        ),
    ).train(X, want={"w": f32(4, 6), "t": 1}).infer(
        {"x": f32(100, 100)}, want={"w": f32(4, 6), "t": 1}
    ).train(
        X, want={"w": f32(7, 10), "t": 2}
    )
    yield Case(
        "several-outputs",
        ["inference-independent"],
        """main (float[2] x) => (float[2] y, float s, float[2] w) <float[2] w = {1, 2}>
                  { y = Mul(x, w) s = ReduceSum<keepdims=0>(y) }""",
        NEGATE,
    ).infer(X, want={"s": 11, "w": f32(1, 2)}).train(X).infer(X, want={"s": -11, "w": f32(-1, -2)})
    yield Case(
        "fails-in-no-algorithm",
        ["inference-independent"],
        "main (float[N] x) => (float[N] y) <float w = {2}> { y = Mul(x, w) }",
        Info(
            """a () => (float n) <int64[1] two = {2}> { p = Reshape(x, two)
                       n = ReduceSum<keepdims=0>(p) }""",
            {"w": "n"},
        ),
    ).infer({"x": f32(1, 2, 3)}, want={"y": f32(2, 4, 6)}).train(
        {"x": f32(1, 2)}, want={"w": 3}
    ).infer(
        {"x": f32(1, 2, 3)}, want={"y": f32(3, 6, 9)}
    )


def bound():
    """Outputs of the main graph that an update binding assigns: a step does, inference does not."""
    yield Case(
        "bound-main-output-is-not-assigned",
        ["inference-pure", "values-are-outputs"],
        "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }",
        Info("a () => (int64 u) <int64 t = {0}, int64 one = {1}> { u = Add(t, one) }",
             {"w": "y", "t": "u"}),
    ).infer(X, want={"y": f32(4, 6), "w": f32(1, 2), "t": 0}).train(
        X, want={"w": f32(4, 6), "t": 1}
    ).infer(X, want={"y": f32(7, 10), "w": f32(4, 6), "t": 1}).infer(
        X, want={"y": f32(7, 10), "w": f32(4, 6), "t": 1}
    )
    yield Case(
        "running-statistics-are-not-assigned",
        ["inference-pure"],
        """main (float[4,2] x) => (float[4,2] y, float[2] m, float[2] v)
                  <float[2] scale = {1, 2}, float[2] bias = {0, 1}, float[2] mean = {0, 0},
                  float[2] var = {1, 1}>
                  { y, m, v = BatchNormalization<training_mode = 1>(x, scale, bias, mean, var) }""",
        Info(update={"mean": "m", "var": "v"}),
    ).infer({"x": spread(4, 2)}, want={"mean": f32(0, 0), "var": f32(1, 1)}).train(
        {"x": spread(4, 2)}
    ).infer({"x": spread(4, 2, salt=1)}).infer({"x": spread(4, 2, salt=1)})


def cases():
    for group in (purity, ignoring, variants, between, bound):
        yield from group()
