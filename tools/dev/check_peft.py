#!/usr/bin/env python3
"""Adapters against peft: a network in PyTorch is exported, tuned by adapters here and in peft, and
the folders that each writes give the same outputs in the other.

  tools/dev/check_peft.py build/bin/ondine FOLDER

Needs torch, peft, onnx, onnxscript and onnxruntime."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import peft
import torch

ROWS = 6


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(16, 16)
        self.value = torch.nn.Linear(16, 16, bias=False)
        self.out = torch.nn.Linear(16, 16)

    def forward(self, x):
        weights = torch.softmax(self.query(x) @ x.transpose(1, 2), -1)
        return x + self.out(weights @ self.value(x))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])
        self.head = torch.nn.Linear(16, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def run(*words):
    done = subprocess.run([str(one) for one in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def distance(one, other):
    """Relative to the largest element."""
    return float(np.abs(one - other).max() / np.abs(other).max())


def check(ondine, folder, dynamo, stabilized):
    torch.manual_seed(0)
    network, x = Network().eval(), torch.randn(ROWS, 5, 16)
    folder.mkdir(parents=True, exist_ok=True)
    shape = {"dynamic_shapes": ({0: torch.export.Dim("batch")},)} if dynamo else {
        "dynamic_axes": {"x": {0: "batch"}, "y": {0: "batch"}}}
    torch.onnx.export(network, (x,), folder / "net.onnx", input_names=["x"], output_names=["y"],
                      dynamo=dynamo, **shape)
    np.savez(folder / "data.npz", x=x.numpy(), label=np.arange(ROWS) % 3)
    options = ["--rslora"] if stabilized else []
    run(ondine, "prepare", folder / "net.onnx", "-o", folder / "train.onnx", "--loss",
        "softmax-cross-entropy", "--optimizer", "adam", "--learning-rate", "0.02", "--lora", 4,
        "--lora-alpha", 10, "--lora-targets", "query", "value", "out", *options)
    run(ondine, "train", folder / "train.onnx", "--data", folder / "data.npz", "--epochs", 20,
        "--batch-size", 2, "--initialize", "--checkpoint", folder / "run.ckpt")

    # What was tuned here, in peft.
    run(ondine, "export", folder / "train.onnx", "--checkpoint", folder / "run.ckpt", "--adapter",
        folder / "ours", "-o", folder / "tuned.onnx")
    tuned = peft.PeftModel.from_pretrained(Network().eval(), folder / "ours")
    tuned.base_model.model.load_state_dict(
        {name.replace(".weight", ".base_layer.weight").replace(".bias", ".base_layer.bias")
         if any(one in name for one in ("query", "value", "out")) else name: value
         for name, value in network.state_dict().items()}, strict=False)
    with torch.no_grad():
        theirs = tuned(x).numpy()
        plain = network(x).numpy()
    session = onnxruntime.InferenceSession(folder / "tuned.onnx",
                                           providers=["CPUExecutionProvider"])
    ours = session.run(None, {"x": x.numpy()})[0]
    first = distance(ours, theirs)

    # What was tuned in peft, here.
    config = peft.LoraConfig(r=4, lora_alpha=10, use_rslora=stabilized,
                             target_modules=["query", "value", "out"])
    model = peft.get_peft_model(network, config)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "lora_" in name:
                value.copy_(torch.randn_like(value) * 0.3)
        theirs = model(x).numpy()
    model.save_pretrained(folder / "theirs")
    run(ondine, "export", folder / "train.onnx", "--weights", folder / "theirs", "-o",
        folder / "merged.onnx")
    session = onnxruntime.InferenceSession(folder / "merged.onnx",
                                           providers=["CPUExecutionProvider"])
    ours = session.run(None, {"x": x.numpy()})[0]
    second = distance(ours, theirs)
    moved = distance(plain, theirs)
    name = f"{'dynamo' if dynamo else 'TorchScript'}{', rslora' if stabilized else ''}"
    print(f"{name}: ours in peft {first:.1e}, peft's here {second:.1e} (moved by {moved:.2f} of the largest)")
    return first < 1e-5 and second < 1e-5 and moved > 0.1


def main():
    ondine, folder = sys.argv[1], Path(sys.argv[2])
    passed = [check(ondine, folder / f"{dynamo}_{stabilized}", dynamo, stabilized)
              for dynamo in (False, True) for stabilized in (False, True)]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
