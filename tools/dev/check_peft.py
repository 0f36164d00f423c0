#!/usr/bin/env python3
"""Adapters against peft: networks in PyTorch are exported, tuned by every kind of adapter here and
in peft, and the folders that each writes give the same outputs in the other.

  tools/dev/check_peft.py build/bin/ondine FOLDER

Needs torch, peft, transformers, onnx, onnxscript and onnxruntime."""
import copy
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


class Images(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.second = torch.nn.Conv2d(8, 6, 1)
        self.head = torch.nn.Linear(6, 3)

    def forward(self, x):
        x = torch.tanh(self.second(torch.tanh(self.first(x))))
        return self.head(x.mean((2, 3)))


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(20, 16)
        self.key = torch.nn.Linear(16, 16)
        self.head = torch.nn.Linear(16, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.key(self.words(x))).mean(1))


def batch_of(kind):
    if kind is Images:
        return torch.randn(ROWS, 3, 9, 9)
    return torch.randint(0, 20, (ROWS, 5)) if kind is Words else torch.randn(ROWS, 5, 16)


LINEAR = ["query", "value", "out"]
LORA = {"r": 4, "lora_alpha": 10}
FLAGS = ["--lora", 4, "--lora-alpha", 10]


def lora(targets, *flags, **settings):
    return (FLAGS + ["--lora-targets", *targets, *flags],
            lambda: peft.LoraConfig(**LORA, target_modules=targets, **settings))


def ia3(outputs, inputs):
    flags = (["--ia3", *outputs] if outputs else []) + ["--ia3-feedforward", *inputs]
    return flags, lambda: peft.IA3Config(target_modules=outputs + inputs, feedforward_modules=inputs)


# Name, network, options here and configuration there.
KINDS = [
    ("lora", Network, *lora(LINEAR)),
    ("rslora", Network, *lora(LINEAR, "--rslora", use_rslora=True)),
    ("dora", Network, *lora(LINEAR, "--dora", use_dora=True)),
    ("pissa", Network, *lora(LINEAR, "--lora-init", "pissa", init_lora_weights="pissa")),
    ("ia3", Network, *ia3(["query", "value"], ["out"])),
    ("lora of convolutions", Images, *lora(["first", "second"])),
    ("dora of convolutions", Images, *lora(["first", "second"], "--dora", use_dora=True)),
    ("ia3 of convolutions", Images, *ia3(["first"], ["second"])),
    ("lora of embeddings", Words, *lora(["words", "key"])),
    ("dora of embeddings", Words, *lora(["words", "key"], "--dora", use_dora=True)),
]


