#!/usr/bin/env python3
"""Runs lowered training steps by other runtimes and compares them with Ondine, step by step.

  check_lowered.py --ondine build/bin/ondine --cases CASES/training [--models DIR] [--only NAME...]

CASES/training holds training cases: their expected results are those that `ondine verify` asks of
the training engine. DIR holds training models NAME.onnx, each with NAME.INPUT.npy for its inputs:
what the lowered step computes becomes a training case, which `ondine verify` runs. Needs onnx,
numpy and onnxruntime. Prints a table and exits with 1 when less than 98 % of the models lower, a
runtime computes other values, or no runtime runs a lowered model: each has gaps of its own, such as
grouped transposed convolutions in onnx.reference.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnx.reference
import onnxruntime
from onnx import numpy_helper

LOWERED = 0.98


class Ort:
    """onnxruntime."""

    name = "onnxruntime"

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )

    def run(self, feeds):
        names = [one.name for one in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, feeds)))


class Reference:
    """onnx.reference."""

    name = "onnx.reference"

    def __init__(self, path):
        self.evaluator = onnx.reference.ReferenceEvaluator(str(path))

    def run(self, feeds):
        return dict(zip(self.evaluator.output_names, self.evaluator.run(None, feeds)))


RUNTIMES = {"ort": Ort, "ref": Reference}


class NotLowered(Exception):
    """Ondine's message."""


class Different(Exception):
    """Results differ."""


