#!/usr/bin/env python3
"""How often the second embedding of a row is the closest one to the first, and the mean of 1 / its
place: retrieval.py TABLE, as `ondine infer --all-outputs` writes it. Needs numpy."""
import csv
import sys

import numpy


def retrieval(first, second):
    first, second = (x / numpy.linalg.norm(x, axis=1, keepdims=True) for x in (first, second))
    scores = first @ second.T
    places = (scores > scores.diagonal()[:, None]).sum(1)
    return (places == 0).mean(), (1 / (places + 1)).mean()


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    header, values = rows[0], rows[1:]
    columns = {"first": [], "second": []}
    for at, name in enumerate(header):
        if name.startswith("sentence_embedding"):
            columns["second" if "_pair" in name else "first"].append(at)
    return [numpy.array([[float(row[at]) for at in found] for row in values])
            for found in columns.values()]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    best, mean = retrieval(*read(sys.argv[1]))
    print(f"first {best:.4f}\nreciprocal {mean:.4f}")
