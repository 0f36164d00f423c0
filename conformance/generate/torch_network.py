# SPDX-License-Identifier: Apache-2.0
"""Layers, losses and optimizers in PyTorch."""

import torch
import torch.nn.functional as F


def padded(x, pads, value=0.0):
    """Pads the spatial axes; pads are all begins, then all ends."""
    half = len(pads) // 2
    order = [one for i in reversed(range(half)) for one in (pads[i], pads[half + i])]
    return F.pad(x, order, value=value)


def conv(a, x, w, b=None):
    rank = x.dim() - 2
    x = padded(x, a("pads", [0] * 2 * rank))
    function = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    return function(
        x,
        w,
        b,
        stride=a("strides", [1] * rank),
        dilation=a("dilations", [1] * rank),
        groups=a("group", 1),
    )


def conv_transpose(a, x, w, b=None):
    pads = a("pads", [0, 0, 0, 0])
    return F.conv_transpose2d(
        x,
        w,
        b,
        stride=a("strides", [1, 1]),
        padding=pads[:2],
        output_padding=a("output_padding", [0, 0]),
        groups=a("group", 1),
        dilation=a("dilations", [1, 1]),
    )


def max_pool(a, x):
    x = padded(x, a("pads", [0, 0, 0, 0]), float("-inf"))
    return F.max_pool2d(x, a("kernel_shape"), a("strides", [1, 1]))


def average_pool(a, x):
    kernel, strides, pads = a("kernel_shape"), a("strides", [1, 1]), a("pads", [0, 0, 0, 0])
    total = F.avg_pool2d(padded(x, pads), kernel, strides)
    if a("count_include_pad", 0):
        return total
    return total / F.avg_pool2d(padded(torch.ones_like(x), pads), kernel, strides)


def channels(value, x):
    return value.reshape([1, -1] + [1] * (x.dim() - 2))


def normalized(x, axes, epsilon):
    mean = x.mean(axes, keepdim=True)
    return (x - mean) / (x.var(axes, correction=0, keepdim=True) + epsilon).sqrt()


def batch_normalization(a, x, scale, bias, mean, variance):
    epsilon, axes = a("epsilon", 1e-5), [i for i in range(x.dim()) if i != 1]
    if not a("training_mode", 0):
        y = (x - channels(mean, x)) / (channels(variance, x) + epsilon).sqrt()
        return y * channels(scale, x) + channels(bias, x)
    momentum = a("momentum", 0.9)
    y = normalized(x, axes, epsilon) * channels(scale, x) + channels(bias, x)
    return (
        y,
        mean * momentum + x.mean(axes) * (1 - momentum),
        variance * momentum + x.var(axes, correction=0) * (1 - momentum),
    )


def layer_normalization(a, x, scale, bias=None):
    axes = list(range(a("axis", -1) % x.dim(), x.dim()))
    y = normalized(x, axes, a("epsilon", 1e-5)) * scale
    return y if bias is None else y + bias


def instance_normalization(a, x, scale, bias):
    y = normalized(x, list(range(2, x.dim())), a("epsilon", 1e-5))
    return y * channels(scale, x) + channels(bias, x)


