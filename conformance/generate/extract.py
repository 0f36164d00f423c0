# SPDX-License-Identifier: Apache-2.0
"""Takes the text on training out of the standard and splits it into sentences."""

import re
from pathlib import Path

import onnx
from onnx import defs

OPERATORS = ("Gradient", "Adam", "Adagrad", "Momentum")
# Abbreviations after which no sentence ends.
NO_END = ("w.r.t.", "i.e.", "e.g.")


def split(paragraph):
    """Sentences of a paragraph."""
    text = re.sub(r"\s+", " ", paragraph).strip()
    found = []
    for part in re.split(r"(?<=\.)\s+(?=[A-Z\"`(])", text):
        if found and (found[-1].endswith(NO_END) or re.fullmatch(r"\d\.", found[-1])):
            found[-1] += " " + part
        elif part:
            found.append(part)
    return found


def blocks(lines):
    """Joins the lines of a paragraph, an item of a list or a comment of pseudo code."""
    found, joined = [], False
    for line in lines:
        text = line.strip()
        code = re.match(r"^\s*\w+ = ", line) is not None
        begins = code or re.match(r"^(//|[-*] |\d\. )", text) is not None
        if text.startswith("//") and joined and found[-1].startswith("//"):
            begins, text = False, text[2:].strip()
        if text and joined and not begins:
            found[-1] += " " + text
        elif text:
            found.append(text)
        joined = bool(text) and not code
    return found


def sentences(lines):
    return [one for block in blocks(lines) for one in split(block)]


def comment_lines(text):
    """Lines of // comments; anything else ends a paragraph."""
    for line in text.splitlines():
        line = line.strip()
        yield line[2:].replace("  ", "", 1) if line.startswith("//") else ""


def between(text, begin, end):
    start = text.index(begin)
    return text[start : text.index(end, start)]


def of_schema():
    text = (Path(onnx.__file__).parent / "onnx.proto").read_text()
    parts = (
        between(text, "// - Add a list to promote", "IR_VERSION_2020_5_8"),
        between(text, "// Training information\n", "\n// Models\n"),
        between(text, "// Training-specific information.", "repeated TrainingInfoProto"),
    )
    return [one for part in parts for one in sentences(comment_lines(part))]


def of_operator(name):
    schema = defs.get_schema(name, "ai.onnx.preview.training")
    document = re.sub(r"```.*?```", "", schema.doc, flags=re.S)
    found = sentences(document.splitlines())
    texts = [one.description for one in (*schema.inputs, *schema.outputs)]
    texts += [schema.attributes[one].description for one in sorted(schema.attributes)]
    return found + [one for text in texts for one in sentences(text.splitlines())]


def of_document(path):
    """Sentences of IR.md on training, and on graphs as far as they bear on the training graph."""
    text = Path(path).read_text()
    found = []
    for begin, end in (
        ("Up to IR version 6, the ONNX", "## Runtime Agnostic"),
        ("An optional extension that contains", "|\n|functions|"),
        ("The semantics of an inference-model", "### Optional Metadata"),
        ("A name belonging to the Value namespace", "Node attributes are used to pass"),
        ("Training related information is described", "## Other Specification Documents"),
    ):
        found += sentences(between(text, begin, end).splitlines())
    return found


def all_sources(document=None):
    """Sentences by source; IR.md only where its path is given."""
    found = {"onnx.proto": of_schema()}
    found.update((name, of_operator(name)) for name in OPERATORS)
    if document:
        found["IR.md"] = of_document(document)
    return found
