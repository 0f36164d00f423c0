#!/usr/bin/env python3
"""Prepares models that give their input with each loss, trains them for one step with the command
line, and compares the loss and its derivative with PyTorch's. Needs torch, onnx and numpy.

    tools/dev/check_losses_with_torch.py build/bin/ondine
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

TOLERANCE = 1e-5
OPSETS = (12, 13, 17)
N, C = 6, 5

random = np.random.default_rng(0)


def save_model(file, shape, opset):
    """y = x + w with w = 0, so that one step of rate 1 leaves minus the derivative in w."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])], "given",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.zeros(shape, np.float32), "w")])
    opsets = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), file)


def ondine_step(command, folder, x, labels, options, opset):
    """Loss and derivative. Rows are in an order of the trainer's own."""
    def run(*arguments):
        subprocess.run([command, *arguments], cwd=folder, check=True, capture_output=True)

    save_model(folder / "m.onnx", x.shape, opset)
    for name, array in {"x": x, **labels}.items():
        np.save(folder / f"{name}.npy", array)
    run("prepare", "m.onnx", "-o", "t.onnx", "--optimizer", "sgd", "--learning-rate", "1",
        "--init", "keep", *options)
    onnx.checker.check_model(str(folder / "t.onnx"))
    run("train", "t.onnx", "--data", *(f"{name}.npy" for name in ("x", *labels)), "--epochs", "1",
        "--batch-size", str(len(x)), "-o", "o.onnx", "--metrics", "metrics.jsonl")
    loss = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["loss"]
    weights = onnx.load(folder / "o.onnx").graph.initializer
    return loss, -numpy_helper.to_array(next(one for one in weights if one.name == "w"))


def sorted_rows(gradient):
    rows = np.asarray(gradient).reshape(len(gradient), -1)
    return rows[np.lexsort(rows.T.round(4))]


def compare(command, name, shape, labels, options, loss):
    x = random.normal(size=shape).astype(np.float32)
    leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    want = loss(leaf)
    want.backward()
    wanted = sorted_rows(leaf.grad.numpy())
    for opset in OPSETS:
        with tempfile.TemporaryDirectory() as folder:
            got, gradient = ondine_step(command, Path(folder), x, labels, options, opset)
        error = max(abs(got - want.item()) / abs(want.item()),
                    np.abs(sorted_rows(gradient) - wanted).max() / np.abs(wanted).max())
        print(f"{name:32} opset {opset}: loss {got:.6g}, error {error:.1e}")
        if error > TOLERANCE:
            return False
    return True


def double(array):
    return torch.tensor(array, dtype=torch.float64)


def class_losses():
    label = random.integers(0, C, N)
    ignored = label.copy()
    ignored[[1, 4]] = -100
    positions = random.integers(0, C, (N, 3, 4))
    positions[0, 1, 2] = 255
    weights = [0.5, 2, 1, 0.25, 3]
    soft = random.dirichlet(np.ones(C), N).astype(np.float32)
    entropy = ["--loss", "softmax-cross-entropy"]
    weighted = ["--class-weights", ",".join(map(str, weights))]
    smoothed = ["--label-smoothing", "0.1"]
    t, w, s = torch.tensor(label), double(weights), double(soft)

    def focal(x, gamma):
        log_p = F.log_softmax(x, 1).gather(1, t[:, None])[:, 0]
        return (-w[t] * (1 - log_p.exp()) ** gamma * log_p).mean()

    yield "cross entropy", (N, C), label, entropy, lambda x: F.cross_entropy(x, t)
    yield ("weights", (N, C), label, entropy + weighted, lambda x: F.cross_entropy(x, t, w))
    yield ("smoothing", (N, C), label, entropy + smoothed,
           lambda x: F.cross_entropy(x, t, label_smoothing=0.1))
    yield ("ignored", (N, C), ignored, entropy + ["--ignore-index", "-100"],
           lambda x: F.cross_entropy(x, torch.tensor(ignored)))
    yield ("all of them, with positions", (N, C, 3, 4), positions,
           entropy + weighted + smoothed + ["--ignore-index", "255"],
           lambda x: F.cross_entropy(x, torch.tensor(positions), w, ignore_index=255,
                                     label_smoothing=0.1))
    yield ("soft labels", (N, C), soft, entropy + weighted + smoothed + ["--soft-labels"],
           lambda x: F.cross_entropy(x, s, w, label_smoothing=0.1))
    yield ("kl", (N, C), soft, ["--loss", "kl"],
           lambda x: F.kl_div(F.log_softmax(x, 1), s, reduction="batchmean"))
    for gamma in (0.5, 2.0):
        yield (f"focal {gamma}", (N, C), label,
               ["--loss", "focal", "--focal-gamma", str(gamma), *weighted],
               lambda x, gamma=gamma: focal(x, gamma))


