#!/usr/bin/env python3
"""Measures how time and memory of a training step grow, and draws docs/images/growth.svg.

  bench/growth.py --measure        trains small transformers and chains of many nodes, writes
                                   docs/data/growth.json and the chart
  bench/growth.py --measure nodes  measures one of the columns again
  bench/growth.py                  draws the chart from docs/data/growth.json
  bench/growth.py --check          fails when the chart is out of date
  bench/growth.py --table          prints the figures as Markdown tables

--measure needs the onnx package and a build with the targets ondine_cli and bench_shapes.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import svg
from svg import FAINT, dot, line, text

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "docs/data/growth.json"
CHART = ROOT / "docs/images/growth.svg"

BASE = {"batch": 8, "depth": 4, "width": 128, "length": 64, "shapes": 1}
SWEEPS = {
    "batch": (1, 2, 4, 8, 16, 32, 64),
    "depth": (1, 2, 4, 8, 16, 32, 64, 128),
    "width": (32, 64, 128, 256, 512),
    "length": (8, 16, 32, 64, 128, 256, 512),
    "shapes": (1, 4, 16, 64, 250, 500),
    "nodes": (1000, 3000, 10000, 30000, 60000, 120000),
}
TITLES = {"batch": "Rows of a batch", "depth": "Layers", "width": "Width of a layer",
          "length": "Length of a row", "shapes": "Different lengths",
          "nodes": "Nodes of the model"}
# A step with many lengths trains on rows of up to this length.
LONGEST = 512
RUNS = 3
CHAIN_WIDTH = 8


def transformer(depth, width):
    """A pre-norm transformer over x [batch, length, width] with ten classes."""
    import numpy
    from onnx import TensorProto, helper, numpy_helper

    random = numpy.random.default_rng(1)
    nodes, weights = [], []

    def weight(name, *shape):
        values = random.standard_normal(shape) / numpy.sqrt(shape[0])
        weights.append(numpy_helper.from_array(values.astype(numpy.float32), name))
        return name

    def constant(name, values):
        weights.append(numpy_helper.from_array(numpy.array(values, numpy.int64), name))
        return name

    def add(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    heads = 4
    split = constant("split", [0, 0, heads, width // heads])
    merge = constant("merge", [0, 0, width])
    x = "x"
    for i in range(depth):
        def name(part, i=i):
            return f"{part}{i}"
        normal = add("LayerNormalization", [x, weight(name("scale"), width)], name("normal"))
        parts = []
        for part, order in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))):
            rows = add("MatMul", [normal, weight(name("w" + part), width, width)],
                       name(part + "_rows"))
            cut = add("Reshape", [rows, split], name(part + "_cut"))
            parts.append(add("Transpose", [cut], name(part), perm=order))
        scores = add("MatMul", parts[:2], name("scores"))
        shares = add("Softmax", [scores], name("shares"))
        mixed = add("MatMul", [shares, parts[2]], name("mixed"))
        back = add("Transpose", [mixed], name("back"), perm=(0, 2, 1, 3))
        joined = add("Reshape", [back, merge], name("joined"))
        out = add("MatMul", [joined, weight(name("wo"), width, width)], name("out"))
        x = add("Add", [x, out], name("attended"))
        normal = add("LayerNormalization", [x, weight(name("scale_b"), width)], name("normal_b"))
        wide = add("MatMul", [normal, weight(name("up"), width, 4 * width)], name("wide"))
        active = add("Relu", [wide], name("active"))
        narrow = add("MatMul", [active, weight(name("down"), 4 * width, width)], name("narrow"))
        x = add("Add", [x, narrow], name("block"))
    mean = add("ReduceMean", [x, constant("over", [1])], "mean", keepdims=0)
    add("MatMul", [mean, weight("head", width, 10)], "logits")
    graph = helper.make_graph(
        nodes, "transformer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", width])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])], weights)
    return helper.make_model(graph, ir_version=9,
                             opset_imports=[helper.make_opsetid("", 18)])


def chain(count):
    """A chain of about `count` nodes: cells of MatMul, Add and Relu with weights of their own."""
    import numpy
    from onnx import TensorProto, helper, numpy_helper

    random = numpy.random.default_rng(1)
    nodes, weights, x = [], [], "x"
    for i in range(count // 3):
        w = random.standard_normal((CHAIN_WIDTH, CHAIN_WIDTH)) / math.sqrt(CHAIN_WIDTH / 2)
        weights.append(numpy_helper.from_array(w.astype(numpy.float32), f"w{i}"))
        weights.append(numpy_helper.from_array(numpy.zeros(CHAIN_WIDTH, numpy.float32), f"b{i}"))
        nodes.append(helper.make_node("MatMul", [x, f"w{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]))
        nodes.append(helper.make_node("Relu", [f"a{i}"], [f"r{i}"]))
        x = f"r{i}"
    shape = ["batch", CHAIN_WIDTH]
    graph = helper.make_graph(
        nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)], weights)
    return helper.make_model(graph, ir_version=9,
                             opset_imports=[helper.make_opsetid("", 18)])


def run_child(command):
    """Output of a process and the seconds of the processor that it took."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    return output, usage.ru_utime + usage.ru_stime


