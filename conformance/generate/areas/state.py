# SPDX-License-Identifier: Apache-2.0
"""State variables: which initializers they are, what they start with, of which types."""

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from generate.build import Case, Info, f32, spread

FOLDER = "state"
PLAIN = (
    "float16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)
SMALL = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
    "int2": ml_dtypes.int2,
    "uint2": ml_dtypes.uint2,
}
# Versions of Identity; 21 has the types that are not listed.
VERSIONS = {"float4e2m1": 23, "float8e8m0": 24, "int2": 25, "uint2": 25}
# No float32 number is as close to them as the tolerance of double.
DOUBLES = np.array([1 / 3 + 2.0**-40, 0.1, -(2.0**60) / 3])


def of_type(name, old, new):
    """A variable of a type that a step replaces."""
    case = Case(
        f"holds-{name}",
        ["pre-initialized", "variables-mutable"],
        f"main () => ({name}[3] y) {{ y = Identity(w) }}",
        Info(
            f"algorithm () => ({name}[3] next) {{ next = Identity(other) }}",
            {"w": "next"},
            values={"other": new},
        ),
        values={"w": old},
        literal=True,
        opset=VERSIONS.get(name, 21),
        want={"w": old},
    )
    case.infer(want={"y": old, "w": old}).train(want={"y": old, "next": new, "w": new})
    return case.infer(want={"y": new, "w": new}).initialize(want={"w": old})


def types():
    for name in PLAIN:
        dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name.upper()))
        yield of_type(name, np.array([0, 1, 1]).astype(dtype), np.array([1, 0, 1]).astype(dtype))
    for name, dtype in SMALL.items():
        old, new = ([0, 1, 1], [1, 0, 1]) if name == "int2" else ([0, 1, 2], [3, 0, 2])
        yield of_type(name, np.array(old).astype(dtype), np.array(new).astype(dtype))
    yield of_type(
        "float8e8m0",
        np.array([1, 2, 4]).astype(ml_dtypes.float8_e8m0fnu),
        np.array([0.5, 1, 8]).astype(ml_dtypes.float8_e8m0fnu),
    )
    yield of_type("double", DOUBLES, DOUBLES[::-1] + 1)
    for name, dtype in (("complex64", np.complex64), ("complex128", np.complex128)):
        values = np.array([1 + 2j, -0.5j, 3])
        values = values / 3 if name == "complex128" else values
        yield of_type(name, values.astype(dtype), (values[::-1] * 1j).astype(dtype))
    special = f32(np.nan, np.inf, -np.inf)
    yield of_type("float", special, f32(-np.inf, np.nan, 1)).named("holds-no-numbers")
    yield of_type(
        "string", np.array(["a", "", "täglich"], object), np.array(["new", "b", ""], object)
    )


def precision():
    """Steps that single precision loses."""
    small = 2.0**-40
    yield Case(
        "double-adds-small-steps",
        ["stateful", "step-assigns"],
        "main () => (double y) <double w = {1}> { y = Identity(w) }",
        Info(
            "a () => (double n) <double d = {9.094947017729282e-13}> { n = Add(w, d) }", {"w": "n"}
        ),
        tolerance=[1e-15, 0.0],
    ).train(want={"w": 1 + small}).train(want={"w": 1 + 2 * small}).infer(want={"y": 1 + 2 * small})
    yield Case(
        "integers-beyond-double",
        ["stateful", "step-assigns"],
        "main () => (uint64 y) <uint64 w = {9007199254740993}> { y = Identity(w) }",
        Info("a () => (uint64 n) <uint64 two = {2}> { n = Add(w, two) }", {"w": "n"}),
        literal=True,
        want={"w": np.uint64(9007199254740993)},
    ).train(
        want={
            "y": np.uint64(9007199254740993),
            "n": np.uint64(9007199254740995),
            "w": np.uint64(9007199254740995),
        }
    ).infer(
        want={"y": np.uint64(9007199254740995), "w": np.uint64(9007199254740995)}
    )


def shapes():
    for name, shape in (
        ("scalar", ()),
        ("empty", (0, 3)),
        ("one-element", (1,)),
        ("rank-five", (1, 2, 1, 3, 2)),
    ):
        dims = ",".join(map(str, shape))
        kind = f"float[{dims}]" if shape else "float"
        values = spread(*shape) if shape else np.float32(0.25)
        yield Case(
            f"shape-{name}",
            ["pre-initialized", "step-assigns"],
            f"main () => ({kind} y) {{ y = Identity(w) }}",
            Info(
                f"algorithm () => ({kind} next) <float two = {{2}}> {{ next = Mul(w, two) }}",
                {"w": "next"},
            ),
            values={"w": values},
            want={"w": values},
        ).train(want={"w": 2 * values}).infer(want={"y": 2 * values}).train(want={"w": 4 * values})


