"""Data sets."""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Iterator, Optional, Protocol, Union

import numpy as np

from . import _ondine
from .feeds import Feeds, convert, element_type
from .model import Model, Place
from .options import Option, documented, to_pairs
from .tables import Table, stored

_USES = {"training": 0, "evaluation": 1, "inference": 2}


class Source(Protocol):
    """Rows by number, as data sets of torch give them."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> Feeds: ...


class Dataset:
    """Named columns with an entry for each row: a training and possibly a validation part."""

    def __init__(self, handle: _ondine.Dataset) -> None:
        self._handle = handle

    @staticmethod
    @documented("data")
    def open(
        places: Union[Place, Iterable[Place], Table],
        model: Optional[Model] = None,
        use: str = "training",
        **options: Option,
    ) -> Dataset:
        """Opens files and folders: images in a folder per class, CSV, .npz, IDX, texts, recordings.
        A table with Arrow's C stream interface, of pandas, polars or pyarrow, is read as a CSV file.

        `model`: the data is read as this model takes it. `use`: training, evaluation or inference.
        """
        if use not in _USES:
            raise ValueError(f"use is one of {', '.join(_USES)}, not {use!r}")
        if isinstance(places, Table):
            with stored(places) as file:
                return Dataset.open(file, model, use, **options)
        paths = [places] if isinstance(places, (str, os.PathLike)) else list(places)
        address = 0 if model is None else model._handle.address
        handle = _ondine.open_dataset(
            [os.fspath(path) for path in paths], address, _USES[use], to_pairs(options)
        )
        return Dataset(handle)

    @staticmethod
    @documented("data")
    def from_arrays(
        training: Feeds,
        validation: Optional[Feeds] = None,
        *,
        copy: bool = False,
        **options: Option,
    ) -> Dataset:
        """Arrays whose first axis counts rows; they are shared and must not change."""
        rows = convert(training, {}, copy)
        others = convert(validation or {}, {}, copy)
        return Dataset(_ondine.dataset_from_arrays(rows, others, to_pairs(options)))

    @staticmethod
    @documented("data")
    def from_rows(rows: Iterable[Feeds], **options: Option) -> Dataset:
        """Rows from any iterable of dictionaries, which are copied into arrays at once."""
        columns: dict[str, list[Any]] = {}
        count = 0
        for row in rows:
            if count and set(row) != set(columns):
                raise ValueError(f"row {count} has the columns {sorted(row)}, the first one "
                                 f"{sorted(columns)}")  # fmt: skip
            for name, value in row.items():
                columns.setdefault(name, []).append(np.asarray(value))
            count += 1
        if count == 0:
            raise ValueError("there are no rows")
        arrays = {name: np.stack(values) for name, values in columns.items()}
        return Dataset(_ondine.dataset_from_arrays(convert(arrays, {}, False), {}, to_pairs(options)))

    @staticmethod
    @documented("data")
    def from_source(source: Source, **options: Option) -> Dataset:
        """Rows that are read when a batch needs them: `source` has a length, and source[i] is a
        dictionary with the entries of row i, the same whenever it is read.
        """
        count = len(source)
        if count == 0:
            raise ValueError("there are no rows")
        first = {name: np.asarray(value) for name, value in source[0].items()}

        def entry(row: int, name: str, value: Any) -> bytes:
            array = np.asarray(value)
            wanted = first[name]
            if array.dtype != wanted.dtype or array.shape != wanted.shape:
                raise ValueError(f"'{name}' of row {row} is {array.dtype}{list(array.shape)}, of the "
                                 f"first row {wanted.dtype}{list(wanted.shape)}")  # fmt: skip
            return array.tobytes()

        def read(row: int) -> list[bytes]:
            entries = source[row]
            if set(entries) != set(first):
                raise ValueError(f"row {row} has the columns {sorted(entries)}, the first one "
                                 f"{sorted(first)}")  # fmt: skip
            return [entry(row, name, entries[name]) for name in first]

        columns = [
            (name, element_type(name, array), list(array.shape), array.nbytes)
            for name, array in first.items()
        ]
        return Dataset(_ondine.dataset_from_source(columns, count, read, to_pairs(options)))

    def describe(self) -> dict[str, Any]:
        """The data description of docs/c.md."""
        description: dict[str, Any] = json.loads(self._handle.describe())
        return description

    def __len__(self) -> int:
        return int(self._handle.rows())

    @property
    def classes(self) -> list[str]:
        return list(self.describe()["classes"])

    @property
    def training(self) -> Dataset:
        return Dataset(self._handle.training())

    @property
    def validation(self) -> Dataset:
        return Dataset(self._handle.validation())

    def split(self, fraction: float, seed: int = 0) -> tuple[Dataset, Dataset]:
        """The training part in two; `fraction` of the rows are the second's."""
        first, second = self._handle.split(fraction, seed)
        return Dataset(first), Dataset(second)

    def batches(
        self,
        size: int = 32,
        *,
        model: Optional[Model] = None,
        algorithm: int = 0,
        seed: int = 0,
        epoch: int = 0,
        shuffle: bool = True,
    ) -> Iterator[dict[str, Any]]:
        """The training part in batches, as feeds for `model` if one is given; -1: for infer()."""
        address = 0 if model is None else model._handle.address
        batches = self._handle.batches(size, seed, epoch, shuffle, address, algorithm)
        while (batch := batches.next()) is not None:
            yield batch

    def __repr__(self) -> str:
        return f"<ondine_train.Dataset, {len(self)} rows>"
