#!/usr/bin/env python3
"""Runs the training conformance cases with a program that follows README.md.

conformance/run.py --runner ondine --program build/bin/ondine
conformance/run.py --runner reference --python VENV/bin/python
conformance/run.py --command './my_runner {case} {results}' conformance/cases/gradient
conformance/run.py --table          writes SENTENCES.md
conformance/run.py --check-table    fails when a sentence has no case or SENTENCES.md is old
"""

import argparse
import collections
import concurrent.futures
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from suite import cases, judge, sentences

HERE = Path(__file__).resolve().parent


def command_of(options):
    """The words of the command; {case} and {results} stand for folders."""
    if options.command:
        return shlex.split(options.command)
    if options.runner == "reference":
        return [options.python, str(HERE / "reference" / "runner.py"), "{case}", "{results}"]
    return [options.program, "replay", "{case}", "{results}"]


def run_case(case, command, seconds):
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder)
        words = [word.format(case=case.folder, results=results) for word in command]
        try:
            done = subprocess.run(words, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return judge.FAILED, f"still running after {seconds} s"
        if done.returncode != 0:
            text = (done.stderr or done.stdout).decode(errors="replace").strip()
            return judge.FAILED, f"ended with {done.returncode}: {text[-500:]}"
        return judge.judge(case, judge.Results(results))


def chosen(options):
    found = cases.read_cases()
    if not options.cases:
        return found
    wanted = [Path(one).resolve() for one in options.cases]
    return [case for case in found if any(case.folder.is_relative_to(one) for one in wanted)]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="folders of cases; all if absent")
    parser.add_argument("--runner", choices=("ondine", "reference"), default="ondine")
    parser.add_argument("--program", default="ondine", help="the ondine executable")
    parser.add_argument(
        "--python", default=sys.executable, help="interpreter with onnx, for reference"
    )
    parser.add_argument("--command", help="another program, with {case} and {results}")
    parser.add_argument("--seconds", type=float, default=120, help="per case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--table", action="store_true", help="write SENTENCES.md")
    parser.add_argument("--check-table", action="store_true", help="check SENTENCES.md")
    parser.add_argument("--none-skipped", action="store_true", help="fail when a case is skipped")
    return parser.parse_args()


def table(options):
    """Writes or checks SENTENCES.md."""
    found = cases.read_cases()
    bad, text = list(sentences.findings(found)), sentences.table(found)
    if options.table:
        sentences.TABLE.write_text(text)
    elif not sentences.TABLE.exists() or sentences.TABLE.read_text() != text:
        bad.append("SENTENCES.md is old; conformance/run.py --table writes it")
    print(
        "\n".join(
            [*bad, f"{len(sentences.read())} sentences, {len(found)} cases, {len(bad)} findings"]
        )
    )
    return 1 if bad else 0


def main():
    options = parse()
    if options.table or options.check_table:
        return table(options)
    todo = chosen(options)
    if not todo:
        sys.exit("no cases found")
    command = command_of(options)
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        verdicts = pool.map(lambda case: run_case(case, command, options.seconds), todo)
        for case, (verdict, reason) in zip(todo, verdicts):
            counts[verdict] += 1
            if verdict != judge.PASSED:
                print(f"{verdict.upper():8} {case.name}: {' '.join(reason.split())}")
    print(", ".join(f"{counts[one]} {one}" for one in (judge.PASSED, judge.FAILED, judge.SKIPPED)))
    skipped = options.none_skipped and counts[judge.SKIPPED] > 0
    return 1 if counts[judge.FAILED] or skipped else 0


if __name__ == "__main__":
    sys.exit(main())
