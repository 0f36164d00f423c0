#!/usr/bin/env python3
"""Counts the instructions of a training step with valgrind and compares them with recorded figures.
The count of a build is the same on every run, also on a busy machine.

  bench/callgrind.py            compare with bench/instructions.json; exit code 1 above the tolerance
  bench/callgrind.py --record   record new figures
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "instructions.json"
WORKLOADS = ("W1", "W3", "W8")
TOLERANCE = 0.05


def instructions(build, folder, workload, steps):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
               str(build / "bin/bench_run"), str(folder / f"{workload}.onnx"),
               str(folder / f"{workload}.x.npy"), str(folder / f"{workload}.label.npy"), "1"]
    result = subprocess.run(command, input=f"steps {steps}\n", capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or found is None:
        raise SystemExit(f"{workload}: {result.stderr}")
    return int(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build")
    options = parser.parse_args()
    subprocess.run(["cmake", "--build", str(options.build), "--target", "bench_models", "bench_run"],
                   check=True, stdout=subprocess.DEVNULL)
    counts = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([str(options.build / "bin/bench_models"), name, *WORKLOADS], check=True)
        for workload in WORKLOADS:
            few, more = (instructions(options.build, folder, workload, n) for n in (2, 4))
            counts[workload] = (more - few) // 2
    if options.record:
        RECORDED.write_text(json.dumps(counts, indent=2) + "\n")
        return 0
    recorded = json.loads(RECORDED.read_text())
    worse = False
    for workload, count in counts.items():
        change = count / recorded[workload] - 1
        worse = worse or change > TOLERANCE
        print(f"{workload} {count:>14,} instructions a step, recorded {recorded[workload]:,} "
              f"({change:+.1%})")
    return int(worse)


if __name__ == "__main__":
    sys.exit(main())
