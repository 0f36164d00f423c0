# SPDX-License-Identifier: Apache-2.0
"""The verdict on what a program gave for a case."""

import json

from suite import compare, statistics, tensors

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Results:
    """What a program wrote to a folder."""

    def __init__(self, folder):
        self.folder = folder

    def report(self):
        report = json.loads((self.folder / "report.json").read_text())
        return report["status"], str(report.get("message", ""))

    def tensors(self, call, prefix):
        return tensors.read_folder(self.folder / f"call_{call}", prefix)


def check_random(law, got):
    if (got.type, got.dims) != (law["type"], tuple(law["dims"])):
        return f"is {got.describe()}, expected {law['type']}{law['dims']}"
    return statistics.difference(got.values, law)


def check_values(call, prefix, names, got, tolerance):
    """What is wrong with the tensors `got` of a call, or None."""
    expected, laws = call.expected(prefix), call.plan.get("random", {})
    for name in names:
        if name not in got:
            return f"{prefix} '{name}' is missing"
        wrong = (
            check_random(laws[name], got[name])
            if name in laws
            else compare.difference(got[name], expected[name], tolerance)
        )
        if wrong:
            return f"{prefix} '{name}': {wrong}"
    return None


def check_call(case, index, read):
    call, tolerance = case.calls[index], case.plan["tolerance"]
    for prefix, names in call.names().items():
        wrong = check_values(call, prefix, names, read(index, prefix), tolerance)
        if wrong:
            return wrong
    return None


def check_dependence(case, read):
    """What is wrong with random tensors that must not depend on each other, or None."""
    for first, second in case.plan.get("independent", ()):
        samples = []
        for call, prefix, name in (first, second):
            law = case.calls[call].plan["random"][name]
            samples.append(statistics.levels(read(call, prefix)[name].values, law))
        wrong = statistics.dependence(*samples)
        if wrong:
            places = " and ".join(f"'{name}' of call {call}" for call, _, name in (first, second))
            return f"{places}: {wrong}"
    return None


def check_results(case, results):
    known = {}

    def read(call, prefix):
        if (call, prefix) not in known:
            known[call, prefix] = results.tensors(call, prefix)
        return known[call, prefix]

    for index, call in enumerate(case.calls):
        try:
            wrong = check_call(case, index, read)
        except (tensors.Malformed, OSError, UnicodeDecodeError) as error:
            wrong = f"unreadable: {error}"
        if wrong:
            return f"call {index} ({call.plan['call']}): {wrong}"
    return check_dependence(case, read)


def judge(case, results):
    """Verdict and reason."""
    try:
        status, message = results.report()
    except (OSError, ValueError, KeyError, TypeError):
        return FAILED, "no readable report.json"
    if status == "unsupported":
        if any(one in message for one in case.needs()):
            return SKIPPED, message
        return FAILED, f"unsupported, but no operator or type of the case is named: {message}"
    if case.refused:
        return (PASSED, "") if status == "refused" else (FAILED, "accepted")
    if status != "done":
        return FAILED, f"{status}: {message}"
    wrong = check_results(case, results)
    return (FAILED, wrong) if wrong else (PASSED, "")


def with_twins(cases, verdicts):
    """Verdicts by name, in which a refusal counts only if the valid model like it ran."""
    result = dict(verdicts)
    for case in cases:
        twin = case.plan.get("twin")
        if twin and verdicts[case.name][0] == PASSED and verdicts[twin][0] != PASSED:
            verdict = SKIPPED if verdicts[twin][0] == SKIPPED else FAILED
            reason = f"refused, but so says nothing: {twin}, its valid twin, {verdicts[twin][0]}"
            result[case.name] = verdict, f"{reason}: {verdicts[twin][1]}"
    return result
