#!/usr/bin/env python3
"""Compares the recorded epsilons of tests/trainer/privacy/opacus_values.inc with Opacus.

The test of PrivacyAccountant compares with these values. Needs the packages opacus, scipy and numpy;
opacus may be installed without its dependencies (--no-deps), since only its formulas are imported.
With --write the file is written anew.
"""
import argparse
import importlib.util
import itertools
import pathlib
import sys

VALUES = pathlib.Path(__file__).resolve().parents[2] / "tests/trainer/privacy/opacus_values.inc"
ORDERS = [1 + x / 10.0 for x in range(1, 100)] + list(range(12, 64))
NOISES = [0.5, 0.7, 1.0, 1.3, 2.0, 4.0]
RATES = [0.0005, 0.004, 0.02, 0.1, 0.5, 1.0]
STEPS = [1, 100, 5000]
DELTAS = [1e-5, 1e-3]


def load_formulas():
    spec = importlib.util.find_spec("opacus")
    if spec is None:
        sys.exit("the package opacus is not installed")
    file = pathlib.Path(spec.submodule_search_locations[0]) / "accountants/analysis/rdp.py"
    formulas = importlib.util.spec_from_file_location("opacus_rdp", file)
    module = importlib.util.module_from_spec(formulas)
    formulas.loader.exec_module(module)
    return module


def rows(rdp):
    for noise, rate, steps in itertools.product(NOISES, RATES, STEPS):
        spent = rdp.compute_rdp(q=rate, noise_multiplier=noise, steps=steps, orders=ORDERS)
        for delta in DELTAS:
            epsilon, _ = rdp.get_privacy_spent(orders=ORDERS, rdp=spent, delta=delta)
            yield noise, rate, steps, delta, float(epsilon)


def recorded():
    for line in VALUES.read_text().splitlines():
        if line.startswith("{"):
            yield tuple(float(part) for part in line.strip("{},").split(","))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the file of values")
    wanted = list(rows(load_formulas()))
    if parser.parse_args().write:
        lines = ["{%.17g, %.17g, %d, %.17g, %.17g}," % row for row in wanted]
        VALUES.write_text("// noise, rate, steps, delta, epsilon: by tools/dev/check_privacy.py\n"
                          + "\n".join(lines) + "\n")
        return
    found = list(recorded())
    if len(found) != len(wanted):
        sys.exit(f"{VALUES} has {len(found)} rows, needed: {len(wanted)}")
    for one, other in zip(found, wanted):
        if one[:4] != other[:4] or abs(one[4] - other[4]) > 1e-9 * max(1, abs(other[4])):
            sys.exit(f"recorded {one}, Opacus gives {other}")
    print(f"{len(found)} values are those of Opacus")


if __name__ == "__main__":
    main()
