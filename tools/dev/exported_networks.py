"""Networks of check_exported.py. All but torchvision's take milliseconds for a step."""
import importlib

import torch
import torchvision
from torch import nn
from torchvision.models import convnext, densenet, efficientnet, mobilenetv2, resnet
from torchvision.models import segmentation
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.models.detection.backbone_utils import BackboneWithFPN

import torchvision_networks
from exported_network import CLASSES, Network

LIBRARIES = {"detection": "torchvision: segmentation and detection", "timm": "timm",
             "transformers": "transformers", "diffusers": "diffusers"}


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layers = kind(8, 12, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, CLASSES)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


def encoder(width):
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True, dropout=0.0)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 16)
        self.layers = encoder(16)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.head(self.layers(self.embed(x)).mean(1))


class Bert(nn.Module):
    """Embeddings of tokens, positions and segments, encoder, pooler."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(30, 16)
        self.places = nn.Embedding(8, 16)
        self.segments = nn.Embedding(2, 16)
        self.norm = nn.LayerNorm(16)
        self.layers = encoder(16)
        self.pooler = nn.Linear(16, 16)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x, segment):
        places = torch.arange(x.shape[1])
        h = self.norm(self.tokens(x) + self.places(places) + self.segments(segment))
        return self.head(torch.tanh(self.pooler(self.layers(h)[:, 0])))


class Gpt(nn.Module):
    """Causal attention written out, tied weights of embedding and head."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(30, 16)
        self.places = nn.Parameter(0.1 * torch.randn(8, 16))
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.wide = nn.Linear(16, 32)
        self.narrow = nn.Linear(32, 16)
        self.register_buffer("mask", torch.full((8, 8), float("-inf")).triu(1))

    def forward(self, x):
        h = self.tokens(x) + self.places
        q, k, v = (one.unflatten(-1, (2, 8)).transpose(1, 2)
                   for one in self.qkv(self.norm(h)).chunk(3, -1))
        weights = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5 + self.mask, -1)
        h = h + self.out((weights @ v).transpose(1, 2).flatten(2))
        h = h + self.narrow(nn.functional.gelu(self.wide(self.norm(h))))
        return (h @ self.tokens.weight.T).transpose(1, 2)


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs),
                         nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.deep, self.joined = block(3, 6), block(6, 12), block(12, 6)
        self.up = nn.ConvTranspose2d(12, 6, 2, 2)
        self.head = nn.Conv2d(6, CLASSES, 1)

    def forward(self, x):
        a = self.down(x)
        b = self.deep(nn.functional.max_pool2d(a, 2))
        return self.head(self.joined(torch.cat([a, self.up(b)], 1)))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(20, 16)
        self.mean, self.spread = nn.Linear(16, 4), nn.Linear(16, 4)
        self.decode = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 20))

    def forward(self, x, noise):
        h = torch.tanh(self.encode(x))
        return self.decode(self.mean(h) + noise * torch.exp(0.5 * self.spread(h)))


