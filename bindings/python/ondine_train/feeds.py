"""What calls are fed with: arrays stay where they are, unless copy=True allows a copy."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

_TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
          9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64",
          15: "complex128"}  # fmt: skip
_STRING = 8

Feeds = Mapping[str, Any]


def element_type(name: str, array: np.ndarray[Any, Any]) -> int:
    """The number of the array's element type in the library."""
    for number, known in _TYPES.items():
        if array.dtype == known:
            return number
    raise TypeError(f"'{name}' holds {array.dtype}; a column of rows holds numbers")


def _is_text(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "UO"


def _texts(name: str, value: np.ndarray[Any, Any]) -> tuple[tuple[int, ...], list[str]]:
    texts = value.reshape(-1).tolist()
    for one in texts:
        if not isinstance(one, str):
            raise TypeError(f"'{name}' holds a {type(one).__name__} among texts")
    return value.shape, texts


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")


def _converted(name: str, array: np.ndarray[Any, Any], wanted: str) -> np.ndarray[Any, Any]:
    """Rounds floating point numbers; all others must stay what they are."""
    kinds = array.dtype.kind + np.dtype(wanted).kind
    if kinds[0] not in "biuf" or kinds[1] not in "biuf" or kinds in ("fi", "fu", "fb"):
        raise TypeError(f"'{name}' holds {array.dtype}, which does not convert to {wanted}")
    with np.errstate(over="ignore"):
        converted = array.astype(wanted)
    held = np.isfinite(converted) == np.isfinite(array) if kinds == "ff" else converted == array
    if not np.all(held):
        raise ValueError(f"'{name}' holds numbers that {wanted} cannot hold")
    return converted


def _copied(name: str, value: Any, dtype: int) -> Any:
    """An array of the type that the input takes, if numbers of this kind convert to it."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        array = np.asarray(value)
    else:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
        array = np.from_dlpack(value)
    if array.dtype.kind in "UO":
        return _texts(name, array)
    wanted = _TYPES.get(dtype)
    if wanted is not None and array.dtype != wanted:
        array = _converted(name, array, wanted)
    return np.array(array, order="C", copy=True)


def convert(feeds: Feeds, types: Mapping[str, tuple[int, str]], copy: bool) -> dict[str, Any]:
    """What the extension takes; `types`: element type and type of each input."""
    result: dict[str, Any] = {}
    for name, value in feeds.items():
        dtype, kind = types.get(name, (0, ""))
        if value is None and kind.startswith("optional"):
            result[name] = None
        elif isinstance(value, (list, tuple)) and kind.startswith("seq"):
            result[name] = [convert({name: one}, {}, copy)[name] for one in value]
        elif _is_text(value) and (dtype == _STRING or copy):
            result[name] = _texts(name, value)  # texts are copied in any case
        elif isinstance(value, (bool, int, float, np.generic)) and dtype in _TYPES:
            result[name] = np.asarray(value, dtype=_TYPES[dtype])  # a number, no array
        elif copy:
            result[name] = _copied(name, value, dtype)
        elif _is_array(value) or isinstance(value, memoryview):
            result[name] = value
        else:
            raise TypeError(
                f"'{name}' is a {type(value).__name__}, not an array (numpy, or anything with "
                "DLPack): copy=True converts it"
            )
    return result
