#!/usr/bin/env python3
"""Checks that every operator that a file defines has exactly one line in kernels/operators.inc. (A
line without an operator does not link.)"""
import collections
import pathlib
import re
import sys

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"


def main():
    listed = re.findall(r"^ONDINE_OPERATOR\((\w+)\)", (KERNELS / "operators.inc").read_text(), re.M)
    bad = [f"operators.inc: {name} comes twice" for name, n in collections.Counter(listed).items() if n > 1]
    for path in sorted(KERNELS.rglob("*.cpp")):
        for name in re.findall(r"^extern const OpDef (\w+)", path.read_text(), re.M):
            if name not in listed:
                bad.append(f"{path.name}: {name} has no line in operators.inc")
    print("\n".join(bad) if bad else f"operators: {len(listed)} listed, no findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
