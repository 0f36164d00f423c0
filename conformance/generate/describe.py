# SPDX-License-Identifier: Apache-2.0
"""What a case needs and rests on: operators, types, profile and readings of the text."""

from onnx import AttributeProto, TensorProto, defs

from suite.tensors import TYPES

TRAINING_DOMAIN = "ai.onnx.preview.training"
OPTIMIZERS = {f"{TRAINING_DOMAIN}.{one}" for one in ("Adam", "Adagrad", "Momentum")}
GRADIENT = f"{TRAINING_DOMAIN}.Gradient"
DIFFERENTIABLE = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)


def graphs_of(model):
    yield model.graph
    for info in model.training_info:
        yield info.initialization
        yield info.algorithm


def inner_graphs(node):
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def nodes_below(nodes):
    """The nodes and those of their bodies."""
    for node in nodes:
        yield node
        for graph in inner_graphs(node):
            yield from nodes_below(graph.node)


def every_node(model):
    for graph in graphs_of(model):
        yield from nodes_below(graph.node)
    for function in model.functions:
        yield from nodes_below(function.node)


def operators(model):
    own = {(one.domain, one.name) for one in model.functions}
    return sorted(
        {
            f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            for node in every_node(model)
            if (node.domain, node.op_type) not in own
        }
    )


def types_of_graph(graph):
    for one in (*graph.input, *graph.output, *graph.value_info):
        yield one.type.tensor_type.elem_type
    yield from (one.data_type for one in graph.initializer)
    yield from (one.values.data_type for one in graph.sparse_initializer)
    for node in graph.node:
        yield from (one.t.data_type for one in node.attribute if one.HasField("t"))
        for inner in inner_graphs(node):
            yield from types_of_graph(inner)


def types(model):
    """Names of the element types that appear in the graphs."""
    codes = {code for graph in graphs_of(model) for code in types_of_graph(graph)}
    return sorted(TYPES[code][0] for code in codes if code in TYPES)


def profile(case):
    if case.refused:
        return "refusals"
    if len(case.model.training_info) > 1 and any(one.kind == "train" for one in case.calls):
        return "several-algorithms"
    needed = set(operators(case.model))
    if GRADIENT in needed:
        return "gradient"
    return "optimizers" if OPTIMIZERS & needed else "core"


def attribute(node, name):
    for one in node.attribute:
        if one.name == name:
            return [text.decode() for text in one.strings] or one.s.decode()
    return []


def names_read(node):
    names = {name for name in node.input if name}
    for graph in inner_graphs(node):
        own = {name for inner in graph.node for name in inner.output}
        read = {name for inner in graph.node for name in names_read(inner)}
        names |= (read | {one.name for one in graph.output}) - own
        names -= {one.name for one in graph.input}
    return names


def above(name, nodes, cut):
    """Names that a value is computed from, down to those in `cut`."""
    found, missing = set(), {name} - cut
    for node in reversed(nodes):
        if not missing.isdisjoint(node.output):
            read = names_read(node)
            found |= read
            missing |= read - cut
    return found


def below(names, nodes):
    found = set(names)
    for node in nodes:
        if not found.isdisjoint(names_read(node)):
            found |= set(node.output)
    return found


def is_marked(node, path):
    """Whether a path goes through what the operator's document marks as not differentiable."""
    if node.domain or not defs.has(node.op_type):
        return False
    schema = defs.get_schema(node.op_type)
    none = defs.OpSchema.DifferentiationCategory.NonDifferentiable
    marked = [one.differentiation_category == none for one in schema.inputs]
    for i, name in enumerate(node.input):
        if name in path and marked[min(i, len(marked) - 1)]:
            return True
    return False


def gradient_readings(node, nodes, leaves):
    xs, zs, y = (attribute(node, name) for name in ("xs", "zs", "y"))
    given = {*xs, *zs}
    sources = above(y, nodes, given) | {y}
    own = {name for one in nodes for name in one.output}
    if (sources - own - given) & leaves:
        yield "outside-zs"
    if any(name not in above(y, nodes, set()) | {y} for name in xs):
        yield "unrelated-xs"
    path = below(xs, nodes) & sources
    on_path = [one for one in nodes if not set(one.output).isdisjoint(sources - given)]
    if any(is_marked(one, path) for one in on_path):
        yield "marked-non-differentiable"


def names_of(graph):
    names = {name for node in graph.node for name in node.output}
    names |= {one.name for one in (*graph.input, *graph.initializer)}
    return names


def readings(case):
    """Readings that follow from the model; the case names others itself."""
    model, found = case.model, set(case.readings)
    if any(graph.sparse_initializer for graph in graphs_of(model)):
        found.add("sparse-is-dense")
    algorithms = [one.algorithm for one in model.training_info]
    shared = [a for i, a in enumerate(algorithms) for b in algorithms[:i] if names_of(a) & names_of(b)]
    if shared:
        found.add("names-of-two-algorithms")
    for algorithm in algorithms or [None]:
        graphs = [model.graph, algorithm] if algorithm else [model.graph]
        nodes = [node for graph in graphs for node in graph.node]
        leaves = {one.name for graph in graphs for one in (*graph.input, *graph.initializer)}
        for node in nodes:
            if (node.domain, node.op_type) == (TRAINING_DOMAIN, "Gradient") and not case.refused:
                found |= set(gradient_readings(node, nodes, leaves))
    top = [id(node) for graph in graphs_of(model) for node in graph.node]
    inner = [one for one in every_node(model) if id(one) not in top]
    if any((one.domain, one.op_type) == (TRAINING_DOMAIN, "Gradient") for one in inner):
        found.add("gradient-in-scopes")
    return sorted(found)
