#!/usr/bin/env python3
"""Mutation testing: which one-line mistakes do the tests notice?

usage: mutants.py [--seeds N,N] [--count N] [--modules core,graph,...] [--work FOLDER]
                  [--build FOLDER] [--tests core,trainer,...] [--near N] [--workers N]
                  [--seconds-each S] [--skip-build] [--list]

Draws a sample of --count mutants for each seed, each behind a switch, compiles the files that have
them and links them with the other objects of --build, which must be up to date and configured with
ONDINE_UNITY=OFF. A test file runs
alone without a mutant once, which shows the mutants that it reaches. Each mutant is tried by the
test files that reach it, the nearest by name and the fastest first, until one fails or
--seconds-each is over; such a mutant counts as a survivor. With --near N only test files whose name
has N points in common with the mutant's file are used: 4 is the folder of its module. So few test
files need to run, and survivors may fall to others. FOLDER keeps what was found: a second run tries
only what is new, and the survivors whose tests changed. --tests runs the tests of some folders
alone. ONDINE_CASES names the folder of conformance cases.

Mutants that change nothing are listed in equivalent_mutants.txt and not drawn, nor are those of
files that are compiled only for instructions that the processor lacks. A file that is compiled for
several instruction sets has its mutants in each of its objects.

A mutant negates a condition, leaves out a statement, changes a comparison, an arithmetic or logical
operator, a returned truth value, or a 1 that is added or subtracted. The files that have mutants
are compiled with the assertions of the standard library, since an access just past the end of a
container is what the tests notice in the build with sanitizers.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys

import mutant_build
import mutant_sites
import mutant_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ["autodiff", "checkpoints", "core", "graph", "kernels", "proto", "tools", "trainer"]


def listed():
    return subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                          cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout.split()


def may_be_drawn():
    equivalent = mutant_sites.equivalents(ROOT / "tools/dev/equivalent_mutants.txt")

    def real(mutant):
        return (mutant["file"], mutant["kind"], mutant["text"].strip()) not in equivalent
    return real


def draw(options, compiled):
    """The mutants by number, of the files in `compiled`; those of an earlier run in the same folder
    stay."""
    file = options.work / "mutants.json"
    if file.exists():
        kept = json.loads(file.read_text())
        if kept["seeds"] == options.seeds and kept["count"] == options.count:
            return {int(number): mutant for number, mutant in kept["mutants"].items()}
    mutants = {}
    taken = set()
    real = may_be_drawn()
    names = [name for name in listed() if name in compiled]
    for seed in options.seeds:
        for mutant in mutant_sites.sample(ROOT, names, options.modules, options.count, seed):
            if real(mutant) and (mutant["file"], mutant["line"]) not in taken:
                taken.add((mutant["file"], mutant["line"]))
                mutants[len(mutants) + 1] = dict(mutant, seed=seed)
    keep(options, mutants)
    return mutants


def keep(options, mutants):
    (options.work / "mutants.json").write_text(
        json.dumps({"seeds": options.seeds, "count": options.count, "mutants": mutants}, indent=1))


def report(options, mutants, results):
    for seed in options.seeds:
        own = {n: m for n, m in mutants.items() if m["seed"] == seed and str(n) in results}
        alive = [n for n in own if results[str(n)]["killed"] is None]
        for module in options.modules:
            inside = [n for n in own if own[n]["module"] == module]
            dead = len([n for n in inside if n not in alive])
            print(f"seed {seed} {module}: {dead} of {len(inside)}")
        for number in alive:
            mutant = own[number]
            seen = "" if results[str(number)]["tried"] else " (not reached)"
            seen = " (not all tests were run)" if results[str(number)].get("given_up") else seen
            print(f"survived {number} {mutant['file']}:{mutant['line']} {mutant['kind']}: "
                  f"{mutant['text'].strip()}{seen}")
        killed = len(own) - len(alive)
        print(f"seed {seed}: {killed} of {len(own)} mutants were killed "
              f"({100 * killed / max(1, len(own)):.1f} %)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--modules", default=",".join(MODULES))
    parser.add_argument("--tests", default=",".join(mutant_tests.EXECUTABLES),
                        help="folders below tests/")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build-mutants")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="folder in which library, command line and tests are built")
    parser.add_argument("--unit-limit", type=float, default=300, help="seconds of a test file")
    parser.add_argument("--near", type=int, default=0, help="points that a test file needs")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds-each", type=float, default=90, help="of tests of a mutant")
    parser.add_argument("--skip-build", action="store_true")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    options = parser.parse_args()
    options.seeds = [int(seed) for seed in options.seeds.split(",")]
    options.modules = options.modules.split(",")
    options.tests = options.tests.split(",")
    options.work = options.work.resolve()
    options.build = options.build.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    commands = mutant_build.compile_commands(options)
    mutants = draw(options, commands)
    if options.list:
        for number, mutant in mutants.items():
            code = mutant["code"].replace("@", str(number)).strip()
            print(f"{number} {mutant['file']}:{mutant['line']} {mutant['kind']}: {code}")
        return 0
    file = options.work / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        if not options.skip_build:
            mutant_build.build(options, mutants, commands, pool,
                               lambda: keep(options, mutants))
        survey = mutant_tests.Survey(options, mutants)
        open_ones = [n for n in sorted(mutants) if not results.get(str(n), {}).get("killed")]
        for number in open_ones:
            mutants[number]["tried"] = results.get(str(number), {}).get("tried", {})
        work = {pool.submit(mutant_tests.attempt, options, n, mutants[n], survey): n
                for n in open_ones}
        for done in concurrent.futures.as_completed(work):
            results[str(work[done])] = done.result()
            file.write_text(json.dumps(results))
    report(options, mutants, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