class Graph(nn.Module):
    """Two rounds of messages along a normalized adjacency."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 16)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x, edges):
        edges = edges / edges.sum(-1, keepdim=True)
        x = torch.relu(self.first(edges @ x))
        return self.head(torch.relu(self.second(edges @ x)).amax(1))


class Output(nn.Module):
    def __init__(self, network, name):
        super().__init__()
        self.network, self.name = network, name

    def forward(self, x):
        return self.network(x)[self.name]


def small_resnet():
    return resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1], CLASSES, width_per_group=64)


def small_segmentation():
    features = mobilenet().features
    backbone = IntermediateLayerGetter(features, {str(len(features) - 1): "out"})
    return Output(segmentation.FCN(backbone, segmentation.fcn.FCNHead(1280, CLASSES)), "out")


def small_detection():
    layers = {"layer1": "0", "layer2": "1"}
    return Output(BackboneWithFPN(small_resnet(), layers, [64, 128], 16), "0")


def mobilenet():
    return mobilenetv2.MobileNetV2(CLASSES, 0.25, [[1, 16, 1, 1], [6, 24, 2, 2]], dropout=0.0)


def small_efficientnet():
    settings = [efficientnet.MBConvConfig(1, 3, 1, 8, 8, 1),
                efficientnet.MBConvConfig(4, 5, 2, 8, 12, 2)]
    return efficientnet.EfficientNet(settings, 0.0, 0.0, CLASSES, last_channel=32)


def perceptron():
    return nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 16), nn.GELU(),
                         nn.Linear(16, CLASSES))


def convolutions():
    return nn.Sequential(block(3, 8), nn.MaxPool2d(2), block(8, 8), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(8, CLASSES))


def autoencoder():
    return nn.Sequential(nn.Linear(20, 8), nn.SiLU(), nn.Linear(8, 20))


def swin():
    return torchvision.models.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4],
                                              num_classes=CLASSES, stochastic_depth_prob=0.0)


def small_convnext():
    blocks = [convnext.CNBlockConfig(16, 32, 1), convnext.CNBlockConfig(32, None, 1)]
    return convnext.ConvNeXt(blocks, 0.0, num_classes=CLASSES)


def groups():
    """Networks of each title."""
    return {"Small networks": own_networks(), **libraries(),
            "torchvision: classification": torchvision_networks.networks()}


def libraries():
    """Those of every library that is installed."""
    result = {}
    for library, title in LIBRARIES.items():
        try:
            result[title] = importlib.import_module(f"{library}_networks").networks()
        except ModuleNotFoundError as error:
            print(f"left out: networks of {library}, {error}")
    return result


def library_networks():
    return {name: network for one in libraries().values() for name, network in one.items()}


def own_networks():
    image, large = torch.randn(4, 3, 16, 16), torch.randn(4, 3, 32, 32)
    sequence, rows = torch.randn(4, 6, 8), torch.randn(4, 20)
    tokens = torch.randint(0, 30, (4, 8))
    entropy, squares = "softmax-cross-entropy", "mse"
    edges = (torch.rand(4, 6, 6) > 0.5).float() + torch.eye(6)
    return {
        "MLP": Network(perceptron, [rows], entropy, "adam"),
        "CNN": Network(convolutions, [image], entropy, "momentum"),
        "ResNet": Network(small_resnet, [large], entropy, "sgd"),
        "MobileNet": Network(mobilenet, [large], entropy, "momentum"),
        "DenseNet": Network(lambda: densenet.DenseNet(4, (2, 2), 8, num_classes=CLASSES), [large],
                            entropy, "momentum"),
        "EfficientNet": Network(small_efficientnet, [large], entropy, "sgd"),
        "U-Net": Network(UNet, [image], entropy, "momentum"),
        "autoencoder": Network(autoencoder, [rows], squares, "adam"),
        "VAE": Network(Vae, [rows, torch.randn(4, 4)], squares, "momentum"),
        "LSTM": Network(lambda: Recurrent(nn.LSTM), [sequence], entropy, "adam"),
        "GRU": Network(lambda: Recurrent(nn.GRU), [sequence], entropy, "momentum"),
        "Transformer encoder": Network(Encoder, [sequence], entropy, "momentum"),
        "GPT": Network(Gpt, [tokens], entropy, "momentum"),
        "ViT": Network(lambda: torchvision.models.VisionTransformer(
            16, 8, 2, 4, 16, 32, num_classes=CLASSES), [image], entropy, "momentum"),
        "BERT": Network(Bert, [tokens, torch.randint(0, 2, (4, 8))], entropy, "sgd"),
        "ConvNeXt": Network(small_convnext, [large], entropy, "momentum"),
        "Swin": Network(swin, [large], entropy, "sgd"),
        "GNN": Network(Graph, [torch.randn(4, 6, 8), edges], entropy, "momentum"),
        "segmentation FCN": Network(small_segmentation, [large], entropy, "momentum"),
        "detection FPN": Network(small_detection, [large], squares, "sgd"),
    }
