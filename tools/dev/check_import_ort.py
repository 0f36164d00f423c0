#!/usr/bin/env python3
"""Generates artifacts with onnxruntime-training 1.19, trains five steps by them and by what
`ondine import-ort` makes of them, and compares the losses. Needs onnxruntime-training-cpu 1.19,
onnx 1.17, torch (which onnxruntime-training imports) and numpy.

    tools/dev/check_import_ort.py build/bin/ondine
    tools/dev/check_import_ort.py --fixture tests/trainer/import_ort/data
"""
import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.training import api, artifacts, onnxblock

TOLERANCE = 1e-5
STEPS = 5
AdamW, SGD = artifacts.OptimType.AdamW, artifacts.OptimType.SGD
CE, BCE, MSE = (artifacts.LossType.CrossEntropyLoss, artifacts.LossType.BCEWithLogitsLoss,
                artifacts.LossType.MSELoss)


def network(nodes, weights, x_shape, y_shape, seed=0):
    """weights: name -> shape; drawn with a standard deviation of 0.4."""
    random = np.random.default_rng(seed)
    tensors = [numpy_helper.from_array(random.normal(0, 0.4, shape).astype(np.float32), name)
               for name, shape in weights.items()]
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, y_shape)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def perceptron(inputs, hidden, outputs):
    weights = {"fc1.weight": (hidden, inputs), "fc1.bias": (hidden,),
               "fc2.weight": (outputs, hidden), "fc2.bias": (outputs,)}
    nodes = [helper.make_node("Gemm", ["x", "fc1.weight", "fc1.bias"], ["h"], transB=1),
             helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "fc2.weight", "fc2.bias"], ["output"], transB=1)]
    return network(nodes, weights, ["N", inputs], ["N", outputs]), list(weights)


def convolutional():
    weights = {"conv.weight": (4, 1, 3, 3), "conv.bias": (4,), "fc.weight": (3, 64), "fc.bias": (3,)}
    nodes = [helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["output"], transB=1)]
    return network(nodes, weights, ["N", 1, 8, 8], ["N", 3]), list(weights)


def classes(random, rows):
    return random.integers(0, 3, rows)


def binary(random, rows):
    return random.integers(0, 2, (rows, 2)).astype(np.float32)


def numbers(random, rows):
    return random.normal(size=(rows, 2)).astype(np.float32)


def decaying():
    return onnxblock.optim.AdamW(weight_decay=0.1, clip_grad=onnxblock.optim.ClipGradNorm(0.5))


# model, frozen parameters, loss, optimizer, labels, steps made before the checkpoint is saved
CASES = {
    "MLP, cross entropy, AdamW": (perceptron(6, 8, 3), [], CE, AdamW, classes, 0),
    "CNN, cross entropy, SGD": (convolutional(), [], CE, SGD, classes, 0),
    "frozen layers, AdamW with decay and clipping, after 4 steps":
        (convolutional(), ["conv.weight", "conv.bias"], CE, decaying, classes, 4),
    "BCE with logits, AdamW, after 3 steps": (perceptron(6, 8, 2), [], BCE, AdamW, binary, 3),
    "MSE regression, SGD": (perceptron(6, 8, 2), [], MSE, SGD, numbers, 0),
}


class Trainer:
    """onnxruntime-training on the artifacts in a folder."""

    def __init__(self, folder, checkpoint="checkpoint"):
        self.state = api.CheckpointState.load_checkpoint(str(folder / checkpoint))
        self.module = api.Module(str(folder / "training_model.onnx"), self.state,
                                 str(folder / "eval_model.onnx"))
        self.optimizer = api.Optimizer(str(folder / "optimizer_model.onnx"), self.module)

    def step(self, *batch):
        self.module.train()
        loss = self.module(*batch)
        self.optimizer.step()
        self.module.lazy_reset_grad()
        return float(loss)


def generate(folder, model, names, frozen, loss, optimizer):
    folder.mkdir(exist_ok=True)
    artifacts.generate_artifacts(
        onnx.ModelProto.FromString(model.SerializeToString()),
        requires_grad=[name for name in names if name not in frozen], frozen_params=frozen,
        loss=loss, optimizer=optimizer() if optimizer is decaying else optimizer,
        artifact_directory=str(folder))


def train_with_ondine(command, folder, x, labels, label, rate):
    """The loss before each of the steps, in the one batch that the data are."""
    def run(*arguments):
        done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout + done.stderr

    said = run("import-ort", ".", "-o", "train.onnx", "--checkpoint", "saved")
    np.save(folder / "x.npy", x)
    np.save(folder / f"{label}.npy", labels)
    run("train", "train.onnx", "--data", "x.npy", f"{label}.npy", "--epochs", str(STEPS),
        "--batch-size", str(len(x)), "--metrics", "metrics.jsonl", "--learning-rate", str(rate))
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines], said


def compare(command, folder, case):
    (model, names), frozen, loss, optimizer, draw, before = case
    generate(folder, model, names, frozen, loss, optimizer)
    random = np.random.default_rng(1)
    shape = [dim.dim_value or 16 for dim in model.graph.input[0].type.tensor_type.shape.dim]
    x = random.normal(size=shape).astype(np.float32)
    labels = draw(random, len(x))
    rate = 0.1 if optimizer is SGD else 0.02
    trainer = Trainer(folder)
    trainer.optimizer.set_learning_rate(rate)
    for _ in range(before):
        trainer.step(x, labels)
    api.CheckpointState.save_checkpoint(trainer.state, str(folder / "saved"),
                                        include_optimizer_state=True)
    trainer = Trainer(folder, "saved")
    trainer.optimizer.set_learning_rate(rate)
    expected = [trainer.step(x, labels) for _ in range(STEPS)]
    label = "labels" if loss is CE else "target"
    found, said = train_with_ondine(command, folder, x, labels, label, rate)
    return expected, found, said


def write_fixture(folder):
    """Artifacts of a small model, a checkpoint after two steps, and the losses of five more."""
    folder.mkdir(parents=True, exist_ok=True)
    model, names = perceptron(3, 4, 3)
    generate(folder, model, names, ["fc1.bias"], CE, AdamW)
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    labels = np.array([0, 2, 1, 2])
    trainer = Trainer(folder)
    trainer.optimizer.set_learning_rate(0.02)
    for _ in range(2):
        trainer.step(x, labels)
    properties = trainer.state.properties
    properties["epoch"], properties["best"], properties["tag"] = 3, 0.1, "two steps"
    api.CheckpointState.save_checkpoint(trainer.state, str(folder / "saved"),
                                        include_optimizer_state=True)
    trainer = Trainer(folder, "saved")
    print("learning rate", trainer.optimizer.get_learning_rate())
    trainer.optimizer.set_learning_rate(0.02)
    print([trainer.step(x, labels) for _ in range(STEPS)])


def main():
    logging.disable(logging.CRITICAL)
    if sys.argv[1] == "--fixture":
        write_fixture(Path(sys.argv[2]))
        return 0
    command = str(Path(sys.argv[1]).resolve())
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        for number, (name, case) in enumerate(CASES.items()):
            expected, found, said = compare(command, Path(temporary) / str(number), case)
            error = max(abs(a - b) for a, b in zip(expected, found, strict=True))
            failed += not error <= TOLERANCE
            print(f"{name}: losses {expected[0]:.6f} to {expected[-1]:.6f}, "
                  f"largest difference {error:.1e}" + ("" if error <= TOLERANCE else "  FAILED"))
            for line in said.splitlines():
                if line.startswith(("note", "warning")):
                    print("  " + line)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
