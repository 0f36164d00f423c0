"""The training loop and evaluation."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

from . import _ondine
from .data import Dataset
from .model import Model, Place
from .options import Option, documented, to_pairs
from .tables import Table

Report = "dict[str, Any]"
Data = Union[Dataset, Place, Sequence[Place], Mapping[str, Any], Table]


def to_dataset(data: Data, model: Model, use: str) -> Dataset:
    if isinstance(data, Dataset):
        return data
    if isinstance(data, Mapping):
        return Dataset.from_arrays(data)
    return Dataset.open(data, model, use)


class History(Sequence["dict[str, Any]"]):
    """The epoch reports of a run (docs/c.md); `report` is its fit report."""

    def __init__(self, epochs: Sequence[dict[str, Any]], report: dict[str, Any]) -> None:
        self._epochs = list(epochs)
        self.report = report

    def __len__(self) -> int:
        return len(self._epochs)

    def __getitem__(self, index: Any) -> Any:
        return self._epochs[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._epochs)

    @property
    def reason(self) -> str:
        """Why the run ended: completed, early_stopping, time_limit or requested."""
        return str(self.report["reason"])

    @property
    def best_epoch(self) -> int:
        """Early stopping's best epoch; 0 where there is none."""
        return int(self.report["best_epoch"])

    def metric(self, name: str) -> list[float]:
        """A metric of training, or with "val_" in front of validation, of each epoch."""
        part, key = ("validation", name[4:]) if name.startswith("val_") else ("training", name)
        return [epoch[part][key] for epoch in self._epochs]

    def _rows(self) -> list[tuple[str, list[Any]]]:
        rows = []
        for epoch in self._epochs:
            metrics = [*epoch["training"].items()]
            metrics += [(f"val_{name}", value) for name, value in epoch["validation"].items()]
            rows.append((str(epoch["epoch"]), metrics))
        return rows

    def __repr__(self) -> str:
        return "\n".join(
            f"epoch {number}: " + ", ".join(f"{name} {value:.4g}" for name, value in metrics)
            for number, metrics in self._rows()
        )

    def _repr_html_(self) -> str:
        rows = self._rows()
        if not rows:
            return "<p>no epochs</p>"
        head = "".join(f"<th>{name}</th>" for name, _ in rows[0][1])
        body = "".join(
            f"<tr><td>{number}</td>" + "".join(f"<td>{value:.4g}</td>" for _, value in metrics)
            + "</tr>"
            for number, metrics in rows
        )  # fmt: skip
        return f"<table><tr><th>epoch</th>{head}</tr>{body}</table>"


class _Mean:
    """A metric that is a function of a batch, as the mean over rows."""

    def __init__(self, function: Callable[[dict[str, Any], dict[str, Any]], float]) -> None:
        self._function = function

    def begin(self) -> None:
        self._sum = 0.0
        self._rows = 0

    def add(self, outputs: dict[str, Any], batch: dict[str, Any]) -> None:
        rows = next(len(value) for value in batch.values() if getattr(value, "ndim", 0) > 0)
        self._sum += rows * float(self._function(outputs, batch))
        self._rows += rows

    def value(self) -> float:
        return self._sum / self._rows


class Trainer:
    """Trains a model over epochs: validation, schedules, early stopping, checkpoints, records.

    The order of rows follows from the seed of the model: `seed` of load() and prepare(), or of
    initialize().
    """

    @documented("train")
    def __init__(self, model: Model, **options: Option) -> None:
        """Options as keywords."""
        self.model = model
        epochs: list[dict[str, Any]] = []
        self._epochs = epochs
        self._handle = _ondine.make_trainer(model._handle.address, to_pairs(options))
        self._handle.on_epoch(lambda report: epochs.append(json.loads(report)))

    def on_step(self, callback: Callable[[dict[str, Any]], Any]) -> None:
        """Adds a callback for step reports (docs/c.md); one that returns False ends the run."""
        self._handle.on_step(lambda report: callback(json.loads(report)))

    def on_epoch(self, callback: Callable[[dict[str, Any]], Any]) -> None:
        """Adds a callback for epoch reports (docs/c.md); one that returns False ends the run."""
        self._handle.on_epoch(lambda report: callback(json.loads(report)))

    def add_metric(self, name: str, metric: Any, outputs: Sequence[str] = ()) -> None:
        """Adds a metric of validation data, which early stopping knows as "val_NAME".

        `metric`: a function of the outputs and the feeds of a batch whose mean over rows counts, or
        an object with begin(), add(outputs, batch) and value(). `outputs`: what it reads; the first
        output of the network if none is named.
        """
        whole = all(hasattr(metric, part) for part in ("begin", "add", "value"))
        self._handle.add_metric(name, metric if whole else _Mean(metric), list(outputs))

    def resume(self) -> dict[str, Any]:
        """Restores the checkpoint; fit() goes on from there."""
        report: dict[str, Any] = json.loads(self._handle.resume())
        return report

    def fit(
        self, data: Data, validation: Optional[Data] = None, *, progress: bool = False
    ) -> History:
        """Trains on a Dataset, files and folders, or a dictionary of arrays.

        `progress`: shows steps by tqdm, which must be installed.
        """
        rows = to_dataset(data, self.model, "training")
        others = None if validation is None else to_dataset(validation, self.model, "evaluation")
        self._epochs.clear()
        bar = _Bar(self) if progress else None
        try:
            report = self._handle.fit(rows._handle, None if others is None else others._handle)
        finally:
            if bar is not None:
                bar.close()
        # Those of folds are in the callbacks and, as one report each, in the fit report.
        epochs = [one for one in self._epochs if one["fold"] == 0]
        return History(epochs, json.loads(report))

    def evaluate(self, data: Data) -> dict[str, Any]:
        """Loss and metrics of a data set: the evaluation of docs/c.md."""
        rows = to_dataset(data, self.model, "evaluation")
        evaluation: dict[str, Any] = json.loads(self._handle.evaluate(rows._handle))
        return evaluation

    def request_stop(self) -> None:
        """From any thread: fit() ends before the next step, saves and returns."""
        self._handle.request_stop()


class _Bar:
    def __init__(self, trainer: Trainer) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]

        self._bar = tqdm(unit=" rows")
        self._epoch = 0
        trainer.on_step(self._step)

    def _step(self, report: dict[str, Any]) -> None:
        if report["epoch"] != self._epoch:
            self._epoch = report["epoch"]
            self._bar.reset(total=report["epoch_rows"])
            self._bar.set_description(f"epoch {report['epoch']}/{report['epochs']}")
        self._bar.update(report["rows"] - self._bar.n)
        self._bar.set_postfix(report["mean"])

    def close(self) -> None:
        self._bar.close()


@documented("evaluate")
def evaluate(model: Model, data: Data, **options: Option) -> dict[str, Any]:
    """Compares an output of the model with the labels of the data: the evaluation of docs/c.md."""
    rows = to_dataset(data, model, "evaluation")
    evaluation: dict[str, Any] = json.loads(
        _ondine.evaluate(model._handle.address, rows._handle, to_pairs(options))
    )
    return evaluation


def has_checkpoint(file: Place) -> bool:
    """Whether there is a checkpoint to resume."""
    return bool(_ondine.has_checkpoint(os.fspath(file)))
