#!/usr/bin/env python3
"""Writes tables that scikit-learn ships as train and test files: make_tables.py SKLEARN_DATA OUT

Every fifth row is for testing."""
import csv
import gzip
import os
import sys


def write(folder, header, rows):
    os.makedirs(folder, exist_ok=True)
    for part, keep in (("train", lambda i: i % 5 != 0), ("test", lambda i: i % 5 == 0)):
        with open(f"{folder}/{part}.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(header)
            table.writerows(row for i, row in enumerate(rows) if keep(i))


def numbers(path):
    with gzip.open(path, "rt") as file:
        return [line.split() for line in file if line.strip()]


def main(source, target):
    with open(f"{source}/breast_cancer.csv", newline="") as file:
        count, columns, *classes = next(csv.reader(file))
        rows = [row[:-1] + [classes[int(row[-1])]] for row in csv.reader(file)]
    assert len(rows) == int(count)
    write(f"{target}/cancer", [f"feature{i}" for i in range(int(columns))] + ["diagnosis"], rows)
    features = numbers(f"{source}/diabetes_data_raw.csv.gz")
    progress = numbers(f"{source}/diabetes_target.csv.gz")
    names = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6", "progression"]
    write(f"{target}/diabetes", names, [x + y for x, y in zip(features, progress)])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
