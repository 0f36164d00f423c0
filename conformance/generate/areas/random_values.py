# SPDX-License-Identifier: Apache-2.0
"""Random initialization, judged by statistics."""

import numpy as np
from onnx import TensorProto

from generate.build import Case, Info

FOLDER = "random"
COUNT = 1500
TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16}
QUOTES = ["random-initialization"]


def law(kind, *parameters, dtype="float", dims=(COUNT,)):
    return {"law": kind, "parameters": list(parameters), "type": dtype, "dims": list(dims)}


def drawn(name, text, expected, dtype="float", dims=(COUNT,), quotes=(), readings=()):
    """`text` is an initialization graph with output s."""
    declared = ",".join(map(str, dims))
    kind = f"{dtype}[{declared}]"
    case = Case(
        name,
        [*QUOTES, *quotes],
        "main () => (int64 y) { y = Size(w) }",
        Info(initialization=text.replace("KIND", kind), initial={"w": "s"}),
        values={"w": np.zeros(dims, TYPES.get(dtype, getattr(np, dtype, None)))},
        readings=readings,
    )
    return case.initialize(random={"w": expected}).infer(random={"w": expected})


def normal():
    for name, mean, scale in (
        ("standard", 0.0, 1.0),
        ("shifted", 3.0, 1.0),
        ("narrow", 0.0, 0.01),
        ("wide", -20.0, 5.0),
    ):
        yield drawn(
            f"normal-{name}",
            f"i () => (KIND s) {{ s = RandomNormal<shape=[{COUNT}], mean={mean}, scale={scale}>() "
            f"}}",
            law("normal", mean, scale),
        )
    yield drawn(
        "normal-defaults",
        f"i () => (KIND s) {{ s = RandomNormal<shape=[{COUNT}]>() }}",
        law("normal", 0.0, 1.0),
    )
    yield drawn(
        "normal-double",
        f"i () => (KIND s) {{ s = RandomNormal<shape=[{COUNT}], dtype={TensorProto.DOUBLE}>() }}",
        law("normal", 0.0, 1.0, dtype="double"),
        "double",
    )
    yield drawn(
        "normal-seeded",
        f"i () => (KIND s) {{ s = RandomNormal<shape=[{COUNT}], seed=3.0>() }}",
        law("normal", 0.0, 1.0),
    )
    yield drawn(
        "normal-matrix",
        "i () => (KIND s) { s = RandomNormal<shape=[30, 50]>() }",
        law("normal", 0.0, 1.0, dims=(30, 50)),
        dims=(30, 50),
    )


def uniform():
    for name, low, high in (("unit", 0.0, 1.0), ("symmetric", -0.5, 0.5), ("far", 100.0, 108.0)):
        yield drawn(
            f"uniform-{name}",
            f"i () => (KIND s) {{ s = RandomUniform<shape=[{COUNT}], low={low}, high={high}>() }}",
            law("uniform", low, high),
        )
    yield drawn(
        "uniform-defaults",
        f"i () => (KIND s) {{ s = RandomUniform<shape=[{COUNT}]>() }}",
        law("uniform", 0.0, 1.0),
    )
    yield drawn(
        "uniform-double",
        f"i () => (KIND s) {{ s = RandomUniform<shape=[{COUNT}], dtype={TensorProto.DOUBLE}>() }}",
        law("uniform", 0.0, 1.0, dtype="double"),
        "double",
    )
    yield drawn(
        "uniform-seeded",
        f"i () => (KIND s) {{ s = RandomUniform<shape=[{COUNT}], seed=7.0>() }}",
        law("uniform", 0.0, 1.0),
    )


