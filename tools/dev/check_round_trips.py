#!/usr/bin/env python3
"""Trains on every kind of data with options, exports the checkpoint in a new process, and compares
`ondine infer` and `ondine eval`, without one option, with onnxruntime on files that Pillow, NumPy
and plain code read. Needs onnx, onnxruntime, numpy, pillow and sentencepiece.

    tools/dev/check_round_trips.py build/bin/ondine
"""
import csv
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import sentencepiece
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from PIL import Image

PROGRAM = Path(sys.argv[1]).resolve()
draw = np.random.default_rng(5)
failures = []
folders = []


class Kind:
    """A folder with a model and what is made of it."""

    def __init__(self, name):
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix="round_trip_"))
        folders.append(self.folder)

    def fail(self, text):
        failures.append(f"{self.name}: {text}")

    def call(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, capture_output=True,
                              text=True, check=False)

    def run(self, *arguments):
        done = self.call(*arguments)
        if done.returncode:
            self.fail(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
            raise RuntimeError(f"{self.name}: nothing to compare")
        return done

    def save(self, inputs, nodes, weights, output="y", rank=2):
        constants = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
        dims = ["N", *[None] * (rank - 1)]
        graph = helper.make_graph(nodes, "g", inputs,
                                  [helper.make_tensor_value_info(output, T.FLOAT, dims)], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), self.folder / "net.onnx")

    def train(self, prepare, options, data="train"):
        loss = [] if "--loss" in prepare else ["--loss", "cross-entropy"]
        self.run("prepare", "net.onnx", "-o", "t.onnx", *loss, *prepare)
        self.run("train", "t.onnx", "--data", data, "--epochs", 3, "--batch-size", 4, "--quiet",
                 "--checkpoint", "c.ckpt", *options)
        self.run("export", "t.onnx", "--checkpoint", "c.ckpt", "-o", "out.onnx")
        self.session = onnxruntime.InferenceSession(self.folder / "out.onnx",
                                                    providers=["CPUExecutionProvider"])

    def outputs(self, rows):
        """Of rows that are fed one by one, since pictures have their own sizes."""
        name = self.session.get_inputs()[0].name
        return [self.session.run(None, {name: np.asarray(row)[None]})[0][0] for row in rows]

    def infer(self, data):
        self.run("infer", "out.onnx", "--data", data, "-o", "rows.csv")
        with open(self.folder / "rows.csv", newline="", encoding="utf-8") as file:
            return list(csv.reader(file))[1:]

    def compare(self, rows, data, classes=None, tolerance=2e-4):
        """`rows` in the order of the data; classes: names of logits, else numbers are compared."""
        wanted = self.outputs(rows)
        found = self.infer(data)
        if len(found) != len(wanted):
            return self.fail(f"{data}: {len(found)} rows, wanted {len(wanted)}")
        for row, (fields, y) in enumerate(zip(found, wanted)):
            if classes is None:
                error = np.abs(np.array(fields[1:], float) - y.ravel()).max()
            else:
                p = np.exp(y - y.max())
                p /= p.sum()
                best = int(p.argmax())
                tie = np.sort(p)[-1] - np.sort(p)[-2] < 2 * tolerance
                if fields[1] != classes[best] and not tie:
                    self.fail(f"{data}, row {row}: {fields[1]}, wanted {classes[best]}")
                error = abs(float(fields[2]) - p[best])
            if not error <= tolerance:
                self.fail(f"{data}, row {row}: {fields[1:]}, wanted {y}")
        return None

    def accuracy(self, data, rows, labels):
        right = [int(y.argmax()) == label for y, label in zip(self.outputs(rows), labels)]
        text = self.run("eval", "out.onnx", "--data", data).stdout
        found = re.search(r"accuracy\D*([0-9.]+)", text)
        if not found or abs(float(found[1]) - np.mean(right)) > 1e-3:
            self.fail(f"eval {data}: {text.strip()!r}, wanted {np.mean(right)}")

    def refuses(self, *arguments):
        done = self.call(*arguments)
        if done.returncode == 0:
            self.fail(f"{' '.join(map(str, arguments))} is not refused")


