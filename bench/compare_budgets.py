#!/usr/bin/env python3
"""Tunes trained networks for other data within budgets of memory (`prepare --train-budget`), and as
one would without: everything, biases, as many of the last layers as fit. Prints accuracy, memory of
a step as planned and time of a step as tables.

  bench/compare_budgets.py --build build [--jobs cnn,mobilenet,minilm] [--examples FOLDER]
                           [--seeds 1,2] [--work FOLDER]

cnn         the network of examples/fashion_mnist, trained here on five classes of Fashion-MNIST,
            tuned with 500 images of the other five
mobilenet   the same with a MobileNetV2 of half the width for 32 x 32 (small_mobilenet.py)
minilm      the encoder of examples/minilm, tuned with 240 mails; run.sh must have run in --examples

A budget is a step of the last layer alone and 10, 25 or 50 % of what a step of all parameters takes
beyond that. Times are processor time of training with one thread, start of the program included.
Needs numpy, and onnx for mobilenet; networks that were trained stay in --work."""
import argparse
import gzip
import json
import re
import statistics
import sys
from pathlib import Path

import numpy

from compare_adapters import CLASSES, TASKS, encoder_folder, rows_of, run, training_rows, write_rows

PARTS = (10, 25, 50)
DATA = Path("/usr/share/datasets/fashion-mnist")
OLD_IMAGES, NEW_IMAGES, BATCH, EPOCHS = 12000, 500, 50, 10
LAYERS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 52, 64, 80, 96)


def read_idx(name):
    """uint8 arrays."""
    found = next(DATA.glob(f"{name}*"))
    data = found.read_bytes()
    if found.suffix == ".gz":
        data = gzip.decompress(data)
    dims = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(data[3])]
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * len(dims)).reshape(dims)


def write_images(path, part, classes, count, side):
    """Images of the classes, their labels from 0 on."""
    images, labels = read_idx(f"{part}-images"), read_idx(f"{part}-labels").astype("int64")
    chosen = numpy.flatnonzero((labels >= classes[0]) & (labels <= classes[1]))[:count]
    edge = (side - 28) // 2
    images = numpy.pad(images[chosen], ((0, 0), (edge, edge), (edge, edge)))
    numpy.savez(path, image=images[:, None], label=labels[chosen] - classes[0])


class Images:
    """A network that has learned classes 0 to 4, and those that it is tuned for."""
    batch, epochs, rate, metric_data = BATCH, EPOCHS, "0.001", "test.npz"
    data = "new.npz"
    head = ["--head", "5"]
    text = []

    def __init__(self, options, name, write_network, side, epochs):
        self.ondine, self.folder = options.build / "bin/ondine", options.work / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.network = self.folder / "base.onnx"
        self.shapes = [f"image={BATCH}x1x{side}x{side}", f"label={BATCH}"]
        write_images(self.folder / "old.npz", "train", (0, 4), OLD_IMAGES, side)
        write_images(self.folder / "new.npz", "train", (5, 9), NEW_IMAGES, side)
        write_images(self.folder / "test.npz", "t10k", (5, 9), 10000, side)
        if self.network.exists():
            return
        write_network(options, self.folder / "net.onnx")
        run(self.ondine, "prepare", self.folder / "net.onnx", "-o", self.folder / "first.onnx",
            "--loss", "softmax-cross-entropy", "--optimizer", "adam", "--learning-rate", "0.002")
        said = run(self.ondine, "train", self.folder / "first.onnx", "--data",
                   self.folder / "old.npz", "--epochs", epochs, "--batch-size", 64, "--schedule",
                   "cosine", "--initialize", "--seed", 1, "-o", self.network)[0]
        print(said.splitlines()[-1], file=sys.stderr)


class Mails:
    """The sentence encoder, and mails to tell apart."""
    data, metric_data, rate, epochs, batch = "train.jsonl", "test.jsonl", "0.0003", 2, 16
    head = ["--head", len(CLASSES), "--cut", "sentence_embedding"]
    text = ["--text-length", TASKS["spam"][1]]

    def __init__(self, options):
        self.ondine, self.folder = options.build / "bin/ondine", options.work / "minilm"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.network = self.folder / "base.onnx"
        size = f"{self.batch}x{TASKS['spam'][1]}"
        self.shapes = [f"{name}={size}" for name in
                       ("input_ids", "attention_mask", "token_type_ids")] + [f"label={self.batch}"]
        write_rows(self.folder / "train.jsonl", training_rows(options.examples, "spam"))
        write_rows(self.folder / "test.jsonl", rows_of(options.examples, "spam", "test"))
        if not self.network.exists():
            run(self.ondine, "import-hf", encoder_folder(options.examples), "-o", self.network)


