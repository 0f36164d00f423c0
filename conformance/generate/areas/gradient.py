# SPDX-License-Identifier: Apache-2.0
"""Operator Gradient: names, inputs, outputs, intermediate tensors, other values, higher orders."""

import numpy as np

from generate.build import Case, Info, f32, spread

FOLDER = "gradient"
G = "ai.onnx.preview.training.Gradient"
GEMM = """main (float[3,2] x, float[3,2] l) => (float o) <float[2,2] w = {0.5, -0.25, 1, 0.75}>
          { h = MatMul(x, w) y = Tanh(h) d = Sub(y, l) o = ReduceSumSquare<keepdims=0>(d) }"""
FEEDS = {"x": spread(3, 2), "l": spread(3, 2, salt=1)}
STEP = "<float r = {0.125}>"


def names():
    yield Case(
        "of-a-weight",
        ["gradient", "gradient-inserted"],
        GEMM,
        Info(
            f"""a () => (float[2,2] g, float[2,2] n) {STEP}
                    {{ g = {G}<xs = ["w"], zs = ["x", "l"], y = "o">(w, x, l) s = Mul(g, r) n =
                    Sub(w, s) }}""",
            {"w": "n"},
        ),
    ).train(FEEDS).train(FEEDS).train(FEEDS)
    yield Case(
        "of-several",
        ["gradient-ith-output", "gradient-only-xs"],
        GEMM,
        Info(f"""a () => (float[2,2] gw, float[3,2] gx, float[3,2] gl)
                    {{ gw, gx, gl = {G}<xs = ["w", "x", "l"], y = "o">(w, x, l) }}"""),
    ).train(FEEDS)
    yield Case(
        "order-of-xs",
        ["gradient-ith-output", "gradient-ith-input"],
        GEMM,
        Info(f"""a () => (float[3,2] gl, float[2,2] gw)
                    {{ gl, gw = {G}<xs = ["l", "w"], zs = ["x"], y = "o">(l, w, x) }}"""),
    ).train(FEEDS)
    yield Case(
        "zs-in-their-order",
        ["gradient-ith-input", "gradient-substitutes-all"],
        "main (float[2] p, float[2] q) => (float o) <float[2] w = {1, 2}> { a1 = Mul(w, p) a2 = "
        "Mul(a1, p) a3 = Mul(a2, q) o = ReduceSum<keepdims=0>(a3) }",
        Info(
            f'a () => (float[2] g) {{ g = {G}<xs = ["w"], zs = ["p", "q"], y = "o">(w, p, q) }}'
        ),
    ).train({"p": f32(2, 3), "q": f32(5, 7)}, want={"g": f32(20, 63)})
    yield Case(
        "zs-give-no-output",
        ["gradient-only-xs"],
        GEMM,
        Info(
            f'a () => (float[3,2] gx) {{ gx = {G}<xs = ["x"], zs = ["l", "w"], y = "o">(x, l, w) }}'
        ),
    ).train(FEEDS)


def left_out():
    yield Case(
        "first-output-left-out",
        ["gradient-empty-output", "gradient-optional-outputs"],
        GEMM,
        Info(f"""a () => (float[3,2] gx)
                {{ "", gx = {G}<xs = ["w", "x"], zs = ["l"], y = "o">(w, x, l) }}"""),
    ).train(FEEDS)
    yield Case(
        "middle-output-left-out",
        ["gradient-empty-output", "gradient-optional-outputs"],
        GEMM,
        Info(f"""a () => (float[2,2] gw, float[3,2] gl)
                    {{ gw, "", gl = {G}<xs = ["w", "x", "l"], y = "o">(w, x, l) }}"""),
    ).train(FEEDS)
    yield Case(
        "last-output-left-out",
        ["gradient-optional-outputs"],
        GEMM,
        Info(f"""a () => (float[2,2] gw)
                {{ gw = {G}<xs = ["w", "x"], zs = ["l"], y = "o">(w, x, l) }}"""),
    ).train(FEEDS)