def tensor(name, dims, kind=T.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def weights(*dims):
    return draw.normal(size=dims).astype(np.float32)


def linear(inputs, count, classes, flatten=True):
    nodes = [helper.make_node("Flatten", ["x"], ["f"])] if flatten else []
    nodes.append(helper.make_node("Gemm", ["f" if flatten else "x", "w", "b"], ["y"]))
    return inputs, nodes, {"w": weights(count, classes) / np.float32(count) ** 0.5,
                           "b": weights(classes)}


def write_csv(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def tables():
    kind = Kind("tables")
    kind.save(*linear([tensor("x", ["N", 2])], 2, 3, flatten=False))
    x = draw.normal(size=(30, 2)).astype(np.float32)
    words = ["low", "mid", "top"]
    labels = [int(v > -0.5) + int(v > 0.5) for v in x[:, 0]]
    names = [words[i] for i in labels]
    a, b = ([f"{v:.6f}" for v in x[:, i]] for i in (0, 1))
    x = np.array([a, b], np.float32).T
    write_csv(kind.folder / "train.csv", ["kind", "a", "b"], zip(names, a, b))
    write_csv(kind.folder / "shuffled.csv", ["b", "when", "kind", "a"], zip(b, a, names, a))
    write_csv(kind.folder / "plain.csv", ["b", "a"], zip(b, a))
    write_csv(kind.folder / "renamed.csv", ["kind", "a", "b"], zip(["other"] * 30, a, b))
    write_csv(kind.folder / "missing.csv", ["kind", "a", "c"], zip(names, a, b))
    kind.train([], ["--target", "kind"], "train.csv")
    for data in ("train.csv", "shuffled.csv", "plain.csv", "renamed.csv"):
        kind.compare(x, data, words)
    for data in ("train.csv", "shuffled.csv"):
        kind.accuracy(data, x, labels)
    for data in ("plain.csv", "renamed.csv", "missing.csv"):
        kind.refuses("eval", "out.onnx", "--data", data)
    kind.refuses("infer", "out.onnx", "--data", "missing.csv")


def save_pictures(folder, size):
    """Of three classes; files in the order in which a folder is read."""
    files = []
    for label, name in enumerate(("blue", "green", "red")):
        (folder / name).mkdir(parents=True)
        for i in range(5):
            height, width = size(i)
            pixels = draw.integers(0, 90, (height, width, 3), dtype=np.uint8)
            pixels[..., 2 - label] += 120
            Image.fromarray(pixels).save(folder / name / f"{i}.png")
            files.append((folder / name / f"{i}.png", label))
    return files


def pictures():
    kind = Kind("pictures")
    kind.save(*linear([tensor("x", ["N", 3, 8, 8])], 192, 3))
    files = save_pictures(kind.folder / "train", lambda i: (8, 8))
    kind.train([], ["--image-fit", "stretch"])
    x = [np.asarray(Image.open(f), np.float32).transpose(2, 0, 1) / 255 for f, _ in files]
    kind.compare(x, "train", ["blue", "green", "red"])
    kind.accuracy("train", x, [label for _, label in files])
    # Without the folders' names, and with other ones.
    loose = kind.folder / "loose"
    loose.mkdir()
    for i, (file, _) in enumerate(files):
        (loose / f"{i:02}.png").write_bytes(file.read_bytes())
    kind.compare(x, "loose", ["blue", "green", "red"])
    (kind.folder / "other" / "violet").mkdir(parents=True)
    (kind.folder / "other" / "violet" / "0.png").write_bytes(files[0][0].read_bytes())
    kind.refuses("eval", "out.onnx", "--data", "other")
    # Of another size and shape, stretched as in training.
    wide = kind.folder / "wide"
    wide.mkdir()
    Image.fromarray(draw.integers(0, 256, (16, 24, 3), dtype=np.uint8)).save(wide / "0.png")
    small = Image.open(wide / "0.png").resize((8, 8), Image.Resampling.BILINEAR)
    kind.compare([np.asarray(small, np.float32).transpose(2, 0, 1) / 255], "wide",
                 ["blue", "green", "red"], tolerance=0.01)


def listed_pictures():
    kind = Kind("pictures in a list")
    kind.save(*linear([tensor("x", ["N", 3, 8, 8])], 192, 3))
    files = save_pictures(kind.folder / "all", lambda i: (8, 8))
    words = ["blue", "green", "red"]
    rows = [(words[label], file.relative_to(kind.folder), i) for i, (file, label) in enumerate(files)]
    write_csv(kind.folder / "train.csv", ["colour", "file", "number"], rows)
    write_csv(kind.folder / "shuffled.csv", ["number", "file", "colour"], [r[::-1] for r in rows])
    write_csv(kind.folder / "plain.csv", ["file"], [[r[1]] for r in rows])
    kind.train([], ["--target", "colour"], "train.csv")
    x = [np.asarray(Image.open(f), np.float32).transpose(2, 0, 1) / 255 for f, _ in files]
    for data in ("train.csv", "shuffled.csv", "plain.csv"):
        kind.compare(x, data, words)
    for data in ("train.csv", "shuffled.csv"):
        kind.accuracy(data, x, [label for _, label in files])
    kind.refuses("eval", "out.onnx", "--data", "plain.csv")


def resized_inside():
    kind = Kind("pictures that the model resizes")
    kind.save(*linear([tensor("x", ["N", 3, 8, 8])], 192, 3))
    files = save_pictures(kind.folder / "train", lambda i: (9 + i, 12 + 2 * i))
    kind.train(["--preprocess", "scale=1/255,mean=0.5:0.4:0.3,std=0.2:0.3:0.4,resize=8x8,"
                "type=uint8,layout=nhwc"], ["--learning-rate", "0.01"])
    x = [np.asarray(Image.open(f)) for f, _ in files]
    kind.compare(x, "train", ["blue", "green", "red"])
    kind.accuracy("train", x, [label for _, label in files])


def embedding(kind, vocabulary, length):
    nodes = [helper.make_node("Gather", ["table", "x"], ["e"]),
             helper.make_node("ReduceMean", ["e", "axes"], ["f"], keepdims=0),
             helper.make_node("Gemm", ["f", "w", "b"], ["y"])]
    kind.save([tensor("x", ["N", length], T.INT64)], nodes,
              {"table": weights(vocabulary, 6), "axes": np.array([1], np.int64),
               "w": weights(6, 2), "b": weights(2)})


SENTENCES = ["the sea is calm today", "waves are high", "größer als gestern", "a storm comes",
             "fish swim under the boat", "the wind sleeps", "Ende", "日本 sea"] * 3


def texts(pieces):
    kind = Kind("texts in " + ("pieces" if pieces else "bytes"))
    length, options = 16, ["--text-column", "body", "--target", "mood"]
    if pieces:
        (kind.folder / "c.txt").write_text("\n".join(SENTENCES * 20), encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(kind.folder / "c.txt"), model_prefix=str(kind.folder / "p"), vocab_size=60,
            hard_vocab_limit=False, minloglevel=2, pad_id=3)
        processor = sentencepiece.SentencePieceProcessor(model_file=str(kind.folder / "p.model"))
        vocabulary, pad = processor.vocab_size(), 3
        ids = [processor.encode(s) for s in SENTENCES]
        options += ["--tokenizer", "p.model"]
    else:
        vocabulary, pad = 256, 0
        ids = [list(s.encode()) for s in SENTENCES]
    embedding(kind, vocabulary, length)
    x = np.array([(i + [pad] * length)[:length] for i in ids], np.int64)
    labels = [i % 2 for i in range(len(SENTENCES))]
    moods = [["calm", "wild"][i] for i in labels]
    objects = [{"other": "x", "mood": m, "body": s} for m, s in zip(moods, SENTENCES)]
    lines = [json.dumps(o) for o in objects]
    (kind.folder / "train.jsonl").write_text("\n".join(lines) + "\n")
    bodies = [json.dumps({"body": s}, ensure_ascii=False) for s in SENTENCES]
    (kind.folder / "plain.jsonl").write_text("\n".join(bodies) + "\n", encoding="utf-8")
    write_csv(kind.folder / "rows.of.csv", ["body", "text", "mood"],
              zip(SENTENCES, ["no"] * 24, moods))
    kind.train([], options, "train.jsonl")
    for data in ("train.jsonl", "plain.jsonl", "rows.of.csv"):
        kind.compare(x, data, ["calm", "wild"])
    for data in ("train.jsonl", "rows.of.csv"):
        kind.accuracy(data, x, labels)
    kind.refuses("eval", "out.onnx", "--data", "plain.jsonl")


def recordings():
    kind = Kind("recordings")
    kind.save(*linear([tensor("x", ["N", 200])], 200, 2, flatten=False))
    x, labels = [], []
    for label, name in enumerate(("high", "low")):
        (kind.folder / "train" / name).mkdir(parents=True)
        for i in range(6):
            count = 150 + 20 * i
            samples = np.sin(np.arange(count) * (0.9, 0.1)[label] + i) * 9000
            samples = samples.astype(np.int16)
            with wave.open(str(kind.folder / "train" / name / f"{i}.wav"), "wb") as file:
                file.setparams((1, 2, 8000, count, "NONE", ""))
                file.writeframes(samples.astype("<i2").tobytes())
            x.append(np.pad(samples.astype(np.float32) / 32768, (0, 200))[:200])
            labels.append(label)
    kind.train([], ["--sample-rate", "8000", "--no-resample"])
    kind.compare(x, "train", ["high", "low"])
    kind.accuracy("train", x, labels)


def arrays():
    for suffix in ("npz", "npy"):
        kind = Kind("arrays in ." + suffix)
        kind.save(*linear([tensor("x", ["N", 4])], 4, 2, flatten=False))
        x = draw.normal(size=(20, 4)).astype(np.float64)
        y = (x @ [[1], [2], [0], [-1]] @ [[1, -0.5]]).astype(np.float32)
        if suffix == "npz":
            np.savez(kind.folder / "train.npz", points=x, goals=y)
            np.savez(kind.folder / "plain.npz", points=x)
            data, plain = "train.npz", "plain.npz"
        else:
            for name in ("train", "plain"):
                (kind.folder / name).mkdir()
                np.save(kind.folder / name / "points.npy", x)
            np.save(kind.folder / "train" / "goals.npy", y)
            data, plain = "train", "plain"
        kind.train(["--loss", "mse"], ["--map", "x=points", "label=goals"], data)
        for one in (data, plain):
            kind.compare(x.astype(np.float32), one)
        text = kind.run("eval", "out.onnx", "--data", data).stdout
        error = np.mean((np.array(kind.outputs(x.astype(np.float32))) - y) ** 2)
        found = re.search(r"mse\D*([0-9.e+-]+)", text)
        if not found or abs(float(found[1]) - error) > 1e-3 * (1 + error):
            kind.fail(f"eval: {text!r}, wanted {error}")
        kind.refuses("eval", "out.onnx", "--data", plain)


def write_idx(path, array):
    header = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())


def idx():
    kind = Kind("IDX")
    kind.save(*linear([tensor("x", ["N", 1, 6, 6])], 36, 3))
    x = draw.integers(0, 256, (24, 6, 6), dtype=np.uint8)
    labels = [i % 3 for i in range(24)]
    (kind.folder / "train").mkdir()
    (kind.folder / "plain").mkdir()
    write_idx(kind.folder / "train" / "train-images-idx3-ubyte", x)
    write_idx(kind.folder / "train" / "train-labels-idx1-ubyte", np.array(labels))
    write_idx(kind.folder / "plain" / "t10k-images-idx3-ubyte", x)
    kind.train([], ["--learning-rate", "0.02"])
    fed = x[:, None].astype(np.float32) / 255
    for data in ("train", "plain"):
        kind.compare(fed, data, ["0", "1", "2"])
    kind.accuracy("train", fed, labels)


def masks():
    kind = Kind("masks")
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])]
    kind.save([tensor("x", ["N", 1, 6, 6])], nodes, {"w": weights(1, 1, 3, 3), "b": weights(1)},
              rank=4)
    x = draw.integers(0, 256, (12, 1, 6, 6), dtype=np.uint8)
    mask = (x > 128).astype(np.uint8)
    np.savez(kind.folder / "train.npz", x=x, mask=mask)
    np.savez(kind.folder / "bad.npz", x=x, mask=mask * 255)
    np.savez(kind.folder / "plain.npz", x=x)
    kind.train(["--loss", "bce"], ["--map", "label=mask"], "train.npz")
    outputs = np.array(kind.outputs(x.astype(np.float32) / 255))
    accuracy = np.mean((outputs > 0) == (mask > 0))
    text = kind.run("eval", "out.onnx", "--data", "train.npz").stdout
    found = re.search(r"accuracy\D*([0-9.]+)", text)
    if not found or abs(float(found[1]) - accuracy) > 1e-3:
        kind.fail(f"eval: {text!r}, wanted {accuracy}")
    kind.compare(x.astype(np.float32) / 255, "plain.npz")
    kind.refuses("eval", "out.onnx", "--data", "bad.npz")
    kind.refuses("train", "t.onnx", "--data", "bad.npz", "--epochs", 1, "--batch-size", 4)


def main():
    for check in (tables, pictures, listed_pictures, resized_inside, lambda: texts(False), lambda: texts(True),
                  recordings, arrays, idx, masks):
        try:
            check()
        except RuntimeError as error:
            failures.append(str(error))
    for folder in folders:
        shutil.rmtree(folder)
    print("\n".join(failures) or "every kind of data gives the same numbers")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
