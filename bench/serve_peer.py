#!/usr/bin/env python3
"""One peer with one workload, for compare_peers.py, which gives the protocol of peer_process.py.

  serve_peer.py jax W1 FOLDER --threads 2 --precision bf16
"""

import argparse
import importlib
import pathlib

import onnx_initializers
from peer_process import TOLERANCE, serve


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", help="torch, jax, onnxruntime, mnn or tensorflow")
    parser.add_argument("workload")
    parser.add_argument("folder", type=pathlib.Path, help="what bench_models wrote")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=list(TOLERANCE), default="float32")
    parser.add_argument("--variant", default="", help="of torch: plain, tuned or compiled")
    options = parser.parse_args()

    def make_step():
        import numpy
        peer = importlib.import_module(f"peers.{options.peer}_peer")
        values = onnx_initializers.read(options.folder / f"{options.workload}.onnx")
        x, label = (numpy.load(options.folder / f"{options.workload}.{one}.npy")
                    for one in ("x", "label"))
        return peer.make_step(options.workload, values, x, label, options)

    serve(make_step)


if __name__ == "__main__":
    main()
