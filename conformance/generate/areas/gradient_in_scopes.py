# SPDX-License-Identifier: Apache-2.0
"""Gradient within bodies and functions; it names what is visible there."""

import numpy as np

from generate.build import Case, Info, f32

FOLDER = "gradient"
G = "ai.onnx.preview.training.Gradient"
MAIN = """main () => (float o) <float[2] w = {1, 2}>
          { q = Mul(w, w) o = ReduceSum<keepdims=0>(q) }"""
TAGS = ["gradient-inserted", "nested-reads-outer"]


def branches():
    yield Case(
        "in-a-branch",
        TAGS,
        MAIN,
        Info(
            f"""a (bool c) => (float[2] n)
                {{ n = If(c) <
                    then_branch = t () => (float[2] p) {{
                        g = {G}<xs = ["w"], y = "o">(w) p = Sub(w, g) }},
                    else_branch = e () => (float[2] r) {{ r = Neg(w) }}> }}""",
            {"w": "n"},
        ),
    ).train({"c": np.array(True)}, want={"w": f32(-1, -2)}).train(
        {"c": np.array(False)}, want={"w": f32(1, 2)}
    )
    yield Case(
        "of-a-target-in-a-branch",
        TAGS,
        MAIN,
        Info(
            f"""a (bool c) => (float[2] n)
                {{ n = If(c) <
                    then_branch = t () => (float[2] p) {{
                        k = Mul(q, w) z = ReduceSum<keepdims=0>(k)
                        p = {G}<xs = ["w"], y = "z">(w) }},
                    else_branch = e () => (float[2] r) {{
                        s = Exp(w) u = ReduceSum<keepdims=0>(s)
                        r = {G}<xs = ["w"], y = "u">(w) }}> }}"""
        ),
    ).train({"c": np.array(True)}, want={"n": f32(3, 12)}).train(
        {"c": np.array(False)}, want={"n": f32(np.exp(1), np.exp(2))}
    )


def loops():
    yield Case(
        "in-a-loop",
        ["gradient-inserted", "gradient-names-and-values"],
        "main () => (float[2] y) <float[2] w = {4, -8}> { y = Identity(w) }",
        Info(
            f"""a () => (float[2] n) <int64 count = {{3}}, bool on = {{1}}, float quarter = {{0.25}}>
                {{ n = Loop(count, on, w) <body = b (int64 i, bool c, float[2] v) =>
                    (bool c2, float[2] v2) {{
                        c2 = Identity(c) k = Mul(v, v) z = ReduceSum<keepdims=0>(k)
                        g = {G}<xs = ["v"], y = "z">(v) s = Mul(g, quarter) v2 = Sub(v, s) }}> }}""",
            {"w": "n"},
        ),
    ).train(want={"w": f32(0.5, -1)}).train(want={"w": f32(0.0625, -0.125)})


def functions():
    body = f"""<domain: "local", opset_import: ["": 20, "ai.onnx.preview.training": 1]>
        Descend (v, x) => (n) {{ k = Mul(v, x) m = Mul(k, v) z = ReduceSum<keepdims=0>(m)
            g = {G}<xs = ["v"], zs = ["x"], y = "z">(v, x) n = Sub(v, g) }}"""
    yield Case(
        "in-a-function",
        ["gradient-inserted"],
        "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Identity(w) }",
        Info("a () => (float[2] n) { n = local.Descend(w, x) }", {"w": "n"}),
        functions=[body],
    ).train({"x": f32(1, -1)}, want={"w": f32(-1, 6)}).train({"x": f32(2, 0)}, want={"w": f32(3, 6)})


def cases():
    for group in (branches, loops, functions):
        yield from group()
