# SPDX-License-Identifier: Apache-2.0
"""The same model computing in double precision."""

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

NARROW = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
TYPE_ATTRIBUTES = {
    "Cast": "to",
    "RandomNormal": "dtype",
    "RandomUniform": "dtype",
    "RandomNormalLike": "dtype",
    "RandomUniformLike": "dtype",
    "EyeLike": "dtype",
    "Bernoulli": "dtype",
}
SCALARS = {"value_float": np.float64, "value_floats": np.float64}


def widen(array):
    """Floating point arrays in double precision, others as they are."""
    array = np.asarray(array)
    narrow = array.dtype in (np.float32, np.float16) or array.dtype.name == "bfloat16"
    return array.astype(np.float64) if narrow else array


def widen_tensor(tensor):
    if tensor.data_type in NARROW:
        tensor.CopyFrom(numpy_helper.from_array(widen(numpy_helper.to_array(tensor)), tensor.name))


def widen_constant(node):
    """`value_float` becomes `value`, for its type is float32."""
    for attribute in node.attribute:
        if attribute.name in SCALARS and not attribute.ref_attr_name:
            value = np.array(onnx.helper.get_attribute_value(attribute), dtype=np.float64)
            attribute.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(value)))


def widen_node(node):
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR:
            widen_tensor(attribute.t)
        if attribute.type == onnx.AttributeProto.GRAPH:
            widen_graph(attribute.g)
        if attribute.name == TYPE_ATTRIBUTES.get(node.op_type) and attribute.i in NARROW:
            attribute.i = TensorProto.DOUBLE
    if node.op_type == "Constant":
        widen_constant(node)
    if node.op_type == "ConstantOfShape" and not node.attribute:
        node.attribute.append(
            onnx.helper.make_attribute("value", numpy_helper.from_array(np.zeros(1)))
        )
    if node.op_type in ("RandomNormal", "RandomUniform") and all(
        one.name != "dtype" for one in node.attribute
    ):
        node.attribute.append(onnx.helper.make_attribute("dtype", TensorProto.DOUBLE))


def widen_graph(graph):
    for tensor in graph.initializer:
        widen_tensor(tensor)
    for sparse in graph.sparse_initializer:
        widen_tensor(sparse.values)
    for node in graph.node:
        widen_node(node)


def widen_model(model):
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graphs = [model.graph]
    for info in model.training_info:
        graphs += [info.initialization, info.algorithm]
    for graph in graphs:
        widen_graph(graph)
    for function in model.functions:
        for node in function.node:
            widen_node(node)
    return model
