# SPDX-License-Identifier: Apache-2.0
"""The initialization method: graphs, bindings, order and reset."""

import numpy as np

from generate.build import Case, Info, f32

FOLDER = "initialization"
MAIN = "main () => (float[2] y) <float[2] w = {1, 2}> { y = Identity(w) }"
NEGATE = "a () => (float[2] n) { n = Neg(w) }"
SET = "i () => (float[2] s) { s = Constant<value_floats=[5.0, 6.0]>() }"


def resets():
    yield Case(
        "resets-without-graph",
        ["reset", "reset-then-bind", "default-graph-changes-nothing"],
        MAIN,
        Info(NEGATE, {"w": "n"}),
    ).train(want={"w": f32(-1, -2)}).initialize(want={"w": f32(1, 2)})
    yield Case(
        "resets-unbound-variables",
        ["reset", "reset-then-bind"],
        "main () => (float y) <float w = {1}, float v = {2}> { y = Add(w, v) }",
        Info(
            "a () => (float n, float m) { n = Neg(w) m = Neg(v) }",
            {"w": "n", "v": "m"},
            "i () => (float s) { s = Constant<value_float=9.0>() }",
            {"v": "s"},
        ),
    ).train(want={"w": -1, "v": -2}).initialize(want={"w": 1, "v": 9})
    yield Case(
        "resets-counter",
        ["reset", "initialization-sets-algorithm"],
        MAIN,
        Info(
            "a () => (int64 u) <int64 t = {0}, int64 one = {1}> { u = Add(t, one) }",
            {"t": "u"},
            "i () => (int64 z) { z = Constant<value_int=0>() }",
            {"t": "z"},
        ),
    ).train(want={"t": 1}).train(want={"t": 2}).initialize(want={"t": 0}).train(want={"t": 1})
    yield Case(
        "resets-algorithm-initializers",
        ["reset-then-bind"],
        MAIN,
        Info("a () => (float v) <float m = {0.5}> { v = Neg(m) }", {"m": "v"}),
    ).train(want={"m": -0.5}).initialize(want={"m": 0.5})


def repeated():
    yield Case(
        "resets-all-infos",
        ["reset-then-bind"],
        "main () => (float y) <float w = {1}, float v = {2}> { y = Add(w, v) }",
        Info("a () => (float n) { n = Neg(w) }", {"w": "n"}),
        Info(
            "b () => (float m) { m = Neg(v) }",
            {"v": "m"},
            "i () => (float s) { s = Constant<value_float=9.0>() }",
            {"v": "s"},
        ),
    ).train().train(algorithm=1, want={"w": -1, "v": -2}).initialize(want={"w": 1, "v": 9})
    yield Case(
        "twice-is-once",
        ["reset", "initialization-updates"],
        MAIN,
        Info(NEGATE, {"w": "n"}, SET, {"w": "s"}),
    ).initialize(want={"w": f32(5, 6)}).initialize(want={"w": f32(5, 6)}).train(
        want={"w": f32(-5, -6)}
    ).initialize(
        want={"w": f32(5, 6)}
    )
    yield Case(
        "same-run-after-reset",
        ["reset", "initializations-in-sequence"],
        "main (float x) => (float y) <float w = {1}> { y = Mul(x, w) }",
        Info("a () => (float n) { n = Add(y, w) }", {"w": "n"}),
    ).train({"x": np.float32(2)}, want={"w": 3}).train(
        {"x": np.float32(3)}, want={"w": 12}
    ).initialize(
        want={"w": 1}
    ).train(
        {"x": np.float32(2)}, want={"w": 3}
    ).train(
        {"x": np.float32(3)}, want={"w": 12}
    )


def assigns():
    yield Case(
        "assigns-output",
        ["initialization-assigns", "initialization-updates"],
        MAIN,
        Info(NEGATE, {"w": "n"}, SET, {"w": "s"}),
    ).initialize(want={"w": f32(5, 6)}).infer(want={"y": f32(5, 6)})
    yield Case(
        "not-called-not-assigned",
        ["pre-initialized", "initialization-updates"],
        MAIN,
        Info(NEGATE, {"w": "n"}, SET, {"w": "s"}),
        want={"w": f32(1, 2)},
    ).infer(want={"y": f32(1, 2)}).train(want={"w": f32(-1, -2)})


