#!/usr/bin/env python3
"""Compares inference of .onnx models with onnxruntime, in alternating blocks of one run:

  bench/compare_onnxruntime.py FOLDER --threads 2     every .onnx file in FOLDER

Both programs get the same float inputs of batch size 1. Ratios are onnxruntime's median time
divided by ours.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def ours(build, model, threads, runs):
    """Median milliseconds of one run, measured by the command line."""
    output = subprocess.run([str(build / "bin/ondine"), "bench", str(model), "--inference", "--json",
                             "--batch", "1", "--threads", str(threads), "--steps", str(runs)],
                            check=True, capture_output=True, text=True).stdout
    return json.loads(output)["median_ms"]


class Theirs:
    def __init__(self, model, threads):
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
            shape = [extent if isinstance(extent, int) else 1 for extent in port.shape]
            self.feeds[port.name] = random.uniform(-1, 1, shape).astype(numpy.float32)

    def median(self, runs):
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            self.session.run(None, self.feeds)
            times.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=8, help="runs of one block")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build")
    options = parser.parse_args()
    models = sorted(options.folder.glob("*.onnx"))
    if not models:
        parser.error(f"{options.folder} has no .onnx file")
    print(f"{'model':36} {'ours ms':>9} {'onnxruntime ms':>14} {'ratio':>7}")
    for model in models:
        peer = Theirs(model, options.threads)
        peer.median(2)
        mine, theirs = [], []
        for _ in range(options.blocks):
            mine.append(ours(options.build, model, options.threads, options.runs))
            theirs.append(peer.median(options.runs))
        a, b = statistics.median(mine), statistics.median(theirs)
        print(f"{model.stem:36} {a:9.2f} {b:14.2f} {b / a:6.2f}x", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