def lower(ondine, model, folder, *options):
    output = folder / ("-".join(["step", *options]).replace("--", "") + ".onnx")
    done = subprocess.run(
        [ondine, "lower", model, "-o", output, *options], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise NotLowered(done.stderr.strip())
    return output


class Lowered:
    """A lowered model in one runtime."""

    def __init__(self, path, runtime):
        model = onnx.load(str(path))
        domains = {one.domain for one in model.opset_import}
        assert domains <= {"", "ai.onnx.ml"} and not model.functions and not model.training_info
        onnx.checker.check_model(model)
        self.inputs = [one.name for one in model.graph.input]
        self.defaults = {
            one.name: numpy_helper.to_array(one)
            for one in model.graph.initializer
            if one.name in self.inputs
        }
        prefix = "ondine.state."
        self.next = {
            one.key[len(prefix) :]: one.value
            for one in model.metadata_props
            if one.key.startswith(prefix)
        }
        self.runner = runtime(path)

    def run(self, feeds, state):
        given = {name: value for name, value in feeds.items() if name in self.inputs}
        given.update({name: state[name] for name in self.inputs if name in state})
        results = self.runner.run(given)
        state.update({name: results[output] for name, output in self.next.items()})
        return results


def load_tensors(folder, prefix):
    values = {}
    for file in sorted(folder.glob(prefix + "*.pb")):
        tensor = onnx.TensorProto()
        tensor.ParseFromString(file.read_bytes())
        values[tensor.name] = numpy_helper.to_array(tensor)
    return values


def save_tensors(folder, prefix, values):
    folder.mkdir(parents=True)
    for i, (name, value) in enumerate(values.items()):
        tensor = numpy_helper.from_array(np.asarray(value), name)
        (folder / f"{prefix}{i}.pb").write_bytes(tensor.SerializeToString())


def difference(got, want, relative, absolute):
    got = np.asarray(got)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if not np.issubdtype(want.dtype, np.inexact) and want.dtype.kind in "biuOSU":
        return None if np.array_equal(got, want) else "differs"
    a, b = got.astype(np.float64), want.astype(np.float64)
    if np.allclose(a, b, relative, absolute, equal_nan=True):
        return None
    return f"differs by {np.nanmax(np.abs(a - b)):.3g}"


def compare(got, want, tolerance, where):
    for name, value in want.items():
        if name not in got:
            continue
        text = difference(got[name], value, *tolerance)
        if text:
            raise Different(f"{where}: '{name}' {text}")


def initial_state(model):
    state = {}
    graphs = [model.graph] + [one.algorithm for one in model.training_info]
    names = {
        pair.key
        for one in model.training_info
        for binding in (one.initialization_binding, one.update_binding)
        for pair in binding
    }
    for graph in graphs:
        for one in graph.initializer:
            if one.name in names:
                state[one.name] = numpy_helper.to_array(one)
    return state


def run_case(folder, lowered, initializations):
    model = onnx.load(str(folder / "model.onnx"))
    for data in sorted(folder.glob("train_data_set_*")):
        tolerance = (1e-3, 1e-5)
        if (data / "tolerance").exists():
            tolerance = tuple(float(one) for one in (data / "tolerance").read_text().split()[:2])
        state = initial_state(model)
        for one in lowered.values():
            state.update({name: one.defaults[name] for name in state if name in one.defaults})
        if (data / "initialize").exists():
            for one in initializations:
                one.run({}, state)
        if (data / "expected_initial").exists():
            compare(state, load_tensors(data / "expected_initial", ""), tolerance, "initialization")
        for step in sorted(data.glob("step_*")):
            chosen = step / "algorithm"
            algorithm = int(chosen.read_text()) if chosen.exists() else 0
            results = lowered[algorithm].run(load_tensors(step, "input_"), state)
            compare(results, load_tensors(step, "output_"), tolerance, step.name)
        compare(state, load_tensors(data / "expected_state", ""), tolerance, "state")


def check_case(ondine, folder, runtimes, work):
    """The status of each runtime."""
    model = onnx.load(str(folder / "model.onnx"))
    infos = range(len(model.training_info))
    steps = {k: lower(ondine, folder / "model.onnx", work, "--algorithm", str(k)) for k in infos}
    starts = [
        lower(ondine, folder / "model.onnx", work, "--initialization-of", str(k))
        for k in infos
        if model.training_info[k].HasField("initialization")
    ]
    status = {}
    for key, runtime in runtimes.items():
        try:
            lowered = {k: Lowered(path, runtime) for k, path in steps.items()}
            run_case(folder, lowered, [Lowered(path, runtime) for path in starts])
            status[key] = "same"
        except Different as error:
            status[key] = f"DIFFERENT: {error}"
        except Exception as error:  # whatever the runtime throws
            status[key] = "cannot run: " + (" ".join(str(error).split()) or repr(error))
    return status


def feeds_of(file, model):
    feeds = {}
    for graph in [model.graph] + [one.algorithm for one in model.training_info]:
        for one in graph.input:
            array = file.with_name(f"{file.stem}.{one.name}.npy")
            if array.exists():
                feeds[one.name] = np.load(array)
            elif not any(init.name == one.name for init in graph.initializer):
                feeds[one.name] = np.asarray(0.01, np.float32)
    return feeds


def check_model(ondine, file, runtimes, work, steps):
    """The lowered step makes a case; `ondine verify` trains."""
    model = onnx.load(str(file))
    path = lower(ondine, file, work)
    feeds = feeds_of(file, model)
    status = {}
    for key, runtime in runtimes.items():
        folder = work / key
        data = folder / "train_data_set_0"
        try:
            lowered = Lowered(path, runtime)
            state = initial_state(model)
            for step in range(steps):
                given = {n: v for n, v in feeds.items() if n in lowered.inputs}
                results = lowered.run(given, state)
                save_tensors(data / f"step_{step:03}", "input_", given)
                for i, one in enumerate(model.training_info[0].algorithm.output):
                    tensor = numpy_helper.from_array(np.asarray(results[one.name]), one.name)
                    target = data / f"step_{step:03}" / f"output_{i}.pb"
                    target.write_bytes(tensor.SerializeToString())
            save_tensors(data / "expected_state", "", state)
            (data / "tolerance").write_text("2e-3 2e-5")
            onnx.save(model, str(folder / "model.onnx"))
            done = subprocess.run([ondine, "verify", folder], capture_output=True, text=True)
            if done.returncode != 0:
                raise Different(done.stdout.strip().splitlines()[0])
            status[key] = "same"
        except Different as error:
            status[key] = f"DIFFERENT: {error}"
        except Exception as error:
            status[key] = "cannot run: " + (" ".join(str(error).split()) or repr(error))
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ondine", required=True, type=pathlib.Path)
    parser.add_argument("--cases", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=3, help="of models without expected results")
    parser.add_argument("--only", nargs="*", help="names of cases and models")
    parser.add_argument("--runtimes", nargs="*", default=list(RUNTIMES), choices=list(RUNTIMES))
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    onnxruntime.set_default_logger_severity(4)
    runtimes = {key: RUNTIMES[key] for key in args.runtimes}
    jobs = []
    if args.cases:
        jobs += [(f.name, f, check_case) for f in sorted(args.cases.iterdir()) if f.is_dir()]
    if args.models:
        jobs += [
            (f.stem, f, lambda *a: check_model(*a, args.steps))
            for f in sorted(args.models.glob("*.onnx"))
        ]
    total = lowered = other = 0
    for name, path, check in jobs:
        if args.only and name not in args.only:
            continue
        total += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                status = check(args.ondine.resolve(), path, runtimes, pathlib.Path(folder))
            except NotLowered as error:
                print(f"{name:32}  {error}", flush=True)
                continue
        lowered += 1
        different = any(text.startswith("DIFFERENT") for text in status.values())
        other += different or "same" not in status.values()
        columns = "  ".join(f"{key}: {text[:160]}" for key, text in status.items())
        print(f"{name:32}  {columns}", flush=True)
    print(f"{lowered} of {total} lowered, {other} of them computed differently or by no runtime")
    return 0 if total and lowered >= LOWERED * total and other == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
