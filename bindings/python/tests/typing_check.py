"""Read by mypy alone: what callers write has types."""

from typing import Any

import numpy as np

import ondine_train as ondine


def train(path: str) -> float:
    model = ondine.prepare(path, loss="mse", learning_rate=1e-3)
    results: dict[str, Any] = model.train_step({"x": np.zeros((2, 1), np.float32)})
    history = ondine.Trainer(model, epochs=2).fit({"x": np.zeros(3)})
    losses: list[float] = history.metric("loss")
    port: ondine.Port = model.inputs[0]
    assert port.dims is None or port.dims[0] == -1
    try:
        model.export("tuned.onnx")
    except ondine.Error as error:
        print(error.code, error.context)
    return float(results["loss"]) + losses[0]


def tune(path: str) -> list[str]:
    report = ondine.finetune(path, "photos/", "tuned.onnx", on_epoch=print, epochs=3)
    accuracy: float = report.metrics["accuracy"]
    network: bytes = ondine.new_network({"x": np.zeros(3)}, seed=1)
    assert accuracy >= 0 and len(network) > 0 and report.model.steps > 0
    return report.assumed
