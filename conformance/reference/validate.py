# SPDX-License-Identifier: Apache-2.0
"""The rules on training information that a model can break."""

import re

import onnx
import onnx.shape_inference
from onnx import defs

TRAINING_DOMAIN = "ai.onnx.preview.training"


class Refused(Exception):
    """A model that breaks a rule."""


class Ignored:
    """The text of a rule that is left out, to see whether a model breaks another one."""

    text = None


def rule(text):
    """A text without the place, for one rule may be broken in a graph and in its combination."""
    return text.split(" in ")[0]


def require(condition, text):
    if not condition and (Ignored.text is None or rule(text) != rule(Ignored.text)):
        raise Refused(text)


def accepts_without(model, text):
    """Whether the model breaks no rule but the one that was refused with this text."""
    Ignored.text = text
    try:
        validate(model)
        return True
    except Refused:
        return False
    finally:
        Ignored.text = None


def initializer_types(graph):
    types = [(one.name, one.data_type) for one in graph.initializer]
    return types + [(one.values.name, one.values.data_type) for one in graph.sparse_initializer]


def check_unique(names, what):
    seen = set()
    for name in names:
        require(name not in seen, f"{what} '{name}' twice")
        seen.add(name)


def names_of_outputs(graph):
    return [one.name for one in graph.output]


def check_bindings(bindings, keys, values, what):
    """`keys` and `values` map names to element types, 0 where unknown."""
    check_unique([one.key for one in bindings], f"key of {what}")
    for one in bindings:
        require(one.key in keys, f"key '{one.key}' of {what} is no initializer")
        require(one.value in values, f"value '{one.value}' of {what} is no output")
        got = values.get(one.value, 0)
        require(got in (0, keys.get(one.key, got)), f"{what} of '{one.key}' changes its type")


def output_types(graph):
    return {one.name: one.type.tensor_type.elem_type for one in graph.output}


def check_scopes(nodes, known, what):
    """Nodes read what is defined before them and define new names."""
    for node in nodes:
        for name in node.input:
            require(name == "" or name in known, f"'{name}' is not defined in {what}")
        for name in node.output:
            require(name == "" or name not in known, f"'{name}' is defined twice in {what}")
            known.add(name)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                body = attribute.g
                both = {one.name for one in body.input} & {
                    name for name, _ in initializer_types(body)
                }
                require(not both, f"{both} are inputs and initializers of a body in {what}")
                inner = known | {one.name for one in body.input}
                inner |= {name for name, _ in initializer_types(body)}
                check_scopes(body.node, inner, f"a body in {what}")


def check_values(graphs, known, what):
    """Names of the concatenation of graphs; those in `known` may be read."""
    inputs = [one.name for graph in graphs for one in graph.input]
    initializers = [name for graph in graphs for name, _ in initializer_types(graph)]
    check_unique(inputs, f"input in {what}")
    check_unique(initializers, f"initializer in {what}")
    own = {name for graph in graphs for node in graph.node for name in node.output}
    known = (known - own) | set(inputs) | set(initializers)
    check_scopes([node for graph in graphs for node in graph.node], known, what)
    for graph in graphs:
        defined = known | {name for one in graphs for node in one.node for name in node.output}
        for name in names_of_outputs(graph):
            require(name in defined, f"output '{name}' of {what} is not defined")


def ancestors(name, nodes):
    """Names that a value is computed from."""
    found, missing = set(), {name}
    for node in reversed(nodes):
        if not missing.isdisjoint(node.output):
            found |= set(node.input)
            missing |= set(node.input)
    return found


def check_gradient(node, known, nodes):
    attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    if not {"xs", "y"} <= set(attributes):
        return  # what check_signature is about
    names = [*attributes.get("xs", []), *attributes.get("zs", []), attributes.get("y", b"")]
    for name in names:
        require(name.decode() in known, f"Gradient names '{name.decode()}', which is not defined")
    variables = {name.decode() for name in names[:-1]}
    for name in variables:
        require(
            variables.isdisjoint(ancestors(name, nodes)),
            f"Gradient names '{name}' and what it is computed from",
        )
    given = len(variables)
    require(len(node.input) == given, "Gradient needs one input for each of xs and zs")
    require(len(node.output) <= len(attributes["xs"]), "Gradient has more outputs than xs")


