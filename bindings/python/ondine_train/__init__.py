"""Ondine: trains ONNX models on the device.

    import ondine_train as ondine
    model = ondine.prepare("net.onnx", loss="softmax-cross-entropy", optimizer="adamw")
    loss = model.train_step({"image": x, "label": y})["loss"]
    model.export("tuned.onnx")
"""

from . import errors
from ._ondine import version as _version
from .data import Dataset
from .errors import (
    CancelledError,
    CorruptError,
    Error,
    ExistsError,
    InternalError,
    InvalidModelError,
    InvalidOptionError,
    IoError,
    LimitError,
    MismatchError,
    NotFiniteError,
    NotFoundError,
    UnsupportedError,
)
from .language import GenerateReport, Generator, import_hugging_face
from .model import Model, Port, Privacy, check, load, prepare
from .options import table as options
from .privacy import noise_for, privacy_epsilon
from .trainer import History, Trainer, evaluate, has_checkpoint
from .tuning import FinetuneReport, finetune, new_network

__version__: str = _version()

__all__ = [
    "CancelledError",
    "CorruptError",
    "Dataset",
    "Error",
    "ExistsError",
    "FinetuneReport",
    "GenerateReport",
    "Generator",
    "History",
    "InternalError",
    "InvalidModelError",
    "InvalidOptionError",
    "IoError",
    "LimitError",
    "MismatchError",
    "Model",
    "NotFiniteError",
    "NotFoundError",
    "Port",
    "Privacy",
    "Trainer",
    "UnsupportedError",
    "check",
    "errors",
    "evaluate",
    "finetune",
    "has_checkpoint",
    "import_hugging_face",
    "load",
    "new_network",
    "noise_for",
    "options",
    "prepare",
    "privacy_epsilon",
]