def prepare(tools, plain, path, optimizer):
    return run_child([tools / "ondine", "prepare", plain, "-o", path, "--loss",
                      "softmax-cross-entropy", "--optimizer", optimizer])


def training_model(tools, folder, depth, width):
    import onnx

    path = folder / f"{depth}x{width}.train.onnx"
    if not path.exists():
        plain = folder / "plain.onnx"
        onnx.save(transformer(depth, width), plain)
        prepare(tools, plain, path, "adam")
    return path


def measure_chain(tools, folder, count):
    """Time of a step, memory, and seconds that prepare, load and the first step take."""
    import onnx

    plain, path = folder / "chain.onnx", folder / "chain.train.onnx"
    onnx.save(chain(count), plain)
    _, prepare_s = prepare(tools, plain, path, "sgd")
    bench = [tools / "ondine", "bench", path, "--json", "--threads", "1", "--shape",
             f"x=1x{CHAIN_WIDTH}", "--shape", "label=1"]
    output, load_s = run_child([*bench, "--steps", "5"])
    out = json.loads(output)
    steps_s = 5 * out["median_ms"] / 1000
    return out["median_ms"], out["resident_bytes"] / 2**20, prepare_s + load_s - steps_s


def measure_one(tools, folder, job):
    if "nodes" in job:
        return measure_chain(tools, folder, job["nodes"])
    model = training_model(tools, folder, job["depth"], job["width"])
    if job["sweep"] == "shapes":
        out = subprocess.run(
            [tools / "bench_shapes", model, str(LONGEST), str(job["shapes"]), str(job["batch"]),
             str(job["width"])], check=True, capture_output=True, text=True).stdout.split()
        return float(out[0]), float(out[1])
    out = json.loads(subprocess.run(
        [tools / "ondine", "bench", model, "--json", "--steps", "15", "--threads", "1", "--shape",
         f"x={job['batch']}x{job['length']}x{job['width']}", "--shape", f"label={job['batch']}"],
        check=True, capture_output=True, text=True).stdout)
    return out["median_ms"], out["resident_bytes"] / 2**20


def rounded(value):
    return float(f"{value:.3g}")


def measure_sweep(tools, folder, sweep):
    points = []
    for value in SWEEPS[sweep]:
        job = dict(BASE, sweep=sweep, **{sweep: value})
        if sweep == "shapes":
            job["length"] = LONGEST
        runs = [measure_one(tools, folder, job) for _ in range(RUNS)]
        medians = [rounded(statistics.median(run[i] for run in runs)) for i in range(len(runs[0]))]
        points.append({"at": value, **dict(zip(("ms", "mb", "start_s"), medians))})
        print(sweep, points[-1], file=sys.stderr)
    return points


def measure(build, sweeps):
    data = json.loads(DATA.read_text()) if DATA.exists() else {"points": {}}
    data.update(base=BASE, longest=LONGEST)
    with tempfile.TemporaryDirectory() as temporary:
        for sweep in sweeps or SWEEPS:
            data["points"][sweep] = measure_sweep(build / "bin", pathlib.Path(temporary), sweep)
    DATA.write_text(json.dumps(data, indent=1) + "\n")


