"""The networks of outside_networks.py in PyTorch. None of them draws random numbers in a step."""

import torch
import torch.nn.functional as F
import torchvision
from torch import nn


class Gpt(nn.Module):
    """Causal language model over characters; scores of every position are a row."""

    def __init__(self, words=96, length=128, width=256, layers=4):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, x):
        h = self.tokens(x) + self.places
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h)).flatten(0, 1)


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, h):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(h)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + self.out(y.transpose(1, 2).flatten(2))
        return h + self.narrow(F.gelu(self.wide(self.norm2(h))))


class Gru(nn.Module):
    """The next character of a text."""

    def __init__(self, words=96, width=128):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.layers = nn.GRU(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.layers(self.tokens(x))[0]).flatten(0, 1)


class UNet(nn.Module):
    def __init__(self, widths=(16, 32, 64, 128), classes=4):
        super().__init__()
        self.down = nn.ModuleList(twice(a, b) for a, b in zip((3, *widths), widths))
        pairs = list(zip(widths[:0:-1], widths[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.joined = nn.ModuleList(twice(2 * b, b) for _, b in pairs)
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for number, layer in enumerate(self.down):
            x = layer(x if number == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for up, joined, skipped in zip(self.up, self.joined, kept[-2::-1]):
            x = joined(torch.cat([skipped, up(x)], 1))
        return self.head(x)


def twice(inputs, outputs):
    layers = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False),
                   nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


def sound(width=96, classes=10):
    """Separable convolutions along time, as for keywords in recordings."""
    layers = [nn.Conv1d(40, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU()]
    for _ in range(6):
        layers += [nn.Conv1d(width, width, 9, padding=4, groups=width), nn.Conv1d(width, width, 1),
                   nn.BatchNorm1d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, classes))


def vit():
    return torchvision.models.VisionTransformer(64, 8, 6, 3, 192, 768, num_classes=10)


def table(width=256):
    return nn.Sequential(nn.Linear(30, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, 5))


def of_torchvision(name):
    return lambda: torchvision.models.get_model(name, weights=None, num_classes=10)


def image(batch, size):
    return lambda: torch.randn(batch, 3, size, size)


def words(batch, length):
    return lambda: torch.randint(96, (batch, length))


MAKERS = {
    "gpt": (Gpt, words(8, 128), 96),
    "vit": (vit, image(8, 64), 10),
    "unet": (UNet, image(4, 96), 4),
    "gru": (Gru, words(16, 100), 96),
    "sound": (sound, lambda: torch.randn(16, 40, 100), 10),
    "table": (table, lambda: torch.randn(32, 30), 5),
    "mobilenet_v3_small": (of_torchvision("mobilenet_v3_small"), image(8, 224), 10),
    "efficientnet_b0": (of_torchvision("efficientnet_b0"), image(4, 224), 10),
    "resnet50": (of_torchvision("resnet50"), image(4, 112), 10),
    "swin_t": (of_torchvision("swin_t"), image(2, 224), 10),
    "convnext_tiny": (of_torchvision("convnext_tiny"), image(4, 112), 10),
    "densenet121": (of_torchvision("densenet121"), image(4, 112), 10),
    "regnet_y_400mf": (of_torchvision("regnet_y_400mf"), image(8, 112), 10),
}


def make(name):
    """Network, input and labels, the same ones in every process."""
    torch.manual_seed(1)
    maker, make_x, classes = MAKERS[name]
    network = maker()
    for module in network.modules():
        if isinstance(module, (nn.Dropout, torchvision.ops.StochasticDepth)):
            module.p = 0.0
    x = make_x()
    with torch.no_grad():
        shape = network.eval()(x).shape
    return network.train(), x, torch.randint(classes, (shape[0], *shape[2:]))
