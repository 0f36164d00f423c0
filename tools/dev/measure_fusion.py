#!/usr/bin/env python3
"""What of transformers' networks is computed by fused operators, with dynamic axes.

  measure_fusion.py --ondine build/bin/ondine [--only NAME...] [--write docs/models.md]

Each network is exported by both of PyTorch's exporters, with transformers' default attention and
with the written-out one, prepared, and planned for a training step of 3 sequences of 23 tokens.
The table counts in the plan what is not fused: values with a score for each pair of positions of
each head, the softmax of such, the roots of normalizations, the functions of activations, and
sums back to the shape before a broadcast. `--write` replaces the rows of what was run. Needs torch,
torchvision, transformers, onnxscript and onnx.
"""
import argparse
import collections
import contextlib
import fnmatch
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers

from transformers_networks import TEXT, generator, texts

BEGIN, END = "<!-- fused begins -->", "<!-- fused ends -->"
HEADER = ["| network | exporter | attention | scores | Softmax | roots | curves | SumTo | nodes "
          "| arena kB |", "|---|---|---|---|---|---|---|---|---|---|"]
SAMPLES, LENGTH, HEADS = 3, 23, 4
CURVES = ["Tanh", "Erf", "Sigmoid"]


def networks():
    """Those of the other tools, and one whose scores have a cap where attention is written out."""
    capped = generator("Gemma2ForCausalLM", "Gemma2Config", head_dim=8, num_key_value_heads=2,
                       pad_token_id=0, bos_token_id=1, eos_token_id=2, sliding_window=4,
                       attn_logit_softcapping=5.0, **TEXT)
    return {**texts(), "Gemma 2": capped}


def dynamic(names, inputs):
    """Names of the dims of each input."""
    return {name: {0: "N", 1: "D" if "decoder" in name else "T"}
            for name, one in zip(names, inputs) if one.dim() == 2}


def export(exporter, module, names, inputs, file):
    shared = {"input_names": names, "output_names": ["y"]}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if exporter == "dynamo":
            any_size = torch.export.Dim.DYNAMIC
            sizes = tuple({axis: any_size for axis in dims}
                          for dims in dynamic(names, inputs).values())
            torch.onnx.export(module, tuple(inputs), file, dynamo=True, verbose=False,
                              external_data=False, dynamic_shapes={"inputs": sizes}, **shared)
        else:
            torch.onnx.export(module, tuple(inputs), file, dynamo=False, opset_version=18,
                              dynamic_axes=dynamic(names, inputs), **shared)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def plan(ondine, file, names, network, folder):
    training = folder / "train.onnx"
    training.unlink(missing_ok=True)
    run(ondine, "prepare", file, "-o", training, "--loss", network.loss, "--optimizer", "sgd",
        "--init", "keep", "--no-training-mode")
    shapes = {name: (SAMPLES, LENGTH) for name in names}
    with torch.no_grad():
        y = network.make().eval()(*(torch.ones(SAMPLES, LENGTH, dtype=torch.int64)
                                    for _ in names))
    shapes["label"] = y.shape if network.loss == "mse" else (y.shape[0], *y.shape[2:])
    words = [word for name, shape in shapes.items()
             for word in ("--shape", f"{name}={'x'.join(map(str, shape))}")]
    return json.loads(run(ondine, "inspect", training, "--stage", "plan", "--format", "json",
                          *words))


def is_scores(kind):
    found = re.fullmatch(r"tensor\((?:float|bool)\)\[(.*)\]", kind)
    dims = [int(size) for size in found[1].split(", ")] if found and found[1] else []
    before = 1
    for size in dims[:-2]:
        before *= size
    return dims[-2:] == [LENGTH, LENGTH] and before >= SAMPLES * HEADS


def counts(report):
    operators = collections.Counter(node["op"].split(".")[-1] for node in report["nodes"])
    scores = sum(is_scores(value["type"]) for node in report["nodes"] for value in node["outputs"])
    return [scores, operators["Softmax"], operators["Sqrt"] + operators["Reciprocal"],
            sum(operators[name] for name in CURVES), operators["SumTo"], len(report["nodes"]),
            round(report["arena_bytes"] / 1000)]


def measure(ondine, network, exporter, attention, folder):
    module = network.make()
    if attention == "eager":
        module.network.set_attn_implementation("eager")
    names = module.names
    file = folder / "network.onnx"
    export(exporter, module, names, network.inputs, str(file))
    return counts(plan(ondine, file, names, network, folder))


def key_of(row):
    return tuple(cell.strip() for cell in row.split("|")[1:4])


def write(page, rows):
    head, rest = page.read_text().split(BEGIN)
    body, tail = rest.split(END)
    table = {key_of(line): line for line in body.splitlines()
             if line.startswith("| ") and line not in HEADER}
    table.update({key_of(row): row for row in rows})
    page.write_text("\n".join([f"{head}{BEGIN}", *HEADER, *table.values(), f"{END}{tail}"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ondine", type=pathlib.Path, default="build/bin/ondine")
    parser.add_argument("--only", nargs="*", default=["*"], help="patterns of names")
    parser.add_argument("--exporters", nargs="*", default=["TorchScript", "dynamo"])
    parser.add_argument("--write", type=pathlib.Path, help="page with the table")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    print("\n".join(HEADER), flush=True)
    rows = []
    for name, network in networks().items():
        if not any(fnmatch.fnmatch(name, one) for one in arguments.only):
            continue
        for exporter in arguments.exporters:
            for attention in ("sdpa", "eager"):
                torch.manual_seed(1)
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        cells = measure(arguments.ondine, network, exporter, attention,
                                        pathlib.Path(folder))
                    except Exception as error:  # one network must not hide the others
                        reason = " ".join(str(error).split())[:100].replace("|", "/")
                        cells = [f"failed: {reason}", "", "", "", "", "", ""]
                rows.append(f"| {name} | {exporter} | {attention} | "
                            f"{' | '.join(map(str, cells))} |")
                print(rows[-1], flush=True)
    if arguments.write:
        write(arguments.write, rows)


if __name__ == "__main__":
    sys.exit(main())