def like():
    shape = f"<int64[1] n = {{{COUNT}}}>"
    yield drawn(
        "normal-like",
        f"""i () => (KIND s) {shape}
                {{ z = ConstantOfShape(n) s = RandomNormalLike<mean=1.0, scale=2.0>(z) }}""",
        law("normal", 1.0, 2.0),
    )
    yield drawn(
        "uniform-like",
        f"""i () => (KIND s) {shape}
                {{ z = ConstantOfShape(n) s = RandomUniformLike<low=-2.0, high=2.0>(z) }}""",
        law("uniform", -2.0, 2.0),
    )
    yield drawn(
        "normal-like-of-other-type",
        f"""i () => (KIND s) {shape}
                {{ z = ConstantOfShape<value = int64[1] {{0}}>(n) s = RandomNormalLike<dtype=1>(z)
                }}""",
        law("normal", 0.0, 1.0),
    )
    for name, p in (("rare", 0.125), ("even", 0.5), ("frequent", 0.875)):
        yield drawn(
            f"bernoulli-{name}",
            f"""i () => (KIND s) {shape}
                    {{ p = ConstantOfShape<value = float[1] {{{p}}}>(n) s = Bernoulli(p) }}""",
            law("discrete", [0, 1], [1 - p, p]),
            readings=[] if p == 0.5 else ["bernoulli-prose"],
        )
    for name, p in (("never", 0), ("always", 1)):
        yield drawn(
            f"bernoulli-{name}",
            f"""i () => (KIND s) {shape}
                    {{ p = ConstantOfShape<value = float[1] {{{p}}}>(n) s = Bernoulli(p) }}""",
            law("discrete", [0, 1], [1 - p, p]),
            readings=["bernoulli-prose"],
        )
    yield drawn(
        "bernoulli-as-bool",
        f"""i () => (KIND s) {shape}
                {{ p = ConstantOfShape<value = float[1] {{0.25}}>(n) s = Bernoulli<dtype=9>(p)
                }}""",
        law("discrete", [0, 1], [0.75, 0.25], dtype="bool"),
        "bool",
        readings=["bernoulli-prose"],
    )


def computed():
    yield drawn(
        "scaled-normal",
        f"""i () => (KIND s) <float k = {{0.5}}>
                {{ r = RandomNormal<shape=[{COUNT}]>() s = Mul(r, k) }}""",
        law("normal", 0.0, 0.5),
    )
    yield drawn(
        "multinomial",
        f"""i () => (KIND s) <float[1,3] p = {{0, 0.6931471805599453, 1.0986122886681098}},
                int64[1] n = {{-1}}> {{ r = Multinomial<sample_size={COUNT}>(p) s = Reshape(r, n)
                }}""",
        law("discrete", [0, 1, 2], [1 / 6, 2 / 6, 3 / 6], dtype="int32"),
        "int32",
    )
    yield drawn(
        "in-a-branch",
        f"""i () => (KIND s) <bool c = {{1}}>
                {{ s = If(c) <then_branch = t () => (KIND o) {{ o = RandomNormal<shape=[{COUNT}]>()
                }},
                  else_branch = e () => (KIND o2) {{ o2 = RandomUniform<shape=[{COUNT}]>() }}>
                  }}""",
        law("normal", 0.0, 1.0),
    )
    both = {"w": law("normal", 0.0, 1.0), "v": law("uniform", 0.0, 1.0)}
    zeros = np.zeros(COUNT, np.float32)
    yield Case(
        "two-variables",
        [*QUOTES, "initialization-signature"],
        "main () => (int64 y) { y = Size(w) }",
        Info(
            initialization=f"""i () => (float[{COUNT}] s, float[{COUNT}] t)
                    {{ s = RandomNormal<shape=[{COUNT}]>() t = RandomUniform<shape=[{COUNT}]>()
                    }}""",
            initial={"w": "s", "v": "t"},
        ),
        values={"w": zeros, "v": zeros},
    ).initialize(random=both).initialize(random=both)


ZEROS = np.zeros(COUNT, np.float32)
NOISE = law("normal", 0.0, 1.0)
LEVEL = law("uniform", 0.0, 1.0)


def steps():
    """Every step draws anew."""
    for name, op, expected in (
        ("noise-in-a-step", "RandomNormalLike", NOISE),
        ("uniform-noise-in-a-step", "RandomUniformLike", LEVEL),
    ):
        yield Case(
            name,
            ["step-assigns"],
            "main () => (int64 y) { y = Size(w) }",
            Info(f"a () => (float[{COUNT}] n) {{ n = {op}(w) }}", {"w": "n"}),
            values={"w": ZEROS},
            readings=["fresh-random"],
        ).train(random={"w": expected, "n": expected}).train(
            random={"w": expected, "n": expected}
        ).train(
            random={"w": expected, "n": expected}
        ).unrelated(
            *(((i, "output", "n"), (j, "output", "n")) for i, j in ((1, 2), (1, 3), (2, 3)))
        )
    mask = law("discrete", [0, 2], [0.5, 0.5])
    yield Case(
        "dropout-in-a-step",
        ["step-assigns"],
        "main () => (int64 y) { y = Size(w) }",
        Info(
            f"""a () => (float[{COUNT}] n) <float half = {{0.5}}, bool on = {{1}}>
                {{ n = Dropout(w, half, on) }}""",
            {"v": "n"},
        ),
        values={"w": ZEROS + 1, "v": ZEROS},
        readings=["fresh-random"],
    ).train(random={"v": mask, "n": mask}).train(random={"v": mask, "n": mask}).unrelated(
        ((1, "output", "n"), (2, "output", "n"))
    )