def maps():
    yield Case(
        "several-outputs",
        ["initialization-signature", "binding-is-a-map"],
        "main () => (float y) <float w = {1}, float v = {2}> { y = Sub(w, v) }",
        Info(
            initialization="""i () => (float p, float q)
                    { p = Constant<value_float=3.0>() q = Constant<value_float=4.0>() }""",
            initial={"v": "p", "w": "q"},
        ),
    ).initialize(want={"w": 4, "v": 3}).infer(want={"y": 1})
    yield Case(
        "unbound-output",
        ["initialization-signature"],
        "main () => (float y) <float w = {1}, float v = {2}> { y = Sub(w, v) }",
        Info(
            initialization="""i () => (float p, float q)
                    { p = Constant<value_float=3.0>() q = Constant<value_float=4.0>() }""",
            initial={"w": "q"},
        ),
    ).initialize(want={"w": 4}).infer(want={"y": 2})
    yield Case(
        "one-output-for-two-keys",
        ["binding-is-a-map"],
        "main () => (float y) <float w = {1}, float v = {2}> { y = Mul(w, v) }",
        Info(
            initialization="i () => (float p) { p = Constant<value_float=3.0>() }",
            initial={"w": "p", "v": "p"},
        ),
    ).initialize(want={"w": 3, "v": 3})
    yield Case(
        "main-and-algorithm-keys",
        ["initialization-binding-targets", "initialization-keys", "initialization-sets-algorithm"],
        MAIN,
        Info(
            "a () => (float[2] n, float u) <float m = {0.5}> { n = Mul(w, m) u = Neg(m) }",
            {"w": "n", "m": "u"},
            """i () => (float[2] s, float z) { s = Constant<value_floats=[5.0, 6.0]>()
                       z = Constant<value_float=2.0>() }""",
            {"w": "s", "m": "z"},
        ),
    ).initialize(want={"w": f32(5, 6), "m": 2}).train(want={"w": f32(10, 12), "m": -2})


def other_keys():
    yield Case(
        "key-that-no-step-updates",
        ["initialization-keys", "state-is-keys"],
        "main () => (float y) <float w = {1}, float c = {2}> { y = Mul(w, c) }",
        Info(
            "a () => (float n) { n = Mul(w, c) }",
            {"w": "n"},
            "i () => (float s) { s = Constant<value_float=10.0>() }",
            {"c": "s"},
        ),
    ).train(want={"w": 2, "c": 2}).initialize(want={"w": 1, "c": 10}).train(want={"w": 10, "c": 10})


def graphs():
    bodies = {
        "initializer-as-output": "i () => (float[2] s) <float[2] s = {5, 6}> { }",
        "own-initializers": "i () => (float[2] s) <float[2] p = {5, 6}, float q = {2}> { s = "
        "Mul(p, q) }",
        "chain": """i () => (float[2] s) <float[2] p = {4, 9}>
            { r = Sqrt(p) t = Neg(r) s = Exp(t) }""",
        "filled": "i () => (float[2] s) <int64[1] n = {2}> { s = ConstantOfShape<value = float[1] "
        "{7}>(n) }",
        "range": "i () => (float[2] s) <float a = {3}, float b = {5}, float d = {1}> { s = "
        "Range(a, b, d) }",
        "expanded": "i () => (float[2] s) <float a = {3}, int64[1] n = {2}> { s = Expand(a, n) }",
        "cast": "i () => (float[2] s) <int64[2] p = {3, -4}> { s = Cast<to=1>(p) }",
        "reshaped": "i () => (float[2] s) <float[1,2] p = {3, -4}, int64[1] n = {-1}> { s = "
        "Reshape(p, n) }",
        "branch": """i () => (float[2] s) <bool c = {0}, float[2] p = {3, -4}, float[2] q = {8, 9}>
            { s = If(c) <then_branch = t () => (float[2] o) { o = Identity(p) },
                         else_branch = e () => (float[2] o2) { o2 = Identity(q) }> }""",
        "loop": """i () => (float[2] s) <int64 n = {3}, bool c = {1}, float[2] p = {1, 2}>
            { s = Loop(n, c, p) <body = b (int64 k, bool g, float[2] v) => (bool g2, float[2] v2)
              { g2 = Identity(g) v2 = Add(v, v) }> }""",
        "concatenated": "i () => (float[2] s) <float[1] p = {3}, float[1] q = {4}> { s = "
        "Concat<axis=0>(q, p) }",
    }
    for name, text in bodies.items():
        yield Case(
            f"graph-{name}",
            ["initialization-assigns"],
            MAIN,
            Info(NEGATE, {"w": "n"}, text, {"w": "s"}),
        ).initialize().train().initialize()