def other_losses():
    signs = random.choice([-1, 1], (N, C)).astype(np.float32)
    mask = random.integers(0, 2, (N, 2, 3, 4)).astype(np.float32)
    vectors = random.normal(size=(N, C)).astype(np.float32)
    label = np.array([0, 1, 0, 2, 1, 0])

    def dice(x):
        p, t = x.sigmoid(), double(mask)
        ratio = (2 * (p * t).sum((2, 3)) + 1) / (p.sum((2, 3)) + t.sum((2, 3)) + 1)
        return (1 - ratio).mean()

    def triplet(x):
        rows = [(a, p, n) for a in range(N) for p in range(N) for n in range(N)
                if a != p and label[a] == label[p] and label[a] != label[n]]
        a, p, n = map(list, zip(*rows))
        return F.triplet_margin_loss(x[a], x[p], x[n], margin=1.5, eps=0)

    def contrastive(x):
        each = []
        for a in range(N):
            for b in range(a):
                d = (x[a] - x[b]).norm()
                each.append(d ** 2 if label[a] == label[b] else (3 - d).clamp(min=0) ** 2)
        return sum(each) / len(each)

    yield ("hinge", (N, C), signs, ["--loss", "hinge"],
           lambda x: (1 - x * double(signs)).clamp(min=0).mean())
    yield "dice", (N, 2, 3, 4), mask, ["--loss", "dice"], dice
    yield ("cosine", (N, C), vectors, ["--loss", "cosine"],
           lambda x: F.cosine_embedding_loss(x, double(vectors), torch.ones(N)))
    yield "triplet", (N, C), label, ["--loss", "triplet", "--margin", "1.5"], triplet
    yield "contrastive", (N, C), label, ["--loss", "contrastive", "--margin", "3"], contrastive


def ctc_losses():
    for steps, labels, classes in ((7, 3, 5), (40, 10, 5), (200, 60, 40)):
        label = random.integers(1, classes, (N, labels))
        label[0, :2] = 2  # no room for the blank between them
        lengths = random.integers(labels // 2, labels + 1, N)
        lengths[1] = 0
        inputs = random.integers(steps - 1, steps + 1, N)
        lengths[0], inputs[0] = 2, 2

        def loss(x, values=(label, inputs, lengths)):
            log_p = F.log_softmax(x, 2).transpose(0, 1)
            return F.ctc_loss(log_p, *map(torch.tensor, values), zero_infinity=True)

        yield (f"ctc of {steps} steps", (N, steps, classes),
               {"label": label, "label_lengths": lengths, "label_input_lengths": inputs},
               ["--loss", "ctc"], loss)


def main():
    command = str(Path(sys.argv[1]).resolve())
    agree = True
    for cases in (class_losses(), other_losses(), ctc_losses()):
        for name, shape, labels, options, loss in cases:
            labels = labels if isinstance(labels, dict) else {"label": labels}
            agree = compare(command, name, shape, labels, options, loss) and agree
    sys.exit(0 if agree else "some losses differ")


main()
