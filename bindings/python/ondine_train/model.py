"""Models: loading, preparing, calls, state and files."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Mapping, Optional, Sequence, Union

from . import _ondine
from .errors import MismatchError, make_error
from .feeds import Feeds, convert
from .options import Option, divide, documented, to_pairs

Place = Union[str, "os.PathLike[str]"]
Results = "dict[str, Any]"


@dataclass(frozen=True)
class Port:
    """An input or output. `dims`: -1 where any size will do, None where the rank is unknown."""

    name: str
    type: str  # "tensor(float)[N, 3]"
    dtype: int
    dims: Optional[tuple[int, ...]]
    has_default: bool


@dataclass(frozen=True)
class Privacy:
    """What a private step does to the gradient (docs/privacy.md)."""

    clip: float
    noise: float
    batch_size: int  # expected


def _ports(ports: list[dict[str, Any]]) -> tuple[Port, ...]:
    return tuple(
        Port(
            one["name"],
            one["type"],
            one["dtype"],
            None if one["dims"] is None else tuple(one["dims"]),
            one["has_default"],
        )
        for one in ports
    )


def _types(ports: Sequence[Port]) -> dict[str, tuple[int, str]]:
    return {port.name: (port.dtype, port.type) for port in ports}


class Model:
    """A model that can be trained. Made by load() and prepare().

    infer(), eval_step() and gradients() may run in any number of threads at once, also while one
    thread trains; the GIL is released meanwhile. A second step beside a step is an error.
    With `with`, or after close(), its memory is given back.
    """

    def __init__(self, handle: _ondine.Model, prepared: Optional[dict[str, Any]] = None) -> None:
        self._handle = handle
        self._closed = False
        self._types: dict[int, dict[str, tuple[int, str]]] = {}
        self.prepare_report = prepared

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives the memory back; other calls are errors from now on."""
        self._handle.close()

    def clone(self) -> Model:
        """A model of its own with the present state."""
        return Model(self._handle.clone(), self.prepare_report)

    # What it is.
    def describe(self) -> dict[str, Any]:
        """The model description of docs/c.md."""
        description: dict[str, Any] = json.loads(self._handle.describe())
        return description

    @property
    def inputs(self) -> tuple[Port, ...]:
        return _ports(self.describe()["inputs"])

    @property
    def outputs(self) -> tuple[Port, ...]:
        return _ports(self.describe()["outputs"])

    def algorithm_inputs(self, algorithm: int = 0) -> tuple[Port, ...]:
        algorithms = self.describe()["algorithms"]
        if not 0 <= algorithm < len(algorithms):
            text = f"there is no algorithm {algorithm}: the model has {len(algorithms)}"
            raise make_error(10, "not_found", text, text, [])
        return _ports(algorithms[algorithm]["inputs"])

    @property
    def state(self) -> tuple[dict[str, Any], ...]:
        return tuple(self.describe()["state"])

    @property
    def metadata(self) -> dict[str, str]:
        return dict(self.describe()["metadata"])

    @property
    def classes(self) -> list[str]:
        return list(self.describe()["classes"])

    @property
    def warnings(self) -> list[str]:
        return list(self.describe()["warnings"])

    @property
    def steps(self) -> int:
        """Training steps since the model was loaded or initialized."""
        return int(self._handle.steps())

    @property
    def fingerprint(self) -> str:
        return str(self._handle.fingerprint())

    def inspect(self, stage: str, algorithm: int = 0) -> str:
        """The printed form of a stage: model, graph, training, gradient, optimized, plan."""
        return str(self._handle.inspect(stage, algorithm))

    def __repr__(self) -> str:
        try:
            inputs = ", ".join(f"{port.name}: {port.type}" for port in self.inputs)
        except MismatchError:
            return "<ondine_train.Model, closed>"
        return f"<ondine_train.Model, {inputs}, {self.steps} steps>"

    # Calls.
    def _feeds(self, feeds: Feeds, algorithm: int, copy: bool) -> dict[str, Any]:
        if algorithm not in self._types:
            ports = self.inputs if algorithm < 0 else self.algorithm_inputs(algorithm)
            self._types[algorithm] = _types(ports)
        return convert(feeds, self._types[algorithm], copy)

    def initialize(self, seed: int = 0) -> None:
        """Goes back to the initial state, drawing what is drawn with this seed."""
        self._handle.initialize(seed)

    def train_step(
        self,
        feeds: Feeds,
        algorithm: int = 0,
        fetches: Sequence[str] = (),
        *,
        copy: bool = False,
    ) -> dict[str, Any]:
        """One training step: what the algorithm returns (loss, accuracy, ...), or `fetches`.

        An algorithm returns next values of state variables too, copies as large as the state;
        `fetches=["loss"]` saves them.

        Arrays are read where they lie. What would have to be copied (other element types, other
        orders, lists) is a TypeError or ValueError unless `copy` allows it.
        """
        given = self._feeds(feeds, algorithm, copy)
        return self._handle.train_step(given, algorithm, list(fetches))

    def eval_step(
        self,
        feeds: Feeds,
        algorithm: int = 0,
        fetches: Sequence[str] = (),
        *,
        copy: bool = False,
    ) -> dict[str, Any]:
        """Loss and metrics of a batch in evaluation mode, without an update."""
        given = self._feeds(feeds, algorithm, copy)
        return self._handle.eval_step(given, algorithm, list(fetches))

    def infer(
        self, feeds: Feeds, fetches: Sequence[str] = (), *, copy: bool = False
    ) -> dict[str, Any]:
        """The outputs of the network."""
        return self._handle.infer(self._feeds(feeds, -1, copy), list(fetches))

    def gradients(self, feeds: Feeds, algorithm: int = 0, *, copy: bool = False) -> dict[str, Any]:
        """The derivatives of the loss by name of the state variable, without an update."""
        return self._handle.gradients(self._feeds(feeds, algorithm, copy), algorithm)

    def plan(self, feeds: Feeds, algorithm: int = -1) -> dict[str, int]:
        """Memory of a call, before it runs; algorithm -1: of infer()."""
        given = self._feeds(feeds, algorithm, False)
        plan: dict[str, int] = json.loads(self._handle.plan(given, algorithm))
        return plan

    # State.
    @property
    def learning_rate(self) -> float:
        return float(self._handle.get_learning_rate(0))

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._handle.set_learning_rate(0, rate)

    def get_state(self, name: str) -> Any:
        """A copy of a state variable."""
        return self._handle.get_state(name)

    def set_state(self, values: Feeds, *, copy: bool = False) -> None:
        """Sets state variables, all or none."""
        types = {one["name"]: (one["dtype"], "tensor") for one in self.state}
        self._handle.set_state(convert(values, types, copy))

    def state_dict(self) -> dict[str, Any]:
        """Copies of all state variables."""
        return {one["name"]: self._handle.get_state(one["name"]) for one in self.state}

    def take_averages(self) -> None:
        """Gives every parameter the value of its running average."""
        self._handle.take_averages()

    # Files.
    def save_checkpoint(self, file: Place) -> None:
        self._handle.save_checkpoint(os.fspath(file))

    def restore_checkpoint(self, file: Place) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self._handle.restore_checkpoint(os.fspath(file)))
        return report

    @documented("export")
    def export(self, file: Place, **options: Option) -> None:
        """Writes the inference model with the present weights."""
        self._handle.export(os.fspath(file), False, to_pairs(options))

    @documented("export")
    def export_training(self, file: Place, **options: Option) -> None:
        """Writes the training model with the present state."""
        self._handle.export(os.fspath(file), True, to_pairs(options))

    def export_bytes(self, training: bool = False) -> bytes:
        return self._handle.export_bytes(training)

    def save_weights(self, file: Place, all: bool = False) -> None:
        """Writes a .safetensors file; `all`: every state variable, not only weights."""
        self._handle.save_weights(os.fspath(file), all)

    def load_weights(self, file: Place, all: bool = False) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self._handle.load_weights(os.fspath(file), all))
        return report

    # Adapters and privacy.
    def adapters(self) -> list[dict[str, Any]]:
        """The adapters of docs/c.md, in the order of the nodes."""
        found: list[dict[str, Any]] = json.loads(_ondine.adapters(self._handle))
        return found

    def save_adapters(self, folder: Place) -> None:
        """Writes a folder in the layout of PEFT."""
        _ondine.save_adapters(self._handle, os.fspath(folder))

    def load_adapters(self, folder: Place) -> None:
        """Assigns the adapters of such a folder, all or none."""
        _ondine.load_adapters(self._handle, os.fspath(folder))

    @documented("load")
    def with_adapters(
        self, folders: Union[Sequence[Place], Mapping[str, Place]], **options: Option
    ) -> Model:
        """A model for inference with the adapters of several folders beside these weights.

        The input "adapter.NAME" weighs each from call to call, by default 1; a name is the key, or
        the last part of the path.
        """
        named = folders.items() if isinstance(folders, Mapping) else (("", one) for one in folders)
        all = [(os.fspath(folder), 1.0, name) for name, folder in named]
        made: Any = _ondine.with_adapters(self._handle, all, to_pairs(options))
        return Model(made)

    @property
    def privacy(self) -> Optional[Privacy]:
        """The settings of DP-SGD that the model was prepared with; None without privacy."""
        found: Any = _ondine.privacy(self._handle)
        return None if found is None else Privacy(*found)

    # Settings.
    def set_threads(self, threads: int) -> None:
        self._handle.set_threads(threads)

    def set_deadline(self, seconds: Optional[float]) -> None:
        """Every call that takes longer is a LimitError; None for none."""
        self._handle.set_deadline(-1 if seconds is None else max(0, round(seconds * 1000)))

    def __getstate__(self) -> dict[str, Any]:
        """The model with its state, seed and step counts; not its options of loading."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "state.ckpt")
            self.save_checkpoint(file)
            checkpoint = file.read_bytes()
        return {
            "model": self.export_bytes(training=True),
            "checkpoint": checkpoint,
            "learning_rate": self._rate_or_none(),
            "report": self.prepare_report,
        }

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(_ondine.load(saved["model"], []), saved["report"])  # type: ignore[misc]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "state.ckpt")
            file.write_bytes(saved["checkpoint"])
            self.restore_checkpoint(file)
        if saved["learning_rate"] is not None:
            self.learning_rate = saved["learning_rate"]

    def _rate_or_none(self) -> Optional[float]:
        try:
            return self.learning_rate
        except Exception:
            return None


def is_module(model: Any) -> bool:
    """Whether it is a PyTorch module."""
    return hasattr(model, "state_dict") and hasattr(model, "forward")


def source_of(model: Any, example_inputs: Any) -> Any:
    """The handle of a Model, the bytes of a PyTorch module or of a file's content, or a path."""
    if is_module(model):
        if example_inputs is None:
            raise TypeError("a PyTorch module needs example_inputs")
        return _exported(model, example_inputs)
    if example_inputs is not None:
        raise TypeError("example_inputs have no effect: the model is no PyTorch module")
    return model._handle if isinstance(model, Model) else _source(model)


