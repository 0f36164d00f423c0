# SPDX-License-Identifier: Apache-2.0
"""Update bindings: keys, values and what is assigned."""

import numpy as np

from generate.build import Case, Info, f32, spread

FOLDER = "bindings"
MAIN = """main (float[2] x) => (float[2] y, float[2] z) <float[2] w = {1, 2}, float[2] v = {3, 4}>
          { y = Add(x, w) z = Mul(x, v) }"""
X = {"x": f32(1, -1)}


def values():
    yield Case(
        "value-is-a-main-output", ["values-are-outputs"], MAIN, Info(update={"w": "y"})
    ).train(X, want={"w": f32(2, 1)}).train(X, want={"w": f32(3, 0)})
    yield Case(
        "values-of-both-graphs",
        ["values-are-outputs", "many-pairs"],
        MAIN,
        Info("a () => (float[2] n) { n = Neg(w) }", {"w": "n", "v": "y"}),
    ).train(X, want={"w": f32(-1, -2), "v": f32(2, 1)}).train(
        X, want={"w": f32(1, 2), "v": f32(0, -3)}
    )
    yield Case(
        "one-value-for-two-keys",
        ["update-pair", "many-pairs"],
        MAIN,
        Info("a () => (float[2] n) { n = Add(w, v) }", {"w": "n", "v": "n"}),
    ).train(X, want={"w": f32(4, 6), "v": f32(4, 6)}).train(X, want={"w": f32(8, 12)})
    yield Case(
        "value-is-another-variable",
        ["values-are-outputs"],
        MAIN,
        Info("a () => (float[2] v) { }", {"w": "v"}),
    ).train(X, want={"w": f32(3, 4)})
    yield Case(
        "value-is-the-variable-itself",
        ["values-are-outputs"],
        MAIN,
        Info("a () => (float[2] w) { }", {"w": "w"}),
    ).train(X, want={"w": f32(1, 2)})
    yield Case(
        "unbound-outputs",
        ["update-pair", "state-is-keys"],
        MAIN,
        Info("a () => (float[2] n, float[2] m) { n = Neg(w) m = Neg(v) }", {"w": "n"}),
    ).train(X, want={"w": f32(-1, -2), "m": f32(-3, -4)}).train(X, want={"m": f32(-3, -4)})
    yield Case(
        "output-in-the-middle-of-a-chain",
        ["step-assigns"],
        MAIN,
        Info("a () => (float[2] n, float[2] m) { n = Neg(w) m = Exp(n) }", {"w": "n", "v": "m"}),
    ).train(X)


def keys():
    yield Case(
        "many-keys",
        ["many-pairs", "variables-mutable"],
        "main () => (float y) <float a = {1}, float b = {2}, float c = {3}, float d = {4}> { y = "
        "Sum(a, b, c, d) }",
        Info(
            """p () => (float a2, float b2, float c2, float d2)
                       { a2 = Add(a, d) b2 = Mul(b, c) c2 = Sub(c, a) d2 = Div(d, b) }""",
            {"d": "d2", "b": "b2", "a": "a2", "c": "c2"},
        ),
    ).train(want={"a": 5, "b": 6, "c": 2, "d": 2}).train().infer()
    yield Case(
        "key-named-like-another-algorithms-value",
        ["update-pair"],
        "main () => (float y) <float w = {1}, float v = {2}> { y = Sub(w, v) }",
        Info("p () => (float m) <float k = {5}> { m = Add(w, k) }", {"k": "m"}),
        Info("q () => (float k) { k = Neg(v) }", {"w": "k"}),
    ).train(want={"k": 6, "w": 1}).train(algorithm=1, want={"k": 6, "w": -2}).train(
        want={"k": 4, "w": -2}
    )
    yield Case(
        "key-of-algorithm-only",
        ["keys-are-initializers", "initialization-keys"],
        MAIN,
        Info("a () => (float[2] n) <float[2] m = {0, 0}> { n = Add(m, y) }", {"m": "n"}),
    ).train(X, want={"m": f32(2, 1)}).train(X, want={"m": f32(4, 2)}).infer(
        X, want={"y": f32(2, 1)}
    )
    yield Case(
        "names-with-capitals-digits-and-underscores",
        ["update-pair"],
        "main () => (float y) <float weight_1 = {1}, float _b = {2}> { y = Sub(weight_1, _b) }",
        Info(
            "a () => (float N1, float B) { N1 = Neg(weight_1) B = Neg(_b) }",
            {"weight_1": "N1", "_b": "B"},
        ),
    ).train(want={"weight_1": -1, "_b": -2})