def targets():
    yield Case(
        "of-a-main-output",
        ["gradient-names-and-values"],
        "main (float[2] x) => (float y) <float[2] w = {3, 4}> { p = Mul(x, w) y = "
        "ReduceSum<keepdims=0>(p) }",
        Info(f'a () => (float[2] g) {{ g = {G}<xs = ["w"], zs = ["x"], y = "y">(w, x) }}'),
    ).train({"x": f32(5, 7)}, want={"g": f32(5, 7)})
    yield Case(
        "of-an-intermediate-target",
        ["gradient-function"],
        """main (float[2] x) => (float z) <float[2] w = {3, 4}>
                  { p = Mul(x, w) y = ReduceSum<keepdims=0>(p) z = Exp(y) }""",
        Info(f'a () => (float[2] g) {{ g = {G}<xs = ["w"], zs = ["x"], y = "y">(w, x) }}'),
    ).train({"x": f32(0.5, 0.25)}, want={"g": f32(0.5, 0.25)})
    yield Case(
        "of-an-algorithm-loss",
        ["gradient-inserted", "algorithm-reads-main"],
        "main (float[2,3] x) => (float[2,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { y = "
        "MatMul(x, w) }",
        Info(
            f"""a (float[2,2] t) => (float loss, float[3,2] n) <float r = {{0.0625}}>
                    {{ d = Sub(y, t) q = Mul(d, d) loss = ReduceMean<keepdims=0>(q)
                       g = {G}<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t) s = Mul(r, g) n =
                       Sub(w, s) }}""",
            {"w": "n"},
        ),
    ).train({"x": spread(2, 3), "t": spread(2, 2)}).train(
        {"x": spread(2, 3, salt=2), "t": spread(2, 2, salt=3)}
    )
    yield Case(
        "of-an-algorithm-initializer",
        ["gradient-inserted"],
        "main (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Mul(x, w) }",
        Info(
            f"""a () => (float[2] g, float[2] n) <float[2] scale = {{0.5, 2}}>
                    {{ q = Mul(y, scale) z = Mul(q, scale) o = ReduceSum<keepdims=0>(z)
                       g = {G}<xs = ["scale"], zs = ["x", "w"], y = "o">(scale, x, w) n =
                       Sub(scale, g) }}""",
            {"scale": "n"},
        ),
    ).train({"x": f32(1, -1)}, want={"g": f32(3, -16)})


def shapes():
    yield Case(
        "of-a-scalar",
        ["gradient"],
        "main () => (float y) <float w = {3}> { y = Mul(w, w) }",
        Info(
            f"""a () => (float g, float n) {STEP}
                {{ g = {G}<xs = ["w"], y = "y">(w) s = Mul(g, r) n = Sub(w, s) }}""",
            {"w": "n"},
        ),
    ).train(want={"g": 6, "w": 2.25}).train(want={"g": 4.5})
    yield Case(
        "target-of-one-element",
        ["gradient"],
        "main () => (float[1,1] y) <float[2] w = {3, 4}> { s = ReduceSumSquare(w) one = "
        "Constant<value_ints=[1, 1]>() y = Reshape(s, one) }",
        Info(f'a () => (float[2] g) {{ g = {G}<xs = ["w"], y = "y">(w) }}'),
    ).train(want={"g": f32(6, 8)})
    yield Case(
        "broadcast-operand",
        ["gradient"],
        """main (float[3,4] x) => (float o) <float[4] b = {1, 2, 3, 4}, float[3,1] c = {1, -1, 2}>
                  { p = Mul(x, b) q = Mul(p, c) e = Sin(q) o = ReduceSum<keepdims=0>(e) }""",
        Info(f"""a () => (float[4] gb, float[3,1] gc, float[3,4] gx)
                    {{ gb, gc, gx = {G}<xs = ["b", "c", "x"], y = "o">(b, c, x) }}"""),
    ).train({"x": spread(3, 4)})


