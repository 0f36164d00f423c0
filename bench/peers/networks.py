"""The workloads for frameworks of functions, written once against the operations of each.

`ops` has: matmul, conv, max_pool, relu, relu6, gelu, tanh, sigmoid, rsqrt, softmax, mean,
reshape, transpose, gather, split, scan, zeros. Images are in NHWC, weights of convolutions in
HWIO (a depthwise one is [height, width, 1, channels]), since that is what XLA prefers on a CPU.
"""

import math

import numpy

from workloads import in_training_mode, is_trained

STAGES = [(1, 1, 1), (6, 2, 2), (6, 3, 2), (6, 4, 2), (6, 3, 1), (6, 3, 2), (6, 1, 1)]


def layout(name, value, values):
    """The array as the networks below read it."""
    if value.ndim == 4:
        return numpy.ascontiguousarray(value.transpose(2, 3, 1, 0))
    if name == "fc.weight" and "conv2.weight" in values:  # LeNet: rows of channels last
        rows, columns = value.shape
        channels = values["conv2.weight"].shape[0]
        side = int(round((columns // channels) ** 0.5))
        by_place = value.reshape(rows, channels, side, side).transpose(0, 2, 3, 1)
        return numpy.ascontiguousarray(by_place.reshape(rows, columns))
    return value


def parameters(workload, values):
    """Two dictionaries: what is trained, and the rest; statistics of normalizations last."""
    trained, fixed, statistics = {}, {}, {}
    for name, value in values.items():
        if value.dtype != numpy.float32 or value.ndim == 0 or name == "causal":
            continue
        if ".running_" in name:
            statistics[name] = value
        else:
            kind = trained if is_trained(workload, name) else fixed
            kind[name] = layout(name, value, values)
    return trained, fixed, statistics


def input_layout(x):
    return numpy.ascontiguousarray(x.transpose(0, 2, 3, 1)) if x.ndim == 4 else x


class Network:
    """One forward pass; `statistics` holds the running ones after it."""

    def __init__(self, ops, values, statistics, training):
        self.ops, self.values, self.training = ops, values, training
        self.statistics = dict(statistics)

    def get(self, name):
        return self.values.get(name)

    def linear(self, x, name):
        weight = self.ops.transpose(self.get(name + ".weight"), (1, 0))
        return self.ops.matmul(x, weight) + self.get(name + ".bias")

    def project(self, x, name):
        y = self.ops.matmul(x, self.get(name + ".weight")) + self.get(name + ".bias")
        down = self.get(name + ".lora_a")
        if down is None:
            return y
        return y + self.ops.matmul(self.ops.matmul(x, down), self.get(name + ".lora_b"))

    def conv(self, x, name, stride=1):
        bias = self.get(name + ".bias")
        y = self.ops.conv(x, self.get(name + ".weight"), stride)
        return y if bias is None else y + bias

    def batch_norm(self, x, name):
        mean_name, variance_name = name + ".running_mean", name + ".running_var"
        mean, variance = self.statistics[mean_name], self.statistics[variance_name]
        if self.training:
            old_mean, old_variance = mean, variance
            mean = self.ops.mean(x, (0, 1, 2), False)
            variance = self.ops.mean((x - mean) * (x - mean), (0, 1, 2), False)
            self.statistics[mean_name] = 0.9 * old_mean + 0.1 * mean
            self.statistics[variance_name] = 0.9 * old_variance + 0.1 * variance
        scale = self.ops.rsqrt(variance + 1e-5) * self.get(name + ".weight")
        return (x - mean) * scale + self.get(name + ".bias")

    def layer_norm(self, x, name):
        centred = x - self.ops.mean(x, (2,), True)
        scale = self.ops.rsqrt(self.ops.mean(centred * centred, (2,), True) + 1e-5)
        return centred * scale * self.get(name + ".weight") + self.get(name + ".bias")

    def conv_norm(self, x, name, stride=1):
        return self.batch_norm(self.conv(x, name + ".conv", stride), name + ".norm")

    def attention(self, query, key, value, heads, causal):
        """Each [N, T, width], as the result."""
        batch, length, width = query.shape
        size = width // heads

        def by_head(y, order):
            return self.ops.transpose(self.ops.reshape(y, (batch, length, heads, size)), order)

        scores = self.ops.matmul(by_head(query, (0, 2, 1, 3)) * size**-0.5,
                                 by_head(key, (0, 2, 3, 1)))
        if causal:
            scores = scores + numpy.triu(numpy.full((length, length), -1e9, numpy.float32), 1)
        mixed = self.ops.matmul(self.ops.softmax(scores), by_head(value, (0, 2, 1, 3)))
        return self.ops.reshape(self.ops.transpose(mixed, (0, 2, 1, 3)), (batch, length, width))


def mlp(net, x):
    x = net.ops.relu(net.linear(x, "fc1"))
    return net.linear(net.ops.relu(net.linear(x, "fc2")), "fc3")


def lenet(net, x):
    x = net.ops.max_pool(net.ops.relu(net.conv(x, "conv1")), 2)
    x = net.ops.max_pool(net.ops.relu(net.conv(x, "conv2")), 3)
    return net.linear(net.ops.reshape(x, (x.shape[0], -1)), "fc")


def inverted_residual(net, x, name, stride, expansion):
    y = x
    if expansion != 1:
        y = net.ops.relu6(net.conv_norm(y, name + ".expand"))
    y = net.ops.relu6(net.conv_norm(y, name + ".depthwise", stride))
    y = net.conv_norm(y, name + ".project")
    return x + y if x.shape == y.shape else y


def mobilenet_v2(net, x):
    x = net.ops.relu6(net.conv_norm(x, "stem", 2))
    number = 0
    for expansion, repeats, stride in STAGES:
        for i in range(repeats):
            x = inverted_residual(net, x, f"block{number}", stride if i == 0 else 1, expansion)
            number += 1
    x = net.ops.relu6(net.conv_norm(x, "head"))
    return net.linear(net.ops.mean(x, (1, 2), False), "classifier")


def resnet18(net, x):
    x = net.ops.relu(net.conv_norm(x, "stem"))
    for number in range(8):
        name = f"block{number}"
        stride = 2 if net.get(name + ".shortcut.conv.weight") is not None else 1
        y = net.ops.relu(net.conv_norm(x, name + ".first", stride))
        y = net.conv_norm(y, name + ".second")
        if stride == 2:
            x = net.conv_norm(x, name + ".shortcut", 2)
        x = net.ops.relu(y + x)
    return net.linear(net.ops.mean(x, (1, 2), False), "fc")


def transformer(net, x):
    for number in range(4):
        name = f"layer{number}"
        parts = [net.project(x, f"{name}.attention.{part}") for part in ("query", "key", "value")]
        mixed = net.project(net.attention(*parts, 4, False), name + ".attention.out")
        x = net.layer_norm(x + mixed, name + ".norm1")
        y = net.project(net.ops.relu(net.project(x, name + ".up")), name + ".down")
        x = net.layer_norm(x + y, name + ".norm2")
    return net.linear(net.ops.mean(x, (1,), False), "fc")


def lstm_layer(net, x, name):
    """x [T, N, in] -> [T, N, size]; gates in the order i o f c."""
    ops = net.ops
    recurrent = ops.transpose(ops.reshape(net.get(name + ".recurrent"), (512, 128)), (1, 0))
    weight = ops.transpose(ops.reshape(net.get(name + ".weight"), (512, -1)), (1, 0))
    biases = ops.split(ops.reshape(net.get(name + ".bias"), (1024,)), 2)
    given = ops.matmul(x, weight) + biases[0] + biases[1]

    def cell(state, one):
        hidden, memory = state
        i, o, f, c = ops.split(one + ops.matmul(hidden, recurrent), 4)
        memory = ops.sigmoid(f) * memory + ops.sigmoid(i) * ops.tanh(c)
        return ops.sigmoid(o) * ops.tanh(memory), memory

    return ops.scan(cell, (ops.zeros((x.shape[1], 128)), ops.zeros((x.shape[1], 128))), given)


def lstm(net, x):
    x = lstm_layer(net, lstm_layer(net, x, "lstm1"), "lstm2")
    return net.linear(x[-1], "fc")


def gpt2(net, x):
    x = net.ops.gather(net.get("words"), x) + net.get("places")
    for number in range(12):
        name = f"block{number}"
        joined = net.project(net.layer_norm(x, name + ".norm1"), name + ".attention.qkv")
        mixed = net.attention(*net.ops.split(joined, 3), 12, True)
        x = x + net.project(mixed, name + ".attention.out")
        y = net.project(net.layer_norm(x, name + ".norm2"), name + ".up")
        x = x + net.project(net.ops.gelu(y), name + ".down")
    words = net.ops.transpose(net.get("words"), (1, 0))
    scores = net.ops.matmul(net.layer_norm(x, "norm"), words)
    return net.ops.reshape(scores, (-1, scores.shape[-1]))


FORWARD = {"W1": mlp, "W2": mlp, "W3": lenet, "W4": mobilenet_v2, "W5": mobilenet_v2,
           "W6": resnet18, "W7": transformer, "W8": lstm, "W9": mlp, "L1": gpt2, "L2": gpt2}


def forward(workload, ops, values, statistics, x):
    """Scores, and the running statistics afterwards."""
    net = Network(ops, values, statistics, in_training_mode(workload))
    scores = FORWARD[workload](net, x)
    return scores, net.statistics


def initial_slots(kind, trained, zeros_like):
    """What the optimizer remembers of each parameter."""
    count = {"sgd": 0, "momentum": 1}.get(kind, 2)
    return {name: tuple(zeros_like(value) for _ in range(count))
            for name, value in trained.items()}


def updated(kind, rate, value, gradient, slots, step, functions):
    """A parameter and its slots after an update; step counts from 1 and is float32.

    functions: has sqrt and expm1.
    """
    if kind == "sgd":
        return value - rate * gradient, slots
    if kind == "momentum":
        velocity = 0.9 * slots[0] + gradient
        return value - rate * velocity, (velocity,)
    mean = 0.9 * slots[0] + 0.1 * gradient
    squares = 0.999 * slots[1] + 0.001 * gradient * gradient
    mean_part, squares_part = (-functions.expm1(math.log(beta) * step) for beta in (0.9, 0.999))
    root = functions.sqrt(squares / squares_part) + 1e-8
    return value - rate / mean_part * mean / root, (mean, squares)
