"""Clients and servers of federations for Flower, which must be installed: docs/federated.md.

    from ondine_train.flower import client_app, server_app
    client = client_app("train.onnx", lambda context: f"part{context.node_config['partition-id']}")
    server = server_app("train.onnx", rounds=10, output="final.onnx")
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _ondine
from .errors import Error, make_error
from .feeds import convert
from .model import Model, Place, load
from .options import Option, documented, invalid, names, to_pairs
from .trainer import Data, Trainer, to_dataset

try:
    from flwr.app import (  # type: ignore[import-not-found,unused-ignore]
        Array,
        ArrayRecord,
        ConfigRecord,
        Context,
        Message,
        MetricRecord,
        RecordDict,
    )
    from flwr.app import Error as Failure
    from flwr.clientapp import ClientApp  # type: ignore[import-not-found,unused-ignore]
    from flwr.serverapp import Grid, ServerApp  # type: ignore[import-not-found,unused-ignore]
    from flwr.serverapp.strategy import (  # type: ignore[import-not-found,unused-ignore]
        FedAvg,
        Result,
        Strategy,
    )
except ImportError as error:
    raise ImportError(
        "ondine_train.flower needs Flower 1.42 or later, which is no part of ondine-train: "
        f"pip install 'flwr>=1.42' ({error})"
    ) from error

__all__ = ["client_app", "server_app"]

ModelSource = Union[Model, Place, bytes, Callable[["Context"], Union[Model, Place, bytes]]]
ClientData = Union[Data, Callable[["Context"], Data]]
Settings = Union["ConfigRecord", Mapping[str, Any]]

_log = logging.getLogger("flwr.ondine")
_FAILED = 2  # the code of Flower for a ClientApp that raised


def _mismatch(message: str) -> Error:
    return make_error(3, "mismatch", message, message, [])


def _model(source: ModelSource, context: Context) -> Model:
    given = source(context) if callable(source) else source
    return given if isinstance(given, Model) else load(given)


def _numbers(value: Any) -> Any:
    """A setting as JSON has it; None for a kind that no setting has."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str)) else None


def _only(message: Message, kind: type, what: str) -> tuple[str, Any]:
    """Name and record of the only one of its kind; none: an empty one."""
    found = [(name, one) for name, one in message.content.items() if isinstance(one, kind)]
    if len(found) > 1:
        raise _mismatch(f"the message has {len(found)} records of {what}: "
                        + ", ".join(repr(name) for name, _ in found))  # fmt: skip
    return found[0] if found else ("", {})


class _Worker:
    """Answers messages with a model and data; nothing that it answers changes it."""

    def __init__(self, model: Model, data: Data, training: Any, federation: Any) -> None:
        self._model = model  # whose interruptions the library asks
        rows = to_dataset(data, model, "training")
        self._handle = _ondine.make_federated_worker(
            model._handle.address, rows._handle, training, federation
        )

    def answer(self, message: Message) -> RecordDict:
        metadata = message.metadata
        key, arrays = _only(message, ArrayRecord, "arrays")
        _, settings = _only(message, ConfigRecord, "settings")
        values = _values(arrays)
        trained, text = self._handle.answer(
            metadata.message_type,
            convert(values, {}, False),
            json.dumps({name: _numbers(value) for name, value in settings.items()}),
            max(0.0, metadata.created_at + metadata.ttl - time.time()),
        )
        report = json.loads(text)
        for note in report["notes"]:
            _log.warning("%s", note)
        content = RecordDict()
        if trained:
            # In the order of the message, which mods of Flower compare.
            content[key] = ArrayRecord({name: Array(trained[name]) for name in values})
        metrics: dict[str, Any] = {
            name: value if isinstance(value, int) else float(value)
            for name, value in report["metrics"].items()
        }
        content["metrics"] = MetricRecord(metrics)
        if report["config"]:
            content["config"] = ConfigRecord(report["config"])
        return content


def _require_options(options: Mapping[str, Any]) -> None:
    known = names("train")
    for name in options:
        if name.replace("_", "-") not in known:
            raise invalid(f"client_app has no option '{name}'")


def _require_mods(mods: Sequence[Any]) -> None:
    for mod in mods:
        if ".secure_aggregation" in getattr(mod, "__module__", ""):
            text = (f"the mod {getattr(mod, '__name__', mod)} takes clients of Flower's former API "
                    "alone, not those of the Message API")  # fmt: skip
            raise make_error(2, "unsupported", text, text, [])


@documented("train")
def client_app(
    model: ModelSource,
    data: ClientData,
    *,
    mods: Sequence[Any] = (),
    most_epochs: Optional[int] = None,
    train_metric: Option = None,
    evaluate_metric: Option = None,
    **options: Option,
) -> ClientApp:
    """A ClientApp that answers train, evaluate and query messages as `ondine federate` does.

    `model`: a training model, or a function of Flower's Context that gives one. `data`: what
    Trainer.fit() takes, with validation data for evaluations, or a function of the Context.
    `mods`: mods of Flower for train messages. `most_epochs`, `train_metric`, `evaluate_metric`: as
    of `ondine federate`. What a message asks for and the node cannot do is an error reply.
    """
    _require_options(options)
    _require_mods(mods)
    training = to_pairs(options)
    federation = to_pairs({"most-epochs": most_epochs, "train-metric": train_metric,
                           "evaluate-metric": evaluate_metric})  # fmt: skip

    def answer(message: Message, context: Context) -> Message:
        try:
            rows: Any = data(context) if callable(data) else data
            worker = _Worker(_model(model, context), rows, training, federation)
            return Message(worker.answer(message), reply_to=message)
        except Error as failure:
            _log.error("%s", failure)
            return Message(Failure(_FAILED, str(failure)), reply_to=message)

    app = ClientApp()
    app.train(mods=list(mods))(answer)
    app.evaluate()(answer)
    app.query()(answer)
    return app