def dependence():
    yield Case(
        "used-twice",
        ["gradient-substitutes-all"],
        """main () => (float o) <float[3] w = {0.5, 1, -1}>
                  { a1 = Exp(w) a2 = Mul(w, a1) a3 = Add(a2, w) o = ReduceSum<keepdims=0>(a3) }""",
        Info(f'a () => (float[3] g) {{ g = {G}<xs = ["w"], y = "o">(w) }}'),
    ).train()
    yield Case(
        "unrelated-tensor",
        ["gradient"],
        "main () => (float y) <float w = {3}, float[2] v = {1, 2}> { y = Mul(w, w) k = Exp(v) }",
        Info(f'a () => (float gw, float[2] gv) {{ gw, gv = {G}<xs = ["w", "v"], y = "y">(w, v) }}'),
    ).train(want={"gw": 6, "gv": f32(0, 0)})
    yield Case(
        "through-integers",
        ["gradient"],
        """main () => (float y) <float[2] w = {1.25, 2.5}> { i = Cast<to=7>(w) f = Cast<to=1>(i)
                  m = Mul(w, f) y = ReduceSum<keepdims=0>(m) }""",
        Info(f'a () => (float[2] g) {{ g = {G}<xs = ["w"], y = "y">(w) }}'),
    ).train(want={"g": f32(1, 2)})
    yield Case(
        "integer-zs",
        ["gradient-ith-input", "gradient-names-and-values"],
        """main (int64[3] i) => (float y) <float[4,2] table = {1, 2, 3, 4, 5, 6, 7, 8}>
                  { r = Gather<axis=0>(table, i) q = Mul(r, r) y = ReduceSum<keepdims=0>(q) }""",
        Info(
            f'a () => (float[4,2] g) {{ g = {G}<xs = ["table"], zs = ["i"], y = "y">(table, i) }}'
        ),
    ).train({"i": np.array([2, 0, 2])}, want={"g": f32([2, 4], [0, 0], [20, 24], [0, 0])})


def precisions():
    yield Case(
        "double-tensors",
        ["gradient"],
        "main (double[3] x) => (double y) <double[3] w = {0.1, 0.2, 0.3}> { p = Mul(x, w) e = "
        "Exp(p) y = ReduceSum<keepdims=0>(e) }",
        Info(f'a () => (double[3] g) {{ g = {G}<xs = ["w"], zs = ["x"], y = "y">(w, x) }}'),
    ).train({"x": spread(3).astype(np.float64)})
    yield Case(
        "half-precision-tensors",
        ["gradient"],
        "main (float16[3] x) => (float16 y) { p = Mul(x, w) q = Mul(p, w) y = "
        "ReduceSum<keepdims=0>(q) }",
        Info(f'a () => (float16[3] g) {{ g = {G}<xs = ["w"], zs = ["x"], y = "y">(w, x) }}'),
        values={"w": f32(0.5, 0.25, 2).astype(np.float16)},
    ).train({"x": f32(1, 2, 3).astype(np.float16)}, want={"g": f32(1, 1, 12)})


CONV = """main (float[2,3] x) => (float o) <float[3,3] w = {0.5, -1, 0.25, 1, 0.75, -0.5, 0.5, 1,
    -0.25}, float[3] z = {1, 2, -1}>
          { c = MatMul(x, w) h = Tanh(c) k = Mul(h, z) e = Exp(k) o = ReduceSum<keepdims=0>(e) }"""
XS = {"x": spread(2, 3)}


def intermediate():
    yield Case(
        "intermediate-tensor",
        ["gradient-intermediate"],
        CONV,
        Info(f"""a () => (float[2,3] gh, float[3] gz)
                {{ gh, gz = {G}<xs = ["h", "z"], y = "o">(h, z) }}"""),
    ).train(XS)
    yield Case(
        "intermediate-tensor-alone",
        ["gradient-intermediate"],
        CONV,
        Info(f'a () => (float[2,3] gk) {{ gk = {G}<xs = ["k"], y = "o">(k) }}'),
    ).train(XS)
    yield Case(
        "target-is-the-tensor",
        ["gradient-intermediate"],
        CONV,
        Info(f'a () => (float g) {{ g = {G}<xs = ["o"], y = "o">(o) }}'),
    ).train(XS, want={"g": 1})
    yield Case(
        "chain-rule-by-hand",
        ["gradient-intermediate"],
        "main () => (float o) <float[2] w = {0.5, -0.25}> { h = Mul(w, w) e = Exp(h) o = "
        "ReduceSum<keepdims=0>(e) }",
        Info(f"""a () => (float[2] whole, float[2] parts) <float two = {{2}}>
                    {{ whole = {G}<xs = ["w"], y = "o">(w) gh = {G}<xs = ["h"], y = "o">(h)
                       dw = Mul(two, w) parts = Mul(gh, dw) }}"""),
    ).train()


