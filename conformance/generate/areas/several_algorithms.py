# SPDX-License-Identifier: Apache-2.0
"""Several algorithms in one model, and bodies and functions in algorithms."""

import numpy as np

from generate.build import Case, Info, f32, spread

FOLDER = "algorithm"
LINE = "main (float[N,2] x) => (float[N,2] y) <float[2] w = {1, -2}> { y = Mul(x, w) }"
X = {"x": f32([1, 1], [2, 3])}
TWO = "main () => (float y) <float a = {1}, float b = {2}> { y = Sub(a, b) }"


ADD = "p () => (float n) { n = Add(a, b) }"
DOUBLE = "q () => (float m) { m = Mul(a, b) }"


def several():
    add = "p () => (float n) <float one = {1}> { n = Add(a, one) }"
    double = "q () => (float m) <float two = {2}> { m = Mul(b, two) }"
    yield Case(
        "any-algorithm", ["any-algorithm"], TWO, Info(add, {"a": "n"}), Info(double, {"b": "m"})
    ).train(algorithm=1, want={"a": 1, "b": 4}).train(algorithm=1, want={"b": 8}).train(
        algorithm=0, want={"a": 2, "b": 8}
    ).train(
        algorithm=1, want={"b": 16}
    )
    yield Case(
        "order-matters-one-way",
        ["algorithm-order"],
        TWO,
        Info(ADD, {"a": "n"}),
        Info(DOUBLE, {"b": "m"}),
    ).train(algorithm=0, want={"a": 3, "b": 2}).train(algorithm=1, want={"a": 3, "b": 6})
    yield Case(
        "order-matters-other-way",
        ["algorithm-order"],
        TWO,
        Info(ADD, {"a": "n"}),
        Info(DOUBLE, {"b": "m"}),
    ).train(algorithm=1, want={"a": 1, "b": 2}).train(algorithm=0, want={"a": 3, "b": 2})


def iterations():
    yield Case(
        "one-iteration-is-all-in-order",
        ["iteration"],
        TWO,
        Info(ADD, {"a": "n"}),
        Info(DOUBLE, {"b": "m"}),
    ).iterate(want={"a": 3, "b": 6}).iterate(want={"a": 9, "b": 54})
    yield Case(
        "iteration-in-the-other-order",
        ["iteration"],
        TWO,
        Info(DOUBLE, {"b": "m"}),
        Info(ADD, {"a": "n"}),
    ).iterate(want={"a": 3, "b": 2}).iterate(want={"a": 9, "b": 6})
    yield Case(
        "iteration-of-three-algorithms",
        ["iteration", "consecutive-steps"],
        "main (float x) => (float y) <float a = {1}, float b = {2}, float c = {3}> { y = Sum(a, b, "
        "c, x) }",
        Info("p () => (float n) { n = Add(a, x) }", {"a": "n"}),
        Info("q () => (float m) { m = Mul(a, b) }", {"b": "m"}),
        Info("r () => (float k) { k = Sub(b, c) }", {"c": "k"}),
    ).iterate({"x": np.float32(3)}, want={"a": 4, "b": 8, "c": 5}).infer(
        {"x": np.float32(0)}, want={"y": 17}
    ).iterate(
        {"x": np.float32(1)}, want={"a": 5, "b": 40, "c": 35}
    )
    yield Case(
        "iteration-after-initialization",
        ["iteration", "initializations-in-sequence"],
        TWO,
        Info(ADD, {"a": "n"}, "i () => (float s) <float s = {5}> { }", {"a": "s"}),
        Info(DOUBLE, {"b": "m"}, "j () => (float s) <float s = {7}> { }", {"b": "s"}),
    ).iterate(want={"a": 3, "b": 6}).initialize(want={"a": 5, "b": 7}).iterate(
        want={"a": 12, "b": 84}
    )
    yield Case(
        "block-coordinate-descent",
        ["consecutive-steps", "iteration"],
        "main () => (float y) <float a = {4}, float b = {-2}> { s = Add(a, b) y = Mul(s, s) }",
        Info(
            """p () => (float n) <float h = {0.25}> { g = ai.onnx.preview.training.Gradient
                       <xs = ["a"], zs = ["b"], y = "y">(a, b) d = Mul(g, h) n = Sub(a, d) }""",
            {"a": "n"},
        ),
        Info(
            """q () => (float m) <float h2 = {0.25}> { g = ai.onnx.preview.training.Gradient
                       <xs = ["b"], zs = ["a"], y = "y">(b, a) d = Mul(g, h2) m = Sub(b, d) }""",
            {"b": "m"},
        ),
    ).iterate(want={"a": 3, "b": -2.5}).iterate(want={"a": 2.75, "b": -2.625})


