"""A MobileNetV2 (Sandler et al. 2018) for images of 32 x 32 with one channel: half the width, and
no stride before the second stage of blocks. Weights of zeros, which `ondine train --initialize`
draws."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

# Expansion, channels, repeats, stride.
STAGES = [(1, 8, 1, 1), (6, 12, 2, 2), (6, 16, 3, 2), (6, 32, 4, 2), (6, 48, 3, 1), (6, 80, 3, 2),
          (6, 160, 1, 1)]
STEM, LAST = 16, 320


class Builder:
    def __init__(self):
        self.nodes, self.initializers = [], []

    def node(self, op, inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def tensor(self, name, values):
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def conv_norm(self, x, name, channels, out, kernel=1, stride=1, groups=1):
        shape = (out, channels // groups, kernel, kernel)
        weight = self.tensor(f"{name}.conv.weight", numpy.zeros(shape, "float32"))
        x = self.node("Conv", [x, weight], group=groups, kernel_shape=[kernel] * 2,
                      strides=[stride] * 2, pads=[kernel // 2] * 4)
        parts = [self.tensor(f"{name}.norm.{part}", numpy.full(out, value, "float32"))
                 for part, value in (("weight", 1), ("bias", 0), ("running_mean", 0),
                                     ("running_var", 1))]
        return self.node("BatchNormalization", [x, *parts])

    def relu6(self, x):
        return self.node("Clip", [x, "zero", "six"])

    def block(self, x, name, channels, out, stride, expansion):
        hidden, y = channels * expansion, x
        if expansion > 1:
            y = self.relu6(self.conv_norm(y, f"{name}.expand", channels, hidden))
        y = self.relu6(self.conv_norm(y, f"{name}.depthwise", hidden, hidden, 3, stride, hidden))
        y = self.conv_norm(y, f"{name}.project", hidden, out)
        return self.node("Add", [x, y]) if stride == 1 and channels == out else y


def small_mobilenet(classes):
    build = Builder()
    build.tensor("zero", numpy.float32(0))
    build.tensor("six", numpy.float32(6))
    x = build.relu6(build.conv_norm("image", "stem", 1, STEM, 3))
    channels, count = STEM, 0
    for expansion, out, repeats, stride in STAGES:
        for repeat in range(repeats):
            x = build.block(x, f"block{count}", channels, out, stride if repeat == 0 else 1,
                            expansion)
            channels, count = out, count + 1
    x = build.relu6(build.conv_norm(x, "last", channels, LAST))
    x = build.node("Flatten", [build.node("GlobalAveragePool", [x])])
    build.nodes.append(helper.make_node(
        "Gemm", [x, build.tensor("classifier.weight", numpy.zeros((LAST, classes), "float32")),
                 build.tensor("classifier.bias", numpy.zeros(classes, "float32"))], ["logits"]))
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 32, 32])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", classes])
    graph = helper.make_graph(build.nodes, "small_mobilenet", [image], [logits],
                              build.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