MAIN = "main (float[N,2] x) => (float[N,2] y) <float[2] w = {1, -2}> { y = Mul(x, w) }"
X = {"x": f32([1, 1], [2, 3])}


def places():
    yield Case(
        "of-main-graph",
        ["pre-initialized", "state-is-keys"],
        MAIN,
        Info("a () => (float[2] n) { n = Neg(w) }", {"w": "n"}),
        want={"w": f32(1, -2)},
    ).infer(X, want={"y": f32([1, -2], [2, -6])})
    yield Case(
        "of-algorithm",
        ["pre-initialized", "state-is-keys", "step-updates-both"],
        MAIN,
        Info("a () => (int64 n) <int64 t = {3}, int64 one = {1}> { n = Add(t, one) }", {"t": "n"}),
        want={"t": np.int64(3)},
    ).train(X, want={"t": np.int64(4)}).train(X, want={"t": np.int64(5)})
    yield Case(
        "of-both",
        ["step-updates-both", "many-pairs"],
        MAIN,
        Info(
            """a () => (float[2] n, int64 u) <int64 t = {0}, int64 one = {1}>
                       { n = Neg(w) u = Add(t, one) }""",
            {"w": "n", "t": "u"},
        ),
        want={"w": f32(1, -2), "t": np.int64(0)},
    ).train(X, want={"w": f32(-1, 2), "t": np.int64(1)}).train(
        X, want={"w": f32(1, -2), "t": np.int64(2)}
    )


def other_places():
    yield Case(
        "of-initialization-only",
        ["state-is-keys", "initialization-binding-targets"],
        MAIN,
        Info(
            initialization="i () => (float[2] s) { s = Constant<value_floats=[5.0, 6.0]>() }",
            initial={"w": "s"},
        ),
        want={"w": f32(1, -2)},
    ).infer(X, want={"y": f32([1, -2], [2, -6])}).initialize(want={"w": f32(5, 6)}).infer(
        X, want={"y": f32([5, 6], [10, 18])}
    )
    yield Case(
        "of-two-algorithms",
        ["state-is-keys", "any-algorithm"],
        MAIN,
        Info("a () => (float n) <float p = {1}, float one = {1}> { n = Add(p, one) }", {"p": "n"}),
        Info("b () => (float m) <float q = {8}, float two = {2}> { m = Div(q, two) }", {"q": "m"}),
        want={"p": np.float32(1), "q": np.float32(8)},
    ).train(X, 0, want={"p": np.float32(2), "q": np.float32(8)}).train(
        X, 1, want={"p": np.float32(2), "q": np.float32(4)}
    ).train(
        X, 1, want={"p": np.float32(2), "q": np.float32(2)}
    )


def mutability():
    yield Case(
        "constants-stay",
        ["state-is-keys"],
        "main () => (float[2] y) <float[2] w = {1, 2}, float[2] c = {7, 8}> { y = Add(w, c) }",
        Info("a () => (float[2] n) { n = Add(w, c) }", {"w": "n"}),
    ).train(want={"w": f32(8, 10)}).train(want={"w": f32(15, 18)}).infer(want={"y": f32(22, 26)})
    yield Case(
        "not-folded-in-inference",
        ["not-constant", "variables-mutable"],
        """main (float[2] x) => (float[2] y) <float[2] w = {1, 2}>
                  { e = Exp(w) f = Add(e, w) y = Add(x, f) }""",
        Info("a () => (float[2] n) { n = Neg(w) }", {"w": "n"}),
    ).infer({"x": f32(0, 0)}).train({"x": f32(0, 0)}).infer({"x": f32(0, 0)}).train(
        {"x": f32(0, 0)}
    ).infer(
        {"x": f32(0, 0)}
    )
    yield Case(
        "not-folded-in-training",
        ["not-constant"],
        "main () => (float[2] y) <float[2] w = {1, 2}> { y = Identity(w) }",
        Info(
            """a () => (float[2] n, float[2] m) <float[2] v = {1, 1}>
               { n = Add(w, v) k = Neg(v) m = Add(k, n) }""",
            {"w": "n", "v": "m"},
        ),
    ).train(want={"w": f32(2, 3), "v": f32(1, 2)}).train(
        want={"w": f32(3, 5), "v": f32(2, 3)}
    ).train(
        want={"w": f32(5, 8), "v": f32(3, 5)}
    )


