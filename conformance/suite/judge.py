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
        return tensors.read_folder(self.folder / f"test_data_set_{call}", prefix)


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


def check_call(case, index, results):
    call, tolerance = case.calls[index], case.plan["tolerance"]
    for prefix, names in call.names().items():
        try:
            got = results.tensors(index, prefix)
        except (tensors.Malformed, OSError) as error:
            return f"unreadable {prefix}: {error}"
        wrong = check_values(call, prefix, names, got, tolerance)
        if wrong:
            return wrong
    return None


def judge(case, results):
    """Verdict and reason."""
    try:
        status, message = results.report()
    except (OSError, ValueError, KeyError, TypeError):
        return FAILED, "no readable report.json"
    if status == "unsupported":
        return SKIPPED, message
    if case.refused:
        return (PASSED, "") if status == "refused" else (FAILED, "accepted")
    if status != "done":
        return FAILED, f"{status}: {message}"
    for index, call in enumerate(case.calls):
        wrong = check_call(case, index, results)
        if wrong:
            return FAILED, f"call {index} ({call.plan['call']}): {wrong}"
    return PASSED, ""