def richer_graphs():
    yield Case(
        "graph-function",
        ["initialization-assigns"],
        MAIN,
        Info(
            NEGATE,
            {"w": "n"},
            "i () => (float[2] s) <float[2] p = {4, 9}> { s = local.Twice(p) }",
            {"w": "s"},
        ),
        functions=[
            """<domain: "local", opset_import: ["": 20]> Twice (v) => (o) { o = Add(v, v) }"""
        ],
    ).initialize(want={"w": f32(8, 18)}).train(want={"w": f32(-8, -18)})
    yield Case(
        "graph-of-other-types",
        ["initialization-assigns"],
        "main () => (int64[2] y) <int64[2] w = {1, 2}, bool b = {0}, double d = {1}> { y = "
        "Identity(w) }",
        Info(
            initialization="""i () => (int64[2] s, bool t, double u)
                    <double p = {0.1}, int64[2] q = {9007199254740993, -1}, bool f = {1}>
                    { s = Identity(q) t = Identity(f) u = Neg(p) }""",
            initial={"w": "s", "b": "t", "d": "u"},
        ),
    ).initialize(want={"w": np.array([9007199254740993, -1]), "b": True, "d": -0.1})


TWO = "main () => (float y) <float w = {1}, float v = {2}> { y = Sub(w, v) }"


def at_once():
    """Bindings are assigned after the graph was evaluated."""
    swap = "i () => (float p, float q) { p = Identity(v) q = Identity(w) }"
    yield Case(
        "swap",
        ["initialization-assigns", "globals-visible"],
        TWO,
        Info(initialization=swap, initial={"w": "p", "v": "q"}),
    ).initialize(want={"w": 2, "v": 1}).initialize(want={"w": 2, "v": 1}).infer(want={"y": 1})
    yield Case(
        "swap-in-the-other-order",
        ["initialization-assigns", "binding-is-a-map"],
        TWO,
        Info(initialization=swap, initial=[("v", "q"), ("w", "p")]),
    ).initialize(want={"w": 2, "v": 1})
    yield Case(
        "rotate",
        ["initialization-assigns", "globals-visible"],
        "main () => (float y) <float a = {1}, float b = {2}, float c = {3}> { y = Sum(a, b, c) }",
        Info(
            initialization="""i () => (float p, float q, float r)
                    { p = Add(b, b) q = Add(c, c) r = Add(a, a) }""",
            initial={"a": "p", "b": "q", "c": "r"},
        ),
    ).initialize(want={"a": 4, "b": 6, "c": 2})
    yield Case(
        "body-reads-a-main-variable",
        ["globals-visible", "nested-reads-outer"],
        TWO,
        Info(
            initialization="""i () => (float s, float r) <bool c = {1}>
                { r = Identity(w)
                  s = If(c) <then_branch = t () => (float o) { o = Neg(v) },
                             else_branch = e () => (float p) { p = Neg(w) }> }""",
            initial={"w": "s", "v": "r"},
        ),
    ).initialize(want={"w": -2, "v": 1})


def constant(name, value):
    return f"{name} () => (float {name}_out) {{ {name}_out = Constant<value_float={value}>() }}"


