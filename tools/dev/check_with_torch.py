#!/usr/bin/env python3
"""Exports networks with both of PyTorch's exporters, prepares and trains them with the command
line, and compares the losses of the first steps with PyTorch's own. Needs torch, torchvision,
onnxscript and numpy.

    tools/dev/check_with_torch.py build/bin/ondine
"""
import contextlib
import copy
import io
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torchvision
from torch import nn

STEPS = 4
RATE = 0.01
TOLERANCE = 2e-4


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layers = kind(8, 16, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.layers(self.embed(x)).mean(1))


class Shapes(nn.Module):
    """Skip connections, transposed convolution, group normalization, resizing."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.deep = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.norm = nn.GroupNorm(4, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        a = torch.relu(self.down(x))
        b = nn.functional.silu(self.deep(nn.functional.max_pool2d(a, 2)))
        c = self.norm(torch.cat([a, self.up(b)], 1))
        return self.head(nn.functional.interpolate(c, scale_factor=0.5, mode="bilinear").mean((2, 3)))


class Fresh(nn.Module):
    """Normalizations whose scales and biases are still ones and zeros, which the exporter merges."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.norms = nn.Sequential(
            nn.GroupNorm(4, 4), nn.Tanh(), nn.InstanceNorm2d(4, affine=True), nn.InstanceNorm2d(4),
            nn.GroupNorm(2, 4), nn.GroupNorm(2, 4, affine=False), nn.Tanh(), nn.BatchNorm2d(4),
            nn.Sigmoid(), nn.BatchNorm2d(4), nn.Tanh())
        self.scale = nn.Parameter(torch.ones(4))
        self.token = nn.Parameter(torch.zeros(1, 1, 4))
        layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(4, elementwise_affine=False)
        self.head = nn.Linear(4, 5)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        x = self.norms(self.stem(x)).flatten(2).transpose(1, 2) * self.scale
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        return self.head(self.norm(self.encoder(x))[:, 0])


def networks():
    image = torch.randn(2, 3, 64, 64)
    sequence = torch.randn(3, 7, 8)
    models = torchvision.models
    yield "gru", Recurrent(nn.GRU), sequence
    yield "lstm", Recurrent(nn.LSTM), sequence
    yield "encoder", Encoder(), sequence
    yield "shapes", Shapes(), torch.randn(2, 3, 16, 16)
    yield "fresh", Fresh(), torch.randn(4, 3, 8, 8)
    yield "vit", models.VisionTransformer(32, 8, 2, 4, 64, 128, num_classes=5), image[..., :32, :32]
    yield "swin", models.SwinTransformer(
        [4, 4], 32, [2, 2], [2, 4], [4, 4], num_classes=5, stochastic_depth_prob=0.0), image
    yield "convnext", models.ConvNeXt(
        [models.convnext.CNBlockConfig(32, 64, 1), models.convnext.CNBlockConfig(64, None, 1)],
        num_classes=5), image


def torch_losses(model, x, label):
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        loss = nn.functional.cross_entropy(model(x), label)
        yield loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def ondine_losses(command, folder, name, x, label):
    stem = str(folder / name)
    np.save(stem + "_x.npy", x.numpy())
    np.save(stem + "_label.npy", label.numpy())
    run = lambda *arguments: subprocess.run(
        [command, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    run("prepare", stem + ".onnx", "-o", stem + ".train.onnx", "--loss", "softmax-cross-entropy",
        "--optimizer", "sgd", "--learning-rate", RATE, "--init", "keep",
        "--no-training-mode")
    run("train", stem + ".train.onnx", "--data", stem + "_x.npy", stem + "_label.npy", "--map",
        f"x={name}_x", f"label={name}_label", "--epochs", STEPS, "--batch-size", len(label),
        "--metrics", stem + ".json")
    return [json.loads(line)["loss"] for line in open(stem + ".json", encoding="utf-8")]


def export(exporter, model, x, file):
    names = {"input_names": ["x"], "output_names": ["y"]}
    if exporter == "optimized":  # what torch.onnx.export does unless told otherwise
        with contextlib.redirect_stdout(io.StringIO()):
            torch.onnx.export(model, (x,), file, dynamo=True, verbose=False, **names)
    elif exporter == "dynamo":
        with contextlib.redirect_stdout(io.StringIO()):
            torch.onnx.export(model, (x,), file, dynamo=True, optimize=False, verbose=False,
                              dynamic_shapes=({0: torch.export.Dim.DYNAMIC},), **names)
    else:
        torch.onnx.export(model, (x,), file, dynamo=False, opset_version=17,
                          dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, **names)


def main():
    torch.manual_seed(0)
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        for (name, model, x), exporter in itertools.product(networks(), ("script", "dynamo", "optimized")):
            model.eval()
            label = torch.arange(x.shape[0])
            export(exporter, model, x, f"{temporary}/{name}.onnx")
            ours = ondine_losses(sys.argv[1], Path(temporary), name, x, label)
            theirs = list(torch_losses(copy.deepcopy(model), x, label))
            worst = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(ours, theirs))
            failed += worst > TOLERANCE
            print(f"{name:10} {exporter:9} {'ok  ' if worst <= TOLERANCE else 'FAIL'} relative "
                  f"difference {worst:.1e}  losses " + " ".join(f"{loss:.6f}" for loss in ours))
    print(f"{failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
