"""Steps in TensorFlow: one function compiled by XLA."""

import tensorflow as tf

from peers import networks
from workloads import OPTIMIZERS


class Ops:
    """Products in bfloat16 where asked for; everything else in float32."""

    relu, relu6 = staticmethod(tf.nn.relu), staticmethod(tf.nn.relu6)
    tanh, sigmoid = staticmethod(tf.tanh), staticmethod(tf.sigmoid)
    softmax, rsqrt = staticmethod(tf.nn.softmax), staticmethod(tf.math.rsqrt)
    reshape, zeros = staticmethod(tf.reshape), staticmethod(tf.zeros)

    def __init__(self, bf16):
        self.dtype = tf.bfloat16 if bf16 else tf.float32

    def matmul(self, a, b):
        y = tf.matmul(*self.of_one_rank(tf.cast(a, self.dtype), tf.cast(b, self.dtype)))
        return tf.cast(tf.reshape(y, [*a.shape[:-1], b.shape[-1]]), tf.float32)

    @staticmethod
    def of_one_rank(a, b):
        """A product with a matrix is one of two matrices."""
        return (tf.reshape(a, [-1, a.shape[-1]]), b) if len(b.shape) == 2 else (a, b)

    def conv(self, x, weight, stride):
        pad = weight.shape[0] // 2
        channels, depth = x.shape[3], weight.shape[2]
        x, weight = tf.cast(x, self.dtype), tf.cast(weight, self.dtype)
        if depth == 1 and channels > 1:
            padded = tf.pad(x, [[0, 0], [pad, pad], [pad, pad], [0, 0]])
            y = tf.nn.depthwise_conv2d(padded, tf.transpose(weight, (0, 1, 3, 2)),
                                       [1, stride, stride, 1], "VALID")
        else:
            y = tf.nn.conv2d(x, weight, stride, [[0, 0], [pad, pad], [pad, pad], [0, 0]])
        return tf.cast(y, tf.float32)

    @staticmethod
    def max_pool(x, size):
        return tf.nn.max_pool2d(x, size, size, "VALID")

    @staticmethod
    def transpose(x, order):
        return tf.transpose(x, order)

    @staticmethod
    def mean(x, axes, keep):
        return tf.reduce_mean(x, axes, keep)

    @staticmethod
    def gelu(x):
        return tf.nn.gelu(x, approximate=True)

    @staticmethod
    def gather(table, rows):
        return tf.gather(table, rows)

    @staticmethod
    def split(x, count):
        return tf.split(x, count, -1)

    @staticmethod
    def scan(cell, state, values):
        return tf.scan(cell, values, state)[0]


def make_step(workload, values, x, label, options):
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    ops = Ops(options.precision == "bf16")
    kind, rate = OPTIMIZERS[workload]
    trained, fixed, statistics = (
        {name: tf.Variable(value) for name, value in part.items()}
        for part in networks.parameters(workload, values))
    slots = networks.initial_slots(kind, trained, lambda value: tf.Variable(tf.zeros_like(value)))
    count = tf.Variable(1.0)
    x, label = tf.constant(networks.input_layout(x)), tf.constant(label)

    @tf.function(jit_compile=True)
    def whole_step(x, label):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            read = {name: tf.convert_to_tensor(one) for name, one in {**fixed, **trained}.items()}
            tape.watch([read[name] for name in trained])
            scores, following = networks.forward(workload, ops, read, {
                name: tf.convert_to_tensor(one) for name, one in statistics.items()}, x)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=scores))
        gradients = tape.gradient(loss, [read[name] for name in trained])
        for name, gradient in zip(trained, gradients):
            memory = tuple(tf.convert_to_tensor(one) for one in slots[name])
            value, memory = networks.updated(kind, rate, read[name],
                                             tf.convert_to_tensor(gradient), memory,
                                             tf.convert_to_tensor(count), tf.math)
            trained[name].assign(value)
            for slot, new in zip(slots[name], memory):
                slot.assign(new)
        for name, one in statistics.items():
            one.assign(following[name])
        count.assign_add(1.0)
        return loss

    return lambda: float(whole_step(x, label))