def run(*words):
    done = subprocess.run([str(one) for one in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def distance(one, other):
    """Relative to the largest element."""
    return float(np.abs(one - other).max() / np.abs(other).max())


def export(network, inputs, names, file, dynamo, lengths=False):
    dims = {0: "batch", 1: "length"} if lengths else {0: "batch"}
    if dynamo:
        sizes = {axis: torch.export.Dim(name) for axis, name in dims.items()}
        shape = {"dynamic_shapes": tuple(sizes for _ in inputs)}
    else:
        shape = {"dynamic_axes": {name: dims for name in (*names, "y")}}
        shape["dynamic_axes"]["y"] = dims if lengths else {0: "batch"}
    torch.onnx.export(network, inputs, file, input_names=names, output_names=["y"], dynamo=dynamo,
                      **shape)


def outputs_of(file, feeds):
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def tune(ondine, folder, options):
    run(ondine, "prepare", folder / "net.onnx", "-o", folder / "train.onnx", "--loss",
        "softmax-cross-entropy", "--optimizer", "adam", "--learning-rate", "0.02", *options)
    run(ondine, "train", folder / "train.onnx", "--data", folder / "data.npz", "--epochs", 20,
        "--batch-size", 2, "--initialize", "--checkpoint", folder / "run.ckpt")
    run(ondine, "export", folder / "train.onnx", "--checkpoint", folder / "run.ckpt", "--adapter",
        folder / "ours", "-o", folder / "tuned.onnx")


def moved(model):
    """Other values of everything that peft trains."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.requires_grad:
                value.add_(torch.randn_like(value) * 0.3)
    return model


def report(name, first, second, change):
    print(f"{name}: ours in peft {first:.1e}, peft's here {second:.1e} "
          f"(moved by {change:.2f} of the largest)")
    return first < 1e-5 and second < 1e-5 and change > 0.05


def check(ondine, folder, dynamo, name, kind, options, config):
    torch.manual_seed(0)
    network, x = kind().eval(), batch_of(kind)
    folder.mkdir(parents=True, exist_ok=True)
    export(network, (x,), ["x"], folder / "net.onnx", dynamo)
    np.savez(folder / "data.npz", x=x.numpy(), label=np.arange(ROWS) % 3)
    tune(ondine, folder, options)

    # What was tuned here, in peft; what was tuned in peft, here.
    with torch.no_grad():
        plain = network(x).numpy()
        tuned = peft.PeftModel.from_pretrained(copy.deepcopy(network), folder / "ours").eval()
        first = distance(outputs_of(folder / "tuned.onnx", {"x": x.numpy()}), tuned(x).numpy())
        model = moved(peft.get_peft_model(copy.deepcopy(network), config()).eval())
        theirs = model(x).numpy()
    model.save_pretrained(folder / "theirs")
    run(ondine, "export", folder / "train.onnx", "--weights", folder / "theirs", "-o",
        folder / "merged.onnx")
    second = distance(outputs_of(folder / "merged.onnx", {"x": x.numpy()}), theirs)
    return report(f"{name}, {'dynamo' if dynamo else 'TorchScript'}", first, second,
                  distance(plain, theirs))


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits


def check_prompt(ondine, folder):
    """A small language model of transformers; peft's logits have those of the prompt in front."""
    import transformers
    torch.manual_seed(0)
    settings = transformers.GPT2Config(vocab_size=20, n_positions=32, n_embd=16, n_layer=2, n_head=2,
                                       bos_token_id=0, eos_token_id=0, attn_implementation="eager")
    language = transformers.GPT2LMHeadModel(settings).eval()
    ids = torch.randint(0, 20, (ROWS, 7))
    mask = torch.ones_like(ids)
    mask[::2, 5:] = 0
    folder.mkdir(parents=True, exist_ok=True)
    export(Logits(language), (ids, mask), ["ids", "mask"], folder / "net.onnx", True, True)
    np.savez(folder / "data.npz", ids=ids.numpy(), mask=mask.numpy(),
             label=np.roll(ids.numpy(), -1, 1))
    tune(ondine, folder, ["--prompt-tokens", 4])
    feeds = {"ids": ids.numpy(), "mask": mask.numpy()}
    with torch.no_grad():
        plain = Logits(language)(ids, mask).numpy()
        tuned = peft.PeftModel.from_pretrained(copy.deepcopy(language), folder / "ours").eval()
        theirs = tuned(input_ids=ids, attention_mask=mask).logits[:, 4:].numpy()
        first = distance(outputs_of(folder / "tuned.onnx", feeds), theirs)
        config = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
        model = moved(peft.get_peft_model(copy.deepcopy(language), config).eval())
        theirs = model(input_ids=ids, attention_mask=mask).logits[:, 4:].numpy()
    model.save_pretrained(folder / "theirs")
    run(ondine, "export", folder / "train.onnx", "--weights", folder / "theirs", "-o",
        folder / "merged.onnx")
    second = distance(outputs_of(folder / "merged.onnx", feeds), theirs)
    return report("prompt, dynamo", first, second, distance(plain, theirs))


def main():
    ondine, folder = sys.argv[1], Path(sys.argv[2])
    passed = [check(ondine, folder / f"{name} {dynamo}".replace(" ", "_"), dynamo, name, *rest)
              for name, *rest in KINDS for dynamo in (False, True)]
    passed.append(check_prompt(ondine, folder / "prompt"))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