def lrn(a, x):
    size = a("size")
    squares = F.pad((x * x).movedim(1, -1), ((size - 1) // 2, size // 2))
    total = squares.unfold(-1, size, 1).sum(-1).movedim(-1, 1)
    return x / (a("bias", 1.0) + a("alpha", 1e-4) / size * total) ** a("beta", 0.75)


def cross_entropy(a, scores, labels, weights=None):
    result = F.nll_loss(
        scores.log_softmax(1),
        labels.to(torch.int64),
        weights,
        ignore_index=a("ignore_index", -100),
        reduction=a("reduction", "mean"),
    )
    return result, scores.log_softmax(1)


def negative_log_likelihood(a, scores, labels, weights=None):
    return F.nll_loss(
        scores,
        labels.to(torch.int64),
        weights,
        ignore_index=a("ignore_index", -100),
        reduction=a("reduction", "mean"),
    )


def with_bias(x, w, b, gates, size):
    """Input part of all gates and the recurrent bias."""
    zero = torch.zeros(gates * size, dtype=x.dtype)
    wb, rb = (zero, zero) if b is None else b[0].split(gates * size)
    return x @ w[0].T + wb, rb


def start(x, size, initial):
    return torch.zeros(x.shape[1], size, dtype=x.dtype) if initial is None else initial[0]


def rnn(a, x, w, r, b=None, _=None, initial=None):
    size = a("hidden_size")
    parts, bias = with_bias(x, w, b, 1, size)
    h, every = start(x, size, initial), []
    for part in parts:
        h = (part + h @ r[0].T + bias).tanh()
        every.append(h)
    return torch.stack(every).unsqueeze(1), h.unsqueeze(0)


def gru(a, x, w, r, b=None, _=None, initial=None):
    size = a("hidden_size")
    parts, bias = with_bias(x, w, b, 3, size)
    h, every = start(x, size, initial), []
    rz, rr, rh = r[0].split(size)
    bz, br, bh = bias.split(size)
    for part in parts:
        xz, xr, xh = part.split(size, 1)
        z, reset = (xz + h @ rz.T + bz).sigmoid(), (xr + h @ rr.T + br).sigmoid()
        inner = reset * (h @ rh.T + bh) if a("linear_before_reset", 0) else (reset * h) @ rh.T + bh
        h = (1 - z) * (xh + inner).tanh() + z * h
        every.append(h)
    return torch.stack(every).unsqueeze(1), h.unsqueeze(0)


def lstm(a, x, w, r, b=None, _=None, initial=None, cell=None):
    size = a("hidden_size")
    parts, bias = with_bias(x, w, b, 4, size)
    h, c, every = start(x, size, initial), start(x, size, cell), []
    for part in parts:
        i, o, f, g = (part + h @ r[0].T + bias).split(size, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        every.append(h)
    return torch.stack(every).unsqueeze(1), h.unsqueeze(0), c.unsqueeze(0)


def grouped(inputs, groups):
    """R, T and, for each tensor, what belongs to it."""
    rest, count = inputs[2:], (len(inputs) - 2) // groups
    return inputs[0], inputs[1], [rest[i::count] for i in range(count)]


def in_order(results):
    return [one for group in zip(*results) for one in group]


def adam(a, *inputs):
    rate, t, tensors = grouped(inputs, 4)
    alpha, beta = a("alpha", ROUNDED_9), a("beta", ROUNDED_999)
    if t > 0:
        rate = rate * (1 - beta ** t.double()).sqrt() / (1 - alpha ** t.double())
    results = []
    for x, g, v, h in tensors:
        g = g + a("norm_coefficient", 0.0) * x
        v, h = torch.lerp(g, v, alpha), torch.lerp(g.square(), h, beta)
        x = x - rate * v / (h.sqrt() + a("epsilon", ROUNDED_EPSILON))
        results.append((x * (1 - a("norm_coefficient_post", 0.0)), v, h))
    return in_order(results)


def adagrad(a, *inputs):
    rate, t, tensors = grouped(inputs, 3)
    rate, results = rate / (1 + t * a("decay_factor", 0.0)), []
    for x, g, h in tensors:
        g = g + a("norm_coefficient", 0.0) * x
        h = h + g.square()
        results.append((x - rate * g / (h.sqrt() + a("epsilon", ROUNDED_EPSILON)), h))
    return in_order(results)


def momentum(a, *inputs):
    rate, t, tensors = grouped(inputs, 3)
    alpha, beta, results = a("alpha"), a("beta") if t > 0 else 1.0, []
    for x, g, v in tensors:
        g = g + a("norm_coefficient") * x
        v = alpha * v + beta * g
        step = g + alpha * v if a("mode") == "nesterov" else v
        results.append((x - rate * step, v))
    return in_order(results)


# Defaults are float32 numbers.
ROUNDED_9, ROUNDED_999, ROUNDED_EPSILON = torch.tensor([0.9, 0.999, 1e-6]).double().tolist()

OPERATORS = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": lambda _, x: x.mean(list(range(2, x.dim())), keepdim=True),
    "GlobalMaxPool": lambda _, x: x.amax(list(range(2, x.dim())), keepdim=True),
    "BatchNormalization": batch_normalization,
    "LayerNormalization": layer_normalization,
    "InstanceNormalization": instance_normalization,
    "LRN": lrn,
    "Dropout": lambda _, x, *rest: x,
    "SoftmaxCrossEntropyLoss": cross_entropy,
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "RNN": rnn,
    "GRU": gru,
    "LSTM": lstm,
    "Adam": adam,
    "Adagrad": adagrad,
    "Momentum": momentum,
}
