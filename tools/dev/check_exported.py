#!/usr/bin/env python3
"""Trains networks exported by both of PyTorch's exporters in float64, and by PyTorch itself.

  check_exported.py --ondine build/bin/ondine [--only NAME...] [--write docs/models.md]

Each network is exported, prepared and trained for four steps on one batch, BatchNormalization in
training mode; losses, and the outputs of the trained network in evaluation mode, must be within
1e-5 of PyTorch's, relative to the largest. `ondine lower` writes the same step, of which
onnxruntime must compute the same losses within 1e-4, or within four times what PyTorch's own losses
in float32 differ by: in float32, since it has no convolution in float64. `--write` replaces the
rows of what was run. Needs torch, torchvision, onnxscript, numpy, onnx and onnxruntime.
"""
import argparse
import contextlib
import copy
import fnmatch
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
import torchvision
from onnx import numpy_helper

import exported_page
from exported_networks import groups

STEPS = 4
TOLERANCE, LOWERED_TOLERANCE = 1e-5, 1e-4
SETTINGS = {"sgd": [], "momentum": ["--momentum", 0.9], "adam": ["--epsilon", 1e-12]}
NORMALIZATIONS = torch.nn.BatchNorm1d, torch.nn.BatchNorm2d
# Networks whose rows are named by their place in the batch, which shuffling changes.
IN_ORDER = ["torchvision regions of Faster R-CNN", "transformers CLIP"]


def names_of(inputs):
    return [f"x{i}" for i in range(len(inputs))]


def export(exporter, module, inputs, file):
    names = {"input_names": names_of(inputs), "output_names": ["y"]}
    with contextlib.redirect_stdout(io.StringIO()):
        if exporter == "dynamo":
            torch.onnx.export(module.eval(), tuple(inputs), file, dynamo=True, optimize=False,
                              verbose=False, external_data=False, **names)
        else:
            # Else BatchNormalization is merged into convolutions, which trains other parameters.
            torch.onnx.export(module.train(), tuple(inputs), file, dynamo=False, opset_version=17,
                              training=torch.onnx.TrainingMode.TRAINING,
                              do_constant_folding=False, **names)


def rounded(number):
    """As attributes of ONNX hold it: networks that amplify differences notice more digits."""
    return float(np.float32(number))


def optimizer_of(network, parameters):
    rate, momentum = rounded(network.rate), rounded(0.9)
    if network.optimizer == "adam":
        return torch.optim.Adam(parameters, rate, (momentum, rounded(0.999)), rounded(1e-12))
    return torch.optim.SGD(parameters, rate, momentum if network.optimizer == "momentum" else 0)


def comparable(module):
    """Without randomness, and with numbers that attributes hold exactly."""
    for one in module.modules():
        if isinstance(one, (torch.nn.Dropout, torchvision.ops.StochasticDepth)):
            one.p = 0.0
        if isinstance(getattr(one, "eps", None), float):
            one.eps = rounded(one.eps)
        if isinstance(one, NORMALIZATIONS):
            one.momentum = 1 - rounded(1 - one.momentum)
    return module


def load_statistics(module, file):
    """TorchScript's exporter runs the module in training mode, which changes its statistics."""
    with torch.no_grad():
        buffers = dict(module.named_buffers())
        for one in onnx.load(file).graph.initializer:
            if one.name in buffers:
                buffers[one.name].copy_(torch.from_numpy(numpy_helper.to_array(one).copy()))


def keep_population_variance(module):
    """ONNX keeps the variance of the batch as it is; PyTorch multiplies it with n / (n - 1)."""
    variances = {}

    def before(norm, inputs):
        axes = [i for i in range(inputs[0].dim()) if i != 1]
        new = inputs[0].detach().var(axes, unbiased=False)
        old = variances.get(norm, norm.running_var)
        variances[norm] = (1 - norm.momentum) * old + norm.momentum * new

    norms = [one for one in module.modules() if isinstance(one, NORMALIZATIONS)]
    hooks = [one.register_forward_pre_hook(before) for one in norms]

    def finish():
        for one in hooks:
            one.remove()
        for norm, variance in variances.items():
            norm.running_var.copy_(variance)

    return finish


def train_torch(network, module, inputs, label):
    """Losses of the steps, outputs of the trained module."""
    optimizer = optimizer_of(network, module.parameters())
    functions = torch.nn.functional
    function = functions.mse_loss if network.loss == "mse" else functions.cross_entropy
    losses = []
    module.train()
    finish = keep_population_variance(module)
    for _ in range(STEPS):
        loss = function(module(*inputs), label)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    finish()
    with torch.no_grad():
        return losses, module.eval()(*inputs).numpy()


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())


def prepare(ondine, network, source, target):
    run(ondine, "prepare", source, "-o", target, "--loss", network.loss, "--optimizer",
        network.optimizer, "--learning-rate", rounded(network.rate), "--init", "keep",
        "--label", "label", "--loss-output", "y", *SETTINGS[network.optimizer])


def keep_in_order(file, data):
    """Makes the data the values of inputs that are not fed."""
    model = onnx.load(file)
    for name, value in data.items():
        holder = model.training_info[0].algorithm if name == "label" else model.graph
        holder.initializer.append(numpy_helper.from_array(value, name))
    onnx.save(model, file)
    return []


