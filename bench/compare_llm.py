#!/usr/bin/env python3
"""Compares steps that train adapters beside language models with PyTorch and peft. Needs torch,
transformers, peft and onnxscript.

Each network has random weights in the shape of a known one, is exported by torch.onnx.export with
its defaults and a dynamic number of tokens, and prepared by the command line. The loss of the first
step must agree; then blocks of steps of both programs run in turns.

  bench/compare_llm.py --workloads G1,G3 --precision bf16 --threads 2
"""

import argparse
import subprocess
import sys

import language_models
import peer_table
from language_models import ALPHA, RANK, RATE, WORKLOADS
from peer_process import TOLERANCE, serve

CHECKED = 1
TOLERANCE["bf16"] = 0.01
TOLERANCE["int8"] = 0.02


def write(name, folder, build):
    """NAME.onnx, which trains adapters, and its arrays."""
    import numpy
    import torch
    workload = WORKLOADS[name]
    network, ids, labels = language_models.make(name)
    exported = folder / f"{workload.model}.inference.onnx"
    if not exported.exists():
        tokens = torch.export.Dim("tokens", min=2, max=8192)
        torch.onnx.export(language_models.logits_of(network).eval(), (ids[:, :16],), str(exported),
                          input_names=["x"], output_names=["logits"],
                          dynamic_shapes={"x": {1: tokens}})
    _, targets = language_models.settings(workload.model)
    words = [word for target in targets for word in ("--lora-targets", target)]
    if workload.quantize:
        words += ["--quantize-frozen", workload.quantize]
    subprocess.run([str(build / "bin/ondine"), "prepare", str(exported), "-o",
                    str(folder / f"{name}.onnx"), "--loss", "softmax-cross-entropy",
                    "--ignore-index", "-100", "--class-axis", "-1", "--optimizer", "adamw",
                    "--learning-rate", str(RATE), "--lora", str(RANK), "--lora-alpha", str(ALPHA),
                    *words], check=True, stdout=sys.stderr)
    numpy.save(folder / f"{name}.x.npy", ids.numpy())
    numpy.save(folder / f"{name}.label.npy", labels.numpy())


def serve_torch(options):
    import torch

    def make_step():
        torch.set_num_threads(options.threads)
        return language_models.Step(options.serve, options.precision != "float32")

    serve(make_step)


def title_of(workload):
    parts = f"{workload.model}, {workload.rows} x {workload.tokens}"
    if workload.labels < 1:
        parts += f", {workload.labels:.0%} labels"
    return parts + (f", {workload.quantize}" if workload.quantize else "")


def print_rates(rows):
    """Tokens a second, as the figures of the goals are."""
    for row in rows:
        if "ondine_ms" not in row:
            continue
        workload = WORKLOADS[row["name"]]
        tokens = workload.rows * workload.tokens * 1000
        theirs = [f"{title} {tokens / one['ms']:.0f}" for title, one in row["others"].items()
                  if "ms" in one]
        print(f"- {row['name']}: {tokens / row['ondine_ms']:.0f} tokens/s"
              + "".join(f", {one}" for one in theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    peer_table.add_arguments(parser)
    parser.set_defaults(precision="bf16", threads=2, blocks=5)
    parser.add_argument("--workloads", help="G1,G5: these only")
    peer_table.add_written_arguments(parser)
    options = parser.parse_args()
    if options.serve:
        return serve_torch(options)
    if options.write:
        return write(options.write, options.models, options.build)
    names = peer_table.chosen(parser, options.workloads, WORKLOADS)

    def others_of(name):
        command = [sys.executable, __file__, "--serve", name, "--threads", str(options.threads),
                   "--precision", options.precision]
        return [peer_table.Other("PyTorch, peft", lambda: command, "", CHECKED)]

    print_rates(peer_table.compare_written(
        __file__, {name: title_of(WORKLOADS[name]) for name in names}, others_of, options))
    return None


if __name__ == "__main__":
    main()
