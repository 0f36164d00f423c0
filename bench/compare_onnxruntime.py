#!/usr/bin/env python3
"""Compares inference of .onnx models with onnxruntime, in alternating blocks of one run:

  bench/compare_onnxruntime.py FOLDER --threads 2      every .onnx file in FOLDER
  bench/compare_onnxruntime.py det.onnx --shape det.onnx:x=1x3x640x640 --json ratios.json

Both programs get inputs of the same shapes: dynamic dimensions are 1 unless --shape names the input.
Ratios are onnxruntime's median time divided by ours; the median and the worst of them come last. A
model that one of the programs cannot run is named and left out of them.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def ours(options, model, shapes):
    """Median milliseconds of one run, measured by the command line."""
    command = [str(options.build / "bin/ondine"), "bench", str(model), "--inference", "--json",
               "--dim-size", "1", "--threads", str(options.threads), "--steps", str(options.runs)]
    for name, dims in shapes.items():
        command += ["--shape", f"{name}={'x'.join(map(str, dims))}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("ondine: " + done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)["median_ms"]


class Theirs:
    def __init__(self, model, threads, shapes):
        import numpy
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(model), options,
                                                    providers=["CPUExecutionProvider"])
        constants = {one.name for one in self.session.get_overridable_initializers()}
        random = numpy.random.default_rng(1)
        self.feeds = {}
        for port in self.session.get_inputs():
            if port.name in constants:
                continue
            shape = shapes.get(port.name) or [extent if isinstance(extent, int) else 1
                                              for extent in port.shape]
            kinds = {"float": numpy.float32, "double": numpy.float64, "float16": numpy.float16,
                     "int64": numpy.int64, "int32": numpy.int32, "bool": numpy.bool_,
                     "uint8": numpy.uint8}
            kind = kinds[port.type[len("tensor("):-1]]
            whole = not numpy.issubdtype(kind, numpy.floating)
            values = random.integers(0, 2, shape) if whole else random.uniform(-1, 1, shape)
            self.feeds[port.name] = numpy.asarray(values).astype(kind)

    def median(self, runs):
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            self.session.run(None, self.feeds)
            times.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times)


def compare(model, options, shapes):
    peer = Theirs(model, options.threads, shapes)
    peer.median(2)
    mine, theirs = [], []
    for _ in range(options.blocks):
        mine.append(ours(options, model, shapes))
        theirs.append(peer.median(options.runs))
    return statistics.median(mine), statistics.median(theirs)


def parse_shapes(entries):
    """{file name: {input: dims}} of FILE:INPUT=DIMxDIM..."""
    shapes = {}
    for entry in entries:
        file, _, rest = entry.partition(":")
        name, _, dims = rest.rpartition("=")
        shapes.setdefault(file, {})[name] = [int(dim) for dim in dims.split("x")]
    return shapes


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path, nargs="+", help="files, or folders of files")
    parser.add_argument("--shape", action="append", default=[], metavar="FILE:INPUT=DIMxDIM...",
                        help="shape of an input of the file of that name")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows there too")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=8, help="runs of one block")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build")
    options = parser.parse_args()
    models = [file for given in options.models
              for file in (sorted(given.glob("*.onnx")) if given.is_dir() else [given])]
    if not models:
        parser.error("no .onnx file")
    shapes = parse_shapes(options.shape)
    rows, failed = [], []
    print(f"{'model':36} {'ours ms':>9} {'onnxruntime ms':>14} {'ratio':>7}")
    for model in models:
        try:
            a, b = compare(model, options, shapes.get(model.name, {}))
        except Exception as error:  # onnxruntime raises types of its own
            failed.append(model.stem)
            print(f"{model.stem:36} {str(error).splitlines()[0]}", flush=True)
            continue
        rows.append({"model": model.stem, "ours_ms": a, "onnxruntime_ms": b, "ratio": b / a})
        print(f"{model.stem:36} {a:9.2f} {b:14.2f} {b / a:6.2f}x", flush=True)
    if rows:
        ratios = [row["ratio"] for row in rows]
        worst = min(rows, key=lambda row: row["ratio"])
        print(f"median {statistics.median(ratios):.2f}, worst {worst['ratio']:.2f} "
              f"({worst['model']})")
    if options.json:
        options.json.write_text(json.dumps({"threads": options.threads, "rows": rows,
                                            "failed": failed}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
