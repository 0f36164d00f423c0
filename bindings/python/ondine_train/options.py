"""Options as keyword arguments: names, defaults and ranges are those of the library's table."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any, Callable, Iterable, TypeVar, Union

from . import _ondine
from .errors import make_error

Option = Union[None, bool, int, float, str, "os.PathLike[str]", Iterable[Union[int, float, str]]]
Pairs = "list[tuple[str, str]]"

_TABLE: dict[str, list[dict[str, Any]]] = json.loads(_ondine.options_json())


def table(group: str) -> list[dict[str, Any]]:
    """The options of a group: load, data, prepare, train, finetune, network, evaluate, export, ..."""
    return list(_TABLE[group])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return str(value)


def to_pairs(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Names with dashes and values as texts; None leaves an option out, a list repeats it."""
    pairs = []
    for name, value in options.items():
        if value is None:
            continue
        values = value if isinstance(value, (list, tuple)) else [value]
        pairs += [(name.replace("_", "-"), _text(one)) for one in values]
    return pairs


def names(group: str) -> set[str]:
    known = set()
    for option in _TABLE[group]:
        known.add(option["name"])
        known.update(option.get("former", []))
    return known


def divide(options: dict[str, Any], first: str, *others: str) -> tuple[list[tuple[str, str]], ...]:
    """Options of groups apart; what none has goes to the first, which refuses it."""
    parts: dict[str, list[tuple[str, str]]] = {group: [] for group in (first, *others)}
    known = {group: names(group) for group in parts}
    for pair in to_pairs(options):
        owner = next((group for group in parts if pair[0] in known[group]), first)
        parts[owner].append(pair)
    return tuple(parts.values())


def invalid(message: str) -> Exception:
    return make_error(12, "invalid_option", message, message, [])


Function = TypeVar("Function", bound=Callable[..., Any])


def documented(*groups: str) -> Callable[[Function], Function]:
    """Gives a function with **options the signature and the documentation of its options."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        kept = [
            one
            for one in signature.parameters.values()
            if one.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        taken = {one.name for one in kept}
        lines = []
        for group in groups:
            for option in _TABLE[group]:
                name = option["name"].replace("-", "_")
                if name in taken:
                    continue
                taken.add(name)
                kept.append(
                    inspect.Parameter(
                        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Option
                    )
                )
                default = option.get("default")
                tail = f" (default {default})" if default else ""
                lines.append(f"    {name}: {option.get('help', '')}{tail}")
        function.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        function.__doc__ = (function.__doc__ or "") + "\n\nOptions:\n" + "\n".join(lines)
        return function

    return decorate
