#!/usr/bin/env python3
"""Runs and trains what onnxruntime's optimizers and quantizers write: check_optimized.py [--ondine PATH]

Makes small networks, lets onnxruntime fuse and quantize them, and checks for each that `ondine infer`
gives what onnxruntime gives for the same file, that `ondine prepare` and `ondine train` lower the
loss, and that onnxruntime runs the exported result as `ondine infer` does. Where activations are
quantized too, both round apart now and then. Needs onnx, onnxruntime,
torch, transformers and numpy from PyPI.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime import quantization
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.transformers import optimizer
from transformers import BertConfig, BertForSequenceClassification

ROWS, CLASSES = 32, 3
RNG = np.random.default_rng(3)


class Reader(quantization.CalibrationDataReader):
    def __init__(self, feeds):
        self.rows = iter([feeds])

    def get_next(self):
        return next(self.rows, None)


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(2, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1)
        self.pool = torch.nn.AvgPool2d(2)
        self.head = torch.nn.Linear(8 * 16, CLASSES)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x) + x)
        x = self.pool(x * torch.sigmoid(x))
        return self.head(torch.flatten(x, 1))


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(6, 12)
        self.head = torch.nn.Linear(12, CLASSES)

    def forward(self, x):
        steps, _ = self.lstm(x.transpose(0, 1))
        return self.head(steps[-1])


class RootMeanSquare(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Linear(16, 64)
        self.norm = RootMeanSquare(64)
        self.narrow = torch.nn.Linear(64, 64, bias=False)
        self.head = torch.nn.Linear(64, CLASSES)

    def forward(self, x):
        x = torch.nn.functional.gelu(self.wide(x))
        x = self.norm(x + self.narrow(x))
        return self.head(torch.nn.functional.gelu(x)).mean(1)


def export(network, feeds, path):
    batch = {0: "batch"}
    torch.onnx.export(
        network.eval(),
        tuple(torch.from_numpy(value) for value in feeds.values()),
        str(path),
        input_names=list(feeds),
        output_names=["logits"],
        dynamic_axes={name: batch for name in [*feeds, "logits"]},
        opset_version=17,
        dynamo=False,
    )


def optimize(source, target, level):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def make_models(folder):
    """Yields name, file, feeds and the tolerance of the comparison."""
    extended = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    config = BertConfig(
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=16,
        num_labels=CLASSES,
        attn_implementation="eager",
    )
    mask = np.ones((ROWS, 8), np.int64)
    mask[::2, 6:] = 0
    bert = {
        "input_ids": RNG.integers(0, 40, (ROWS, 8)),
        "attention_mask": mask,
        "token_type_ids": np.zeros((ROWS, 8), np.int64),
    }
    plain = folder / "bert.onnx"
    export(BertForSequenceClassification(config), bert, plain)
    fused = folder / "bert_fused.onnx"
    optimizer.optimize_model(str(plain), model_type="bert", num_heads=4, hidden_size=32, opt_level=0).save_model_to_file(str(fused))
    yield "BERT, transformers optimizer", fused, bert, 1e-4
    optimize(plain, folder / "bert_extended.onnx", extended)
    yield "BERT, extended level", folder / "bert_extended.onnx", bert, 1e-4
    quantization.quantize_dynamic(str(fused), str(folder / "bert_quantized.onnx"), extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    optimize(folder / "bert_quantized.onnx", folder / "bert_integers.onnx", extended)
    yield "BERT, dynamic quantization", folder / "bert_integers.onnx", bert, 1e-2

    images = {"x": RNG.standard_normal((ROWS, 2, 8, 8)).astype(np.float32)}
    plain = folder / "cnn.onnx"
    export(Convolutions(), images, plain)
    optimize(plain, folder / "cnn_extended.onnx", extended)
    yield "convolutions, extended level", folder / "cnn_extended.onnx", images, 1e-4
    quantization.quantize_static(str(plain), str(folder / "cnn_operators.onnx"), Reader(images), quant_format=quantization.QuantFormat.QOperator)
    yield "convolutions, static quantization", folder / "cnn_operators.onnx", images, 3e-2

    series = {"x": RNG.standard_normal((ROWS, 5, 6)).astype(np.float32)}
    plain = folder / "lstm.onnx"
    export(Recurrent(), series, plain)
    quantization.quantize_dynamic(str(plain), str(folder / "lstm_quantized.onnx"))
    yield "LSTM, dynamic quantization", folder / "lstm_quantized.onnx", series, 3e-2

    vectors = {"x": RNG.standard_normal((ROWS, 4, 16)).astype(np.float32)}
    plain = folder / "mlp.onnx"
    export(Perceptron(), vectors, plain)
    optimize(plain, folder / "mlp_extended.onnx", extended)
    yield "MLP, extended level", folder / "mlp_extended.onnx", vectors, 1e-4
    quantizer = MatMulNBitsQuantizer(onnx.load(folder / "mlp_extended.onnx"), block_size=16, is_symmetric=False)
    quantizer.process()
    quantizer.model.save_model_to_file(str(folder / "mlp_bits.onnx"))
    yield "MLP, 4-bit weights", folder / "mlp_bits.onnx", vectors, 1e-4


def contrib_operators(path):
    known = {"QuantizeLinear", "DequantizeLinear"}
    nodes = onnx.load(path).graph.node
    names = [node.op_type for node in nodes if node.domain == "com.microsoft" and node.op_type not in known]
    return ", ".join(f"{name} {count}" for name, count in sorted(collections.Counter(names).items()))


def run_onnxruntime(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(["logits"], feeds)[0]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def infer(ondine, path, feeds, folder):
    inputs = []
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        inputs += ["--input", f"{name}={folder / name}.npy"]
    run(ondine, "infer", path, "-o", folder, *inputs)
    return np.load(folder / "logits.npy")


def difference(got, want):
    return float(np.max(np.abs(got - want)) / np.max(np.abs(want)))


def train(ondine, path, feeds, folder):
    """Returns the first and the last loss and the trained model."""
    training, trained, data = folder / "train.onnx", folder / "trained.onnx", folder / "data.npz"
    labels = np.arange(ROWS) % CLASSES
    np.savez(data, label=labels, **feeds)
    run(ondine, "prepare", path, "-o", training, "--loss", "softmax-cross-entropy", "--optimizer", "adam",
        "--learning-rate", "0.003", "--init", "keep")
    metrics = folder / "metrics.jsonl"
    run(ondine, "train", training, "--data", data, "--epochs", "20", "--batch-size", str(ROWS), "-o", trained,
        "--metrics", metrics, "--stop-on-nan")
    losses = [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]
    return losses[0], losses[-1], trained


def check(ondine, path, feeds, tolerance, folder):
    """A row of the table; raises where something does not hold."""
    apart = difference(infer(ondine, path, feeds, folder), run_onnxruntime(path, feeds))
    if not apart <= tolerance:
        raise RuntimeError(f"inference differs by {apart:.2g}")
    if path.name == "cnn_operators.onnx":
        return f"{apart:.1e} | weights are integers | "
    first, last, trained = train(ondine, path, feeds, folder)
    if not last < first:
        raise RuntimeError(f"the loss went from {first:.3f} to {last:.3f}")
    again = difference(infer(ondine, trained, feeds, folder), run_onnxruntime(trained, feeds))
    if not again <= tolerance:
        raise RuntimeError(f"the trained model differs by {again:.2g}")
    return f"{apart:.1e} | {first:.3f} to {last:.3f} | {again:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--ondine", default=str(root / "build/bin/ondine"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    failed = False
    print("| model | operators of com.microsoft | inference | loss | trained |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, path, feeds, tolerance in make_models(folder):
            try:
                result = check(options.ondine, path, feeds, tolerance, folder)
            except Exception as error:  # one model must not hide the others
                failed = True
                result = f"FAILED: {error}"
            print(f"| {title} | {contrib_operators(path)} | {result} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
