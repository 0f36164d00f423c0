# SPDX-License-Identifier: Apache-2.0
"""Gradient through layers, losses and recurrent operators, one at a time."""

import numpy as np

from generate.areas.gradient_of_operators import apart, operator
from generate.build import spread

FOLDER = "gradient-of"


def layers():
    yield operator(
        "conv",
        "y = Conv<kernel_shape = [2, 2]>(x, w, b)",
        x=spread(1, 2, 3, 3),
        w=spread(2, 2, 2, 2),
        b=spread(2),
    )
    yield operator(
        "conv-strided",
        "y = Conv<kernel_shape = [2, 2], strides = [2, 1], pads = [1, 0, 0, 1]>(x, w)",
        x=spread(1, 1, 3, 3),
        w=spread(1, 1, 2, 2),
    )
    yield operator(
        "conv-grouped",
        "y = Conv<kernel_shape = [2], group = 2, dilations = [2]>(x, w)",
        x=spread(1, 2, 4),
        w=spread(2, 1, 2),
    )
    yield operator(
        "convtranspose",
        "y = ConvTranspose<kernel_shape = [2, 2], strides = [2, 2]>(x, w)",
        x=spread(1, 1, 2, 2),
        w=spread(1, 2, 2, 2),
    )


def pools():
    yield operator(
        "maxpool", "y = MaxPool<kernel_shape = [2, 2], strides = [1, 1]>(x)", x=apart(1, 1, 3, 3)
    )
    yield operator(
        "averagepool",
        "y = AveragePool<kernel_shape = [2, 2], pads = [1, 1, 0, 0]>(x)",
        x=spread(1, 1, 2, 2),
    )
    yield operator("globalaveragepool", "y = GlobalAveragePool(x)", x=spread(1, 2, 2, 2))


def normalizations():
    yield operator(
        "batchnormalization-training",
        "y, m2, v2 = BatchNormalization<training_mode = 1>(x, s, b, m, v)",
        x=spread(3, 2),
        s=spread(2),
        b=spread(2, salt=1),
        m=np.zeros(2, np.float64).astype(np.float32),
        v=np.ones(2, np.float32),
    )
    yield operator(
        "layernormalization",
        "y = LayerNormalization(x, s, b)",
        x=spread(2, 4),
        s=spread(4),
        b=spread(4, salt=1),
    )
    yield operator(
        "instancenormalization",
        "y = InstanceNormalization(x, s, b)",
        x=apart(1, 2, 3),
        s=spread(2),
        b=spread(2, salt=1),
    )
    # onnx.reference sums over as many channels as there are rows in the batch.
    yield operator("lrn", "y = LRN<size = 3, alpha = 0.5>(x)", x=spread(3, 3, 1, 1))


def losses():
    yield operator("dropout-in-inference", "y = Dropout(x)", x=spread(4))
    labels = np.array([2, 0])
    yield operator(
        "softmaxcrossentropyloss", "y = SoftmaxCrossEntropyLoss(x, t)", x=spread(2, 3), t=labels
    )
    yield operator(
        "softmaxcrossentropyloss-sum",
        'y = SoftmaxCrossEntropyLoss<reduction = "sum", ignore_index = 0>(x, t)',
        x=spread(2, 3),
        t=labels,
    )
    yield operator(
        "negativeloglikelihoodloss",
        "l = LogSoftmax<axis = 1>(x) y = NegativeLogLikelihoodLoss(l, t)",
        x=spread(2, 3),
        t=labels,
    )


def recurrent():
    shape = dict(x=spread(3, 1, 2), r=spread(1, 2, 2, salt=1), b=spread(1, 4, salt=2))
    yield operator("rnn", "y, h = RNN<hidden_size = 2>(x, w, r, b)", w=spread(1, 2, 2), **shape)
    yield operator(
        "gru",
        "y, h = GRU<hidden_size = 1>(x, w, r, b)",
        x=spread(3, 1, 2),
        w=spread(1, 3, 2),
        r=spread(1, 3, 1),
        b=spread(1, 6),
    )
    yield operator(
        "lstm",
        "y, h, k = LSTM<hidden_size = 1>(x, w, r, b)",
        x=spread(3, 1, 2),
        w=spread(1, 4, 2),
        r=spread(1, 4, 1),
        b=spread(1, 8),
    )


def cases():
    for group in (layers, pools, normalizations, losses, recurrent):
        yield from group()
