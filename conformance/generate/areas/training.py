# SPDX-License-Identifier: Apache-2.0
"""Whole training loops: networks, losses and optimizers together, a few steps each."""

import numpy as np

from generate.build import DOMAIN, Case, Info, spread

FOLDER = "training"
G, QUOTES = f"{DOMAIN}.Gradient", ["iteration", "step-combines"]


def batches(case, steps, **shapes):
    """Makes steps with new data; integer labels where a shape is a pair of shape and classes."""
    for step in range(steps):
        feeds = {}
        for i, (name, shape) in enumerate(shapes.items()):
            labels = isinstance(shape[0], tuple)
            data = spread(*(shape[0] if labels else shape), salt=100 * step + i)
            feeds[name] = (
                ((data + 1) / 2 * (shape[1] - 1) + 0.5).astype(np.int64) if labels else data
            )
        case.train(feeds)
    return case


def descent(*weights, rate="r"):
    """Names of new values, their nodes and the bindings of plain descent."""
    nodes = " ".join(f"s_{w} = Mul({rate}, g_{w}) n_{w} = Sub({w}, s_{w})" for w in weights)
    return nodes, {w: f"n_{w}" for w in weights}


def linear_regression():
    nodes, updates = descent("w", "b")
    return batches(
        Case(
            "linear-regression",
            QUOTES,
            "main (float[N,3] x) => (float[N,1] y) { y = Gemm(x, w, b) }",
            Info(
                f"""a (float[N,1] t) => (float loss, float[3,1] n_w, float[1] n_b) <float r =
                    {{0.25}}>
                             {{ d = Sub(y, t) q = Mul(d, d) loss = ReduceMean<keepdims=0>(q)
                                g_w, g_b = {G}<xs = ["w", "b"], zs = ["x", "t"], y = "loss">(w, b,
                                x, t) {nodes} }}""",
                updates,
            ),
            values={"w": spread(3, 1), "b": spread(1)},
        ),
        4,
        x=(4, 3),
        t=(4, 1),
    ).infer({"x": spread(2, 3)})


def classifier():
    """Two layers, cross entropy, Adam with a counter that initialization resets."""
    text = f"""a (int64[N] t, float rate) => (float loss, float[2,4] nw, float[4,3] nu, float[2,4]
        vw, float[4,3] vu,
               float[2,4] hw, float[4,3] hu, int64 k2)
        <int64 k = {{0}}, int64 one = {{1}}> {{ loss = SoftmaxCrossEntropyLoss(y, t) k2 = Add(k,
        one)
        gw, gu = {G}<xs = ["w", "u"], zs = ["x", "t"], y = "loss">(w, u, x, t)
        nw, nu, vw, vu, hw, hu = {DOMAIN}.Adam<norm_coefficient = 0.125>
            (rate, k2, w, u, gw, gu, v_w, v_u, h_w, h_u) }}"""
    zeros = {
        f"{letter}_{w}": np.zeros(shape, np.float32)
        for letter in "vh"
        for w, shape in (("w", (2, 4)), ("u", (4, 3)))
    }
    case = Case(
        "classifier-with-adam",
        QUOTES + ["adam-multiple"],
        "main (float[N,2] x) => (float[N,3] y) { h = MatMul(x, w) a1 = Tanh(h) y = MatMul(a1, u) }",
        Info(
            text,
            {"w": "nw", "u": "nu", "v_w": "vw", "v_u": "vu", "h_w": "hw", "h_u": "hu", "k": "k2"},
            "i () => (int64 z) { z = Constant<value_int=0>() }",
            {"k": "z"},
            zeros,
        ),
        values={"w": spread(2, 4), "u": spread(4, 3)},
    )
    for step in range(3):
        case.train(
            {
                "x": spread(5, 2, salt=step),
                "t": np.array([0, 1, 2, 1, 0]),
                "rate": np.float32(0.0625),
            }
        )
    return case.infer({"x": spread(3, 2)}).initialize()


