"""The classes of onnxruntime.training.api over Ondine.

    from ondine_train import training_api as api     # was: from onnxruntime.training import api
    state = api.CheckpointState.load_checkpoint("artifacts/checkpoint")
    module = api.Module("artifacts/training_model.onnx", state, "artifacts/eval_model.onnx")
    optimizer = api.Optimizer("artifacts/optimizer_model.onnx", module)
    for x, y in batches:
        module.train()
        loss = module(x, y)
        optimizer.step()
        module.lazy_reset_grad()

A training step of Ondine updates as it computes the loss: between a call in training mode and
optimizer.step() the module is ahead of what onnxruntime would show. Whatever could see that is a
MismatchError, and so are gradients of several batches added up: `prepare` with `accumulate` does
that. docs/from-onnxruntime-training.md says more.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional, Sequence

import numpy as np

from . import _ondine
from .errors import make_error
from .model import Model, Place, load

__all__ = ["CheckpointState", "LinearLRScheduler", "Module", "Optimizer"]

_OWN = b"\x89ONDC"  # first bytes of checkpoints of Ondine


def _mismatch(message: str) -> Exception:
    return make_error(3, "mismatch", message, message, [])


class CheckpointState:
    """Where a module starts: a checkpoint of onnxruntime or of Ondine; then the module's state."""

    def __init__(self, file: Optional[Path] = None) -> None:
        self._file = file
        self._module: Optional[Module] = None

    @staticmethod
    def load_checkpoint(checkpoint_uri: Place) -> CheckpointState:
        file = Path(os.fspath(checkpoint_uri))
        if not file.exists():
            text = f"there is no checkpoint '{file}'"
            raise make_error(10, "not_found", text, text, [])
        return CheckpointState(file)

    @staticmethod
    def save_checkpoint(
        state: CheckpointState, checkpoint_uri: Place, include_optimizer_state: bool = False
    ) -> None:
        """Writes a checkpoint of Ondine, which always has the state of the optimizer."""
        if state._module is None:
            raise _mismatch("the state belongs to no module yet")
        state._module._require_even("a checkpoint")
        state._module.model.save_checkpoint(checkpoint_uri)


def _is_own(file: Path) -> bool:
    with open(file, "rb") as stream:
        return stream.read(len(_OWN)) == _OWN