def write_cnn(options, path):
    run(options.build / "bin/example_make_cnn", path)


def write_mobilenet(_, path):
    import onnx

    from small_mobilenet import small_mobilenet
    onnx.save(small_mobilenet(5), path)


JOBS = {"cnn": lambda options: Images(options, "cnn", write_cnn, 28, 2),
        "mobilenet": lambda options: Images(options, "mobilenet", write_mobilenet, 32, 3),
        "minilm": Mails}


def prepare(job, more, target):
    """What it printed, and the processor time."""
    return run(job.ondine, "prepare", job.network, "-o", target, "--loss", "softmax-cross-entropy",
               "--optimizer", "adamw", "--learning-rate", job.rate, "--init", "keep", *job.head,
               *more)[:2]


def planned(job, target):
    """Bytes of a step."""
    shapes = [word for shape in job.shapes for word in ("--shape", shape)]
    plan = json.loads(run(job.ondine, "inspect", target, "--stage", "plan", "--format", "json",
                          *shapes)[0])
    return plan["arena_bytes"] + plan["constant_bytes"] + plan["state_bytes"]


def budget_words(job, size):
    return ["--train-budget", size, "--budget-rows", job.batch, "--data", job.folder / job.data,
            *job.text]


def last_layers(job, sizes, budget):
    """As many of the last layers as fit; `sizes` by their number."""
    best = 1
    for layers in LAYERS:
        if layers not in sizes:
            target = job.folder / "layers.onnx"
            prepare(job, ["--last-layers", layers], target)
            sizes[layers] = planned(job, target)
        if sizes[layers] > budget:
            return best
        best = layers
    return best


def measure(job, target, seed):
    """Accuracy on the test part, and processor time of a step in ms."""
    tuned = job.folder / "tuned.onnx"
    words = [job.ondine, "train", target, "--data", job.folder / job.data, *job.text, "--epochs",
             job.epochs, "--batch-size", job.batch, "--schedule", "cosine", "--initialize",
             "--seed", seed, "--threads", 1, "-o", tuned]
    one = run(*words, "--max-steps", 1)[1]
    cpu = run(*words)[1]
    rows = NEW_IMAGES if job.data.endswith("npz") else TASKS["spam"][0]
    steps = job.epochs * -(-rows // job.batch)
    said = run(job.ondine, "eval", tuned, "--data", job.folder / job.metric_data, *job.text,
               "--metrics", "accuracy")[0]
    accuracy = float(re.search(r"^accuracy (\S+)", said, re.M).group(1))
    return accuracy, 1000 * (cpu - one) / (steps - 1)


def chosen_text(said, cpu):
    found = re.search(r"budget: (.*?), with (\S+ %) of the gain", said)
    return f"{found.group(1)}, {found.group(2)} of the gain, in {cpu:.0f} s" if found else ""


def table(job, seeds):
    target = job.folder / "train.onnx"
    sizes = {}
    ways = [("all", []), ("last layer", ["--last-layers", 1]), ("biases", ["--only-biases"])]
    for _, more in ways[:2]:
        prepare(job, more, target)
        sizes[len(sizes)] = planned(job, target)
    everything, least = sizes.pop(0), sizes[1]
    for part in PARTS:
        budget = least + (everything - least) * part // 100
        layers = last_layers(job, sizes, budget)
        ways.append((f"last {layers} layers, budget {part} %", ["--last-layers", layers]))
        ways.append((f"budget {part} %", budget_words(job, budget)))
    print("| what trains | accuracy | a step, MB | a step, ms | chosen |")
    print("|---|---|---|---|---|")
    for name, more in ways:
        said, cpu = prepare(job, more, target)
        size = planned(job, target)
        runs = [measure(job, target, seed) for seed in seeds]
        accuracy, time = (statistics.mean(one) for one in zip(*runs))
        print(f"| {name} | {100 * accuracy:.1f} % | {size / 1e6:.1f} | {time:.1f} | "
              f"{chosen_text(said, cpu)} |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", type=Path, default=Path("build"))
    options.add_argument("--examples", type=Path)
    options.add_argument("--work", type=Path)
    options.add_argument("--jobs", default=",".join(JOBS))
    options.add_argument("--seeds", default="1")
    chosen = options.parse_args()
    chosen.work = chosen.work or chosen.build / "budgets"
    chosen.examples = chosen.examples or chosen.build / "example_minilm"
    for name in chosen.jobs.split(","):
        print(f"\n{name}\n", flush=True)
        table(JOBS[name](chosen), [int(seed) for seed in chosen.seeds.split(",")])


if __name__ == "__main__":
    main()