def orders():
    yield Case(
        "later-info-wins",
        ["initialization-order"],
        TWO,
        Info(initialization=constant("i", 3.0), initial={"w": "i_out"}),
        Info(initialization=constant("j", 4.0), initial={"w": "j_out"}),
    ).initialize(want={"w": 4})
    yield Case(
        "every-info",
        ["initialization-order", "initializations-in-sequence"],
        TWO,
        Info(initialization=constant("i", 3.0), initial={"w": "i_out"}),
        Info(initialization=constant("j", 4.0), initial={"v": "j_out"}),
    ).initialize(want={"w": 3, "v": 4}).infer(want={"y": -1})
    yield Case(
        "three-infos",
        ["initialization-order"],
        TWO,
        Info(initialization=constant("i", 3.0), initial={"w": "i_out", "v": "i_out"}),
        Info("a () => (float n) { n = Neg(w) }", {"w": "n"}),
        Info(initialization=constant("j", 4.0), initial={"v": "j_out"}),
    ).initialize(want={"w": 3, "v": 4}).train(algorithm=1, want={"w": -3, "v": 4})
    yield Case(
        "same-names-in-two-graphs",
        ["initialization-order"],
        TWO,
        Info(initialization=constant("i", 3.0), initial={"w": "i_out"}),
        Info(initialization=constant("i", 5.0), initial={"v": "i_out"}),
    ).initialize(want={"w": 3, "v": 5})
    yield Case(
        "order-of-pairs-is-free",
        ["binding-is-a-map"],
        TWO,
        Info(
            initialization="i () => (float p, float q) <float p = {3}, float q = {4}> { }",
            initial=[("v", "q"), ("w", "p")],
        ),
    ).initialize(want={"w": 3, "v": 4})


def omitted():
    yield Case(
        "omitted", ["initialization-omitted", "default-graph"], MAIN, Info(NEGATE, {"w": "n"})
    ).initialize(want={"w": f32(1, 2)}).train(want={"w": f32(-1, -2)})
    yield Case(
        "omitted-in-one-info",
        ["initialization-omitted", "default-initialization-binding"],
        TWO,
        Info("a () => (float n) { n = Neg(w) }", {"w": "n"}),
        Info(initialization=constant("j", 4.0), initial={"v": "j_out"}),
    ).train(want={"w": -1, "v": 2}).initialize(want={"w": 1, "v": 4})
    yield Case(
        "graph-without-bindings",
        ["default-initialization-binding"],
        MAIN,
        Info(NEGATE, {"w": "n"}, SET),
    ).initialize(want={"w": f32(1, 2)}).train(want={"w": f32(-1, -2)}).initialize(
        want={"w": f32(1, 2)}
    )
    yield Case(
        "named-empty-graph",
        ["default-graph", "default-graph-changes-nothing"],
        MAIN,
        Info(NEGATE, {"w": "n"}, "i () => () { }"),
    ).train().initialize(want={"w": f32(1, 2)})


def globals_():
    yield Case(
        "reads-main-variable",
        ["globals-visible"],
        "main () => (float y) <float w = {1}, float v = {9}> { y = Mul(w, v) }",
        Info(
            "a () => (float n) { n = Neg(v) }",
            {"v": "n"},
            "i () => (float s) { s = Sqrt(v) }",
            {"w": "s"},
        ),
    ).initialize(want={"w": 3, "v": 9}).train(want={"w": 3, "v": -9})
    yield Case(
        "reads-variable-after-reset",
        ["globals-visible", "reset-then-bind"],
        "main () => (float y) <float w = {1}, float v = {5}> { y = Mul(w, v) }",
        Info(
            "a () => (float n, float m) { n = Neg(w) m = Neg(v) }",
            {"w": "n", "v": "m"},
            "i () => (float s) { s = Add(v, v) }",
            {"w": "s"},
        ),
    ).train(want={"w": -1, "v": -5}).initialize(want={"w": 10, "v": 5})
    yield Case(
        "reads-what-an-earlier-info-assigned",
        ["globals-visible", "initializations-in-sequence"],
        TWO,
        Info(initialization=constant("i", 3.0), initial={"w": "i_out"}),
        Info(initialization="j () => (float s) { s = Add(w, w) }", initial={"v": "s"}),
    ).initialize(want={"w": 3, "v": 6})


def cases():
    for group in (
        resets,
        repeated,
        assigns,
        maps,
        other_keys,
        graphs,
        richer_graphs,
        at_once,
        orders,
        omitted,
        globals_,
    ):
        yield from group()
