#!/usr/bin/env python3
"""Compares training steps of networks that are not among the workloads with PyTorch: eager, tuned
(channels_last and fused optimizers) and compiled. Needs torch, torchvision and onnx.

Each network is exported by PyTorch and prepared by the command line. The losses of the first step
must agree; then blocks of steps of both programs run in turns. The figures are those of
compare_peers.py.

  bench/compare_networks.py --networks gpt,swin_t --precision bf16
"""

import argparse
import subprocess
import sys

import peer_table
from outside_networks import NETWORKS
from peer_process import TOLERANCE, serve

# Batch normalization over few rows of random weights amplifies what is rounded, in both programs: the
# loss of the first step is compared, and this is how much it may differ.
CHECKED = 1
TOLERANCE["bf16"] = 0.05
VARIANTS = {"plain": "PyTorch", "tuned": "PyTorch tuned", "compiled": "PyTorch compiled"}


def write(name, folder, build):
    """NAME.onnx, which trains, and its arrays."""
    import numpy
    import torch

    import outside_torch
    network, x, label = outside_torch.make(name)
    kind, rate = NETWORKS[name][1]
    exported = folder / f"{name}.inference.onnx"
    torch.onnx.export(network, (x,), str(exported), dynamo=False, opset_version=17,
                      input_names=["x"], output_names=["y"], do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING)
    subprocess.run([str(build / "bin/ondine"), "prepare", str(exported), "-o",
                    str(folder / f"{name}.onnx"), "--loss", "softmax-cross-entropy", "--optimizer",
                    kind, "--learning-rate", str(rate), "--init", "keep"], check=True,
                   stdout=sys.stderr)
    numpy.save(folder / f"{name}.x.npy", x.numpy())
    numpy.save(folder / f"{name}.label.npy", label.numpy())


def serve_torch(options):
    import torch

    import outside_torch
    import torch_models

    def make_step():
        torch.set_num_threads(options.threads)
        network, x, label = outside_torch.make(options.serve)
        return torch_models.Step(network, x, label, NETWORKS[options.serve][1],
                                 bf16=options.precision == "bf16",
                                 tuned=options.variant != "plain",
                                 compiled=options.variant == "compiled")

    serve(make_step)


def others_of(name, options):
    def command(variant):
        return lambda: [sys.executable, __file__, "--serve", name, "--variant", variant, "--threads",
                        str(options.threads), "--precision", options.precision]

    return [peer_table.Other(VARIANTS[variant], command(variant), "", CHECKED)
            for variant in options.variants]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    peer_table.add_arguments(parser)
    parser.add_argument("--networks", help="gpt,vit: these only")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS),
                        help="of PyTorch: these only")
    parser.add_argument("--variant", help=argparse.SUPPRESS)
    peer_table.add_written_arguments(parser)
    options = parser.parse_args()
    if options.serve:
        return serve_torch(options)
    if options.write:
        return write(options.write, options.models, options.build)
    names = peer_table.chosen(parser, options.networks, NETWORKS)
    peer_table.compare_written(__file__, {name: NETWORKS[name][0] for name in names},
                               lambda name: others_of(name, options), options)
    return None


if __name__ == "__main__":
    main()
