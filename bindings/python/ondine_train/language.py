"""Folders of Hugging Face, and texts that a model writes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from . import _ondine
from .model import Model, Place
from .options import Option, documented, to_pairs

OnText = Optional[Callable[[str], Any]]


@dataclass(frozen=True)
class GenerateReport:
    """What a Generator wrote. `str()` of it is the text."""

    text: str  # without the prompt and the stop text
    tokens: list[int]
    prompt_tokens: int
    prefill_seconds: float
    decode_seconds: float
    end: str  # "max_tokens", "end_token", "stop_text" or "callback"
    cache: str  # "none", "exact" or "padded"

    def __str__(self) -> str:
        return self.text


class Generator:
    """Writes with a language model, which is only read (docs/generate.md).

        writer = ondine.Generator(model, temperature=0.7, top_p=0.9, seed=1)
        writer.generate("In the beginning", on_text=lambda part: print(part, end=""))

    Calls may run in any number of threads at once.
    """

    @documented("generate")
    def __init__(
        self,
        model: Model,
        *,
        tokenizer: Optional[Place] = None,
        chat_template: Optional[str] = None,
        **options: Option,
    ) -> None:
        """`tokenizer`, `chat_template`: where the model's own are not wanted."""
        text = {
            "tokenizer": None if tokenizer is None else os.fspath(tokenizer),
            "chat_template": chat_template,
        }
        self._handle = _ondine.make_generator(model._handle, to_pairs(options), to_pairs(text))

    def generate(self, prompt: Union[str, Iterable[int]], on_text: OnText = None) -> GenerateReport:
        """The text after `prompt`, a text or ids of tokens.

        `on_text` gets each part as it is written; one that returns False ends the text.
        """
        if isinstance(prompt, str):
            text = self._handle.generate(prompt, on_text)
        else:
            text = self._handle.generate_after([int(one) for one in prompt], on_text)
        return GenerateReport(**json.loads(text))

    def answer(
        self, messages: Union[str, Sequence[Mapping[str, str]]], on_text: OnText = None
    ) -> GenerateReport:
        """What the assistant says next, by the chat template.

        `messages`: dictionaries with role and content, or what the user says.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        pairs = []
        for message in messages:
            if set(message) != {"role", "content"}:
                raise ValueError(f"a message has role and content, this one {sorted(message)}")
            pairs.append((message["role"], message["content"]))
        return GenerateReport(**json.loads(self._handle.answer(pairs, on_text)))

    def encode(self, text: str) -> Any:
        """The ids of a text's tokens, an array of int64."""
        return self._handle.encode(text)

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens."""
        return str(self._handle.decode([int(one) for one in tokens]))


@documented("import")
def import_hugging_face(folder: Place, output: Place, **options: Option) -> dict[str, Any]:
    """Writes the model of a folder of Hugging Face, with its tokenizer and chat template, to
    `output`. The import report of docs/c.md.
    """
    report: dict[str, Any] = json.loads(
        _ondine.import_hugging_face(os.fspath(folder), os.fspath(output), to_pairs(options))
    )
    return report