def other_values():
    yield Case(
        "at-another-value",
        ["gradient-specific-value", "gradient-names-and-values"],
        "main () => (float o) <float[2] w = {1, 2}> { q = Mul(w, w) o = ReduceSum<keepdims=0>(q) }",
        Info(f'a (float[2] w1) => (float[2] g) {{ g = {G}<xs = ["w"], y = "o">(w1) }}'),
    ).train({"w1": f32(10, 20)}, want={"g": f32(20, 40)})
    yield Case(
        "intermediate-at-another-value",
        ["gradient-specific-value"],
        CONV,
        Info(f"""a (float[2,3] h1, float[3] z1) => (float[2,3] gh, float[3] gz)
                {{ gh, gz = {G}<xs = ["h", "z"], y = "o">(h1, z1) }}"""),
    ).train({**XS, "h1": spread(2, 3, salt=5), "z1": spread(3, salt=6)})
    yield Case(
        "zs-at-another-value",
        ["gradient-ith-input", "gradient-substitutes-all"],
        "main (float[2] c) => (float o) <float[2] w = {1, 2}> { p = Mul(w, c) q = Mul(p, c) o = "
        "ReduceSum<keepdims=0>(q) }",
        Info(
            f'a (float[2] d) => (float[2] g) {{ g = {G}<xs = ["w"], zs = ["c"], y = "o">(w, d) }}'
        ),
    ).train({"c": f32(1, 1), "d": f32(3, -4)}, want={"g": f32(9, 16), "o": 3})


def substitutions():
    yield Case(
        "third-input-substitutes-c",
        ["gradient-substitutes-all", "gradient-ith-input"],
        """main (float[2] A, float[2] B, float[2] C) => (float Y)
                  { s = Mul(A, C) t = Mul(B, C) u = Mul(s, t) v = Add(u, C) Y =
                  ReduceSum<keepdims=0>(v) }""",
        Info(f"""a (float[2] C_1) => (float[2] ga, float[2] gb)
                    {{ ga, gb = {G}<xs = ["A", "B"], zs = ["C"], y = "Y">(A, B, C_1) }}"""),
    ).train(
        {"A": f32(1, 2), "B": f32(3, 4), "C": f32(0, 0), "C_1": f32(2, 3)},
        want={"ga": f32(12, 36), "gb": f32(4, 18)},
    )
    yield Case(
        "at-the-next-value",
        ["gradient-names-and-values", "gradient-specific-value"],
        "main () => (float o) <float[2] w = {1, 2}> { q = Mul(w, w) p = Mul(q, w) o = "
        "ReduceSum<keepdims=0>(p) }",
        Info(
            f"""a () => (float[2] n) <float r = {{0.0625}}>
                    {{ g1 = {G}<xs = ["w"], y = "o">(w) s1 = Mul(r, g1) half = Sub(w, s1)
                       g2 = {G}<xs = ["w"], y = "o">(half) s2 = Mul(r, g2) n = Sub(w, s2) }}""",
            {"w": "n"},
        ),
    ).train().train()
    yield Case(
        "two-points-at-once",
        ["gradient-names-and-values"],
        "main () => (float o) <float[2] w = {1, 2}> { q = Exp(w) o = ReduceSum<keepdims=0>(q) }",
        Info(f"""a (float[2] p, float[2] q1) => (float[2] gp, float[2] gq)
                    {{ gp = {G}<xs = ["w"], y = "o">(p) gq = {G}<xs = ["w"], y = "o">(q1) }}"""),
    ).train({"p": f32(0, 0), "q1": f32(1, -1)}, want={"gp": f32(1, 1)})
    yield Case(
        "operand-swapped",
        ["gradient-ith-input"],
        "main (float a1, float b1) => (float o) { q = Mul(a1, a1) o = Mul(q, b1) }",
        Info(
            f'a () => (float ga, float gb) {{ ga, gb = {G}<xs = ["a1", "b1"], y = "o">(b1, a1) }}'
        ),
    ).train({"a1": np.float32(2), "b1": np.float32(5)}, want={"ga": 20, "gb": 25})


def cases():
    for group in (
        names,
        left_out,
        targets,
        shapes,
        dependence,
        precisions,
        intermediate,
        other_values,
        substitutions,
    ):
        yield from group()
