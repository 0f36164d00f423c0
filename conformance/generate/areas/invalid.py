"""Models that break a rule on training information; a runtime must refuse them."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from generate.build import DOMAIN, Case, Info, f32, graph_of

FOLDER = "invalid"
X = {"x": f32(1, 2)}


def base():
    """A valid model that has everything that the rules are about."""
    return (
        Case(
            "valid",
            [],
            """main (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] c = {3, 4}>
                { h = Mul(x, w) y = Add(h, c) }""",
            Info(
                f"""a (float[2] t) => (float loss, float[2] n, int64 u) <int64 k = {{0}}, int64 one
                    = {{1}}>
                     {{ d = Sub(y, t) loss = ReduceSumSquare<keepdims=0>(d)
                        g = {DOMAIN}.Gradient<xs = ["w"], zs = ["x", "t"], y = "loss">(w, x, t)
                        n = Sub(w, g) u = Add(k, one) }}""",
                {"w": "n", "k": "u"},
                """i () => (float[2] s, int64 z) { s = Constant<value_floats=[5.0, 6.0]>()
                        z = Constant<value_int=0>() }""",
                {"w": "s", "k": "z"},
            ),
        )
        .initialize()
        .train({**X, "t": f32(0, 0)})
    )


def pair(bindings, key, value):
    bindings.append(onnx.StringStringEntryProto(key=key, value=value))


def node(text, names="float[2] w, float[2] x, float[2] t, float loss"):
    """The nodes of a text."""
    return graph_of(f"g ({names}) => () {{ {text} }}").node


def tensor(name, *values):
    return numpy_helper.from_array(f32(*values), name)


def output(name, kind=1, dims=(2,)):
    return helper.make_tensor_value_info(name, kind, dims)


def updates(model):
    return model.training_info[0].update_binding


def initials(model):
    return model.training_info[0].initialization_binding


def keys():
    """What the keys of bindings name."""
    for kind, bindings, value in (("update", updates, "n"), ("initialization", initials, "s")):
        tags = (
            ["keys-are-initializers", "constraints-apply"]
            if kind == "update"
            else ["initialization-keys", "initialization-binding-targets"]
        )
        for what, key in (
            ("unknown", "nothing"),
            ("an-input", "x"),
            ("a-node-output", "h"),
            ("empty", ""),
        ):
            yield f"{kind}-key-is-{what}", tags, lambda m, b=bindings, k=key, v=value: pair(
                b(m), k, v
            )
        unique = (
            ["unique-keys", "constraints-apply"]
            if kind == "update"
            else ["initialization-unique-keys"]
        )
        yield f"{kind}-key-twice", unique, lambda m, b=bindings, v=value: pair(b(m), "w", v)
        yield f"{kind}-key-twice-with-one-value", unique, lambda m, b=bindings: pair(
            b(m), b(m)[0].key, b(m)[0].value
        )


def foreign_key(model):
    """A second info whose bindings name an initializer of the first one's algorithm."""
    second = model.training_info.add()
    second.algorithm.CopyFrom(graph_of("b () => (int64 v) <int64 two = {2}> { v = Neg(two) }"))
    pair(second.update_binding, "k", "v")


def foreign_initial(model):
    second = model.training_info.add()
    second.initialization.CopyFrom(graph_of("j () => (int64 v) { v = Constant<value_int=4>() }"))
    pair(second.initialization_binding, "k", "v")


def rebind(index, value, initialization=False):
    def change(model):
        info = model.training_info[0]
        (info.initialization_binding if initialization else info.update_binding)[
            index
        ].value = value

    return change


def values():
    """What the values of bindings name."""
    tags = ["values-are-outputs", "constraints-apply"]
    for what, value in (
        ("unknown", "nothing"),
        ("not-an-output", "d"),
        ("a-main-intermediate", "h"),
        ("an-initializer", "c"),
        ("empty", ""),
    ):
        yield f"update-value-is-{what}", tags, rebind(0, value)
    for what, value in (
        ("unknown", "nothing"),
        ("a-main-output", "y"),
        ("an-algorithm-output", "n"),
        ("empty", ""),
    ):
        yield f"initialization-value-is-{what}", ["initialization-values"], rebind(0, value, True)
    yield "update-value-is-an-initialization-output", tags, rebind(0, "s")
    yield "update-value-of-another-type", ["step-assigns", "combined-conditions"], rebind(0, "u")
    yield "initialization-value-of-another-type", ["initialization-assigns"], rebind(0, "z", True)
    yield "key-of-another-algorithm", ["keys-are-initializers"], foreign_key
    yield "initialization-key-of-another-algorithm", [
        "initialization-binding-targets"
    ], foreign_initial
    yield "initialization-binding-without-graph", [
        "initialization-omitted"
    ], lambda m: m.training_info[0].ClearField("initialization")
    yield "update-binding-without-graph", [
        "values-are-outputs",
        "default-algorithm",
    ], drop_algorithm