def captures():
    """Bodies and functions read the current values."""
    yield Case(
        "not-folded-in-a-body",
        ["not-constant", "variables-mutable"],
        "main (bool c) => (float[2] y) <float[2] w = {1, 2}> "
        """{ y = If(c) <then_branch = t () => (float[2] o) { e = Add(w, w) o = Neg(e) },
                        else_branch = f () => (float[2] p) { p = Mul(w, w) }> }""",
        Info("a () => (float[2] n) <float two = {2}> { n = Mul(w, two) }", {"w": "n"}),
    ).infer({"c": np.array(True)}, want={"y": f32(-2, -4)}).train({"c": np.array(True)}).infer(
        {"c": np.array(True)}, want={"y": f32(-4, -8)}
    ).infer(
        {"c": np.array(False)}, want={"y": f32(4, 16)}
    )
    yield Case(
        "not-folded-in-a-function",
        ["not-constant"],
        "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { v = local.Twice(w) y = Add(x, "
        "v) }",
        Info("a () => (float[2] n) { n = Neg(v) }", {"w": "n"}),
        functions=["""<domain: "local", opset_import: ["": 20]> Twice(v) => (o)
                      { o = Add(v, v) }"""],
    ).infer({"x": f32(0, 0)}, want={"y": f32(2, 4)}).train(
        {"x": f32(0, 0)}, want={"w": f32(-2, -4)}
    ).infer(
        {"x": f32(1, 1)}, want={"y": f32(-3, -7)}
    )


def sharing():
    yield Case(
        "shared-by-graphs",
        ["shared-variables"],
        "main () => (float y) <float w = {1}> { y = Identity(w) }",
        Info("a () => (float n) <float d = {2}> { n = Add(w, d) }", {"w": "n"}),
        Info(
            """b () => (float m, float s) <float e = {3}, float s0 = {0}>
               { m = Mul(w, e) s = Add(s0, w) }""",
            {"s0": "s"},
        ),
    ).train(algorithm=1, want={"s0": np.float32(1)}).train(want={"w": np.float32(3)}).train(
        algorithm=1, want={"s0": np.float32(4), "m": np.float32(9)}
    ).infer(
        want={"y": np.float32(3)}
    )
    yield Case(
        "variable-is-an-output",
        ["not-constant", "stateful"],
        "main () => (float[2] w) <float[2] w = {1, 2}> { }",
        Info("a () => (float[2] n) { n = Neg(w) }", {"w": "n"}),
    ).infer(want={"w": f32(1, 2)}).train().infer(want={"w": f32(-1, -2)})


def starts():
    yield Case(
        "starts-with-initializers",
        ["pre-initialized", "variables-start"],
        MAIN,
        Info(
            "a () => (float[2] n) { n = Neg(w) }",
            {"w": "n"},
            "i () => (float[2] s) { s = Constant<value_floats=[5.0, 6.0]>() }",
            {"w": "s"},
        ),
        want={"w": f32(1, -2)},
    ).train(X, want={"w": f32(-1, 2)})
    yield Case(
        "initialized-then-updated",
        ["variables-start", "three-methods"],
        MAIN,
        Info(
            "a () => (float[2] n) { n = Neg(w) }",
            {"w": "n"},
            "i () => (float[2] s) { s = Constant<value_floats=[5.0, 6.0]>() }",
            {"w": "s"},
        ),
        want={"w": f32(1, -2)},
    ).initialize(want={"w": f32(5, 6)}).train(X, want={"w": f32(-5, -6)}).infer(
        X, want={"y": f32([-5, -6], [-10, -18])}
    ).initialize(
        want={"w": f32(5, 6)}
    )
    yield Case(
        "keeps-what-was-trained",
        ["stateful"],
        "main (float x) => (float y) <float w = {0}> { y = Add(x, w) }",
        Info("a () => (float n) { n = Identity(y) }", {"w": "n"}),
    ).train({"x": np.float32(1)}, want={"w": np.float32(1)}).train(
        {"x": np.float32(2)}, want={"w": np.float32(3)}
    ).infer(
        {"x": np.float32(10)}, want={"y": np.float32(13)}
    ).train(
        {"x": np.float32(4)}, want={"w": np.float32(7)}
    )


def cases():
    for group in (types, precision, shapes, places, other_places, mutability, captures, sharing, starts):
        yield from group()
