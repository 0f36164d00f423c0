# SPDX-License-Identifier: Apache-2.0
"""Operator Gradient: higher orders, and through bodies and functions."""

import numpy as np

from generate.build import Case, Info, spread

FOLDER = "gradient"
G = "ai.onnx.preview.training.Gradient"


SCALAR = "main () => (float y) <float w = {{2}}> {{ {} }}"


def higher():
    yield Case(
        "second-order",
        ["gradient-higher-order"],
        SCALAR.format("s = Mul(w, w) y = Mul(s, w)"),
        Info(f"""a () => (float g, float h)
                {{ g = {G}<xs = ["w"], y = "y">(w) h = {G}<xs = ["w"], y = "g">(w) }}"""),
    ).train(want={"g": 12, "h": 12})
    yield Case(
        "third-order",
        ["gradient-higher-order"],
        SCALAR.format("s = Mul(w, w) y = Mul(s, s)"),
        Info(
            f"""a () => (float k) {{ g = {G}<xs = ["w"], y = "y">(w) h = {G}<xs = ["w"], y = "g">(w)
                    k = {G}<xs = ["w"], y = "h">(w) }}"""
        ),
    ).train(want={"k": 48})
    yield Case(
        "second-order-example",
        ["gradient-second-order-example", "gradient-higher-order"],
        """main (float[2,2] X, float[2,1] L) => (float O) <float[2,1] W = {0.5, -1}>
                  { Y = MatMul(X, W) D = Sub(Y, L) Q = Mul(D, D) O = ReduceSum<keepdims=0>(Q) }""",
        Info(f"""a () => (float[2,2] dX, float[2,1] dW, float[2,2] ddX, float[2,1] ddW)
                    {{ dX, dW = {G}<xs = ["X", "W"], zs = ["L"], y = "O">(X, W, L)
                       S = ReduceSum<keepdims=0>(dW)
                       ddX, ddW = {G}<xs = ["X", "W"], zs = ["L"], y = "S">(X, W, L) }}"""),
    ).train({"X": spread(2, 2), "L": spread(2, 1, salt=1)})


def uses_of_second_order():
    yield Case(
        "newton-step",
        ["gradient-higher-order"],
        "main () => (float y) <float w = {2}> { e = Exp(w) two = Constant<value_float=2.0>() t = "
        "Mul(two, w) y = Sub(e, t) }",
        Info(
            f"""a () => (float n) {{ g = {G}<xs = ["w"], y = "y">(w) h = {G}<xs = ["w"], y = "g">(w)
                    q = Div(g, h) n = Sub(w, q) }}""",
            {"w": "n"},
        ),
    ).train().train().train()
    yield Case(
        "gradient-penalty",
        ["gradient-higher-order"],
        """main (float[2,2] x) => (float o) <float[2] w = {0.5, -0.75}>
                  { h = Mul(x, w) t = Tanh(h) o = ReduceSum<keepdims=0>(t) }""",
        Info(
            f"""a () => (float penalty, float[2] n) <float r = {{0.125}}>
                    {{ gx = {G}<xs = ["x"], zs = ["w"], y = "o">(x, w) penalty =
                    ReduceSumSquare<keepdims=0>(gx)
                       gw = {G}<xs = ["w"], zs = ["x"], y = "penalty">(w, x) s = Mul(r, gw) n =
                       Sub(w, s) }}""",
            {"w": "n"},
        ),
    ).train({"x": spread(2, 2)}).train({"x": spread(2, 2, salt=1)})
    yield Case(
        "mixed-derivative",
        ["gradient-higher-order"],
        "main (float a1, float b1) => (float y) { p = Mul(a1, b1) e = Sin(p) y = Mul(e, a1) }",
        Info(f"""a () => (float ab, float ba)
                    {{ ga = {G}<xs = ["a1"], zs = ["b1"], y = "y">(a1, b1) ab = {G}<xs = ["b1"], zs
                    = ["a1"], y = "ga">(b1, a1)
                       gb = {G}<xs = ["b1"], zs = ["a1"], y = "y">(b1, a1) ba = {G}<xs = ["a1"], zs
                       = ["b1"], y = "gb">(a1, b1) }}"""),
    ).train({"a1": np.float32(0.5), "b1": np.float32(1.25)})
    yield Case(
        "second-order-at-another-value",
        ["gradient-higher-order", "gradient-specific-value"],
        SCALAR.format("s = Mul(w, w) y = Mul(s, w)"),
        Info(f"""a (float p) => (float h)
                {{ g = {G}<xs = ["w"], y = "y">(w) h = {G}<xs = ["w"], y = "g">(p) }}"""),
    ).train({"p": np.float32(5)}, want={"h": 30})


def bodies():
    yield Case(
        "through-if",
        ["gradient"],
        """main (bool c) => (float y) <float w = {3}>
                  { y = If(c) <then_branch = t () => (float o) { o = Mul(w, w) },
                               else_branch = e () => (float o2) { o2 = Exp(w) }> }""",
        Info(f'a () => (float g) {{ g = {G}<xs = ["w"], zs = ["c"], y = "y">(w, c) }}'),
    ).train({"c": np.array(True)}, want={"g": 6}).train(
        {"c": np.array(False)}, want={"g": np.exp(3.0)}
    )
    yield Case(
        "through-loop",
        ["gradient"],
        """main (int64 n) => (float y) <float w = {1.25}, bool go = {1}>
                  { y = Loop(n, go, w) <body = b (int64 i, bool c, float v) => (bool c2, float v2)
                      { c2 = Identity(c) v2 = Mul(v, w) }> }""",
        Info(f'a () => (float g) {{ g = {G}<xs = ["w"], zs = ["n"], y = "y">(w, n) }}'),
    ).train({"n": np.array(3)}, want={"g": 4 * 1.25**3}).train({"n": np.array(0)}, want={"g": 1})
    yield Case(
        "through-scan",
        ["gradient"],
        """main (float[4] x) => (float[4] y, float last) <float w = {0.5}>
                  { last, y = Scan<num_scan_inputs = 1, body = b (float s, float e) => (float s2,
                  float o)
                      { p = Mul(s, w) s2 = Add(p, e) o = Mul(s2, s2) }>(w, x) }""",
        Info(f"""a () => (float gw, float[4] gx) {{ t = ReduceSum<keepdims=0>(y) o = Add(t, last)
                    gw, gx = {G}<xs = ["w", "x"], y = "o">(w, x) }}"""),
    ).train({"x": spread(4)})
    yield Case(
        "through-function",
        ["gradient"],
        "main (float[3] x) => (float y) <float[3] w = {0.5, 1, -1}> { p = local.Wave(x, w) y = "
        "ReduceSum<keepdims=0>(p) }",
        Info(f'a () => (float[3] g) {{ g = {G}<xs = ["w"], zs = ["x"], y = "y">(w, x) }}'),
        functions=["""<domain: "local", opset_import: ["": 20]> Wave (a, b) => (o)
                { m = Mul(a, b) s = Sin(m) o = Mul(s, b) }"""],
    ).train({"x": spread(3)})


def cases():
    for group in (higher, uses_of_second_order, bodies):
        yield from group()
