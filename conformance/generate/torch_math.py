# SPDX-License-Identifier: Apache-2.0
"""Element-wise operators, reductions and matrix products in PyTorch."""

import torch
import torch.nn.functional as F


def axes_of(attributes, axes, rank):
    given = attributes("axes") if axes is None else axes.tolist()
    return [int(axis) for axis in given] if given else list(range(rank))


def reduction(function):
    def apply(a, x, axes=None):
        none = axes is None or axes.numel() == 0
        if none and not a("axes") and a("noop_with_empty_axes", 0):
            return x
        return function(x, axes_of(a, axes, x.dim()), bool(a("keepdims", 1)))

    return apply


def product(x, axes, keep):
    for axis in sorted((axis % x.dim() for axis in axes), reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def fold(function):
    def apply(_, *inputs):
        result = inputs[0]
        for one in inputs[1:]:
            result = function(result, one)
        return result

    return apply


def clip(_, x, low=None, high=None):
    x = x if low is None else torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


def gemm(a, x, y, c=None):
    x = x.T if a("transA", 0) else x
    y = y.T if a("transB", 0) else y
    result = a("alpha", 1.0) * (x @ y)
    return result if c is None else result + a("beta", 1.0) * c


def cumulative_sum(a, x, axis):
    axis = int(axis)
    x = x.flip(axis) if a("reverse", 0) else x
    result = x.cumsum(axis)
    result = result - x if a("exclusive", 0) else result
    return result.flip(axis) if a("reverse", 0) else result


def shrink(a, x):
    lambd, bias = a("lambd", 0.5), a("bias", 0.0)
    return torch.where(x < -lambd, x + bias, torch.where(x > lambd, x - bias, torch.zeros_like(x)))


def softmax(function):
    return lambda a, x: function(x, dim=a("axis", -1))


def hardmax(a, x):
    axis = a("axis", -1)
    return F.one_hot(x.argmax(axis), x.shape[axis]).movedim(-1, axis).to(x.dtype)


def gelu(a, x):
    return F.gelu(x, approximate=a("approximate", "none"))


def quotient(_, x, y):
    return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


def lp_normalization(a, x):
    axis, p = a("axis", -1), a("p", 2)
    return x / x.norm(p, dim=axis, keepdim=True)


def mod(a, x, y):
    return torch.fmod(x, y) if a("fmod", 0) else torch.remainder(x, y)


UNARY = {
    name: getattr(torch, name.lower())
    for name in (
        "Abs",
        "Acos",
        "Acosh",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "Ceil",
        "Cos",
        "Cosh",
        "Erf",
        "Exp",
        "Floor",
        "Log",
        "Neg",
        "Reciprocal",
        "Relu",
        "Round",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Sqrt",
        "Tan",
        "Tanh",
    )
}
REDUCTIONS = {
    "ReduceSum": lambda x, axes, keep: x.sum(axes, keep),
    "ReduceMean": lambda x, axes, keep: x.mean(axes, keep),
    "ReduceMax": lambda x, axes, keep: x.amax(axes, keep),
    "ReduceMin": lambda x, axes, keep: x.amin(axes, keep),
    "ReduceProd": product,
    "ReduceL1": lambda x, axes, keep: x.abs().sum(axes, keep),
    "ReduceL2": lambda x, axes, keep: (x * x).sum(axes, keep).sqrt(),
    "ReduceLogSum": lambda x, axes, keep: x.sum(axes, keep).log(),
    "ReduceLogSumExp": lambda x, axes, keep: x.logsumexp(axes, keep),
    "ReduceSumSquare": lambda x, axes, keep: (x * x).sum(axes, keep),
}
OPERATORS = {
    **{name: (lambda function: lambda _, x: function(x))(one) for name, one in UNARY.items()},
    **{name: reduction(one) for name, one in REDUCTIONS.items()},
    "Add": lambda _, x, y: x + y,
    "Sub": lambda _, x, y: x - y,
    "Mul": lambda _, x, y: x * y,
    "Div": quotient,
    "Pow": lambda _, x, y: x**y,
    "Mod": mod,
    "Max": fold(torch.maximum),
    "Min": fold(torch.minimum),
    "Sum": fold(torch.add),
    "Mean": lambda a, *inputs: fold(torch.add)(a, *inputs) / len(inputs),
    "PRelu": lambda _, x, slope: torch.where(x < 0, slope * x, x),
    "LeakyRelu": lambda a, x: torch.where(x < 0, a("alpha", 0.01) * x, x),
    "Elu": lambda a, x: torch.where(x < 0, a("alpha", 1.0) * (x.exp() - 1), x),
    "Celu": lambda a, x: F.celu(x, a("alpha", 1.0)),
    "Selu": lambda a, x: a("gamma", 1.0507010221481323)
    * torch.where(x > 0, x, a("alpha", 1.6732631921768188) * (x.exp() - 1)),
    "ThresholdedRelu": lambda a, x: torch.where(x > a("alpha", 1.0), x, torch.zeros_like(x)),
    "HardSigmoid": lambda a, x: (a("alpha", 0.2) * x + a("beta", 0.5)).clamp(0, 1),
    "HardSwish": lambda a, x: x * (x / 6 + 0.5).clamp(0, 1),
    "Gelu": gelu,
    "Mish": lambda _, x: x * F.softplus(x).tanh(),
    "Softplus": lambda _, x: F.softplus(x),
    "Softsign": lambda _, x: x / (1 + x.abs()),
    "Shrink": shrink,
    "Clip": clip,
    "MatMul": lambda _, x, y: x @ y,
    "Gemm": gemm,
    "Einsum": lambda a, *inputs: torch.einsum(a("equation"), *inputs),
    "Det": lambda _, x: torch.linalg.det(x),
    "CumSum": cumulative_sum,
    "Softmax": softmax(F.softmax),
    "LogSoftmax": softmax(F.log_softmax),
    "Hardmax": hardmax,
    "LpNormalization": lp_normalization,
    "Greater": lambda _, x, y: x > y,
    "Less": lambda _, x, y: x < y,
    "GreaterOrEqual": lambda _, x, y: x >= y,
    "Equal": lambda _, x, y: x == y,
    "Not": lambda _, x: ~x,
    "And": lambda _, x, y: x & y,
    "Or": lambda _, x, y: x | y,
    "Where": lambda _, c, x, y: torch.where(c, x, y),
    "ArgMax": lambda a, x: x.argmax(a("axis", 0), keepdim=bool(a("keepdims", 1))),
}