def separate():
    yield Case(
        "same-names-in-two-algorithms",
        ["any-algorithm", "concatenation"],
        TWO,
        Info("p (float k) => (float n) { t = Mul(a, k) n = Neg(t) }", {"a": "n"}),
        Info("p (float k) => (float n) { t = Add(b, k) n = Abs(t) }", {"b": "n"}),
    ).train({"k": np.float32(3)}, 0, want={"a": -3, "b": 2}).train(
        {"k": np.float32(3)}, 1, want={"a": -3, "b": 5}
    )
    yield Case(
        "feeds-of-one-algorithm-only",
        ["any-algorithm"],
        TWO,
        Info("p (float k) => (float n) { n = Mul(a, k) }", {"a": "n"}),
        Info("q (float[2] j) => (float m) { m = ReduceSum<keepdims=0>(j) }", {"b": "m"}),
    ).train({"j": f32(2, 5)}, 1, want={"a": 1, "b": 7}).train(
        {"k": np.float32(3)}, 0, want={"a": 3, "b": 7}
    )
    yield Case(
        "evaluation-as-an-algorithm",
        ["default-update-binding", "any-algorithm"],
        LINE,
        Info("p () => (float[2] n) { n = Neg(w) }", {"w": "n"}),
        Info(
            "q (float[N,2] t) => (float error) { d = Sub(y, t) error = "
            "ReduceSumSquare<keepdims=0>(d) }"
        ),
    ).train({**X, "t": f32([0, 0], [0, 0])}, 1, want={"error": 45, "w": f32(1, -2)}).train(
        X, 0
    ).train(
        {**X, "t": f32([0, 0], [0, 0])}, 1, want={"error": 45, "w": f32(-1, 2)}
    )


def bodies():
    yield Case(
        "branch-by-counter",
        ["step-combines", "not-constant"],
        "main () => (float y) <float w = {1}> { y = Identity(w) }",
        Info(
            """p () => (float n, int64 u) <int64 t = {0}, int64 one = {1}, int64 limit = {2}>
                  { u = Add(t, one) early = Less(t, limit)
                    n = If(early) <then_branch = b1 () => (float o) { o = Add(w, w) },
                                   else_branch = b2 () => (float o2) { o2 = Neg(w) }> }""",
            {"w": "n", "t": "u"},
        ),
    ).train(want={"w": 2}).train(want={"w": 4}).train(want={"w": -4}).train(want={"w": 4})
    yield Case(
        "loop-over-variable",
        ["step-combines"],
        "main () => (float y) <float w = {1}, int64 k = {3}> { y = Identity(w) }",
        Info(
            """p () => (float n, int64 m) <bool go = {1}, int64 one = {1}>
                  { n = Loop(k, go, w) <body = b (int64 i, bool c, float v) => (bool c2, float v2)
                      { c2 = Identity(c) v2 = Add(v, v) }> m = Sub(k, one) }""",
            {"w": "n", "k": "m"},
        ),
    ).train(want={"w": 8, "k": 2}).train(want={"w": 32, "k": 1}).train(want={"w": 64, "k": 0})
    yield Case(
        "function-in-both-graphs",
        ["step-combines"],
        "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = local.Scaled<k = 3.0>(w) z "
        "= Add(x, y) }",
        Info("p () => (float[2] n) { n = local.Scaled<k = 0.5>(w) }", {"w": "n"}),
        functions=["""<domain: "local", opset_import: ["": 20]> Scaled<k>(v) => (o)
                             { k0 = Constant<value_float: float = @k>() c = CastLike(k0, v) o =
                             Mul(v, c) }"""],
    ).train({"x": f32(0, 0)}, want={"w": f32(0.5, 1), "y": f32(3, 6)}).infer(
        {"x": f32(0, 0)}, want={"y": f32(1.5, 3)}
    )


def bodies_that_read():
    """Bodies see the values of both graphs."""
    yield Case(
        "body-reads-both-graphs",
        ["algorithm-reads-main", "concatenation", "nested-reads-outer"],
        "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { h = Mul(x, w) y = Neg(h) }",
        Info(
            """a (bool c) => (float[2] n) <float[2] v = {5, 6}>
               { d = Add(h, v)
                 n = If(c) <then_branch = t () => (float[2] o) { o = Add(h, d) },
                            else_branch = e () => (float[2] p) { p = Sub(y, v) }> }""",
            {"w": "n"},
        ),
    ).train({"x": f32(1, 1), "c": np.array(True)}, want={"w": f32(7, 10)}).train(
        {"x": f32(1, 2), "c": np.array(False)}, want={"w": f32(-12, -26)}
    )


def shapes():
    yield Case(
        "batch-size-changes",
        ["step-combines"],
        LINE,
        Info(
            "a () => (float[2] n) <int64[1] ax = {0}> { n = ReduceMean<keepdims=0>(y, ax) }",
            {"w": "n"},
        ),
    ).train({"x": spread(1, 2)}).train({"x": spread(5, 2)}).train({"x": spread(2, 2)}).infer(
        {"x": spread(7, 2)}
    )


def cases():
    for group in (several, iterations, separate, bodies, bodies_that_read, shapes):
        yield from group()
