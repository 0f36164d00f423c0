# SPDX-License-Identifier: Apache-2.0
"""Gradient through the operators of the standard, one at a time."""

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from generate.build import Case, Info, f32, graph_of, spread

FOLDER = "gradient-of"
QUOTES = ["gradient", "gradient-ith-output"]


def shape_of(text, values, opset):
    """Dims of y."""
    graph = graph_of(f"g () => (float y) {{ {text} }}", values)
    graph.output[0].ClearField("type")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return ReferenceEvaluator(model).run(["y"], {})[0].shape


def declared(dims):
    return f"float[{','.join(map(str, dims))}]" if dims else "float"


def operator(name, text, opset=20, **values):
    """The derivatives of sum(c * y) with respect to all floating point values; `text` computes y.

    The values a step assigns are w - 0.125 g, so that the next step differs."""
    xs = [key for key, value in values.items() if np.asarray(value).dtype == np.float32]
    dims = {key: declared(np.asarray(values[key]).shape) for key in xs}
    outputs = ", ".join(f"{dims[key]} d_{key}, {dims[key]} next_{key}" for key in xs)
    updates = " ".join(
        f"s_{key} = Mul(d_{key}, rate) next_{key} = Sub({key}, s_{key})" for key in xs
    )
    y = shape_of(text, values, opset)
    listed = ", ".join(f'"{key}"' for key in xs)
    algorithm = f"""a () => (float loss, {outputs}) <float rate = {{0.125}}>
        {{ weighted = Mul(y, c) loss = ReduceSum<keepdims=0>(weighted)
           {", ".join("d_" + key for key in xs)} = ai.onnx.preview.training.Gradient
             <xs = [{listed}], y = "loss">({", ".join(xs)}) {updates} }}"""
    weights = spread(*y, low=0.5, high=1.5, salt=99) if y else np.float32(0.75)
    case = Case(
        name,
        QUOTES,
        f"main () => ({declared(y)} y) {{ {text} }}",
        Info(algorithm, {key: f"next_{key}" for key in xs}, values={"c": weights}),
        values=values,
        opset=opset,
    )
    return case.train()


def apart(*shape, salt=0):
    """Numbers away from the kinks at 0 and +-1, no two alike."""
    count = int(np.prod(shape))
    order = np.argsort(spread(count, salt=salt), kind="stable")
    steps = (np.arange(count) - count / 2 + 0.5) * (3.0 / max(count, 2))
    values = steps[order]
    near = np.abs(np.abs(values) - 1) < 0.1
    return (values + 0.15 * near).astype(np.float32).reshape(shape)


SMOOTH = (
    "Atan",
    "Asinh",
    "Cos",
    "Cosh",
    "Exp",
    "Mish",
    "Neg",
    "Sigmoid",
    "Sin",
    "Sinh",
    "Softplus",
    "Tanh",
    "Identity",
)
KINKED = ("Abs", "Relu", "LeakyRelu", "Elu", "Celu", "Selu", "Softsign", "HardSwish")


def elementwise():
    for op in SMOOTH:
        yield operator(op.lower(), f"y = {op}(x)", x=spread(2, 3))
    for op in KINKED:
        yield operator(op.lower(), f"y = {op}(x)", x=apart(2, 4))
    for op in ("Log", "Sqrt", "Reciprocal"):
        yield operator(op.lower(), f"y = {op}(x)", x=spread(2, 3, low=0.5, high=2))
    for op in ("Asin", "Acos", "Atanh", "Tan"):
        yield operator(op.lower(), f"y = {op}(x)", x=spread(2, 3, low=-0.625, high=0.625))
    yield operator("acosh", "y = Acosh(x)", x=spread(2, 3, low=1.5, high=3))
    for op in ("Floor", "Ceil", "Round", "Sign"):
        yield operator(op.lower(), f"z = {op}(x) y = Mul(z, x)", x=f32(0.25, 1.25, -0.75, 2.75))
    yield operator("leakyrelu-steep", "y = LeakyRelu<alpha = 0.5>(x)", x=apart(6))
    yield operator("elu-scaled", "y = Elu<alpha = 2.0>(x)", x=apart(6))
    yield operator(
        "thresholdedrelu", "y = ThresholdedRelu<alpha = 0.5>(x)", x=f32(0.25, 0.75, -1, 2)
    )
    yield operator("hardsigmoid", "y = HardSigmoid(x)", x=f32(-4, -1, 0.5, 2, 4))
    yield operator("shrink", "y = Shrink<lambd = 0.5, bias = 0.25>(x)", x=f32(-1, -0.25, 0.25, 1))
    for op in ("Erf", "Gelu"):
        case = operator(op.lower(), f"y = {op}(x)", x=spread(5))
        case.agreement = 2e-5  # onnx.reference computes the error function in single precision
        yield case
    yield operator("gelu-tanh", 'y = Gelu<approximate = "tanh">(x)', x=spread(5))
    yield operator(
        "clip",
        "y = Clip(x, low, high)",
        x=f32(-2, -0.25, 0.5, 3),
        low=np.float32(-1),
        high=np.float32(1),
    )
    yield operator(
        "cast-to-double", "d = Cast<to = 11>(x) e = Exp(d) y = Cast<to = 1>(e)", x=spread(4)
    )


