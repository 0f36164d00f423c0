"""The exceptions of the library: Error and one subclass for each code."""

from __future__ import annotations


class Error(RuntimeError):
    """An error of the library. str() is the reason and a line for each object that encloses it."""

    code: str = "internal"  # "not_found", ...
    number: int = 8  # of <ondine/c.h>
    reason: str = ""
    context: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        return (
            make_error,
            (self.number, self.code, str(self), self.reason, list(self.context)),
        )


class InvalidModelError(Error):
    """The model breaks a rule of the standard."""


class UnsupportedError(Error):
    """A valid request for something that this build does not have."""


class MismatchError(Error, ValueError):
    """An object, feed, dtype, size or call that does not fit."""


class CorruptError(Error):
    """Stored bytes are damaged."""


class IoError(Error, OSError):
    """The operating system refused a file operation."""


class LimitError(Error):
    """A bound was reached, or memory is short."""


class CancelledError(Error):
    """The caller asked to stop."""


class InternalError(Error):
    """A defect of the library."""


class NotFiniteError(Error, ArithmeticError):
    """A metric of a training step is NaN or infinite."""


class NotFoundError(Error, LookupError):
    """There is no such file, name or index."""


class ExistsError(Error, FileExistsError):
    """A file that must not be replaced is there already."""


class InvalidOptionError(Error, TypeError):
    """An option that does not exist, has no effect or is out of range."""


BY_CODE: dict[str, type[Error]] = {
    "invalid_model": InvalidModelError,
    "unsupported": UnsupportedError,
    "mismatch": MismatchError,
    "corrupt": CorruptError,
    "io": IoError,
    "limit": LimitError,
    "cancelled": CancelledError,
    "internal": InternalError,
    "not_finite": NotFiniteError,
    "not_found": NotFoundError,
    "exists": ExistsError,
    "invalid_option": InvalidOptionError,
}


def make_error(number: int, code: str, message: str, reason: str, context: list[str]) -> Error:
    error = BY_CODE.get(code, InternalError)(message)
    error.code = code
    error.number = number
    error.reason = reason
    error.context = tuple(context)
    return error