def convolutional():
    nodes, updates = descent("k", "w")
    return batches(
        Case(
            "convolutional-network",
            QUOTES,
            """main (float[N,1,4,4] x) => (float[N,2] y)
                           { c = Conv<kernel_shape = [2, 2]>(x, k) e = Sigmoid(c)
                             p = AveragePool<kernel_shape = [2, 2]>(e) f = Flatten(p) y = MatMul(f,
                             w) }""",
            Info(
                f"""a (int64[N] t) => (float loss, float[2,1,2,2] n_k, float[8,2] n_w) <float r =
                    {{0.5}}>
                             {{ loss = SoftmaxCrossEntropyLoss(y, t)
                                g_k, g_w = {G}<xs = ["k", "w"], zs = ["x", "t"], y = "loss">(k, w,
                                x, t) {nodes} }}""",
                updates,
            ),
            values={"k": spread(2, 1, 2, 2), "w": spread(8, 2)},
        ),
        2,
        x=(2, 1, 4, 4),
        t=((2,), 2),
    )


def recurrent():
    nodes, updates = descent("w", "r_", "u", rate="rate")
    return batches(
        Case(
            "recurrent-network",
            QUOTES,
            """main (float[3,2,2] x) => (float[2,1] y) <int64[1] zero = {0}>
                           { s, h, c = LSTM<hidden_size = 2>(x, w, r_) q = Squeeze(h, zero) y =
                           MatMul(q, u) }""",
            Info(
                f"""a (float[2,1] t) => (float loss, float[1,8,2] n_w, float[1,8,2] n_r_,
                    float[2,1] n_u)
                             <float rate = {{0.5}}> {{ d = Sub(y, t) loss =
                             ReduceSumSquare<keepdims=0>(d)
                             g_w, g_r_, g_u = {G}<xs = ["w", "r_", "u"], zs = ["x", "t"], y =
                             "loss">(w, r_, u, x, t)
                             {nodes} }}""",
                updates,
            ),
            values={"w": spread(1, 8, 2), "r_": spread(1, 8, 2, salt=1), "u": spread(2, 1)},
        ),
        2,
        x=(3, 2, 2),
        t=(2, 1),
    )


def embedding():
    nodes, updates = descent("table", "u")
    return batches(
        Case(
            "embedding",
            QUOTES,
            """main (int64[N] i) => (float[N,2] y) { e = Gather(table, i) y = MatMul(e, u) }""",
            Info(
                f"""a (int64[N] t) => (float loss, float[5,3] n_table, float[3,2] n_u) <float r =
                    {{0.5}}>
                             {{ loss = SoftmaxCrossEntropyLoss(y, t)
                                g_table, g_u = {G}<xs = ["table", "u"], zs = ["i", "t"], y =
                                "loss">(table, u, i, t)
                                {nodes} }}""",
                updates,
            ),
            values={"table": spread(5, 3), "u": spread(3, 2)},
        ),
        3,
        i=((4,), 5),
        t=((4,), 2),
    )


def alternating():
    """Two players: one lowers what the other raises."""
    main = """main (float[N,2] z) => (float score) <float[2,2] gen = {1, 0.5, -0.5, 1}, float[2,1]
        dis = {0.5, -1}>
              { f = MatMul(z, gen) s = MatMul(f, dis) p = Sigmoid(s) score =
              ReduceMean<keepdims=0>(p) }"""
    step = """{k} () => (float[2,{n}] next_{k}) <float r_{k} = {{0.5}}>
              {{ g = {G}<xs = ["{k}"], zs = ["z", "{o}"], y = "score">({k}, z, {o}) q = Mul(r_{k},
              g)
                 next_{k} = {op}({k}, q) }}"""
    case = Case(
        "two-players",
        QUOTES + ["any-algorithm", "algorithm-order"],
        main,
        Info(step.format(k="gen", n=2, o="dis", op="Sub", G=G), {"gen": "next_gen"}),
        Info(step.format(k="dis", n=1, o="gen", op="Add", G=G), {"dis": "next_dis"}),
    )
    for i, algorithm in enumerate((1, 1, 0, 1, 0)):
        case.train({"z": spread(3, 2, salt=i)}, algorithm)
    return case.infer({"z": spread(2, 2)})


