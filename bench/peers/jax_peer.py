"""Steps in JAX: one compiled function of all state, which is donated to it."""

import os

import jax
import jax.numpy as jnp
from jax import lax

from peers import networks
from workloads import OPTIMIZERS


class Ops:
    """Products in bfloat16 where asked for; everything else in float32."""

    relu, relu6 = staticmethod(jax.nn.relu), staticmethod(jax.nn.relu6)
    tanh, sigmoid = staticmethod(jnp.tanh), staticmethod(jax.nn.sigmoid)
    softmax, rsqrt = staticmethod(jax.nn.softmax), staticmethod(lax.rsqrt)
    reshape, transpose = staticmethod(jnp.reshape), staticmethod(jnp.transpose)
    zeros = staticmethod(jnp.zeros)

    def __init__(self, bf16):
        self.dtype = jnp.bfloat16 if bf16 else jnp.float32

    def matmul(self, a, b):
        y = jnp.matmul(a.astype(self.dtype), b.astype(self.dtype))
        return y.astype(jnp.float32)

    def conv(self, x, weight, stride):
        pad = weight.shape[0] // 2
        y = lax.conv_general_dilated(x.astype(self.dtype), weight.astype(self.dtype),
                                     (stride, stride), [(pad, pad), (pad, pad)],
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                     feature_group_count=x.shape[3] // weight.shape[2])
        return y.astype(jnp.float32)

    @staticmethod
    def max_pool(x, size):
        window = (1, size, size, 1)
        return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")

    @staticmethod
    def mean(x, axes, keep):
        return jnp.mean(x, axes, keepdims=keep)

    @staticmethod
    def gelu(x):
        return jax.nn.gelu(x, approximate=True)

    @staticmethod
    def gather(table, rows):
        return jnp.take(table, rows, axis=0, mode="clip")

    @staticmethod
    def split(x, count):
        return jnp.split(x, count, -1)

    @staticmethod
    def scan(cell, state, values):
        def both(state, one):
            state = cell(state, one)
            return state, state[0]
        return lax.scan(both, state, values)[1]


def make_step(workload, values, x, label, options):
    # The size of XLA's pool of threads is the number of processors that it may use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
    ops = Ops(options.precision == "bf16")
    kind, rate = OPTIMIZERS[workload]
    trained, fixed, statistics = networks.parameters(workload, values)

    def loss_of(trained, fixed, statistics, x, label):
        scores, statistics = networks.forward(workload, ops, {**fixed, **trained}, statistics, x)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), label[:, None], 1)
        return -jnp.mean(chosen), statistics

    def whole_step(state, fixed, x, label):
        trained, slots, statistics, count = state
        (loss, statistics), gradients = jax.value_and_grad(loss_of, has_aux=True)(
            trained, fixed, statistics, x, label)
        results = {name: networks.updated(kind, rate, trained[name], gradients[name], slots[name],
                                          count, jnp) for name in trained}
        trained = {name: result[0] for name, result in results.items()}
        slots = {name: result[1] for name, result in results.items()}
        return (trained, slots, statistics, count + 1), loss

    compiled = jax.jit(whole_step, donate_argnums=0)
    fixed, x, label = jax.device_put((fixed, networks.input_layout(x), label.astype("int32")))
    state = jax.device_put((trained, networks.initial_slots(kind, trained, jnp.zeros_like),
                            statistics, jnp.float32(1)))

    def step():
        nonlocal state
        state, loss = compiled(state, fixed, x, label)
        jax.block_until_ready(state)
        return float(loss)

    return step
