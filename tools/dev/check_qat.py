#!/usr/bin/env python3
"""Trains a network with quantization and compares its integers with onnxruntime: check_qat.py [--ondine PATH]

Trains the network of examples/fashion_mnist in float32, by `prepare --qat int8` and by `--qat uint8`,
exports them, and runs all 10,000 test images by `ondine infer` and by onnxruntime. Fails unless, for
both,
- the quantized network is at most 0.5 points less accurate than the float32 one,
- onnxruntime runs every layer by an integer operator,
- it gives the class that Ondine gives, but for images whose two best scores are closer than twice the
  largest difference that one rounding apart makes.
The scores of most images are equal but for the last bits of float32. In the others onnxruntime, which
multiplies sums by scales in float32, rounds an activation near the middle of two levels the other way.
Exits with 77 where onnx, onnxruntime, numpy or the data set (Debian's dataset-fashion-mnist) is missing.
"""
import argparse
import collections
import gzip
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
INTEGER = {"QLinearConv", "QGemm", "QLinearMatMul", "MatMulIntegerToFloat", "ConvInteger", "MatMulInteger"}
BATCH = 500


def network(path):
    """That of examples/common/cnn.h."""
    weights, nodes = [], []

    def weight(name, *shape):
        weights.append(onnx.numpy_helper.from_array(np.zeros(shape, np.float32), name))
        return name

    def node(op, inputs, **attributes):
        nodes.append(onnx.helper.make_node(op, inputs, [f"y{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    x = "image"
    for name, to, of in [("conv1", 16, 1), ("conv2", 32, 16)]:
        x = node("Conv", [x, weight(f"{name}.w", to, of, 3, 3), weight(f"{name}.b", to)], pads=[1, 1, 1, 1])
        x = node("MaxPool", [node("Relu", [x])], kernel_shape=[2, 2], strides=[2, 2])
    x = node("Gemm", [node("Flatten", [x]), weight("fc.w", 1568, 128), weight("fc.b", 128)])
    x = node("Gemm", [node("Relu", [x]), weight("head.w", 128, 10), weight("head.b", 10)])
    nodes[-1].output[0] = "logits"
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "cnn",
        [value("image", onnx.TensorProto.FLOAT, ["N", 1, 28, 28])],
        [value("logits", onnx.TensorProto.FLOAT, ["N", 10])],
        weights,
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


def read_idx(name):
    content = gzip.decompress((DATA / name).read_bytes())
    rank = content[3]
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(np.frombuffer(content, ">i4", rank, 4))


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def train(ondine, folder, name, epochs, extra):
    """The exported model."""
    training, exported = folder / f"{name}_train.onnx", folder / f"{name}.onnx"
    run(ondine, "prepare", folder / "cnn.onnx", "-o", training, "--loss", "softmax-cross-entropy", "--optimizer", "adam",
        "--learning-rate", "0.001", *extra)
    run(ondine, "train", training, "--data", DATA, "--batch-size", "64", "--epochs", epochs, "--seed", "1",
        "--initialize", "--schedule", "cosine", "-o", exported)
    return exported


def by_ondine(ondine, path, images, folder):
    np.save(folder / "image.npy", images)
    run(ondine, "infer", path, "-o", folder, "--input", f"image={folder / 'image.npy'}")
    return np.load(folder / "logits.npy")


def by_onnxruntime(path, images, level, optimized=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    if optimized is not None:
        options.optimized_model_filepath = str(optimized)
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    parts = [session.run(None, {"image": images[i : i + BATCH]})[0] for i in range(0, len(images), BATCH)]
    return np.concatenate(parts)


def operators(path):
    return collections.Counter(node.op_type for node in onnx.load(path).graph.node)


def compare(title, got, want, labels):
    """Prints a row. Returns the images that have another class, and by how much their two best scores differ."""
    apart = np.flatnonzero(got.argmax(1) != want.argmax(1))
    difference = np.abs(got - want).max(1)
    near = int(np.sum(difference <= 1e-5 * np.abs(want).max()))
    accuracy = 100 * float(np.mean(got.argmax(1) == labels))
    print(f"| {title} | {accuracy:.2f} | {len(apart)} | {near} | {float(difference.max()):.3g} |", flush=True)
    best = np.sort(want[apart], axis=1)
    return accuracy, list(zip(best[:, -1] - best[:, -2], difference[apart]))


def check(ondine, kind, folder, epochs, floats, images, labels):
    """What is wrong with a network that is quantized to `kind`."""
    levels = onnxruntime.GraphOptimizationLevel
    path = train(ondine, folder, kind, epochs, ["--qat", kind])
    ours = by_ondine(ondine, path, images, folder)
    accuracy, _ = compare(kind, ours, ours, labels)
    as_written = by_onnxruntime(path, images, levels.ORT_DISABLE_ALL)
    compare(f"{kind}, onnxruntime, nodes one by one in float32", as_written, ours, labels)
    optimized = folder / f"{kind}_integers.onnx"
    theirs = by_onnxruntime(path, images, levels.ORT_ENABLE_ALL, optimized=optimized)
    _, apart = compare(f"{kind}, onnxruntime, integers", theirs, ours, labels)
    found = operators(optimized)
    wrong = []
    if accuracy < floats - 0.5:
        wrong.append(f"{kind} is {floats - accuracy:.2f} points less accurate than float32")
    layers = sum(count for op, count in found.items() if op in INTEGER)
    if layers != 4:
        wrong.append(f"onnxruntime runs {layers} of 4 layers of {kind} in integers: {dict(found)}")
    wrong += [f"{kind}: another class, though the scores are {gap:.3g} apart" for gap, by in apart if gap > 2 * min(by, 0.2)]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--ondine", default=str(root / "build/bin/ondine"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the models")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: no data in {DATA}")
        return 77
    images = read_idx("t10k-images-idx3-ubyte.gz").reshape(-1, 1, 28, 28).astype(np.float32) / 255
    labels = read_idx("t10k-labels-idx1-ubyte.gz")
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or pathlib.Path(name)
        folder.mkdir(exist_ok=True)
        network(folder / "cnn.onnx")
        path = train(options.ondine, folder, "float32", options.epochs, [])
        print("| run | accuracy % | other class | equal to 1e-5 | largest difference |\n|---|---|---|---|---|")
        plain = by_ondine(options.ondine, path, images, folder)
        floats, _ = compare("float32", plain, plain, labels)
        for kind in ["int8", "uint8"]:
            wrong += check(options.ondine, kind, folder, options.epochs, floats, images, labels)
    for text in wrong:
        print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