def drop_algorithm(model):
    info = model.training_info[0]
    info.ClearField("algorithm")
    del info.initialization_binding[1:], info.update_binding[1:]


def algorithm(model):
    return model.training_info[0].algorithm


def start(model):
    return model.training_info[0].initialization


def graph_changes():
    """Initialization graphs, and what the main graph may read."""
    yield "initialization-has-an-input", ["initialization-signature"], lambda m: start(
        m
    ).input.append(output("given"))
    yield "initialization-reads-a-main-input", [
        "initialization-signature",
        "globals-visible",
    ], lambda m: start(m).node.extend(node("q = Neg(x)"))
    yield "initialization-reads-an-undefined-name", ["initialization-assigns"], lambda m: start(
        m
    ).node.extend(node("q = Neg(nothing)"))
    yield "initialization-output-is-undefined", ["initialization-assigns"], lambda m: start(
        m
    ).output.append(output("nothing"))
    yield "main-reads-algorithm-output", ["algorithm-reads-main"], lambda m: m.graph.node.extend(
        node("q = Neg(d)")
    )
    yield "main-reads-algorithm-input", [
        "main-reads-no-algorithm-input"
    ], lambda m: m.graph.node.extend(node("q = Neg(t)"))
    yield "main-reads-algorithm-initializer", [
        "algorithm-reads-main",
        "inference-independent",
    ], lambda m: m.graph.node.extend(node("q = Neg(one)"))
    yield "main-output-is-an-algorithm-output", [
        "inference-independent"
    ], lambda m: m.graph.output.append(output("n"))


def combinations():
    """Names in the combination of the main graph and an algorithm."""
    both = ["combined-conditions", "concatenation"]
    yield "node-output-of-both-graphs", both, lambda m: algorithm(m).node.extend(node("h = Neg(x)"))
    yield "node-output-twice", ["combined-conditions"], lambda m: algorithm(m).node.extend(
        node("d = Neg(x)")
    )
    yield "initializer-of-both-graphs", both, lambda m: algorithm(m).initializer.append(
        tensor("c", 1, 2)
    )
    yield "input-of-both-graphs", both, lambda m: algorithm(m).input.append(output("x"))
    yield "node-output-is-a-main-initializer", both, lambda m: algorithm(m).node.extend(
        node("c = Neg(x)")
    )
    yield "node-output-is-a-main-input", both, lambda m: algorithm(m).node.extend(
        node("x = Neg(w)", "float[2] w")
    )
    yield "initializer-is-a-main-node-output", both, lambda m: algorithm(m).initializer.append(
        tensor("h", 1, 2)
    )
    yield "input-is-a-main-node-output", both, lambda m: algorithm(m).input.append(output("h"))


def orders():
    """What the nodes of an algorithm read, and its outputs."""
    yield "algorithm-reads-an-undefined-name", ["combined-conditions"], lambda m: algorithm(
        m
    ).node.extend(node("q = Neg(nothing)"))
    yield "algorithm-reads-an-initialization-output", ["combined-conditions"], lambda m: algorithm(
        m
    ).node.extend(node("q = Neg(s)"))
    yield "algorithm-not-in-topological-order", ["combined-conditions"], lambda m: algorithm(
        m
    ).node.insert(0, node("q = Neg(n)")[0])
    yield "algorithm-output-is-undefined", ["combined-conditions"], lambda m: algorithm(
        m
    ).output.append(output("nothing"))
    yield "algorithm-output-is-declared-wrongly", ["combined-conditions"], lambda m: algorithm(
        m
    ).output.append(output("d", onnx.TensorProto.DOUBLE))


def gradient(text):
    """Appends a Gradient node to the algorithm."""

    def change(model):
        model.training_info[0].algorithm.node.extend(
            node(text.replace("Gradient", f"{DOMAIN}.Gradient"))
        )

    return change