def check_optimizer(node):
    per_tensor = {"Adam": (4, 3), "Adagrad": (3, 2), "Momentum": (3, 2)}
    if node.op_type in per_tensor:
        reads, writes = per_tensor[node.op_type]
        count = (len(node.input) - 2) // reads
        require(
            count > 0 and len(node.input) == 2 + count * reads,
            f"{node.op_type} has {len(node.input)} inputs",
        )
        require(
            len(node.output) == count * writes, f"{node.op_type} has {len(node.output)} outputs"
        )


def check_signature(node, schema):
    """Counts of inputs and outputs, and attributes."""
    for what, count, least, most in (
        ("inputs", len(node.input), schema.min_input, schema.max_input),
        ("outputs", len(node.output), schema.min_output, schema.max_output),
    ):
        require(least <= count <= most, f"{node.op_type} has {count} {what}")
    given = {one.name: one for one in node.attribute}
    for name, attribute in schema.attributes.items():
        require(name in given or not attribute.required, f"{node.op_type} lacks '{name}'")
    for name, one in given.items():
        known = schema.attributes.get(name)
        require(known, f"{node.op_type} has no attribute '{name}'")
        require(
            known is None or int(one.type) == known.type.value,
            f"attribute '{name}' of {node.op_type} has another type",
        )


def check_node(node, known, nodes, versions):
    if (node.domain, node.op_type) not in versions["functions"]:
        require(node.domain in versions, f"no operator set of the domain '{node.domain}'")
        version = versions[node.domain]
        require(
            defs.has(node.op_type, version, node.domain),
            f"no operator {node.op_type} of the domain '{node.domain}'",
        )
        check_signature(node, defs.get_schema(node.op_type, version, node.domain))
    for attribute in node.attribute:
        for inner in attribute.g.node if attribute.type == onnx.AttributeProto.GRAPH else ():
            check_node(inner, None, nodes, versions)
    if node.domain != TRAINING_DOMAIN:
        return
    for one in node.attribute:
        if (node.op_type, one.name) == ("Momentum", "mode"):
            require(one.s in (b"standard", b"nesterov"), "unknown mode of Momentum")
    if node.op_type == "Gradient" and known is not None:
        check_gradient(node, known, nodes)
    check_optimizer(node)


def versions_of(model):
    """Versions by domain, and the functions of the model."""
    functions = {(one.domain, one.name) for one in model.functions}
    return {"functions": functions, **{one.domain: one.version for one in model.opset_import}}


def global_variables(model):
    """Initializers of the main graph that some binding promotes."""
    keys = {
        one.key
        for info in model.training_info
        for one in (*info.initialization_binding, *info.update_binding)
    }
    return keys & {name for name, _ in initializer_types(model.graph)}


def check_types(model, algorithm):
    """Declared types of outputs are those that follow from the nodes, as far as these are known."""
    combined = onnx.ModelProto.FromString(model.SerializeToString())
    combined.ClearField("training_info")
    for field in ("input", "initializer", "node"):
        getattr(combined.graph, field).extend(getattr(algorithm, field))
    combined.graph.ClearField("output")
    # It has no dense type for them.
    combined.graph.ClearField("sparse_initializer")
    try:
        inferred = onnx.shape_inference.infer_shapes(combined, check_type=True).graph.value_info
    except onnx.shape_inference.InferenceError as error:
        counts = re.search(r"has \d+ (in|out)puts$", Ignored.text or "")
        require(counts, str(error))  # it looks at counts, too
        return
    types = {one.name: one.type.tensor_type.elem_type for one in inferred}
    for graph in (model.graph, algorithm):
        for name, declared in output_types(graph).items():
            require(types.get(name, declared) == declared, f"output '{name}' has another type")


def check_info(model, info):
    main, algorithm = model.graph, info.algorithm
    keys = dict(initializer_types(main) + initializer_types(algorithm))
    require(not info.initialization.input, "an initialization graph has an input")
    check_values([info.initialization], global_variables(model), "initialization")
    check_values([main, algorithm], set(), "the training graph")
    check_bindings(
        info.initialization_binding,
        keys,
        output_types(info.initialization),
        "initialization_binding",
    )
    values = {**output_types(main), **output_types(algorithm)}
    check_bindings(info.update_binding, keys, values, "update_binding")
    nodes = [*main.node, *algorithm.node]
    known = set(keys) | {one.name for graph in (main, algorithm) for one in graph.input}
    known |= {name for one in nodes for name in one.output}
    for node in (*nodes, *info.initialization.node):
        check_node(node, known, nodes, versions_of(model))
    check_types(model, algorithm)


def validate(model):
    """Raises Refused for the first rule that the model breaks."""
    check_values([model.graph], set(), "the main graph")
    for info in model.training_info:
        check_info(model, info)
