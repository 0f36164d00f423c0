#!/usr/bin/env python3
"""Compares training steps of the workloads W1 to W9 and L1 with every framework that PyPI has.

Each peer builds the network from the initializers of the same .onnx file, in a virtual environment
and a process of its own. The losses of the first steps must agree with Ondine's; then blocks of
steps of Ondine and the peer run in turns. A table in Markdown gives the median milliseconds of each
and what the best peer takes over Ondine in its turns; a peer that cannot be had or cannot run a
workload has '-' there, and the reason below the table.

  bench/compare_peers.py --threads 2 --workloads W1,W3,L1
  bench/compare_peers.py --peers torch,jax --precision bf16 --json rows.json
  bench/compare_peers.py --python torch=/opt/torch/bin/python --python jax=/opt/jax/bin/python
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import peer_table
from ondine_process import SOURCE, build_programs, write_models
from peer_process import CHECKED_STEPS, PeerError, in_one_line
from workloads import DEFAULT, WORKLOADS

HERE = pathlib.Path(__file__).resolve().parent

# module: in bench/peers, and the name for --peers and --python, which several variants share.
Peer = collections.namedtuple("Peer", "title module variant")
PEERS = [
    Peer("PyTorch", "torch", "plain"),
    Peer("PyTorch tuned", "torch", "tuned"),
    Peer("PyTorch compiled", "torch", "compiled"),
    Peer("JAX", "jax", ""),
    Peer("ONNX Runtime Training", "onnxruntime", ""),
    Peer("MNN", "mnn", ""),
    Peer("TensorFlow XLA", "tensorflow", ""),
]
PACKAGES = {
    "torch": ["torch", "numpy"],
    "jax": ["jax", "numpy"],
    # The last release knows neither newer opsets nor a newer onnx; it imports torch.
    "onnxruntime": ["onnxruntime-training-cpu==1.19.2", "onnx==1.17.0", "torch", "numpy", "h5py",
                    "cerberus"],
    "mnn": ["MNN", "numpy"],
    "tensorflow": ["tensorflow-cpu", "numpy"],
}
# What a peer does otherwise than the workload says, and in how many steps it shows not yet.
DEVIATIONS = {
    ("onnxruntime", "W6"): ("SGD without momentum, which it does not have", 2),
}


class Interpreters:
    """Of each module, made when it is first needed; a failure is remembered."""

    def __init__(self, folder, given):
        self.folder, self.known = folder, dict(given)

    def of(self, module):
        if module not in self.known:
            self.known[module] = self.make(module)
        if isinstance(self.known[module], PeerError):
            raise self.known[module]
        return self.known[module]

    def make(self, module):
        folder = self.folder / module
        folder.parent.mkdir(parents=True, exist_ok=True)
        script = SOURCE / "scripts" / "python_packages.sh"
        done = subprocess.run(["sh", str(script), str(folder), *PACKAGES[module]], check=False,
                              stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            return PeerError("not installed: " + in_one_line(done.stderr))
        return str(folder / "bin" / "python")


def command_of(peer, workload, interpreters, folder, options):
    return [interpreters.of(peer.module), str(HERE / "serve_peer.py"), peer.module, workload,
            str(folder), "--threads", str(options.threads), "--precision", options.precision,
            "--variant", peer.variant]


def parse_arguments():
    modules = list(PACKAGES)
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=",".join(modules), help="these only: torch,jax")
    parser.add_argument("--workloads", default=",".join([*DEFAULT, "L1"]), help="these: W1,L1")
    peer_table.add_arguments(parser)
    parser.add_argument("--python", action="append", default=[], metavar="PEER=PATH",
                        help="interpreter that has the peer; else one is made in the build folder")
    options = parser.parse_args()
    options.peers, options.workloads = options.peers.split(","), options.workloads.split(",")
    options.python = dict(one.partition("=")[::2] for one in options.python)
    for names, known in ((options.peers, modules), (options.python, modules),
                         (options.workloads, list(WORKLOADS))):
        for name in names:
            if name not in known:
                parser.error(f"there is no {name}; there are {', '.join(known)}")
    for path in options.python.values():
        if not pathlib.Path(path).exists():
            parser.error(f"there is no interpreter {path}")
    return options


def main():
    options = parse_arguments()
    if not options.no_build:
        build_programs(options.build)
    peers = [peer for peer in PEERS if peer.module in options.peers]
    interpreters = Interpreters(options.build / "peers", options.python)
    rows = []
    peer_table.print_header([peer.title for peer in peers])
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.models or pathlib.Path(temporary)
        write_models(options.workloads, folder, options.build)
        for workload in options.workloads:
            others = [peer_table.Other(
                peer.title,
                lambda peer=peer: command_of(peer, workload, interpreters, folder, options),
                *DEVIATIONS.get((peer.module, workload), ("", CHECKED_STEPS))) for peer in peers]
            rows.append(peer_table.row_of(workload, WORKLOADS[workload][0], others, folder,
                                          options))
            peer_table.print_row(rows[-1])
            peer_table.write_json(rows, options)
    peer_table.print_remarks(rows)


if __name__ == "__main__":
    main()
