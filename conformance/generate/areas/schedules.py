# SPDX-License-Identifier: Apache-2.0
"""Learning rates that an algorithm computes from a count of its steps, by ordinary nodes."""

import numpy as np
from onnx import numpy_helper

from generate.build import DOMAIN, Case, Info, f32, spread

FOLDER = "training"
MAIN = "main (float[2] x) => (float[2] y) <float[2] w = {4, -2}> { y = Mul(x, w) }"
X = {"x": f32(1, 2)}
# The rate comes from the count before the step, and the step adds one to it.
STEP = """next = Add(t, one) back = Mul(rate, x) n = Sub(w, back)"""
QUOTES = ["step-updates-both", "updates-after", "descent"]


def schedule(name, quotes, constants, nodes, **more):
    """`nodes` compute `rate` from the float `k`, which is the count `t`."""
    return Case(
        f"schedule-{name}",
        quotes,
        MAIN,
        Info(
            f"""a () => (float rate, float[2] n, int64 next)
                <int64 t = {{0}}, int64 one = {{1}}, {constants}>
                {{ k = Cast<to = 1>(t) {nodes} {STEP} }}""",
            {"w": "n", "t": "next"},
            **more,
        ),
    )


def follow(case, rates, start=(4.0, -2.0), first=0):
    """Makes a step for each rate; returns the weights after them."""
    weights = np.array(start)
    for count, rate in enumerate(rates, first):
        weights = weights - rate * X["x"]
        case.train(X, want={"rate": rate, "w": weights, "t": count + 1})
    return weights


# Constants, and the nodes that read them.
WARM_UP = (
    "float peak = {0.5}, float f1 = {1}, float four = {4}",
    "m = Add(k, f1) p = Div(m, four) part = Min(p, f1) rate = Mul(peak, part)",
)
COSINE = (
    """float peak = {0.5}, float f1 = {1}, float half = {0.5}, float length = {4},
       float pi = {3.14159265}""",
    """q = Div(k, length) part = Min(q, f1) angle = Mul(pi, part) c = Cos(angle)
       c1 = Add(c, f1) h = Mul(c1, half) rate = Mul(peak, h)""",
)


def cosine(count, length, peak=0.5):
    return peak * 0.5 * (1 + np.cos(np.pi * min(count / length, 1)))


def shapes():
    case = schedule("warm-up", QUOTES, *WARM_UP)
    follow(case, [0.125, 0.25, 0.375, 0.5, 0.5])
    yield case.infer(X)
    case = schedule("cosine", QUOTES, *COSINE)
    follow(case, [cosine(count, 4) for count in range(6)])
    yield case
    case = schedule(
        "warm-up-then-cosine",
        QUOTES,
        """int64 warm = {2}, float peak = {0.5}, float f1 = {1}, float two = {2},
           float half = {0.5}, float length = {3}, float pi = {3.14159265}""",
        """m = Add(k, f1) p = Div(m, two) rising = Mul(peak, p)
           after = Sub(k, two) q = Div(after, length) part = Min(q, f1) angle = Mul(pi, part)
           c = Cos(angle) c1 = Add(c, f1) h = Mul(c1, half) falling = Mul(peak, h)
           early = Less(t, warm) rate = Where(early, rising, falling)""",
    )
    follow(case, [0.25, 0.5, *(cosine(count, 3) for count in range(5))])
    yield case
    # The division of integers rounds towards zero.
    case = schedule(
        "by-stairs",
        QUOTES,
        "float base = {0.5}, float factor = {0.5}, int64 every = {2}",
        "stair = Div(t, every) e = Cast<to = 1>(stair) f = Pow(factor, e) rate = Mul(base, f)",
    )
    follow(case, [0.5, 0.5, 0.25, 0.25, 0.125])
    yield case


def branches():
    case = schedule(
        "by-branch",
        [*QUOTES, "not-constant"],
        "int64 warm = {2}, float low = {0.125}, float high = {0.5}",
        """early = Less(t, warm) rate = If(early) <
           then_branch = b () => (float r1) { r1 = Identity(low) },
           else_branch = e () => (float r2) { d = Sub(k, low) r2 = Div(high, k) }>""",
    )
    follow(case, [0.125, 0.125, 0.25, 0.5 / 3])
    yield case


