# SPDX-License-Identifier: Apache-2.0
"""The training step: combination of graphs, what is evaluated, several algorithms."""

import numpy as np
from onnx import helper, numpy_helper

from generate.build import Case, Info, f32, spread

FOLDER = "algorithm"
LINE = "main (float[N,2] x) => (float[N,2] y) <float[2] w = {1, -2}> { y = Mul(x, w) }"
X = {"x": f32([1, 1], [2, 3])}


def combination():
    yield Case(
        "chain",
        ["chain-example", "step-combines"],
        """main (float[2,2] tensor_a, float[2,2] tensor_b) => (float[2,2] tensor_d)
                  { tensor_c = MatMul(tensor_a, tensor_b) tensor_d = Sigmoid(tensor_c) }""",
        Info("a () => (float[2,2] tensor_e) <float one = {1}> { tensor_e = Add(tensor_d, one) }"),
    ).train({"tensor_a": spread(2, 2), "tensor_b": spread(2, 2, salt=1)})
    yield Case(
        "reads-main-input",
        ["concatenation", "algorithm-reads-main"],
        LINE,
        Info(
            "a () => (float[2] n) <int64[1] ax = {0}> { n = ReduceSum<keepdims=0>(x, ax) }",
            {"w": "n"},
        ),
    ).train(X, want={"w": f32(3, 4)})
    yield Case(
        "reads-main-output",
        ["algorithm-reads-main"],
        LINE,
        Info(
            "a () => (float[2] n) <int64[1] ax = {0}> { n = ReduceSum<keepdims=0>(y, ax) }",
            {"w": "n"},
        ),
    ).train(X, want={"w": f32(3, -8)}).train(X, want={"w": f32(9, -32)})
    yield Case(
        "reads-main-intermediate",
        ["algorithm-reads-main", "step-combines"],
        """main (float[2] x) => (float[2] y) <float[2] w = {1, -2}>
                  { hidden = Mul(x, w) y = Exp(hidden) }""",
        Info("a () => (float[2] n) { n = Neg(hidden) }", {"w": "n"}),
    ).train({"x": f32(3, 4)}, want={"w": f32(-3, 8)})
    yield Case(
        "reads-main-constant",
        ["concatenation", "inputs-refer"],
        "main (float[2] x) => (float[2] y) <float[2] c = {3, 4}, float[2] w = {1, 1}> { y = "
        "Mul(x, w) }",
        Info("a () => (float[2] n) { n = Mul(w, c) }", {"w": "n"}),
    ).train({"x": f32(0, 0)}, want={"w": f32(3, 4)}).train({"x": f32(0, 0)}, want={"w": f32(9, 16)})


def interfaces():
    yield Case(
        "input-of-algorithm",
        ["concatenation", "step-combines"],
        LINE,
        Info(
            """a (float[N,2] target) => (float loss, float[2] n) <int64[1] ax = {0}>
                       { d = Sub(y, target) loss = ReduceSum<keepdims=0>(d)
                         n = ReduceMean<keepdims=0>(d, ax) }""",
            {"w": "n"},
        ),
    ).train({**X, "target": f32([0, 0], [1, 1])}).train({**X, "target": f32([5, 5], [1, 1])})
    yield Case(
        "outputs-of-both",
        ["concatenation", "graph-output-value"],
        LINE,
        Info("a () => (float[N,2] z, float[2] n) { z = Neg(y) n = Neg(w) }", {"w": "n"}),
    ).train(X, want={"y": f32([1, -2], [2, -6]), "z": f32([-1, 2], [-2, 6])})
    yield Case(
        "input-only-for-the-algorithm",
        ["concatenation", "inference-independent"],
        "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }",
        Info("a (float rate) => (float[2] n) { n = Mul(w, rate) }", {"w": "n"}),
    ).infer({"x": f32(1, 1)}, want={"y": f32(2, 3)}).train(
        {"x": f32(0, 0), "rate": np.float32(3)}, want={"w": f32(3, 6)}
    ).infer(
        {"x": f32(1, 1)}, want={"y": f32(4, 7)}
    )


def odd_outputs():
    yield Case(
        "value-info-of-algorithm",
        ["concatenation"],
        LINE,
        with_value_info(Info("a () => (float[2] n) { m = Neg(w) n = Exp(m) }", {"w": "n"})),
    ).train(X)
    yield Case(
        "algorithm-output-is-an-input",
        ["step-assigns", "values-are-outputs"],
        LINE,
        Info("a (float[2] given) => (float[2] given) { }", {"w": "given"}),
    ).train({**X, "given": f32(7, 8)}, want={"w": f32(7, 8)})
    yield Case(
        "algorithm-output-is-an-initializer",
        ["step-assigns", "values-are-outputs"],
        LINE,
        Info("a () => (float[2] c) <float[2] c = {7, 8}> { }", {"w": "c"}),
    ).train(X, want={"w": f32(7, 8)})


class WithValueInfo(Info):
    def proto(self):
        info = super().proto()
        info.algorithm.value_info.append(helper.make_tensor_value_info("m", 1, [2]))
        return info


def with_value_info(info):
    return WithValueInfo(info.algorithm, info.update)


