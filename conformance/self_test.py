#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the suite notices mistakes: for every case the right results pass, and each result
that is wrong in one place, or wholly zero, fails. Also bounds the size of the suite."""

import copy
import itertools
import random
import subprocess
import sys
from pathlib import Path

from suite import cases, judge, statistics
from suite.tensors import FLOATING, Tensor

HERE = Path(__file__).resolve().parent
RESIDUE = 1e-14  # smaller values are what rounding leaves of zero
LARGEST = 1_500_000  # bytes of all files of cases/


class Given:
    """Results in memory."""

    def __init__(self, values, status="done"):
        self.values, self.status = values, status

    def report(self):
        return self.status, ""

    def tensors(self, call, prefix):
        return self.values.get((call, prefix), {})

    def without(self, call, prefix, name):
        result = Given(dict(self.values))
        result.values[call, prefix] = {
            key: one for key, one in self.tensors(call, prefix).items() if key != name
        }
        return result

    def replaced(self, call, prefix, tensor):
        result = self.without(call, prefix, tensor.name)
        result.values[call, prefix][tensor.name] = tensor
        return result


def sample(name, law, source):
    """A tensor of the law."""
    count = 1
    for dim in law["dims"]:
        count *= dim
    first, second = law["parameters"]
    draw = {
        "normal": lambda: source.gauss(first, second),
        "uniform": lambda: source.uniform(first, second),
        "discrete": lambda: source.choices(first, second)[0],
    }[law["law"]]
    return Tensor(name, law["type"], tuple(law["dims"]), [draw() for _ in range(count)])


def right_results(case, source):
    values = {}
    for index, call in enumerate(case.calls):
        laws = call.plan.get("random", {})
        for prefix, names in call.names().items():
            found = call.expected(prefix)
            found.update(
                (name, sample(name, law, source)) for name, law in laws.items() if name in names
            )
            values[index, prefix] = found
    return Given(values)


def other_value(value, kind, tolerance):
    if kind == "string":
        return value + b"?"
    if kind == "bool":
        return 1 - value
    if kind not in FLOATING:
        return value ^ 1
    if value != value or value in (float("inf"), float("-inf")):
        return 0.0
    return value + 3 * (tolerance[1] + tolerance[0] * abs(value))


def wrong_tensors(tensor, case):
    """Copies of a tensor with one mistake each, and what the mistake is."""
    for place in {0, len(tensor.values) - 1} if tensor.values else ():
        wrong = copy.deepcopy(tensor)
        wrong.values[place] = other_value(wrong.values[place], wrong.type, case.plan["tolerance"])
        yield f"element {place}", wrong
        if wrong.type in FLOATING:
            wrong = copy.deepcopy(tensor)
            wrong.values[place] = (
                float("inf") if tensor.values[place] != tensor.values[place] else float("nan")
            )
            yield f"element {place} no number", wrong
    sizes = [abs(value) for value in tensor.values] if tensor.type in FLOATING else []
    if any(RESIDUE < one < float("inf") for one in sizes):
        yield "zeros", Tensor(tensor.name, tensor.type, tensor.dims, [0.0] * len(tensor.values))
    yield "dims", Tensor(tensor.name, tensor.type, (*tensor.dims, 1), tensor.values)
    other = "double" if tensor.type == "float" else "float"
    yield "type", Tensor(tensor.name, other, tensor.dims, tensor.values)


def wrong_samples(tensor, law):
    """Samples of other laws."""
    expected = statistics.KINDS[law["law"]](*law["parameters"])
    spread = expected.variance**0.5 or 1.0
    mean = expected.mean
    changes = {
        "shifted": [x + 0.35 * spread for x in tensor.values],
        "scaled": [mean + 1.4 * (x - mean) for x in tensor.values],
        "constant": [tensor.values[0]] * len(tensor.values),
        "outside": [mean + 10 * spread] + tensor.values[1:],
        "no number": [float("nan")] + tensor.values[1:],
    }
    for what, values in changes.items():
        allowed = what in ("constant", "scaled") and expected.variance == 0
        # One value of a normal distribution may lie far away.
        if not allowed and not (what == "outside" and law["law"] == "normal"):
            yield what, Tensor(tensor.name, tensor.type, tensor.dims, values)
    yield "type", Tensor(tensor.name, "int64", tensor.dims, tensor.values)


def mistakes(case, right):
    """Wrong results and what is wrong with them."""
    if case.refused:
        yield "accepted", Given(right.values)
        return
    yield "refused", Given(right.values, "refused")
    for index, call in enumerate(case.calls):
        laws = call.plan.get("random", {})
        for prefix, names in call.names().items():
            for name in names:
                where = f"call {index}, {prefix} '{name}'"
                yield f"{where} missing", right.without(index, prefix, name)
                tensor = right.tensors(index, prefix)[name]
                wrong = (
                    wrong_samples(tensor, laws[name])
                    if name in laws
                    else wrong_tensors(tensor, case)
                )
                for what, one in wrong:
                    yield f"{where}: {what}", right.replaced(index, prefix, one)


def check_case(case, source):
    """Findings, and the number of mistakes tried."""
    right = right_results(case, source)
    if case.refused:
        right.status = "refused"
    findings, count = [], 0
    verdict, reason = judge.judge(case, right)
    if verdict != judge.PASSED:
        findings.append(f"{case.name}: the right results: {reason}")
    for what, wrong in mistakes(case, right):
        count += 1
        if judge.judge(case, wrong)[0] != judge.FAILED:
            findings.append(f"{case.name}: passes although {what}")
    return findings, count


def programs_that_fail():
    """Programs that write nothing, or do not end well, pass no case."""
    folder = str(HERE / "cases" / "bindings")
    programs = "true", "false", f"{sys.executable} -c 'import time; time.sleep(9)'"
    for command in (f"{one} {{case}} {{results}}" for one in programs):
        done = subprocess.run(
            [
                sys.executable,
                str(HERE / "run.py"),
                "--command",
                command,
                "--seconds",
                "0.5",
                folder,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0 or ": 0 passed" not in done.stdout:
            yield f"the program '{command}': {done.stdout[-500:]}{done.stderr[-500:]}"


def main():
    source, total = random.Random(1), 0
    findings = list(programs_that_fail())
    size = sum(one.stat().st_size for one in (HERE / "cases").rglob("*") if one.is_file())
    if size > LARGEST:
        findings.append(f"cases/ has {size} bytes, more than {LARGEST}")
    found = cases.read_cases()
    for case in found:
        wrong, count = check_case(case, source)
        findings += wrong
        total += count
    print(
        "\n".join(
            itertools.chain(
                findings, [f"{len(found)} cases, {total} mistakes, {len(findings)} findings"]
            )
        )
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