def nodes():
    """Nodes draw independently."""
    for name, op, expected in (
        ("two-nodes", "RandomNormal", NOISE),
        ("two-uniform-nodes", "RandomUniform", LEVEL),
    ):
        yield Case(
            name,
            QUOTES,
            "main () => (int64 y) { y = Size(w) }",
            Info(
                initialization=f"""i () => (float[{COUNT}] s, float[{COUNT}] t)
                    {{ s = {op}<shape=[{COUNT}]>() t = {op}<shape=[{COUNT}]>() }}""",
                initial={"w": "s", "v": "t"},
            ),
            values={"w": ZEROS, "v": ZEROS},
            readings=["fresh-random"],
        ).initialize(random={"w": expected, "v": expected}).unrelated(
            ((1, "state", "w"), (1, "state", "v"))
        )
    yield Case(
        "two-nodes-in-a-step",
        ["step-assigns"],
        "main () => (int64 y) { y = Size(w) }",
        Info(
            f"""a () => (float[{COUNT}] n, float[{COUNT}] m)
                {{ n = RandomNormalLike(w) m = RandomNormalLike(w) }}""",
            {"w": "n"},
        ),
        values={"w": ZEROS},
        readings=["fresh-random"],
    ).train(random={"w": NOISE, "n": NOISE, "m": NOISE}).unrelated(
        ((1, "output", "n"), (1, "output", "m"))
    )
    yield Case(
        "graph-and-algorithm",
        ["step-assigns", "random-initialization"],
        "main () => (int64 y) { y = Size(w) }",
        Info(
            f"a () => (float[{COUNT}] n) {{ n = RandomNormalLike(w) }}",
            {"v": "n"},
            f"i () => (float[{COUNT}] s) {{ s = RandomNormal<shape=[{COUNT}]>() }}",
            {"w": "s"},
        ),
        values={"w": ZEROS, "v": ZEROS},
        readings=["fresh-random"],
    ).initialize(random={"w": NOISE}).train(random={"w": NOISE, "v": NOISE, "n": NOISE}).unrelated(
        ((1, "state", "w"), (2, "output", "n"))
    )


def graphs():
    """Nodes at the same place of different graphs draw independently."""
    noise = f"RandomNormal<shape=[{COUNT}]>()"
    yield Case(
        "graph-and-algorithm-at-one-place",
        ["step-assigns", "random-initialization"],
        "main () => (int64 y) { y = Size(w) }",
        Info(
            f"a () => (float[{COUNT}] n) {{ n = RandomNormalLike(w) }}",
            {"v": "n"},
            f"i () => (float[{COUNT}] s) <float one = {{1}}> {{ q = Neg(one) s = {noise} }}",
            {"w": "s"},
        ),
        values={"w": ZEROS, "v": ZEROS},
        readings=["fresh-random"],
    ).initialize(random={"w": NOISE}).train(random={"w": NOISE, "v": NOISE, "n": NOISE}).unrelated(
        ((1, "state", "w"), (2, "output", "n"))
    )
    yield Case(
        "two-initializations",
        [*QUOTES],
        "main () => (int64 y) { y = Size(w) }",
        Info(initialization=f"i () => (float[{COUNT}] s) {{ s = {noise} }}", initial={"w": "s"}),
        Info(initialization=f"j () => (float[{COUNT}] t) {{ t = {noise} }}", initial={"v": "t"}),
        values={"w": ZEROS, "v": ZEROS},
        readings=["fresh-random"],
    ).initialize(random={"w": NOISE, "v": NOISE}).unrelated(((1, "state", "w"), (1, "state", "v")))
    yield Case(
        "two-algorithms",
        ["step-assigns"],
        "main () => (int64 y) { y = Size(w) }",
        Info(f"a () => (float[{COUNT}] n) {{ n = RandomNormalLike(w) }}", {"u": "n"}),
        Info(f"b () => (float[{COUNT}] m) {{ m = RandomNormalLike(w) }}", {"v": "m"}),
        values={"u": ZEROS, "v": ZEROS, "w": ZEROS},
        readings=["fresh-random"],
    ).iterate(random={"u": NOISE, "v": NOISE}).unrelated(((1, "state", "u"), (1, "state", "v")))


def cases():
    for group in (normal, uniform, like, computed, steps, nodes, graphs):
        yield from group()
