"""From a model and data to a tuned model in one call, and new networks."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Any, Callable, Mapping, Optional

from . import _ondine
from .data import Dataset
from .feeds import convert
from .model import Model, Place, source_of
from .options import Option, divide, documented, invalid, names, to_pairs
from .tables import Table, stored
from .trainer import Data, History

Callback = Optional[Callable[["dict[str, Any]"], Any]]


class FinetuneReport:
    """What finetune() did: the tuned model, what was assumed, and the finetune report of docs/c.md."""

    def __init__(self, model: Model, history: History, report: dict[str, Any]) -> None:
        self.model = model  # tuned, with its training information
        self.history = history
        self.report = report

    @property
    def assumed(self) -> list[str]:
        """What was chosen, at most five lines."""
        return list(self.report["assumed"])

    @property
    def notes(self) -> list[str]:
        """What is to be known of the data and of the prepared model."""
        return list(self.report["notes"])

    @property
    def metrics(self) -> dict[str, float]:
        """Of the tuned model on the validation rows, before it was trained once more on all rows."""
        return dict(self.report["evaluation"]["metrics"])

    @property
    def metric(self) -> str:
        """The first of the metrics that matters: accuracy, iou, rmse, ..."""
        return str(self.report["metric"])

    @property
    def rows(self) -> tuple[int, int]:
        """Training rows and validation rows."""
        return int(self.report["training_rows"]), int(self.report["validation_rows"])

    def __repr__(self) -> str:
        metrics = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items())
        return f"<ondine_train.FinetuneReport, {metrics}>"


def _rows(data: Any, reading: list[tuple[str, str]], files: ExitStack) -> Any:
    """A data set of the extension, or a list of places that is read as the model takes it. Tables in
    memory are `files` until these are closed."""
    if isinstance(data, Dataset):
        return data._handle
    if isinstance(data, Mapping):
        return _ondine.dataset_from_arrays(convert(data, {}, False), {}, reading)
    if isinstance(data, Table):
        return [files.enter_context(stored(data))]
    places = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    return [os.fspath(place) for place in places]


def _require_reading(data: Data, reading: list[tuple[str, str]]) -> None:
    if isinstance(data, Dataset) and reading:
        name = reading[0][0].replace("-", "_")
        raise invalid(f"{name} has no effect: the data set was opened without it")


def _tell(callback: Callback) -> Optional[Callable[[str], Any]]:
    return None if callback is None else lambda report: callback(json.loads(report))


@documented("finetune", "data", "load")
def finetune(
    model: Any,
    data: Data,
    output: Optional[Place] = None,
    validation: Optional[Data] = None,
    *,
    example_inputs: Any = None,
    on_assumed: Optional[Callable[[str], Any]] = None,
    on_step: Callback = None,
    on_epoch: Callback = None,
    **options: Option,
) -> FinetuneReport:
    """Looks at model and data, prepares, trains, evaluates and writes the tuned model to `output`.

    `model`: an inference model as an .onnx file, the bytes of one or a Model with its present
    weights, or a PyTorch module with `example_inputs` whose first dim counts rows; None: a new
    network for the data. `data`: a Dataset, files and folders, a table or a
    dictionary of arrays; a part of it is set apart where `validation` is None. `on_assumed` gets
    each line of what is assumed before training, `on_step` and `on_epoch` get reports (docs/c.md)
    and end the run by returning False; nothing is written then.
    """
    tune_by, read_by, load_by = divide(dict(options), "finetune", "data", "load")
    _require_reading(data, read_by)
    epochs: list[dict[str, Any]] = []

    def keep(report: dict[str, Any]) -> Any:
        if report["fold"] == 0:
            epochs.append(report)
        return None if on_epoch is None else on_epoch(report)

    with ExitStack() as files:
        handle, text = _ondine.finetune(
            None if model is None else source_of(model, example_inputs),
            _rows(data, read_by, files),
            None if validation is None else _rows(validation, read_by, files),
            "" if output is None else os.fspath(output),
            tune_by,
            [] if isinstance(data, Mapping) else read_by,
            load_by,
            on_assumed,
            _tell(on_step),
            _tell(keep),
        )
    report: dict[str, Any] = json.loads(text)
    return FinetuneReport(Model(handle, report["prepared"]), History(epochs, report["fit"]), report)


@documented("network", "data")
def new_network(data: Data, kind: Optional[str] = None, **options: Option) -> bytes:
    """A small network for the data with initial weights: the bytes of an .onnx file.

    `kind`: mlp, cnn, unet, text or audio; None: that which fits the data.
    """
    pairs = to_pairs(dict(options))
    network_by = [pair for pair in pairs if pair[0] not in names("data") - names("network")]
    read_by = [pair for pair in pairs if pair[0] in names("data")]
    _require_reading(data, [pair for pair in read_by if pair[0] not in names("network")])
    with ExitStack() as files:
        rows = _rows(data, read_by, files)
        if isinstance(rows, list):
            rows = _ondine.open_dataset(rows, 0, 0, read_by)
    return _ondine.new_network(kind or "", rows, network_by)