def operands():
    for op in ("Add", "Sub", "Mul"):
        yield operator(op.lower(), f"y = {op}(a, b)", a=spread(2, 3), b=spread(3, salt=1))
    yield operator("div", "y = Div(a, b)", a=spread(2, 3), b=spread(2, 1, low=0.5, high=2))
    yield operator("pow", "y = Pow(a, b)", a=spread(2, 3, low=0.5, high=2), b=spread(3, salt=1))
    yield operator("pow-of-negative", "y = Pow(a, p)", a=spread(4), p=np.int64(3))
    for op in ("Max", "Min"):
        yield operator(op.lower(), f"y = {op}(a, b)", a=f32(1, 2, 3), b=f32(0.5, 3, 2.5))
    yield operator("sum", "y = Sum(a, b, d)", a=spread(2, 3), b=spread(3), d=spread(2, 1))
    yield operator("mean", "y = Mean(a, b)", a=spread(2, 3), b=spread(3))
    yield operator("prelu", "y = PRelu(x, slope)", x=apart(2, 3), slope=f32(0.25, 0.5, 2))
    yield operator(
        "where", "y = Where(k, a, b)", k=np.array([True, False, True]), a=spread(2, 3), b=spread(3)
    )
    yield operator("mod", "y = Mod<fmod = 1>(a, b)", a=f32(5.25, -3.5, 2.25), b=f32(2, 2, 2))


def products():
    yield operator("matmul", "y = MatMul(a, b)", a=spread(2, 3), b=spread(3, 4))
    yield operator("matmul-batch", "y = MatMul(a, b)", a=spread(2, 2, 3), b=spread(3, 2))
    yield operator("matmul-vector", "y = MatMul(a, b)", a=spread(3), b=spread(3, 2))
    yield operator("gemm", "y = Gemm(a, b, d)", a=spread(2, 3), b=spread(3, 2), d=spread(2))
    yield operator(
        "gemm-transposed",
        "y = Gemm<transA = 1, transB = 1, alpha = 0.5, beta = 2.0>(a, b, d)",
        a=spread(3, 2),
        b=spread(2, 3),
        d=spread(2, 1),
    )
    yield operator(
        "einsum",
        'y = Einsum<equation = "bij,bjk->bik">(a, b)',
        a=spread(2, 2, 3),
        b=spread(2, 3, 2),
    )
    yield operator(
        "einsum-sum",
        'y = Einsum<equation = "ij,kj->i">(a, b)',
        a=spread(2, 3),
        b=spread(2, 3, salt=1),
    )


def reductions():
    axis = np.array([1])
    for op in ("ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL2", "ReduceLogSumExp"):
        yield operator(op.lower(), f"y = {op}(x, ax)", x=spread(2, 3), ax=axis)
    yield operator("reducesum-all", "y = ReduceSum<keepdims = 0>(x)", x=spread(2, 3))
    yield operator(
        "reducelogsum", "y = ReduceLogSum(x, ax)", x=spread(2, 3, low=0.5, high=2), ax=axis
    )
    yield operator("reducel1", "y = ReduceL1(x, ax)", x=apart(2, 3), ax=axis)
    yield operator("reducemax", "y = ReduceMax(x, ax)", x=apart(2, 3), ax=axis)
    yield operator("reducemin", "y = ReduceMin<keepdims = 0>(x, ax)", x=apart(2, 3), ax=axis)
    yield operator("reduceprod", "y = ReduceProd(x, ax)", x=spread(2, 3, low=0.5, high=2), ax=axis)
    yield operator("cumsum", "y = CumSum(x, k)", x=spread(2, 3), k=np.int64(1))
    yield operator(
        "cumsum-reversed",
        "y = CumSum<reverse = 1, exclusive = 1>(x, k)",
        x=spread(2, 3),
        k=np.int64(0),
    )
    for op in ("Softmax", "LogSoftmax"):
        yield operator(op.lower(), f"y = {op}(x)", x=spread(2, 3))
    yield operator("softmax-axis", "y = Softmax<axis = 0>(x)", x=spread(2, 3))
    yield operator("hardmax", "h = Hardmax(x) y = Mul(h, x)", x=apart(2, 3))
    yield operator("topk", "y, i = TopK(x, k)", x=apart(2, 4), k=np.array([2]))
    yield operator("lpnormalization", "y = LpNormalization(x)", x=spread(2, 3))


