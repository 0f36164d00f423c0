"""Ondine's side of the comparisons: its programs, the models they write and the process to time."""

import pathlib
import subprocess
import sys

from peer_process import Process

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def build_programs(build, targets=("bench_models", "bench_run")):
    if not (build / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "-S", str(SOURCE), "-B", str(build)], check=True,
                       stdout=sys.stderr)
    subprocess.run(["cmake", "--build", str(build), "--target", *targets], check=True,
                   stdout=sys.stderr)


def write_models(workloads, folder, build):
    """Those of them that the folder does not have yet."""
    missing = [name for name in workloads if not (folder / f"{name}.label.npy").exists()]
    if missing:
        subprocess.run([str(build / "bin/bench_models"), str(folder), *missing], check=True)


def ondine_process(workload, folder, options, more=()):
    """more: further words for bench_run."""
    files = [str(folder / f"{workload}.{ending}") for ending in ("onnx", "x.npy", "label.npy")]
    words = [*more, *([options.precision] if options.precision != "float32" else [])]
    return Process([str(options.build / "bin/bench_run"), *files, str(options.threads), *words],
                   options.threads)