class Module:
    """A network with its loss. `model` is the Model of Ondine behind it.

    `train_model_uri`: the training model among artifacts of onnxruntime, whose folder is read, or a
    training model of Ondine.
    """

    def __init__(
        self,
        train_model_uri: Place,
        state: CheckpointState,
        eval_model_uri: Optional[Place] = None,
        device: str = "cpu",
    ) -> None:
        if device != "cpu":
            raise _mismatch(f"device '{device}': Ondine computes on the processor")
        self._uri = Path(os.fspath(train_model_uri))
        self._require_beside(eval_model_uri, "eval_model_uri")
        own = state._file is not None and _is_own(state._file)
        if self._is_artifact():
            file = "" if own or state._file is None else str(state._file)
            handle, text = _ondine.import_ort(str(self._uri.parent), file, [], [])
            report = json.loads(text)
            self.model = Model(handle, report["prepared"])
            self._steps_before = int(report["step"])
        else:
            self._steps_before = 0
            self.model = load(self._uri)
            if state._file is not None and not own:
                raise _mismatch(f"'{state._file}' is no checkpoint of Ondine, as a training model "
                                "of Ondine needs")  # fmt: skip
        if own:
            self.model.restore_checkpoint(str(state._file))
        state._module = self
        self.training = True
        self._is_ahead = False

    def _is_artifact(self) -> bool:
        return self._uri.name.endswith("training_model.onnx")

    def _require_beside(self, uri: Optional[Place], name: str) -> None:
        if uri is None:
            return
        place = Path(os.fspath(uri))
        if not self._is_artifact():
            raise _mismatch(f"{name} has no effect: '{self._uri}' is a whole training model")
        if place.resolve().parent != self._uri.resolve().parent:
            raise _mismatch(f"'{place}' is not in the folder of '{self._uri}'")

    def _require_even(self, what: str) -> None:
        if self._is_ahead:
            raise _mismatch(f"{what} between a training step and optimizer.step(): the parameters "
                            "are updated already; call optimizer.step() first")  # fmt: skip

    def __call__(self, *user_inputs: Any) -> Any:
        """The loss of a batch; in training mode it is a step."""
        self._require_even("a call")
        names = self.input_names()
        if len(user_inputs) != len(names):
            raise _mismatch(f"the module takes {', '.join(names)}: {len(names)} inputs, not "
                            f"{len(user_inputs)}")  # fmt: skip
        feeds = dict(zip(names, user_inputs))
        (loss,) = self.output_names()
        if not self.training:
            return self.model.eval_step(feeds, 0, [loss])[loss]
        results = self.model.train_step(feeds, 0, [loss])
        self._is_ahead = True
        return results[loss]

    def train(self, mode: bool = True) -> Module:
        self.training = mode
        return self

    def eval(self) -> Module:
        return self.train(False)

    def lazy_reset_grad(self) -> None:
        """Nothing to reset: gradients do not outlive a step. An error before optimizer.step()."""
        self._require_even("resetting gradients")

    def input_names(self) -> list[str]:
        return [port.name for port in self.model.algorithm_inputs() if not port.has_default]

    def output_names(self) -> list[str]:
        report = self.model.prepare_report
        if report is not None:
            return [str(report["loss"])]
        return [str(self.model.describe()["algorithms"][0]["outputs"][0]["name"])]

    def _frozen(self) -> list[dict[str, Any]]:
        parameters = (self.model.prepare_report or {}).get("parameters", [])
        return [one for one in parameters if not one["trained"]]

    def _weights(self, trainable_only: bool) -> list[dict[str, Any]]:
        if not trainable_only and self._frozen():
            raise _mismatch("frozen parameters are constants of the model: trainable_only=True "
                            "leaves them out")  # fmt: skip
        return [one for one in self.model.state if one["role"] == "weight"]

    def get_parameters_size(self, trainable_only: bool = True) -> int:
        """The number of elements."""
        counted = self._weights(True) + ([] if trainable_only else self._frozen())
        return sum(int(np.prod(one["dims"])) for one in counted)

    def get_contiguous_parameters(self, trainable_only: bool = False) -> Any:
        """A copy of all parameters as one array of float32."""
        self._require_even("reading parameters")
        parts = [self.model.get_state(one["name"]).ravel() for one in self._weights(trainable_only)]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def copy_buffer_to_parameters(self, buffer: Any, trainable_only: bool = True) -> None:
        self._require_even("writing parameters")
        numbers = np.asarray(buffer, np.float32).ravel()
        size = self.get_parameters_size(trainable_only)
        if numbers.size != size:
            raise _mismatch(f"the buffer has {numbers.size} numbers, the parameters {size}")
        values = {}
        for one in self._weights(trainable_only):
            count = int(np.prod(one["dims"]))
            values[one["name"]] = numbers[:count].reshape(one["dims"])
            numbers = numbers[count:]
        self.model.set_state(values)

    def export_model_for_inferencing(
        self, inference_model_uri: Place, graph_output_names: Sequence[str]
    ) -> None:
        """Writes the inference model; the names must be those of its outputs."""
        self._require_even("an export")
        found = [port.name for port in self.model.outputs]
        if list(graph_output_names) != found:
            raise _mismatch(f"the inference model has the outputs {', '.join(found)}, not "
                            f"{', '.join(graph_output_names)}")  # fmt: skip
        self.model.export(inference_model_uri)


class Optimizer:
    """The update, which the training model has; optimizer_uri: that among the artifacts."""

    def __init__(self, optimizer_uri: Optional[Place], module: Module) -> None:
        module._require_beside(optimizer_uri, "optimizer_uri")
        self._module = module

    def step(self) -> None:
        if not self._module._is_ahead:
            raise _mismatch("optimizer.step() needs a call of the module in training mode before it")
        self._module._is_ahead = False

    def set_learning_rate(self, learning_rate: float) -> None:
        self._module._require_even("a learning rate")
        self._module.model.learning_rate = learning_rate

    def get_learning_rate(self) -> float:
        return self._module.model.learning_rate


class LinearLRScheduler:
    """From 0 to initial_lr in `warmup_step_count` steps, then to 0 at `total_step_count`."""

    def __init__(
        self, optimizer: Optimizer, warmup_step_count: int, total_step_count: int, initial_lr: float
    ) -> None:
        if not 0 <= warmup_step_count < total_step_count:
            raise _mismatch("warmup_step_count must be at least 0 and below total_step_count")
        self._optimizer = optimizer
        self._warmup = warmup_step_count
        self._total = total_step_count
        self._initial = initial_lr
        self._set()

    def _set(self) -> None:
        module = self._optimizer._module
        done = module._steps_before + module.model.steps
        if done < self._warmup:
            share = done / self._warmup
        else:
            share = max(0.0, (self._total - done) / (self._total - self._warmup))
        self._optimizer.set_learning_rate(self._initial * share)

    def step(self) -> None:
        """Sets the rate of the next step; steps are counted by the optimizer."""
        self._set()
