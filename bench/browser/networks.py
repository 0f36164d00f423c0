#!/usr/bin/env python3
"""networks.py FOLDER: writes the networks of the comparison with their initial weights.

NAME.onnx is the network, NAME.json its weights by name for tf.js, NAME-step.onnx the training step
that onnxsim writes for onnxruntime-web, with NAME-step.json: its state and the name of its loss.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH, CLASSES, SIDE = 64, 10, 28


def weights_of(shapes):
    """Normal numbers by He's deviation; vectors are zeros."""
    random = np.random.default_rng(1)
    made = {}
    for name, shape in shapes.items():
        fan_in = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
        values = random.standard_normal(shape) * np.sqrt(2 / fan_in)
        made[name] = (values if len(shape) > 1 else np.zeros(shape)).astype(np.float32)
    return made


def mlp():
    nodes = [
        helper.make_node("Flatten", ["image"], ["rows"]),
        helper.make_node("Gemm", ["rows", "w1", "b1"], ["h1"]),
        helper.make_node("Relu", ["h1"], ["a1"]),
        helper.make_node("Gemm", ["a1", "w2", "b2"], ["logits"]),
    ]
    return nodes, {"w1": (784, 128), "b1": (128,), "w2": (128, CLASSES), "b2": (CLASSES,)}


def cnn():
    nodes, last = [], "image"
    for i in (1, 2):
        nodes += [
            helper.make_node("Conv", [last, f"k{i}", f"c{i}"], [f"y{i}"], kernel_shape=[3, 3],
                             pads=[1, 1, 1, 1]),
            helper.make_node("Relu", [f"y{i}"], [f"r{i}"]),
            helper.make_node("MaxPool", [f"r{i}"], [f"p{i}"], kernel_shape=[2, 2], strides=[2, 2]),
        ]
        last = f"p{i}"
    nodes += [
        helper.make_node("Flatten", [last], ["rows"]),
        helper.make_node("Gemm", ["rows", "w", "b"], ["logits"]),
    ]
    return nodes, {"k1": (16, 1, 3, 3), "c1": (16,), "k2": (32, 16, 3, 3), "c2": (32,),
                   "w": (32 * 49, CLASSES), "b": (CLASSES,)}


def model_of(nodes, inputs, output, constants):
    graph = helper.make_graph(nodes, "network", inputs, [output],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def floats(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def write_step(folder, name, nodes, weights):
    """The whole training step, by onnxsim, with the loss as it differentiates it."""
    import onnxsim

    # onnxsim has no rule for Flatten.
    nodes = [node if node.op_type != "Flatten" else helper.make_node(
        "Reshape", [node.input[0], "flat"], node.output) for node in nodes]
    loss = [
        helper.make_node("Softmax", ["logits"], ["chances"], axis=1),
        helper.make_node("Log", ["chances"], ["logs"]),
        helper.make_node("Mul", ["logs", "targets"], ["picked"]),
        helper.make_node("ReduceSum", ["picked"], ["sum"], keepdims=0),
        helper.make_node("Div", ["sum", "minus_batch"], ["loss"]),
    ]
    constants = {**weights, "flat": np.array([BATCH, -1], np.int64),
                 "minus_batch": np.array(-BATCH, np.float32)}
    model = model_of(nodes + loss, [floats("image", BATCH, 1, SIDE, SIDE),
                                    floats("targets", BATCH, CLASSES)], floats("loss"), constants)
    loop = onnxsim.compile_training_loop(model, "loss", list(weights), optimizer="sgd_momentum")
    step = loop.step_graph
    onnx.save(step.model, folder / f"{name}-step.onnx")
    initial = {k: {"dims": list(v.shape), "data": v.ravel().tolist()}
               for k, v in loop.initial_state.items()}
    (folder / f"{name}-step.json").write_text(
        json.dumps({"state": step.state, "loss": step.loss_name, "initial": initial}))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (nodes, shapes) in {"mlp": mlp(), "cnn": cnn()}.items():
        weights = weights_of(shapes)
        model = model_of(nodes, [floats("image", "N", 1, SIDE, SIDE)],
                         floats("logits", "N", CLASSES), weights)
        onnx.save(model, folder / f"{name}.onnx")
        (folder / f"{name}.json").write_text(json.dumps(
            {k: {"dims": list(v.shape), "data": v.ravel().tolist()} for k, v in weights.items()}))
        write_step(folder, name, nodes, weights)


main()
