#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the training conformance cases with a program that follows README.md.

conformance/run.py --command './my_runner {case} {results}'
conformance/run.py --command './my_runner {case} {results}' --profile core --batch 20
conformance/run.py --command './my_runner {case} {results}' conformance/cases/gradient
conformance/run.py --list           prints the names of the cases, their profiles and operators
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

EXPECTED = "failed as expected"
OUTCOMES = (judge.PASSED, judge.FAILED, judge.SKIPPED)


class Program:
    """Runs cases in batches, each by one process."""

    def __init__(self, options):
        words = shlex.split(options.command)
        first = next((i for i, word in enumerate(words) if "{" in word), len(words))
        # The words from the first placeholder on are repeated for each case.
        self.prefix, self.words = words[:first], words[first:]
        self.seconds, self.batch = options.seconds, options.batch

    def run(self, batch):
        """Verdict and reason of each case."""
        with tempfile.TemporaryDirectory() as folder:
            results = [Path(folder) / str(index) for index in range(len(batch))]
            words = list(self.prefix)
            for case, one in zip(batch, results):
                one.mkdir()
                given = {"{case}": str(case.folder), "{results}": str(one)}
                for word in self.words:
                    for placeholder, path in given.items():
                        word = word.replace(placeholder, path)
                    words.append(word)
            wrong = self.wrong_end(words, self.seconds * len(batch))
            return [self.verdict(*one, wrong, len(batch)) for one in zip(batch, results)]

    @staticmethod
    def wrong_end(words, seconds):
        """How the process ended, unless well."""
        try:
            done = subprocess.run(words, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return f"still running after {seconds:g} s"
        text = (done.stderr or done.stdout).decode(errors="replace").strip()
        return f"ended with {done.returncode}: {text[-500:]}" if done.returncode else None

    def verdict(self, case, results, wrong, count):
        reported = (results / "report.json").exists()
        if count > 1 and not reported:
            # Another case of the batch may have ended the process.
            return self.run([case])[0]
        if wrong and (count == 1 or not reported):
            return judge.FAILED, wrong
        return judge.judge(case, judge.Results(results))


def listed(text):
    return {one for one in text.split(",") if one}


def chosen(options):
    """The cases that the options select."""
    found = cases.read_cases()
    operators = {name for case in found for name in case.plan["operators"]}
    known = {
        "--profile": (options.profile, set(cases.SUITE["profiles"])),
        "--without-reading": (options.without_reading, set(cases.SUITE["readings"])),
        # With or without the domain.
        "--without-operator": (
            options.without_operator,
            operators | {name.rpartition(".")[2] for name in operators},
        ),
    }
    for option, (given, allowed) in known.items():
        unknown = listed(given) - allowed
        if unknown:
            sys.exit(f"{option}: unknown {', '.join(sorted(unknown))}")
    profiles = listed(options.profile)
    if profiles:
        found = [one for one in found if one.plan["profile"] in profiles]
    unread, unsupported = listed(options.without_reading), listed(options.without_operator)
    found = [
        one
        for one in found
        if not unread & set(one.plan["readings"])
        and not any({name, name.rpartition(".")[2]} & unsupported for name in one.plan["operators"])
    ]
    if options.cases:
        wanted = [Path(one).resolve() for one in options.cases]
        found = [case for case in found if any(case.folder.is_relative_to(one) for one in wanted)]
    return found


def missing_twins(chosen_cases):
    """The valid models that refusals are compared with, where they were not chosen."""
    names = {case.name for case in chosen_cases}
    twins = {case.plan["twin"] for case in chosen_cases if "twin" in case.plan} - names
    return [cases.read_case(cases.ROOT / "cases" / one) for one in sorted(twins)]


def expected_failures(path):
    """Names and reasons of a file with lines `NAME  reason`."""
    if path is None:
        return {}
    lines = [line for line in Path(path).read_text().splitlines() if line and line[0] != "#"]
    return {name: reason.strip() for name, _, reason in (line.partition(" ") for line in lines)}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="folders of cases; all if absent")
    parser.add_argument("--command", help="the program, with {case} and {results}")
    parser.add_argument(
        "--batch",
        type=int,
        default=1,
        help="cases per process; the words from the first placeholder on are repeated",
    )
    parser.add_argument("--profile", default="", help="profiles, with commas; all if absent")
    parser.add_argument("--without-reading", default="", help="readings to leave out, with commas")
    parser.add_argument("--without-operator", default="", help="operators to leave out, with commas")
    parser.add_argument("--expected-failures", help="file of cases that must fail, with reasons")
    parser.add_argument("--seconds", type=float, default=120, help="time limit per case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--none-skipped", action="store_true", help="fail when a case is skipped")
    parser.add_argument("--list", action="store_true", help="print the chosen cases")
    parser.add_argument("--table", action="store_true", help="write SENTENCES.md")
    parser.add_argument("--check-table", action="store_true", help="check SENTENCES.md")
    options = parser.parse_args()
    if not (options.command or options.list or options.table or options.check_table):
        parser.error("--command is missing")
    if options.command and ("{case}" not in options.command or "{results}" not in options.command):
        parser.error("--command has no {case} or no {results}")
    if options.batch < 1 or options.seconds <= 0 or options.jobs < 1:
        parser.error("--batch, --seconds and --jobs must be positive")
    return options


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