def _weights(model: Model) -> dict[str, tuple[int, str]]:
    """The weights that a training step updates, and their element types."""
    types = {one["name"]: (one["dtype"], "tensor") for one in model.state if one["role"] == "weight"}
    if not types:
        raise _mismatch("the model has no weights that training updates")
    return types


def _present(model: Model, names_of: Iterable[str]) -> ArrayRecord:
    return ArrayRecord({name: Array(np.asarray(model.get_state(name))) for name in names_of})


def _warn_of_zeros(model: Model, names_of: Iterable[str]) -> None:
    if any(np.any(np.asarray(model.get_state(name))) for name in names_of):
        return
    _log.warning(
        "all weights of the model are 0, so that layers behind others may never learn: give a model "
        "that was initialized (Model.initialize, ondine train --initialize) or trained"
    )


def _values(arrays: ArrayRecord) -> dict[str, Any]:
    return {name: np.ascontiguousarray(array.numpy()) for name, array in arrays.items()}


def _rounded(arrays: ArrayRecord, types: Mapping[str, tuple[int, str]]) -> ArrayRecord:
    """In the types of the model: some strategies of Flower compute in float64."""
    values = _values(arrays)
    for name, value in values.items():
        if not np.all(np.isfinite(value)):
            text = f"array '{name}' of the strategy has NaN or infinite numbers"
            raise make_error(9, "not_finite", text, text, [])
    return ArrayRecord(
        {name: Array(value) for name, value in convert(values, types, copy=True).items()}
    )


def _watch(strategy: Strategy, types: Mapping[str, tuple[int, str]]) -> Strategy:
    """The strategy, whose results are rounded, and missing ones said."""
    aggregate = strategy.aggregate_train

    def aggregate_train(server_round: int, replies: Any) -> Any:
        arrays, metrics = aggregate(server_round, replies)
        if arrays is None:
            _log.warning("round %d has no result: no node sent trained weights", server_round)
        return None if arrays is None else _rounded(arrays, types), metrics

    setattr(strategy, "aggregate_train", aggregate_train)
    return strategy


def _require_place(place: Optional[Place], what: str) -> None:
    if place is None:
        return
    folder = Path(place).resolve().parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)) or Path(place).is_dir():
        text = f"{what} '{os.fspath(place)}' cannot be written"
        raise make_error(5, "io", text, text, [])


def _json(metrics: Any) -> dict[str, Any]:
    return {name: value if not isinstance(value, float) or math.isfinite(value) else str(value)
            for name, value in metrics.items()}  # fmt: skip


def _history(result: Result) -> list[dict[str, Any]]:
    parts = {"train": result.train_metrics_clientapp, "evaluate": result.evaluate_metrics_clientapp,
             "server": result.evaluate_metrics_serverapp}  # fmt: skip
    rounds = sorted({number for part in parts.values() for number in part})
    return [{"round": number,
             **{name: _json(part[number]) for name, part in parts.items() if number in part}}
            for number in rounds]  # fmt: skip


def _evaluation(model: Model, data: Optional[Data]) -> Any:
    """Evaluates the server's arrays on its data, if it has some."""
    if data is None:
        return None
    rows = to_dataset(data, model, "evaluation")

    def evaluate(_: int, arrays: ArrayRecord) -> MetricRecord:
        model.set_state(_values(arrays))
        return MetricRecord(Trainer(model).evaluate(rows)["metrics"])

    return evaluate


def _strategy(given: Any, context: Context) -> Strategy:
    if given is None:
        return FedAvg()
    return given if isinstance(given, Strategy) else given(context)


def server_app(
    model: ModelSource,
    strategy: Union[Strategy, Callable[[Context], Strategy], None] = None,
    rounds: int = 3,
    *,
    output: Optional[Place] = None,
    history: Optional[Place] = None,
    data: Optional[Data] = None,
    train_config: Optional[Settings] = None,
    evaluate_config: Optional[Settings] = None,
    timeout: float = 3600,
) -> ServerApp:
    """A ServerApp that begins with the weights of a training model.

    `strategy`: of flwr.serverapp.strategy, or a function of the Context that gives one; FedAvg() if
    absent. `output`: inference model with the last weights. `history`: JSON, metrics by round, 0 is
    before the first. `data`: rows on which the server evaluates after each round. `train_config`,
    `evaluate_config`: settings of messages. `timeout`: seconds that a round waits for replies.
    Weights that are all 0, as of a model that needs `initialize`, are warned of.
    """
    if rounds < 1:
        raise invalid(f"rounds must be at least 1, not {rounds}")

    def main(grid: Grid, context: Context) -> None:
        _require_place(output, "output")
        _require_place(history, "history")
        trained = _model(model, context)
        exchanged = _weights(trained)
        _warn_of_zeros(trained, exchanged)
        result = _watch(_strategy(strategy, context), exchanged).start(
            grid=grid,
            initial_arrays=_present(trained, exchanged),
            num_rounds=rounds,
            timeout=timeout,
            train_config=ConfigRecord(dict(train_config or {})),
            evaluate_config=ConfigRecord(dict(evaluate_config or {})),
            evaluate_fn=_evaluation(trained, data),
        )
        if history is not None:
            Path(history).write_text(json.dumps(_history(result), indent=1) + "\n")
        if not result.arrays:
            raise _mismatch("no round has a result: no node sent trained weights")
        trained.set_state(_values(result.arrays))
        if output is not None:
            trained.export(output)

    app = ServerApp()
    app.main()(main)
    return app
