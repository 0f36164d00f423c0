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
import itertools
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from suite import cases, judge, sentences

HERE = Path(__file__).resolve().parent


class Runner:
    """How cases are run: in batches, each by one process."""

    def __init__(self, options):
        self.seconds = options.seconds
        self.prefix = []
        self.words = [options.program, "replay", "{case}", "{results}"]
        self.batch = 1
        if options.command:
            self.words = shlex.split(options.command)
        elif options.runner == "reference":
            # It takes longer to start than to run a case.
            self.prefix = [options.python, str(HERE / "reference" / "runner.py")]
            self.words = ["{case}", "{results}"]
            self.batch = 20

    def run(self, batch):
        """Verdict and reason of each case."""
        with tempfile.TemporaryDirectory() as folder:
            results = [Path(folder) / str(index) for index in range(len(batch))]
            words = list(self.prefix)
            for case, one in zip(batch, results):
                one.mkdir()
                words += [word.format(case=case.folder, results=one) for word in self.words]
            seconds = self.seconds * len(batch)
            try:
                done = subprocess.run(words, capture_output=True, timeout=seconds, check=False)
            except subprocess.TimeoutExpired:
                return [(judge.FAILED, f"still running after {seconds} s")] * len(batch)
            return [self.verdict(case, one, done) for case, one in zip(batch, results)]

    def verdict(self, case, results, done):
        # In a batch those without a report are the ones that went wrong.
        reported = self.batch > 1 and (results / "report.json").exists()
        if done.returncode != 0 and not reported:
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
    runner = Runner(options)
    batches = [todo[at : at + runner.batch] for at in range(0, len(todo), runner.batch)]
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        verdicts = itertools.chain.from_iterable(pool.map(runner.run, batches))
        for case, (verdict, reason) in zip(todo, verdicts):
            counts[verdict] += 1
            if verdict != judge.PASSED:
                print(f"{verdict.upper():8} {case.name}: {' '.join(reason.split())}")
    print(", ".join(f"{counts[one]} {one}" for one in (judge.PASSED, judge.FAILED, judge.SKIPPED)))
    skipped = options.none_skipped and counts[judge.SKIPPED] > 0
    return 1 if counts[judge.FAILED] or skipped else 0


if __name__ == "__main__":
    sys.exit(main())