def normalized():
    nodes, updates = descent("s", "w")
    return batches(
        Case(
            "running-statistics",
            QUOTES,
            """main (float[4,2] x) => (float[4,1] y) <float[2] s = {1, 2}, float[2] b = {0, 0.5},
                           float[2,1] w = {1, -1}> { m = Identity(mean) v = Identity(var)
                           c = Sub(x, m) e = Sqrt(v) o = Div(c, e) k = Mul(o, s) f = Add(k, b) y =
                           MatMul(f, w) }""",
            Info(
                f"""a (float[4,1] t) => (float loss, float[2] n_s, float[2,1] n_w, float[2] nm,
                    float[2] nv)
                             <float r = {{0.125}}>
                             {{ z, nm, nv = BatchNormalization<training_mode = 1, momentum =
                             0.75>(x, s, b, mean, var)
                                p = MatMul(z, w) d = Sub(p, t) loss = ReduceSumSquare<keepdims=0>(d)
                                g_s, g_w = {G}<xs = ["s", "w"], zs = ["x", "t"], y = "loss">(s, w,
                                x, t) {nodes} }}""",
                {**updates, "mean": "nm", "var": "nv"},
            ),
            values={"mean": np.zeros(2, np.float32), "var": np.ones(2, np.float32)},
        ),
        3,
        x=(4, 2),
        t=(4, 1),
    ).infer({"x": spread(4, 2)})


def scheduled():
    """The rate is state that decays; an average of the weights is kept beside them."""
    return batches(
        Case(
            "decaying-rate-and-average",
            QUOTES + ["step-updates-both"],
            "main (float[N,2] x) => (float[N,1] y) <float[2,1] w = {1, -1}> { y = MatMul(x, w) }",
            Info(
                f"""a (float[N,1] t) => (float loss, float[2,1] n, float r2, float[2,1] m)
                             <float rate = {{0.5}}, float decay = {{0.75}}, float[2,1] mean = {{1,
                             -1}}, float half = {{0.5}}>
                             {{ d = Sub(y, t) loss = ReduceSumSquare<keepdims=0>(d)
                                g = {G}<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t) s =
                                Mul(rate, g) n = Sub(w, s)
                                r2 = Mul(rate, decay) e = Add(mean, n) m = Mul(e, half) }}""",
                {"w": "n", "rate": "r2", "mean": "m"},
            ),
        ),
        3,
        x=(2, 2),
        t=(2, 1),
    ).initialize()


def optimized():
    """Adagrad and Nesterov's momentum in two algorithms that share the weight."""
    main = (
        "main (float[N,2] x) => (float[N,1] y) <float[2,1] w = {0.5, -0.75}> { y = MatMul(x, w) }"
    )
    loss = f"""d = Sub(y, t) loss = ReduceSumSquare<keepdims=0>(d)
               g = {G}<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t)"""
    one = Info(
        f"""p (float[N,1] t) => (float loss, float[2,1] n, float[2,1] m, int64 k2)
               <float r = {{0.25}}, int64 k = {{0}}, int64 one = {{1}}, float[2,1] acc = {{0, 0}}>
               {{ {loss} k2 = Add(k, one) n, m = {DOMAIN}.Adagrad<decay_factor = 0.5>(r, k, w, g,
               acc) }}""",
        {"w": "n", "acc": "m", "k": "k2"},
    )
    return batches(Case("adagrad", QUOTES + ["adagrad-new-x"], main, one), 3, x=(3, 2), t=(3, 1))


def with_momentum():
    main = (
        "main (float[N,2] x) => (float[N,1] y) <float[2,1] w = {0.5, -0.75}> { y = MatMul(x, w) }"
    )
    one = Info(
        f"""p (float[N,1] t) => (float loss, float[2,1] n, float[2,1] m, int64 k2)
               <float r = {{0.25}}, int64 k = {{0}}, int64 one = {{1}}, float[2,1] v = {{0, 0}}>
               {{ d = Sub(y, t) loss = ReduceSumSquare<keepdims=0>(d)
                  g = {G}<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t) k2 = Add(k, one)
                  n, m = {DOMAIN}.Momentum<alpha = 0.75, beta = 0.5, norm_coefficient = 0.125, mode
                  = "nesterov">
                      (r, k, w, g, v) }}""",
        {"w": "n", "v": "m", "k": "k2"},
    )
    return batches(
        Case("nesterov-momentum", QUOTES + ["momentum-nesterov"], main, one), 3, x=(3, 2), t=(3, 1)
    )


def cases():
    for make in (
        linear_regression,
        classifier,
        convolutional,
        recurrent,
        embedding,
        alternating,
        normalized,
        scheduled,
        optimized,
        with_momentum,
    ):
        yield make()
