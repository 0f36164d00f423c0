#!/usr/bin/env python3
"""Counts comments that name their subject late: those whose first sentence begins with one of the
words below. Comments of C++ count (//, outside of generated data), one for each run of lines.

usage: count_words.py [--list]"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("autodiff", "bench", "bindings", "checkpoints", "core", "examples", "graph", "include", "kernels",
           "proto", "tests", "tools", "trainer")
WORDS = re.compile(r"(Of|The same|By|That|Those|What)\b(?! `)")
MOST = 20


def comments(path):
    """Each run of comment lines, and each comment behind code, with its line."""
    run, first = [], 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        whole = re.match(r"\s*//+ ?(.*)", line)
        if whole:
            first = first if run else number
            run.append(whole.group(1))
            continue
        if run:
            yield first, " ".join(run)
            run = []
        behind = re.search(r"\S.*\s//+ ?([^\"]*)$", line)
        if behind:
            yield number, behind.group(1)
    if run:
        yield first, " ".join(run)


def main():
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h") or path.name.endswith("_data.cpp"):
                continue
            found += [(path.relative_to(ROOT), number, text) for number, text in comments(path)
                      if WORDS.match(text)]
    if "--list" in sys.argv:
        for path, number, text in found:
            print(f"{path}:{number}: {text[:90]}")
    print(f"words: {len(found)} comments name their subject late, {MOST} may")
    return 0 if len(found) <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