def gradients():
    """Attributes and inputs of Gradient."""
    names = ["gradient-names-and-values"]
    yield "gradient-of-unknown-x", names, gradient('q = Gradient<xs = ["nothing"], y = "loss">(w)')
    yield "gradient-with-unknown-z", names, gradient(
        'q = Gradient<xs = ["w"], zs = ["nothing"], y = "loss">(w, x)'
    )
    yield "gradient-of-unknown-y", names, gradient(
        'q = Gradient<xs = ["w"], zs = ["x"], y = "nothing">(w, x)'
    )
    yield "gradient-without-y", names, gradient('q = Gradient<xs = ["w"], zs = ["x"]>(w, x)')
    yield "gradient-without-xs", names, gradient('q = Gradient<zs = ["x"], y = "loss">(x)')
    yield "gradient-with-too-few-inputs", ["gradient-ith-input"], gradient(
        'q = Gradient<xs = ["w"], zs = ["x"], y = "loss">(w)'
    )
    yield "gradient-with-too-many-inputs", ["gradient-ith-input"], gradient(
        'q = Gradient<xs = ["w"], y = "loss">(w, x)'
    )
    yield "gradient-with-too-many-outputs", ["gradient-only-xs"], gradient(
        'q, p = Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)'
    )
    yield "gradient-of-a-dependent-x", ["gradient-independent"], gradient(
        'q, p = Gradient<xs = ["w", "h"], zs = ["t"], y = "loss">(w, w, t)'
    )
    yield "gradient-with-a-dependent-z", ["gradient-zs-independent"], gradient(
        'q = Gradient<xs = ["w"], zs = ["x", "h", "t"], y = "loss">(w, x, w, t)'
    )


def optimizers():
    mode = "alpha = 0.5, beta = 0.5, norm_coefficient = 0.0"
    tail = "(rate, one, w, x, t)"
    for what, attributes in (
        ("unknown-mode", mode + ', mode = "fast"'),
        ("no-mode", mode),
        ("no-alpha", 'beta = 0.5, norm_coefficient = 0.0, mode = "standard"'),
        ("mode-of-another-type", mode + ", mode = 1"),
    ):
        yield f"momentum-{what}", ["momentum-mode-values", "momentum-modes"], optimizer(
            f"q, p = {DOMAIN}.Momentum<{attributes}>{tail}"
        )
    yield "momentum-with-an-incomplete-group", ["momentum-input-order"], optimizer(
        f'q, p = {DOMAIN}.Momentum<{mode}, mode = "standard">(rate, one, w, x)'
    )
    yield "adam-with-an-incomplete-group", ["adam-input-order"], optimizer(
        f"q, p, v = {DOMAIN}.Adam(rate, one, w, x, t)"
    )
    yield "adam-with-too-many-outputs", ["adam-output-order"], optimizer(
        f"q, p, v, e = {DOMAIN}.Adam(rate, one, w, x, t, t)"
    )
    yield "adam-with-an-unknown-attribute", ["adam-inputs"], optimizer(
        f"q, p, v = {DOMAIN}.Adam<gamma = 1.0>(rate, one, w, x, t, t)"
    )
    yield "adagrad-with-an-incomplete-group", ["adagrad-input-order"], optimizer(
        f"q, p = {DOMAIN}.Adagrad(rate, one, w, x)"
    )
    yield "adagrad-with-too-many-outputs", ["adagrad-output-order"], optimizer(
        f"q, p, e = {DOMAIN}.Adagrad(rate, one, w, x, t)"
    )
    yield "momentum-with-too-many-outputs", ["momentum-output-order"], optimizer(
        f'q, p, e = {DOMAIN}.Momentum<{mode}, mode = "standard">(rate, one, w, x, t)'
    )


def optimizer(text):
    def change(model):
        graph = model.training_info[0].algorithm
        graph.initializer.append(numpy_helper.from_array(np.float32(0.5), "rate"))
        graph.node.extend(node(text))

    return change


def cases():
    valid = base()
    valid.name, valid.quotes = "the-model-before-it-is-broken", [
        "step-assigns",
        "initialization-assigns",
    ]
    yield valid
    for group in (keys, values, graph_changes, combinations, orders, gradients, optimizers):
        for name, quotes, change in group():
            yield base().broken(name, quotes, change)