def _source(source: Any) -> Any:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    return os.fspath(source)


@documented("load")
def load(model: Union[Place, bytes], **options: Option) -> Model:
    """Loads an .onnx file, or the bytes of one."""
    return Model(_ondine.load(_source(model), to_pairs(options)))


def _exported(module: Any, example_inputs: Any) -> bytes:
    """The bytes of a PyTorch module, exported with its present weights."""
    import torch  # type: ignore[import-not-found,unused-ignore]

    inputs = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "module.onnx")
        dims = tuple({0: torch.export.Dim.DYNAMIC} for _ in inputs)
        torch.onnx.export(
            module, inputs, str(file), dynamo=True, optimize=False, dynamic_shapes=dims,
            external_data=False,
        )  # fmt: skip
        return file.read_bytes()


@documented("prepare", "load")
def prepare(model: Any, example_inputs: Any = None, **options: Option) -> Model:
    """Adds loss, gradient, optimizer and initialization to an inference model.

    `model`: an .onnx file, the bytes of one, a Model with its present weights, or a PyTorch module
    with `example_inputs` whose first dim counts rows. `prepare_report` of the result says what was
    written.
    """
    prepare_by, load_by = divide(dict(options), "prepare", "load")
    handle, report = _ondine.prepare(source_of(model, example_inputs), prepare_by, load_by)
    return Model(handle, json.loads(report))


@documented("load")
def check(file: Place, **options: Option) -> list[str]:
    """All findings on a model; empty when it loads with strict=True."""
    findings: list[str] = json.loads(_ondine.check_model(os.fspath(file), to_pairs(options)))
    return findings