def train_ondine(ondine, network, folder, data, in_order):
    trained, metrics = folder / "trained.onnx", folder / "metrics.jsonl"
    metrics.unlink(missing_ok=True)
    np.savez(folder / "data.npz", **data)
    prepare(ondine, network, folder / "double.onnx", folder / "train.onnx")
    rows = keep_in_order(folder / "train.onnx", data) if in_order else [
        "--data", folder / "data.npz", "--batch-size", len(data["label"])]
    run(ondine, "train", folder / "train.onnx", *rows, "--epochs", STEPS, "--metrics", metrics, "-o",
        trained)
    inputs = []
    for name, value in data.items():
        if name != "label":
            np.save(folder / f"{name}.npy", value)
            inputs += ["--input", f"{name}={folder / name}.npy"]
    run(ondine, "infer", trained, "-o", folder, *inputs)
    losses = [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]
    return losses, np.load(folder / "y.npy")


def train_lowered(ondine, network, folder, data):
    """Losses of the lowered step in onnxruntime, in float32."""
    prepare(ondine, network, folder / "single.onnx", folder / "train32.onnx")
    run(ondine, "lower", folder / "train32.onnx", "-o", folder / "step.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "step.onnx"), options,
                                           providers=["CPUExecutionProvider"])
    model = onnx.load(folder / "step.onnx", load_external_data=False)
    inputs = {one.name for one in model.graph.input}
    state = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer
             if one.name in inputs}
    prefix = "ondine.state."
    following = {one.key[len(prefix):]: one.value for one in model.metadata_props
                 if one.key.startswith(prefix)}
    for name, value in data.items():
        state[name] = value.astype(np.float32) if value.dtype == np.float64 else value
    outputs = [one.name for one in session.get_outputs()]
    training = onnx.load(folder / "train32.onnx").training_info[0].algorithm
    loss = training.output[0].name
    losses = []
    for _ in range(STEPS):
        results = dict(zip(outputs, session.run(
            None, {name: value for name, value in state.items() if name in inputs})))
        losses.append(float(results[loss]))
        state.update({name: results[output] for name, output in following.items()})
    return losses


def worst_of(got, want):
    if len(got) != len(want):
        raise RuntimeError(f"{len(got)} values, expected {len(want)}")
    want = np.asarray(want)
    return float(np.max(np.abs(np.asarray(got) - want)) / max(np.max(np.abs(want)), 1e-12))


def compare_lowered(ondine, network, single, exporter, folder, data, want):
    """Cell of the row, and whether it holds."""
    try:
        export(exporter, copy.deepcopy(single), network.inputs, str(folder / "single.onnx"))
        lowered = worst_of(train_lowered(ondine, network, folder, data), want)
    except Exception as error:  # onnxruntime's, of any type
        if "has no form in standard operators" in str(error):
            return "no form", True
        return "failed: " + str(error).splitlines()[0][:150], False
    if lowered <= LOWERED_TOLERANCE:
        return f"{lowered:.0e}", True
    # Networks that amplify the rounding of float32 do so in PyTorch, too.
    label = torch.from_numpy(data["label"])
    label = label.float() if label.is_floating_point() else label
    rounding = worst_of(train_torch(network, single, network.inputs, label)[0], want)
    return f"{lowered:.0e} (PyTorch {rounding:.0e})", lowered <= 4 * rounding


def check(ondine, name, network, exporter, folder, lower):
    """Cells of the row, and whether all hold."""
    torch.manual_seed(0)
    single = comparable(network.make())
    double = copy.deepcopy(single).double()
    inputs = [one.double() if one.is_floating_point() else one for one in network.inputs]
    with torch.no_grad():
        y = copy.deepcopy(double).train()(*inputs)
    label = torch.randn_like(y) if network.loss == "mse" else torch.randint(
        0, y.shape[1], (y.shape[0], *y.shape[2:]))
    export(exporter, copy.deepcopy(double), inputs, str(folder / "double.onnx"))
    load_statistics(double, folder / "double.onnx")
    data = {name: value.numpy() for name, value in zip(names_of(inputs), inputs)}
    data["label"] = label.numpy()
    want, outputs = train_torch(network, double, inputs, label)
    got, ours = train_ondine(ondine, network, folder, data, name in IN_ORDER)
    losses, weights = worst_of(got, want), worst_of(ours, outputs)
    cell, lowered_holds = "-", True
    if lower:
        cell, lowered_holds = compare_lowered(ondine, network, single, exporter, folder, data, want)
    holds = losses <= TOLERANCE and weights <= TOLERANCE and lowered_holds
    return [f"{losses:.0e}", f"{weights:.0e}", cell, f"{want[0]:.4f} to {want[-1]:.4f}"], holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ondine", type=pathlib.Path, default="build/bin/ondine")
    parser.add_argument("--only", nargs="*", default=["*"], help="patterns of names")
    parser.add_argument("--exporters", nargs="*", default=["TorchScript", "dynamo"])
    parser.add_argument("--no-lower", action="store_true", help="leave out lowered steps")
    parser.add_argument("--write", type=pathlib.Path, help="page with the table")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    print("\n".join(exported_page.HEADER), flush=True)
    rows, failed, chosen = [], 0, groups()
    networks = {name: network for group in chosen.values() for name, network in group.items()
                if any(fnmatch.fnmatch(name, one) for one in arguments.only)}
    for name, network in networks.items():
        for exporter in arguments.exporters:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    cells, holds = check(arguments.ondine, name, network, exporter,
                                         pathlib.Path(folder), not arguments.no_lower)
                except Exception as error:  # one network must not hide the others
                    reason = str(error).splitlines()[0][:200]
                    cells, holds = [f"failed: {reason}", "", "", ""], False
            failed += not holds
            rows.append(f"| {name} | {exporter} | {network.optimizer} | {' | '.join(cells)} |")
            print(rows[-1], "" if holds else "<- FAILED", flush=True)
    print(f"{failed} failed")
    if arguments.write:
        exported_page.write(arguments.write, chosen, rows)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
