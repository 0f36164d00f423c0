"""Steps in MNN, which has layers and optimizers of its own; images stay in NCHW."""

import MNN
import numpy

from peers import networks
from workloads import OPTIMIZERS, in_training_mode, is_trained

F, nn = MNN.expr, MNN.nn
CANNOT = {"W7": "its layers have neither attention nor layer normalization",
          "W8": "its layers have no LSTM",
          "L1": "its layers have neither attention nor layer normalization",
          "L2": "its layers have neither attention nor layer normalization"}


class Ops:
    relu, relu6 = staticmethod(F.relu), staticmethod(F.relu6)

    @staticmethod
    def max_pool(x, size):
        return F.max_pool(x, [size, size], [size, size])

    @staticmethod
    def reshape(x, shape):
        # Convolutions leave their results in a format with blocks of channels.
        return F.reshape(F.convert(x, F.NCHW), list(shape))

    @staticmethod
    def mean(x, axes, keep):
        return F.reduce_mean(F.convert(x, F.NCHW), [2, 3], keep)


class Net(nn.Module):
    """Makes each layer when the first forward pass comes to it."""

    def __init__(self, workload, values):
        super().__init__()
        self.forward_of, self.arrays, self.ops = networks.FORWARD[workload], values, Ops()

    def get(self, name):
        return self.arrays.get(name)

    def layer(self, name, make, arrays):
        key = name.replace(".", "_")
        made = self.__dict__.get(key)
        if made is None:
            made = make()
            parameters = [F.const(numpy.ascontiguousarray(array), one.shape, F.NCHW)
                          for array, one in zip(arrays, made.parameters)]
            for one in parameters[:2]:
                one.fix_as_trainable()
            made.load_parameters(parameters)
            setattr(self, key, made)
        return made

    def linear(self, x, name):
        weight, bias = self.get(name + ".weight"), self.get(name + ".bias")
        layer = self.layer(name, lambda: nn.linear(weight.shape[1], weight.shape[0]),
                           [bias, weight])
        return layer.forward(x)

    def conv(self, x, name, stride=1):
        weight, bias = self.get(name + ".weight"), self.get(name + ".bias")
        size, depthwise = weight.shape[2], ".depthwise." in name
        inputs = weight.shape[0] if depthwise else weight.shape[1]
        layer = self.layer(name, lambda: nn.conv(
            inputs, weight.shape[0], [size, size], stride=[stride, stride],
            padding=[size // 2, size // 2], padding_mode=F.CAFFE, depthwise=depthwise,
            bias=bias is not None),
            [weight] if bias is None else [bias, weight])
        return layer.forward(x)

    def conv_norm(self, x, name, stride=1):
        x, norm = self.conv(x, name + ".conv", stride), name + ".norm"
        arrays = [self.get(f"{norm}.{part}")
                  for part in ("weight", "bias", "running_mean", "running_var")]
        layer = self.layer(norm, lambda: nn.batch_norm(arrays[0].size, 4, 0.9, 1e-5), arrays)
        return layer.forward(x)

    def forward(self, x):
        return self.forward_of(self, x)


def optimizer_of(module, kind, rate):
    if kind == "adam":
        return MNN.optim.ADAM(module, rate, 0.9, 0.999, 0.0, 1e-8)
    return MNN.optim.SGD(module, rate, 0.9 if kind == "momentum" else 0.0, 0.0)


def make_step(workload, values, x, label, options):
    if options.precision != "float32":
        raise ValueError("it trains in float32 only")
    if workload in CANNOT:
        raise ValueError(CANNOT[workload])
    F.lazy_eval(True)
    F.set_thread_number(options.threads)
    net = Net(workload, values)
    net.train(in_training_mode(workload))
    shape = list(x.shape)

    def placed(array, shape, dtype):
        var = F.placeholder(list(shape), F.NCHW, dtype)
        var.write(array)
        return var

    x = placed(x, shape, F.float)
    classes = net.forward(x).shape[1]
    net.train(in_training_mode(workload))
    trained = net if all(is_trained(workload, name) for name in values) else net.classifier
    optimizer = optimizer_of(trained, *OPTIMIZERS[workload])
    target = F.one_hot(placed(label.astype(numpy.int32), label.shape, F.int), classes, 1.0, 0.0)

    def step():
        loss = nn.loss.cross_entropy(F.softmax(net.forward(x), 1), target)
        value = float(loss.read())
        optimizer.step(loss)
        return value

    return step