def print_list(todo):
    for case in todo:
        print(f"{case.name}\t{case.plan['profile']}\t{' '.join(case.plan['operators'])}")
    return 0


def run_all(todo, options):
    """Verdict and reason of every case by name."""
    program = Program(options)
    batches = [todo[at : at + program.batch] for at in range(0, len(todo), program.batch)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = itertools.chain.from_iterable(pool.map(program.run, batches))
        return judge.with_twins(todo, {case.name: one for case, one in zip(todo, found)})


def report(todo, verdicts, expected):
    """Prints what did not pass; the number of surprises and of cases by profile and outcome."""
    counts, surprises = collections.defaultdict(collections.Counter), 0
    for case in todo:
        verdict, reason = verdicts[case.name]
        known = case.name in expected
        outcome = EXPECTED if known and verdict == judge.FAILED else verdict
        counts[case.plan["profile"]][outcome] += 1
        if verdict != judge.PASSED and not known:
            print(f"{verdict.upper():8} {case.name}: {' '.join(reason.split())}")
            print(f"{'':8} readings: {', '.join(case.plan['readings']) or 'none'}; quotes:")
            for tag in case.plan["quotes"]:
                quote = sentences.quoted(tag)
                print(f"{'':8} {quote.source}: {quote.text}")
        if known and verdict == judge.PASSED:
            print(f"PASSED   {case.name} must fail: {expected[case.name]}")
        surprises += (verdict == judge.FAILED) != known
    return surprises, counts


def summary(counter):
    shown = (*OUTCOMES, EXPECTED) if counter[EXPECTED] else OUTCOMES
    return ", ".join(f"{counter[one]} {one}" for one in shown)


def main():
    options = parse()
    if options.table or options.check_table:
        return table(options)
    todo = chosen(options)
    if not todo:
        sys.exit("no cases found")
    if options.list:
        return print_list(todo)
    verdicts = run_all([*todo, *missing_twins(todo)], options)
    surprises, counts = report(todo, verdicts, expected_failures(options.expected_failures))
    for profile in cases.SUITE["profiles"]:
        if profile in counts:
            print(f"{profile}: {summary(counts[profile])}")
    print(f"{cases.SUITE['suite']} {cases.SUITE['version']}: {summary(sum(counts.values(), collections.Counter()))}")
    nothing = [
        one for one, counter in counts.items() if not counter[judge.PASSED] + counter[EXPECTED]
    ]
    if nothing:
        print(f"nothing passed in {', '.join(nothing)}")
    skipped = options.none_skipped and any(one[judge.SKIPPED] for one in counts.values())
    return 1 if surprises or skipped or nothing else 0


if __name__ == "__main__":
    sys.exit(main())
