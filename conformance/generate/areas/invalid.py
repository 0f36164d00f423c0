"""Models that break a rule on training information; a runtime must refuse them."""

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
                        inside = Identity(s) z = Constant<value_int=0>() }""",
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


def second_info(change):
    """Applies `change` to a second, valid info."""

    def apply(model):
        info = model.training_info.add()
        info.algorithm.CopyFrom(graph_of("b () => (float[2] m) { m = Neg(w) }"))
        info.initialization.CopyFrom(graph_of("j () => (float[2] v) <float[2] v = {7, 8}> { }"))
        pair(info.update_binding, "w", "m")
        pair(info.initialization_binding, "w", "v")
        change(info)

    return apply


def foreign_value(model):
    """A second info whose bindings name outputs of the first one's graphs."""
    second = model.training_info.add()
    second.algorithm.CopyFrom(graph_of("b () => (float[2] m) { m = Neg(w) }"))
    pair(second.update_binding, "c", "n")


def foreign_initial_value(model):
    second = model.training_info.add()
    second.initialization.CopyFrom(graph_of("j () => (float[2] v) <float[2] v = {7, 8}> { }"))
    pair(second.initialization_binding, "c", "s")


def later_infos():
    """What holds for the first info holds for the others."""
    yield "second-info-key-is-unknown", ["keys-are-initializers"], second_info(
        lambda info: pair(info.update_binding, "nothing", "m")
    )
    yield "second-info-value-is-unknown", ["values-are-outputs"], second_info(
        lambda info: pair(info.update_binding, "c", "nothing")
    )
    yield "second-info-value-is-an-output-of-the-first", ["values-are-outputs"], foreign_value
    yield "second-info-value-is-an-output-of-the-first-initialization", [
        "initialization-values"
    ], foreign_initial_value
    yield "second-info-has-an-input-in-its-initialization", [
        "initialization-signature"
    ], second_info(lambda info: info.initialization.input.append(output("given")))
    yield "second-info-reads-the-first-algorithm", ["concatenation", "combined-conditions"], (
        second_info(lambda info: info.algorithm.node.extend(node("q = Neg(d)")))
    )


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
        ("a-main-input", "x"),
        ("empty", ""),
    ):
        yield f"update-value-is-{what}", tags, rebind(0, value)
    for what, value in (
        ("unknown", "nothing"),
        ("not-an-output", "inside"),
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


def choice(name):
    """A node whose branches read a name."""
    return node(
        f"""k0 = Constant<value = bool {{1}}>() q0 = If(k0) <
            then_branch = t () => (float[2] o) {{ o = Neg({name}) }},
            else_branch = e () => (float[2] p) {{ p = Abs({name}) }}>"""
    )


def captures():
    """Bodies read what their graphs may read."""
    for what, name in (("input", "t"), ("initializer", "k"), ("output", "d")):
        tags = ["main-reads-no-algorithm-input"] if what == "input" else ["algorithm-reads-main"]
        yield f"main-body-reads-algorithm-{what}", [
            *tags,
            "inference-independent",
        ], lambda m, n=name: m.graph.node.extend(choice(n))
    yield "initialization-body-reads-a-main-input", [
        "initialization-signature",
        "globals-visible",
    ], lambda m: start(m).node.extend(choice("x"))
    yield "initialization-body-reads-an-algorithm-input", ["initialization-signature"], lambda m: (
        start(m).node.extend(choice("t"))
    )
    yield "initialization-reads-an-algorithm-input", ["initialization-signature"], lambda m: start(
        m
    ).node.extend(node("r = Neg(t)"))
    yield "initialization-reads-a-main-value", ["initialization-assigns"], lambda m: start(
        m
    ).node.extend(node("r = Neg(h)", "float[2] h"))


def add_body(model):
    """A main node with a body whose initializer is `inner`."""
    model.graph.node.extend(choice("w"))
    body = model.graph.node[-1].attribute[0].g
    body.initializer.append(tensor("inner", 1, 2))


def body_names():
    """What bodies define is known within them only."""

    def key(bindings, value):
        def change(model):
            add_body(model)
            pair(bindings(model), "inner", value)

        return change

    def value(model):
        add_body(model)
        model.training_info[0].update_binding[0].value = "o"

    yield "update-key-is-an-initializer-of-a-body", ["keys-are-initializers"], key(updates, "n")
    yield "initialization-key-is-an-initializer-of-a-body", [
        "initialization-keys",
        "initialization-binding-targets",
    ], key(initials, "s")
    yield "update-value-is-an-output-of-a-body", ["values-are-outputs"], value


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


BODY = """k = Constant<value = bool {1}>() q = If(k) <
    then_branch = t () => (float[2] o) { h = Neg(w) o = Neg(h) },
    else_branch = e () => (float[2] p) { p = Neg(w) }>"""


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
    yield "node-output-in-a-body-is-a-main-node-output", ["combined-conditions"], (
        lambda m: algorithm(m).node.extend(node(BODY))
    )
    yield "algorithm-output-is-undefined", ["combined-conditions"], lambda m: algorithm(
        m
    ).output.append(output("nothing"))
    yield "algorithm-output-is-declared-wrongly", ["combined-conditions"], lambda m: algorithm(
        m
    ).output.append(output("d", onnx.TensorProto.DOUBLE))


def cases():
    valid = base()
    valid.name, valid.quotes = "the-model-before-it-is-broken", [
        "step-assigns",
        "initialization-assigns",
    ]
    yield valid
    groups = keys, values, later_infos, graph_changes, captures, body_names, combinations, orders
    for group in groups:
        for name, quotes, change in group():
            yield base().broken(name, quotes, change)
