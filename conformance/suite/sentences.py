# SPDX-License-Identifier: Apache-2.0
"""The sentences of the standard on training and the cases that test them (sentences.txt)."""

from collections import namedtuple

from suite.cases import ROOT

FILE, TABLE = ROOT / "sentences.txt", ROOT / "SENTENCES.md"
# Tags of sentences that a runtime cannot violate.
REASONS = {
    "background": "describes or introduces",
    "author": "asks something of who writes a model",
    "permission": "permits or leaves open",
}
Sentence = namedtuple("Sentence", "source tag text")

HEAD = """# What the standard says about training, and the cases that test it

Every sentence of the standard on training, in its order. A sentence has a tag, which the cases
quote, or the reason why a runtime cannot violate it. `conformance/run.py --table` writes this file
from `sentences.txt` and the cases.
"""


def read():
    found, source = [], ""
    for line in FILE.read_text().splitlines():
        if line.startswith("# "):
            source = line[2:]
        else:
            found.append(Sentence(source, *line.split("\t", 1)))
    return found


def quoted(tag):
    """The sentence that a case with this tag quotes, and its source."""
    for one in read():
        if one.tag == tag:
            return one
    raise KeyError(f"no sentence has the tag '{tag}'")


def cases_by_tag(cases):
    found = {}
    for case in cases:
        for tag in case.plan["quotes"]:
            found.setdefault(tag, []).append(case.name)
    return found


def findings(cases):
    """Sentences without a case and quotes that are in no source."""
    sentences, by_tag = read(), cases_by_tag(cases)
    texts = {one.tag: one for one in sentences}
    for one in sentences:
        tag = one.tag.lstrip("=")
        if tag not in REASONS and tag not in by_tag:
            yield f"no case tests '{tag}': {one.text}"
    for case in cases:
        for tag in case.plan["quotes"]:
            if tag not in texts:
                yield f"{case.name} quotes what sentences.txt does not say: {tag}"


def cell(text):
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "\\<")


def described(sentence, by_tag):
    tag = sentence.tag.lstrip("=")
    if tag in REASONS:
        return f"*{REASONS[tag]}*"
    if sentence.tag.startswith("="):
        return f"restates `{tag}`"
    names = by_tag.get(tag, [])
    shown = ", ".join(f"`{one}`" for one in names[:6])
    return f"**`{tag}`** {shown}" + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def table(cases):
    """The text of SENTENCES.md."""
    by_tag, source, lines = cases_by_tag(cases), None, [HEAD.rstrip()]
    for one in read():
        if one.source != source:
            source = one.source
            lines += ["", f"## {source}", "", "| sentence | cases |", "|---|---|"]
        lines.append(f"| {cell(one.text)} | {described(one, by_tag)} |")
    return "\n".join(lines) + "\n"