def kinds():
    yield Case(
        "integer-variable",
        ["step-assigns"],
        "main () => (int64[2] y) <int64[2] w = {9007199254740993, -1}> { y = Identity(w) }",
        Info("a () => (int64[2] n) <int64 one = {1}> { n = Add(w, one) }", {"w": "n"}),
    ).train(want={"w": np.array([9007199254740994, 0])})
    yield Case(
        "boolean-variable",
        ["step-assigns"],
        "main () => (bool y) <bool w = {1}> { y = Identity(w) }",
        Info("a () => (bool n) { n = Not(w) }", {"w": "n"}),
    ).train(want={"w": False}).train(want={"w": True}).infer(want={"y": True})
    yield Case(
        "double-variable",
        ["step-assigns"],
        "main () => (double y) <double w = {0.1}> { y = Identity(w) }",
        Info("a () => (double n) <double k = {3}> { n = Mul(w, k) }", {"w": "n"}),
    ).train(want={"w": 0.1 * 3}).train(want={"w": 0.1 * 9})
    yield Case(
        "double-value-of-the-main-graph",
        ["step-assigns", "values-are-outputs"],
        "main (double x) => (double y) <double w = {0.1}> { y = Div(w, x) }",
        Info(update={"w": "y"}),
    ).train({"x": np.float64(3)}, want={"w": 0.1 / 3}).train({"x": np.float64(7)})


def mixtures():
    yield Case(
        "mixed-types",
        ["step-assigns", "many-pairs"],
        "main () => (float y) <float w = {0.5}, int64 t = {1}, double d = {2}, bool b = {0}> { y "
        "= Identity(w) }",
        Info(
            """a () => (float w2, int64 t2, double d2, bool b2)
                       { w2 = Cast<to=1>(t) t2 = Cast<to=7>(d) d2 = Cast<to=11>(w) b2 = Not(b) }""",
            {"w": "w2", "t": "t2", "d": "d2", "b": "b2"},
        ),
    ).train(want={"w": 1, "t": 2, "d": 0.5, "b": True}).train(
        want={"w": 2, "t": 0, "d": 1, "b": False}
    )
    yield Case(
        "running-average",
        ["step-assigns"],
        "main (float[N,3] x) => (float[3] y) <float[3] mean = {0, 0, 0}, int64[1] ax = {0}> { y = "
        "ReduceMean<keepdims=0>(x, ax) }",
        Info(
            """a () => (float[3] n) <float keep = {0.75}, float add = {0.25}>
                       { k = Mul(mean, keep) s = Mul(y, add) n = Add(k, s) }""",
            {"mean": "n"},
        ),
    ).train({"x": spread(4, 3)}).train({"x": spread(2, 3, salt=1)}).infer({"x": spread(1, 3)})
    yield Case(
        "running-statistics-of-normalization",
        ["values-are-outputs", "step-updates-both"],
        """main (float[4,2] x) => (float[4,2] y, float[2] new_mean, float[2] new_var)
                  <float[2] scale = {1, 2}, float[2] bias = {0, 1}, float[2] mean = {0, 0},
                  float[2] var = {1, 1}>
                  { y, new_mean, new_var = BatchNormalization<training_mode = 1>(x, scale, bias,
                  mean, var) }""",
        Info(update={"mean": "new_mean", "var": "new_var"}),
    ).train({"x": spread(4, 2)}).train({"x": spread(4, 2, salt=1)})


def cases():
    for group in (values, keys, kinds, mixtures):
        yield from group()