def integers(*values):
    return np.array(values)


def movers():
    yield operator("reshape", "y = Reshape(x, s)", x=spread(2, 3), s=integers(3, -1))
    yield operator("transpose", "y = Transpose<perm = [1, 2, 0]>(x)", x=spread(2, 3, 2))
    yield operator("squeeze", "y = Squeeze(x, ax)", x=spread(2, 1, 3), ax=integers(1))
    yield operator("unsqueeze", "y = Unsqueeze(x, ax)", x=spread(2, 3), ax=integers(0, 3))
    yield operator("flatten", "y = Flatten<axis = 2>(x)", x=spread(2, 1, 3))
    yield operator("concat", "y = Concat<axis = 1>(a, b)", a=spread(2, 2), b=spread(2, 1, salt=1))
    yield operator(
        "split", "p, q = Split<axis = 1>(x, s) y = Exp(q)", x=spread(2, 3), s=integers(1, 2)
    )
    yield operator(
        "slice",
        "y = Slice(x, b, e, ax, st)",
        x=spread(4, 3),
        b=integers(3, 0),
        e=integers(-5, 2),
        ax=integers(0, 1),
        st=integers(-2, 1),
    )


def indexed():
    yield operator("gather", "y = Gather<axis = 1>(x, i)", x=spread(2, 3), i=integers(2, 0, 2))
    yield operator(
        "gatherelements",
        "y = GatherElements<axis = 1>(x, i)",
        x=spread(2, 3),
        i=np.array([[2, 2], [0, 1]]),
    )
    yield operator(
        "gathernd", "y = GatherND(x, i)", x=spread(2, 3), i=np.array([[0, 1], [1, 2], [0, 1]])
    )
    yield operator(
        "scatterelements",
        "y = ScatterElements<axis = 1>(x, i, u)",
        x=spread(2, 3),
        i=np.array([[1], [0]]),
        u=spread(2, 1),
    )
    yield operator(
        "scatterelements-add",
        'y = ScatterElements<axis = 1, reduction = "add">(x, i, u)',
        x=spread(2, 3),
        i=np.array([[1, 1], [0, 2]]),
        u=spread(2, 2),
    )
    yield operator(
        "scatternd", "y = ScatterND(x, i, u)", x=spread(4), i=np.array([[1], [3]]), u=spread(2)
    )


def repeated():
    yield operator("expand", "y = Expand(x, s)", x=spread(3, 1), s=integers(2, 3, 2))
    yield operator("tile", "y = Tile(x, r)", x=spread(2, 2), r=integers(1, 3))
    yield operator(
        "pad", "y = Pad(x, p, v)", x=spread(2, 2), p=integers(0, 1, 1, 0), v=np.float32(0.5)
    )
    yield operator(
        "pad-reflect", 'y = Pad<mode = "reflect">(x, p)', x=spread(2, 3), p=integers(0, 2, 0, 1)
    )
    yield operator(
        "pad-edge", 'y = Pad<mode = "edge">(x, p)', x=spread(2, 2), p=integers(1, 0, 0, 2)
    )
    yield operator("depthtospace", "y = DepthToSpace<blocksize = 2>(x)", x=spread(1, 4, 1, 2))
    yield operator("spacetodepth", "y = SpaceToDepth<blocksize = 2>(x)", x=spread(1, 1, 2, 4))
    yield operator("trilu", "y = Trilu<upper = 0>(x)", x=spread(3, 3))


def cases():
    for group in (elementwise, operands, products, reductions, movers, indexed, repeated):
        yield from group()