def beginnings():
    """Where the count starts, and that nothing but a step advances it."""
    case = schedule("between-inferences", ["inference-pure", "step-updates-both"], *WARM_UP)
    case.infer(X, want={"y": f32(4, -4), "t": 0})
    weights = follow(case, [0.125])
    case.infer(X, want={"t": 1}).infer(X, want={"t": 1})
    follow(case, [0.25, 0.375], weights, 1)
    yield case
    case = schedule("resumed", ["pre-initialized", "step-updates-both"], *WARM_UP)
    for one in case.model.training_info[0].algorithm.initializer:
        if one.name == "t":
            one.CopyFrom(numpy_helper.from_array(np.array(2), "t"))
    follow(case, [0.375, 0.5], first=2)
    yield case
    case = schedule(
        "begins-again",
        ["initialization-sets-algorithm", "reset"],
        *COSINE,
        initialization="i () => (int64 zero) { zero = Constant<value_int = 0>() }",
        initial={"t": "zero"},
    )
    rates = [cosine(count, 4) for count in range(3)]
    follow(case, rates)
    case.initialize(want={"w": f32(4, -2), "t": 0})
    follow(case, rates)
    yield case
    # A counter that starts elsewhere than its initializer says.
    case = schedule(
        "begins-where-initialization-says",
        ["initialization-sets-algorithm", "reset-then-bind"],
        *WARM_UP,
        initialization="i () => (int64 two) { two = Constant<value_int = 2>() }",
        initial={"t": "two"},
    )
    follow(case, [0.125])
    case.initialize(want={"w": f32(4, -2), "t": 2})
    follow(case, [0.375, 0.5, 0.5], first=2)
    yield case


def shared():
    """The count is a variable of the main graph; both algorithms read it, one advances it."""
    rate = "k{i} = Cast<to = 1>(t) m{i} = Add(k{i}, f{i}) rate{i} = Div(f{i}, m{i})"
    case = Case(
        "schedule-of-two-algorithms",
        ["shared-variables", "any-algorithm"],
        """main (float x) => (float y) <float a = {4}, float b = {2}, int64 t = {0}>
           { y = Sub(a, b) }""",
        Info(
            f"""p () => (float n, int64 next) <float f1 = {{1}}, int64 one = {{1}}>
                {{ {rate.format(i=1)} next = Add(t, one) n = Sub(a, rate1) }}""",
            {"a": "n", "t": "next"},
        ),
        Info(
            f"""q () => (float n) <float f2 = {{1}}>
                {{ {rate.format(i=2)} n = Sub(b, rate2) }}""",
            {"b": "n"},
        ),
    )
    x = {"x": np.float32(0)}
    case.train(x, 1, want={"b": 1, "t": 0}).train(x, want={"a": 3, "t": 1})
    case.train(x, 1, want={"b": 0.5}).train(x, want={"a": 2.5, "t": 2})
    yield case.train(x, 1, want={"b": 0.5 - 1 / 3})


def optimizers():
    """The rate of the standard's optimizers, which also read the count."""
    case = Case(
        "schedule-of-adam",
        ["step-updates-both", "adam-rate", "iteration"],
        "main (float[N,2] x) => (float[N,1] y) <float[2,1] w = {1, -1}> { y = MatMul(x, w) }",
        Info(
            f"""a (float[N,1] t) => (float loss, float rate, float[2,1] nw, float[2,1] nv,
                float[2,1] nh, int64 next) <int64 step = {{0}}, int64 one = {{1}}, {WARM_UP[0]},
                float[2,1] v = {{0, 0}}, float[2,1] h = {{0, 0}}>
                {{ d = Sub(y, t) loss = ReduceSumSquare<keepdims = 0>(d)
                   g = {DOMAIN}.Gradient<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t)
                   k = Cast<to = 1>(step) {WARM_UP[1]} next = Add(step, one)
                   nw, nv, nh = {DOMAIN}.Adam(rate, next, w, g, v, h) }}""",
            {"w": "nw", "v": "nv", "h": "nh", "step": "next"},
        ),
    )
    for count, rate in enumerate((0.125, 0.25, 0.375)):
        feeds = {"x": spread(3, 2, salt=count), "t": spread(3, 1, salt=9 + count)}
        case.train(feeds, want={"rate": rate, "step": count + 1})
    yield case


def cases():
    for group in (shapes, branches, beginnings, shared, optimizers):
        yield from group()
