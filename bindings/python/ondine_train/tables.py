"""Tables in memory: anything with Arrow's C stream interface (pandas, polars, pyarrow, duckdb)."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any, Iterator, Protocol, runtime_checkable

from . import _ondine
from .errors import Error, make_error


@runtime_checkable
class Table(Protocol):
    """An object whose columns other libraries read by Arrow's C stream interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


def _write(table: Any, file: str) -> None:
    if hasattr(table, "reset_index"):
        table = table.reset_index(drop=True)  # the numbers of rows of pandas are no column
    try:
        stream = table.__arrow_c_stream__()
    except ImportError as error:
        raise TypeError(f"pandas hands out tables through pyarrow: {error}") from error
    _ondine.write_arrow_table(stream, file)


def _renamed(error: Error, file: str) -> Error:
    def renamed(text: str) -> str:
        return text.replace(f"file '{file}'", "the table").replace(f"'{file}'", "the table")

    said = [renamed(one) for one in error.context]
    note = "" if "line " not in str(error) else "\nline 1 of the table holds the names of its columns"
    return make_error(error.number, error.code, renamed(str(error)) + note, renamed(error.reason), said)


@contextlib.contextmanager
def stored(table: Table) -> Iterator[str]:
    """The table as a file, in memory where the system has a place for it, until the block ends."""
    memory = "/dev/shm"
    where = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ondine-", dir=where) as folder:
        file = os.path.join(folder, "table.csv")
        _write(table, file)
        try:
            yield file
        except Error as error:
            raise _renamed(error, file) from None