class WithSparse(Info):
    """The constant `sparse` of the algorithm is [0, 5, 0, 7] in coordinate format."""

    def proto(self):
        info = super().proto()
        info.algorithm.sparse_initializer.append(sparse_tensor())
        return info


def sparse_tensor():
    return helper.make_sparse_tensor(
        numpy_helper.from_array(f32(5, 7), "sparse"), numpy_helper.from_array(np.array([1, 3])), [4]
    )


def sparse():
    yield Case(
        "sparse-of-algorithm",
        ["concatenation"],
        "main () => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Identity(w) }",
        WithSparse("a () => (float[4] n) { n = Add(w, sparse) }", {"w": "n"}),
    ).train(want={"w": f32(1, 7, 3, 11)}).train(want={"w": f32(1, 12, 3, 18)})
    case = Case(
        "sparse-of-main-graph",
        ["concatenation"],
        "main () => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(w, sparse) }",
        Info("a () => (float[4] n) { n = Add(w, sparse) }", {"w": "n"}),
    )
    case.model.graph.sparse_initializer.append(sparse_tensor())
    yield case.infer(want={"y": f32(1, 7, 3, 11)}).train(want={"w": f32(1, 7, 3, 11)}).infer(
        want={"y": f32(1, 12, 3, 18)}
    )


TWO = "main () => (float y) <float a = {1}, float b = {2}> { y = Sub(a, b) }"


def updates():
    yield Case(
        "swap",
        ["updates-after", "step-assigns"],
        TWO,
        Info(
            "s () => (float p, float q) { p = Identity(b) q = Identity(a) }", {"a": "p", "b": "q"}
        ),
    ).train(want={"a": 2, "b": 1}).train(want={"a": 1, "b": 2}).infer(want={"y": -1})
    yield Case(
        "swap-in-the-other-order",
        ["updates-after"],
        TWO,
        Info(
            "s () => (float p, float q) { p = Identity(b) q = Identity(a) }",
            [("b", "q"), ("a", "p")],
        ),
    ).train(want={"a": 2, "b": 1})
    yield Case(
        "rotate",
        ["updates-after"],
        "main () => (float y) <float a = {1}, float b = {2}, float c = {3}> { y = Sum(a, b, c) }",
        Info(
            """s () => (float p, float q, float r)
                       { p = Identity(b) q = Identity(c) r = Identity(a) }""",
            {"a": "p", "b": "q", "c": "r"},
        ),
    ).train(want={"a": 2, "b": 3, "c": 1}).train(want={"a": 3, "b": 1, "c": 2})
    yield Case(
        "old-values-in-outputs",
        ["updates-after", "consecutive-steps"],
        TWO,
        Info("s () => (float n, float later) { n = Add(a, b) later = Mul(a, b) }", {"a": "n"}),
    ).train(want={"a": 3, "later": 2, "y": -1}).train(want={"a": 5, "later": 6, "y": 1})
    yield Case(
        "fibonacci",
        ["updates-after"],
        TWO,
        Info("s () => (float p, float q) { p = Identity(b) q = Add(a, b) }", {"a": "p", "b": "q"}),
    ).train().train().train().train(want={"a": 8, "b": 13})


def own_updates():
    yield Case(
        "descent",
        ["descent", "update-pair"],
        "main () => (float y) <float x = {4}> { y = Identity(x) }",
        Info(
            "a () => (float n) <float r = {0.25}, float two = {2}> { g = Mul(two, x) s = Mul(r, "
            "g) n = Sub(x, s) }",
            {"x": "n"},
        ),
    ).train(want={"x": 2}).train(want={"x": 1}).train(want={"x": 0.5})
    yield Case(
        "own-and-main-initializers",
        ["step-updates-both", "keys-are-initializers"],
        TWO,
        Info(
            """s () => (float p, float q, int64 u) <float m = {0.5}, int64 t = {0}, int64 one = {1}>
                       { q = Add(m, a) p = Sub(b, q) u = Add(t, one) }""",
            {"b": "p", "m": "q", "t": "u"},
        ),
    ).train(want={"b": 0.5, "m": 1.5, "t": 1}).train(want={"b": -2, "m": 2.5, "t": 2})


def defaults():
    yield Case(
        "no-algorithm",
        ["default-algorithm", "default-step"],
        TWO,
        Info(
            initialization="i () => (float s) { s = Constant<value_float=9.0>() }",
            initial={"a": "s"},
        ),
    ).train(want={"y": -1, "a": 1}).initialize(want={"a": 9}).train(want={"y": 7, "a": 9})
    yield Case(
        "no-bindings", ["default-update-binding"], LINE, Info("s () => (float[2] n) { n = Neg(w) }")
    ).train(X, want={"n": f32(-1, 2)}).train(X, want={"n": f32(-1, 2)})
    yield Case(
        "no-outputs",
        ["default-update-binding", "default-step"],
        TWO,
        Info("s () => () { n = Neg(a) }"),
    ).train(want={"y": -1}).infer(want={"y": -1})


def cases():
    for group in (combination, interfaces, odd_outputs, sparse, updates, own_updates, defaults):
        yield from group()
