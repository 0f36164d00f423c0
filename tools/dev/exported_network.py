"""What the files of exported networks share."""
import collections

from torch import nn

CLASSES = 5

# Maker, inputs, loss, optimizer, learning rate.
Network = collections.namedtuple("Network", "make inputs loss optimizer rate", defaults=[0.01])


class Output(nn.Module):
    """A network whose output is what `pick` takes from the result for the given inputs."""

    def __init__(self, network, pick, names=None):
        super().__init__()
        self.network, self.pick, self.names = network, pick, names

    def forward(self, *inputs):
        if self.names is None:
            return self.pick(self.network(*inputs))
        return self.pick(self.network(**dict(zip(self.names, inputs))))


def classes_second(scores):
    """From [N, T, C] to [N, C, T], as losses of PyTorch and ONNX expect it."""
    return scores.transpose(1, 2)
