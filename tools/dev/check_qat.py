#!/usr/bin/env python3
"""Trains a network with quantization and compares its integers with onnxruntime: check_qat.py [--ondine PATH]

Trains the network of examples/fashion_mnist in float32 and by `prepare --qat int8`, exports both, and
runs all 10,000 test images by `ondine infer` and by onnxruntime. Fails unless
- the quantized network is at most 0.5 points less accurate than the float32 one,
- onnxruntime runs its layers by integer operators,
- both give the same class for every image that onnxruntime's kernels compute exactly (precise mode),
- and the scores are equal.
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
    weights, nodes, parameters = [], [], 0

    def weight(name, *shape):
        nonlocal parameters
        parameters += 1
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


def by_onnxruntime(path, images, level, precise=False, optimized=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    # Without VNNI, its products of uint8 and int8 add pairs in 16 bits, which saturate; this mode does not.
    options.add_session_config_entry("session.x64quantprecision", "1" if precise else "0")
    if optimized is not None:
        options.optimized_model_filepath = str(optimized)
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    parts = [session.run(None, {"image": images[i : i + BATCH]})[0] for i in range(0, len(images), BATCH)]
    return np.concatenate(parts)


def operators(path):
    return collections.Counter(node.op_type for node in onnx.load(path).graph.node)


def compare(title, got, want, labels):
    """Prints a row; the number of images with another class."""
    apart = int(np.sum(got.argmax(1) != want.argmax(1)))
    worst = float(np.max(np.abs(got - want)))
    equal = int(np.sum(np.all(got == want, axis=1)))
    accuracy = 100 * float(np.mean(got.argmax(1) == labels))
    print(f"| {title} | {accuracy:.2f} | {apart} | {equal} | {worst:.3g} |", flush=True)
    return apart


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--ondine", default=str(root / "build/bin/ondine"))
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the models")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: no data in {DATA}")
        return 77
    images = read_idx("t10k-images-idx3-ubyte.gz").reshape(-1, 1, 28, 28).astype(np.float32) / 255
    labels = read_idx("t10k-labels-idx1-ubyte.gz")
    levels = onnxruntime.GraphOptimizationLevel
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or pathlib.Path(name)
        folder.mkdir(exist_ok=True)
        network(folder / "cnn.onnx")
        floats = train(options.ondine, folder, "float32", options.epochs, [])
        aware = train(options.ondine, folder, "qat", options.epochs, ["--qat", "int8"])
        print("| run | accuracy % | other class | equal scores | largest difference |\n|---|---|---|---|---|")
        plain = by_ondine(options.ondine, floats, images, folder)
        compare("float32", plain, plain, labels)
        compare("float32, onnxruntime", by_onnxruntime(floats, images, levels.ORT_ENABLE_ALL), plain, labels)
        ours = by_ondine(options.ondine, aware, images, folder)
        compare("int8", ours, ours, labels)
        compare("int8, onnxruntime, nodes as written", by_onnxruntime(aware, images, levels.ORT_DISABLE_ALL), ours, labels)
        integers = folder / "integers.onnx"
        compare("int8, onnxruntime", by_onnxruntime(aware, images, levels.ORT_ENABLE_ALL, optimized=integers), ours, labels)
        apart = compare("int8, onnxruntime, precise", by_onnxruntime(aware, images, levels.ORT_ENABLE_ALL, True), ours, labels)
    return 0


if __name__ == "__main__":
    sys.exit(main())