def table(data):
    for sweep, points in data["points"].items():
        start = "start_s" in points[0]
        print(f"| {TITLES[sweep]} | step, ms | memory, MB |" + (" start, s |" if start else ""))
        print("|---|---|---|" + ("---|" if start else ""))
        for point in points:
            end = f" {point['start_s']:g} |" if start else ""
            print(f"| {point['at']:,} | {point['ms']:g} | {point['mb']:g} |{end}")
        print()


class Panel:
    """One chart with logarithmic axes."""

    def __init__(self, left, top, width, height, ats, values):
        self.left, self.bottom, self.width, self.height = left, top + height, width, height
        self.low_x, self.span_x = math.log(ats[0]), math.log(ats[-1]) - math.log(ats[0])
        self.low, self.high = values

    def point(self, at, value):
        x = self.left + self.width * (math.log(at) - self.low_x) / self.span_x
        share = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return x, self.bottom - self.height * share


def short(number):
    """1000 as 1k."""
    return f"{number // 1000}k" if number >= 1000 and number % 1000 == 0 else f"{number}"


def draw_panel(panel, points, key, unit, color, ticks, label_ticks):
    for tick in ticks:
        y = panel.point(points[0]["at"], tick)[1]
        yield line(panel.left, y, panel.left + panel.width, y)
        if label_ticks:
            yield text(panel.left - 8, y + 4, f"{tick:g}{unit}", 11, FAINT, "end")
    positions = [panel.point(point["at"], point[key]) for point in points]
    for (x1, y1), (x2, y2) in zip(positions, positions[1:]):
        yield line(x1, y1, x2, y2, color, 2)
    for (x, y), point in zip(positions, points):
        yield dot(x, y, color, 3.5, f"{point['at']:,}: {point[key]:g}{unit}")
    for point in (points[0], points[len(points) // 2], points[-1]):
        x = panel.point(point["at"], panel.low)[0]
        yield text(x, panel.bottom + 16, short(point["at"]), 11, FAINT, "middle")


def draw(data):
    left, gap, width, height, top = 76, 26, 148, 150, 66
    rows = (("ms", " ms", "#0b6e99", (0.1, 1, 10, 100, 1000), "Time of a training step"),
            ("mb", " MB", "#d9480f", (10, 100, 1000), "Resident memory"))
    parts = []
    for row, (key, unit, color, ticks, title) in enumerate(rows):
        y = top + row * (height + 74)
        values = [point[key] for points in data["points"].values() for point in points]
        span = min(values + [ticks[0]]), max(values + [ticks[-1]])
        parts.append(text(24, y - 34, title, 14, weight="bold"))
        for column, (sweep, points) in enumerate(data["points"].items()):
            x = left + column * (width + gap)
            panel = Panel(x, y, width, height, [point["at"] for point in points], span)
            parts.append(text(x, y - 10, TITLES[sweep], 12))
            parts += draw_panel(panel, points, key, unit, color, ticks, column == 0)
    total = left + len(data["points"]) * (width + gap)
    bottom = top + 2 * (height + 74) + 16
    base = data["base"]
    notes = (f"A transformer of {base['depth']} layers, width {base['width']}, batches of "
             f"{base['batch']} rows of length {base['length']}, Adam, one thread; one of these "
             "varies in each column.",
             f"Different lengths: up to {data['longest']}. Nodes: a chain of MatMul, Add and Relu, "
             "batches of one row. Logarithmic scales.")
    for i, note in enumerate(notes):
        parts.append(text(24, bottom - 38 + 16 * i, note, 11, FAINT))
    return svg.image(total, bottom, "Growth of time and memory of a training step", parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs="*", choices=SWEEPS, metavar="COLUMN",
                        help="measure all columns, or these, before drawing")
    parser.add_argument("--table", action="store_true", help="print the figures instead")
    parser.add_argument("--check", action="store_true", help="fail when the chart is out of date")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    if options.measure is not None:
        measure(options.build, options.measure)
    if options.table:
        return table(json.loads(DATA.read_text()))
    return svg.write_or_check(draw(json.loads(DATA.read_text())), CHART, ROOT, options.check,
                              "bench/growth.py")


if __name__ == "__main__":
    sys.exit(main())
