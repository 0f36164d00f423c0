# SPDX-License-Identifier: Apache-2.0
"""Models that break a rule on training information; a runtime must refuse them."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from generate.build import DOMAIN, Case, Info, f32, graph_of

FOLDER = "invalid"
X = {"x": f32(1, 2)}


def base(step="g = Mul(d, x)"):
    """A valid model that has everything that the rules are about."""
    return (
        Case(
            "the-model",
            ["step-assigns", "initialization-assigns"],
            """main (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] c = {3, 4}>
                { h = Mul(x, w) y = Add(h, c) }""",
            Info(
                f"""a (float[2] t) => (float loss, float[2] n, int64 u) <int64 k = {{0}}, int64 one
                    = {{1}}>
                     {{ d = Sub(y, t) loss = ReduceSumSquare<keepdims=0>(d)
                        {step} n = Sub(w, g) u = Add(k, one) }}""",
                {"w": "n", "k": "u"},
                """i () => (float[2] s, int64 z) { s = Constant<value_floats=[5.0, 6.0]>()
                        inside = Identity(s) z = Constant<value_int=0>() }""",
                {"w": "s", "k": "z"},
            ),
        )
        .initialize()
        .train({**X, "t": f32(0, 0)})
    )


def base_of_two():
    """The same for models with a second info: a call runs all algorithms in order."""
    case = base()
    case.calls.pop()
    case.iterate({**X, "t": f32(0, 0)})
    case.calls[-1].algorithms = [0, 1]
    return case


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
            yield (
                f"{kind}-key-is-{what}",
                tags,
                lambda m, b=bindings, k=key, v=value: pair(b(m), k, v),
                f"{kind}-key-is-a-constant",
            )
        unique = (
            ["unique-keys", "constraints-apply"]
            if kind == "update"
            else ["initialization-unique-keys"]
        )
        twin = f"{kind}-key-is-a-constant"
        yield f"{kind}-key-twice", unique, lambda m, b=bindings, v=value: pair(b(m), "w", v), twin
        yield f"{kind}-key-twice-with-one-value", unique, lambda m, b=bindings: pair(
            b(m), b(m)[0].key, b(m)[0].value
        ), twin


SECOND = "b (float[2] t) => (float[2] m) { m = Neg(w) }"
SECOND_START = "j () => (float[2] v) <float[2] v = {7, 8}> { }"


def second(change):
    """Adds a second info and changes it."""

    def apply(model):
        info = model.training_info.add()
        info.algorithm.CopyFrom(graph_of(SECOND))
        info.initialization.CopyFrom(graph_of(SECOND_START))
        change(info)

    return apply


def bound(change):
    """The same with bindings of the constant c of the main graph."""

    def apply(info):
        pair(info.update_binding, "c", "m")
        pair(info.initialization_binding, "c", "v")
        change(info)

    return second(apply)


def later_infos():
    """What holds for the first info holds for the others."""
    yield "second-info-key-is-unknown", ["keys-are-initializers"], bound(
        lambda info: pair(info.update_binding, "nothing", "m")
    ), "two-infos"
    yield "second-info-value-is-unknown", ["values-are-outputs"], second(
        lambda info: pair(info.update_binding, "c", "nothing")
    ), "two-infos"
    yield "second-info-value-is-an-output-of-the-first", ["values-are-outputs"], second(
        lambda info: pair(info.update_binding, "c", "n")
    ), "two-infos"
    yield "second-info-value-is-an-output-of-the-first-initialization", [
        "initialization-values"
    ], second(lambda info: pair(info.initialization_binding, "c", "s")), "two-infos"
    yield "second-info-has-an-input-in-its-initialization", ["initialization-signature"], bound(
        lambda info: info.initialization.input.append(output("given"))
    ), "two-infos"
    yield "second-info-reads-the-first-algorithm", ["concatenation", "combined-conditions"], bound(
        lambda info: info.algorithm.node.extend(node("q = Neg(d)"))
    ), "second-info-reads-the-main-graph"
    yield "key-of-another-algorithm", ["keys-are-initializers"], second(
        lambda info: pair(info.update_binding, "k", "m")
    ), "two-infos"
    yield "initialization-key-of-another-algorithm", ["initialization-binding-targets"], second(
        foreign_count
    ), "second-info-sets-its-own-count"


def foreign_count(info, key="k"):
    """Sets a counter of the first algorithm, or of its own."""
    info.algorithm.initializer.append(numpy_helper.from_array(np.int64(0), "count"))
    info.initialization.CopyFrom(graph_of("j () => (int64 v) { v = Constant<value_int=4>() }"))
    pair(info.initialization_binding, key, "v")


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
    for what, value, twin in (
        ("unknown", "nothing", "update-value-is-a-main-output"),
        ("not-an-output", "d", "update-value-is-another-output"),
        ("a-main-intermediate", "h", "update-value-is-another-main-output"),
        ("an-initializer", "c", "update-value-is-a-main-output"),
        ("a-main-input", "x", "update-value-is-a-main-output"),
        ("empty", "", "update-value-is-a-main-output"),
    ):
        yield f"update-value-is-{what}", tags, rebind(0, value), twin
    for what, value in (
        ("unknown", "nothing"),
        ("not-an-output", "inside"),
        ("a-main-output", "y"),
        ("an-algorithm-output", "n"),
        ("empty", ""),
    ):
        yield f"initialization-value-is-{what}", ["initialization-values"], rebind(
            0, value, True
        ), "initialization-value-is-another-output"
    main = "update-value-is-a-main-output"
    yield "update-value-is-an-initialization-output", tags, rebind(0, "s"), main
    yield "update-value-of-another-type", ["step-assigns"], rebind(0, "u"), main
    yield "initialization-value-of-another-type", ["initialization-assigns"], rebind(
        0, "z", True
    ), "initialization-value-is-another-output"
    yield "initialization-binding-without-graph", [
        "initialization-omitted"
    ], unbound_initialization, "no-initialization"
    yield "update-binding-without-graph", [
        "values-are-outputs",
        "default-algorithm",
    ], drop_algorithm, "no-algorithm"


def drop_algorithm(model, value=None):
    info = model.training_info[0]
    info.ClearField("algorithm")
    del info.initialization_binding[1:], info.update_binding[1:]
    info.update_binding[0].value = value or info.update_binding[0].value


def unbound_initialization(model):
    info = model.training_info[0]
    info.ClearField("initialization")
    del info.initialization_binding[1:]


def drop_initialization(model):
    model.training_info[0].ClearField("initialization")
    model.training_info[0].ClearField("initialization_binding")


def algorithm(model):
    return model.training_info[0].algorithm


def start(model):
    return model.training_info[0].initialization


def main_graph(model):
    return model.graph


def more(graph, text, names="float[2] w, float[2] x, float[2] t, float loss"):
    """A change that appends nodes to a graph."""
    return lambda model: graph(model).node.extend(node(text, names))


def graph_changes():
    """Initialization graphs, and what the main graph may read."""
    signature = ["initialization-signature"]
    yield "initialization-has-an-input", signature, lambda m: start(m).input.append(
        output("given")
    ), "initialization-reads-a-variable"
    yield "initialization-reads-a-main-input", [*signature, "globals-visible"], more(
        start, "q = Neg(x)"
    ), "initialization-reads-a-variable"
    yield "initialization-reads-an-algorithm-input", signature, more(
        start, "r = Neg(t)"
    ), "initialization-reads-a-variable"
    yield "initialization-reads-an-undefined-name", ["inputs-refer"], more(
        start, "q = Neg(nothing)"
    ), "initialization-reads-a-variable"
    yield "initialization-reads-a-main-value", ["inputs-refer"], more(
        start, "r = Neg(h)", "float[2] h"
    ), "initialization-reads-a-variable"
    yield "initialization-output-is-undefined", ["unique-definition"], lambda m: start(
        m
    ).output.append(output("nothing")), "initialization-has-another-output"
    yield "main-reads-algorithm-output", ["algorithm-reads-main"], more(
        main_graph, "q = Neg(d)"
    ), "main-reads-main"
    yield "main-reads-algorithm-input", ["main-reads-no-algorithm-input"], more(
        main_graph, "q = Neg(t)"
    ), "main-reads-main"
    yield "main-reads-algorithm-initializer", [
        "algorithm-reads-main",
        "inference-independent",
    ], more(main_graph, "q = Neg(one)"), "main-reads-main"
    yield "main-output-is-an-algorithm-output", [
        "inference-independent"
    ], lambda m: m.graph.output.append(output("n")), "main-has-another-output"


def choice(name):
    """A node whose branches read a name."""
    return node(
        f"""k0 = Constant<value = bool {{1}}>() q0 = If(k0) <
            then_branch = t () => (float[2] o) {{ o = Neg({name}) }},
            else_branch = e () => (float[2] p) {{ p = Abs({name}) }}>"""
    )


def body(graph, name):
    return lambda model: graph(model).node.extend(choice(name))


def captures():
    """Bodies read what their graphs may read."""
    for what, name in (("input", "t"), ("initializer", "k"), ("output", "d")):
        tags = ["main-reads-no-algorithm-input"] if what == "input" else ["algorithm-reads-main"]
        yield f"main-body-reads-algorithm-{what}", [
            *tags,
            "inference-independent",
        ], body(main_graph, name), "main-body-reads-main"
    yield "initialization-body-reads-a-main-input", [
        "initialization-signature",
        "globals-visible",
    ], body(start, "x"), "initialization-body-reads-a-variable"
    yield "initialization-body-reads-an-algorithm-input", ["initialization-signature"], body(
        start, "t"
    ), "initialization-body-reads-a-variable"


def add_body(model):
    """A main node with a body whose initializer is `inner`."""
    model.graph.node.extend(choice("w"))
    branch = model.graph.node[-1].attribute[0].g
    branch.initializer.append(tensor("inner", 1, 2))


def with_body(bindings, key, value):
    def change(model):
        add_body(model)
        pair(bindings(model), key, value)

    return change


def body_names():
    """What bodies define is known within them only."""

    def value(model):
        add_body(model)
        model.training_info[0].update_binding[0].value = "o"

    yield "update-key-is-an-initializer-of-a-body", ["keys-are-initializers"], with_body(
        updates, "inner", "n"
    ), "body-beside-an-update-key"
    yield "initialization-key-is-an-initializer-of-a-body", [
        "initialization-keys",
        "initialization-binding-targets",
    ], with_body(initials, "inner", "s"), "body-beside-an-initialization-key"
    yield "update-value-is-an-output-of-a-body", [
        "values-are-outputs"
    ], value, "body-beside-an-update-key"


def combinations():
    """Names in the combination of the main graph and an algorithm."""
    both = ["combined-conditions", "concatenation"]
    for name, tags, change, twin in (
        (
            "node-output-of-both-graphs",
            [*both, "single-assignment"],
            more(algorithm, "h = Neg(x)"),
            "more-nodes",
        ),
        ("node-output-twice", ["single-assignment"], more(algorithm, "d = Neg(x)"), "more-nodes"),
        (
            "initializer-of-both-graphs",
            [*both, "unique-definition"],
            lambda m: algorithm(m).initializer.append(tensor("c", 1, 2)),
            "more-initializers",
        ),
        (
            "input-of-both-graphs",
            [*both, "unique-definition"],
            lambda m: algorithm(m).input.append(output("x")),
            "the-model",
        ),
        (
            "node-output-is-a-main-initializer",
            [*both, "unique-definition"],
            more(algorithm, "c = Neg(x)"),
            "more-nodes",
        ),
        (
            "node-output-is-a-main-input",
            [*both, "unique-definition"],
            more(algorithm, "x = Neg(w)", "float[2] w"),
            "more-nodes",
        ),
        (
            "initializer-is-a-main-node-output",
            [*both, "unique-definition"],
            lambda m: algorithm(m).initializer.append(tensor("h", 1, 2)),
            "more-initializers",
        ),
        (
            "input-is-a-main-node-output",
            [*both, "unique-definition"],
            lambda m: algorithm(m).input.append(output("h")),
            "the-model",
        ),
    ):
        yield name, tags, change, twin


BODY = """k0 = Constant<value = bool {{1}}>() q = If(k0) <
    then_branch = b () => (float[2] o) {{ {0} = Neg(w) o = Neg({0}) }},
    else_branch = e () => (float[2] p) {{ p = Neg(w) }}>"""
LOOP = """k0 = Constant<value_int=2>() k1 = Constant<value = bool {{1}}>() q = Loop(k0, k1, w) <
    body = b (int64 i, bool on, float[2] v) => (bool on2, float[2] v2)
        {{ on2 = Identity(on) v2 = {0} }}>"""


def loop_with(name):
    """A loop whose body has an initializer."""

    def change(model):
        algorithm(model).node.extend(node(LOOP.format("Neg(v)")))
        inner = algorithm(model).node[-1].attribute[0].g
        inner.initializer.append(tensor(name, 1, 2))

    return change


def early(position):
    return lambda m: algorithm(m).node.insert(position, node("q = Neg(n)")[0])


def orders():
    """What the nodes of an algorithm read, and its outputs."""
    refer = ["combined-conditions", "inputs-refer"]
    yield "algorithm-reads-an-undefined-name", refer, more(
        algorithm, "q = Neg(nothing)"
    ), "more-nodes"
    yield "algorithm-reads-an-initialization-output", refer, more(
        algorithm, "q = Neg(s)"
    ), "more-nodes"
    yield "algorithm-not-in-topological-order", [
        "combined-conditions",
        "topological-order",
    ], early(0), "algorithm-in-topological-order"
    yield "algorithm-with-a-cycle", ["combined-conditions", "no-cycles"], more(
        algorithm, "q = Add(w, r) r = Neg(q)", "float[2] w, float[2] r0"
    ), "more-nodes"
    for what, name in (
        ("a-main-node-output", "h"),
        ("an-algorithm-node-output", "d"),
        ("a-main-initializer", "c"),
    ):
        yield f"node-output-in-a-body-is-{what}", [
            "combined-conditions",
            "nested-names-distinct",
        ], more(algorithm, BODY.format(name)), "body-with-its-own-names"
    yield "body-input-is-also-its-initializer", ["combined-conditions", "subgraph-inputs"], (
        loop_with("v")
    ), "loop-with-an-initializer"
    yield "algorithm-output-is-undefined", [
        "combined-conditions",
        "unique-definition",
    ], lambda m: algorithm(m).output.append(output("nothing")), "algorithm-has-another-output"
    yield "algorithm-output-is-declared-wrongly", ["combined-conditions"], lambda m: algorithm(
        m
    ).output.append(output("d", onnx.TensorProto.DOUBLE)), "algorithm-has-another-output"


def signatures():
    """Nodes that break the signature of their operator."""
    for what, text in (
        ("too-many-inputs", "q = Neg(w, x)"),
        ("too-few-inputs", "q = Sub(w)"),
        ("too-many-outputs", "q, q2 = Neg(w)"),
        ("an-unknown-attribute", "q = Neg<gamma = 1.0>(w)"),
        ("an-attribute-of-another-type", "q = Softmax<axis = 0.5>(w)"),
        ("no-required-attribute", "q = Cast(w)"),
        ("an-input-of-another-type", "q = Not(w)"),
        ("inputs-of-two-types", "q = Add(w, one)"),
    ):
        yield f"node-with-{what}", ["operator-signature", "combined-conditions"], more(
            algorithm, text, "float[2] w, float[2] x, int64 one"
        ), "more-nodes"


def set_value(change, index, value, initialization=False):
    def both(model):
        change(model)
        rebind(index, value, initialization)(model)

    return both


def add_output(graph, name):
    return lambda m: graph(m).output.append(output(name))


def twins():
    """Valid models that are like the broken ones."""
    yield "update-key-is-a-constant", lambda m: pair(updates(m), "c", "n")
    yield "initialization-key-is-a-constant", lambda m: pair(initials(m), "c", "s")
    yield "two-infos", bound(lambda info: None)
    yield "second-info-reads-the-main-graph", bound(
        lambda info: info.algorithm.node.extend(node("q = Neg(x)"))
    )
    yield "second-info-sets-its-own-count", second(lambda info: foreign_count(info, "count"))
    yield "update-value-is-a-main-output", rebind(0, "y")
    yield "update-value-is-another-output", set_value(add_output(algorithm, "d"), 0, "d")
    yield "update-value-is-another-main-output", set_value(add_output(main_graph, "h"), 0, "h")
    yield "initialization-value-is-another-output", set_value(
        add_output(start, "inside"), 0, "inside", True
    )
    yield "no-initialization", drop_initialization
    yield "no-algorithm", lambda m: drop_algorithm(m, "y")
    yield "initialization-reads-a-variable", more(start, "q = Neg(w)")
    yield "initialization-has-another-output", add_output(start, "inside")
    yield "main-reads-main", more(main_graph, "q = Neg(c)", "float[2] c")
    yield "main-has-another-output", add_output(main_graph, "h")
    yield "main-body-reads-main", body(main_graph, "w")
    yield "initialization-body-reads-a-variable", body(start, "w")
    yield "body-beside-an-update-key", with_body(updates, "c", "n")
    yield "body-beside-an-initialization-key", with_body(initials, "c", "s")
    yield "more-nodes", more(
        algorithm, "q = Neg(w) r = Cast<to = 1>(one)", "float[2] w, int64 one"
    )
    yield "more-initializers", lambda m: algorithm(m).initializer.append(tensor("c2", 1, 2))
    yield "algorithm-in-topological-order", lambda m: algorithm(m).node.extend(node("q = Neg(n)"))
    yield "body-with-its-own-names", more(algorithm, BODY.format("h0"))
    yield "loop-with-an-initializer", loop_with("inner")
    yield "algorithm-has-another-output", add_output(algorithm, "d")


GROUPS = (
    keys,
    later_infos,
    values,
    graph_changes,
    captures,
    body_names,
    combinations,
    orders,
    signatures,
)
OF_TWO = {"two-infos", "second-info-reads-the-main-graph", "second-info-sets-its-own-count"}
READINGS = {
    "update-value-of-another-type": ["types-agree"],
    "initialization-value-of-another-type": ["types-agree"],
}


def base_like(twin):
    """The valid model and the calls that fit a change."""
    case = base_of_two() if twin in OF_TWO else base()
    if twin == "no-algorithm":
        del case.calls[-1].feeds["t"]
    return case


def valid_cases():
    """The twins by name."""
    found = {"the-model": base()}
    for name, change in twins():
        found[name] = base_like(name).changed(name, change)
    for case in found.values():
        complete(case)
    return found


def complete(case):
    """Algorithms of no call are not run."""
    for call in case.calls:
        if call.kind == "train":
            graphs = (case.model.graph, case.model.training_info[0].algorithm)
            call.outputs = list(dict.fromkeys(one.name for graph in graphs for one in graph.output))


def cases():
    valid = valid_cases()
    for group in GROUPS:
        for name, quotes, change, twin in group():
            yield base_like(twin).broken(name, quotes, change, valid[twin], READINGS.get(name, ()))
