#!/usr/bin/env python3
"""Mutation testing: which one-line mistakes do the tests notice?

usage: mutants.py [--seeds N,N] [--count N] [--modules core,graph,...] [--work FOLDER]
                  [--build FOLDER] [--tests core,trainer,...] [--seconds-each S] [--skip-build]
                  [--list]

Draws a sample of --count mutants for each seed, each behind a switch, compiles the files that have
them and links them with the other objects of --build, which must be up to date. Runs every test
file alone without a mutant to see which mutants it reaches, then runs for each mutant the test
files that reach it, those of its module and the fastest first, until one fails or --seconds-each is
over; such a mutant counts as a survivor. FOLDER/results.json keeps what was found: a second run
tries only what is new, and the survivors whose tests changed. --tests runs the tests of some
folders alone. ONDINE_CASES names the folder of conformance cases.

Mutants that change nothing are listed in equivalent_mutants.txt and not drawn.

A mutant negates a condition, leaves out a statement, changes a comparison, an arithmetic or logical
operator, a returned truth value, or a 1 that is added or subtracted. The files that have mutants are
compiled with the assertions of the standard library, since an access just behind the end of a
container is what the tests notice in the build with sanitizers.
"""
import argparse
import concurrent.futures
import hashlib
import json
import mmap
import os
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys
import time

import mutant_sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ["autodiff", "checkpoints", "core", "graph", "kernels", "proto", "tools", "trainer"]
EXECUTABLES = ["core", "graph", "autodiff", "kernels", "proto", "checkpoints", "trainer", "system"]
CASES = ["training", "hostile", "backend"]
WORKERS = 2
MAX_MUTANTS = 1 << 16
SWITCH_FILE = "core/mutant_switch.cpp"
NEIGHBOUR = "core/random.cpp"  # whose flags it gets
# A byte of the file ONDINE_MUTANTS_REACHED says whether a mutant's line was reached.
SWITCH = f"""#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) bool ondine_mutant(int number);
namespace {{
int chosen() {{
  const char* text = std::getenv("ONDINE_MUTANT");
  return text != nullptr ? std::atoi(text) : 0;
}}
char* reached() {{
  const char* file = std::getenv("ONDINE_MUTANTS_REACHED");
  if (file == nullptr) return nullptr;
  const int descriptor = open(file, O_RDWR);
  if (descriptor < 0) return nullptr;
  void* bytes = mmap(nullptr, {MAX_MUTANTS}, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  return bytes == MAP_FAILED ? nullptr : static_cast<char*>(bytes);
}}
}}  // namespace
bool ondine_mutant(int number) {{
  static const int one = chosen();
  static char* const bytes = reached();
  if (bytes != nullptr) bytes[number] = 1;
  return one == number;
}}
"""


def listed():
    return subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                          cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout.split()


def may_be_drawn():
    equivalent = mutant_sites.equivalents(ROOT / "tools/dev/equivalent_mutants.txt")

    def real(mutant):
        return (mutant["file"], mutant["kind"], mutant["text"].strip()) not in equivalent
    return real


def draw(options):
    """The mutants by number; those of an earlier run in the same folder stay."""
    file = options.work / "mutants.json"
    if file.exists():
        kept = json.loads(file.read_text())
        if kept["seeds"] == options.seeds and kept["count"] == options.count:
            return {int(number): mutant for number, mutant in kept["mutants"].items()}
    mutants = {}
    taken = set()
    real = may_be_drawn()
    for seed in options.seeds:
        for mutant in mutant_sites.sample(ROOT, listed(), options.modules, options.count, seed):
            if real(mutant) and (mutant["file"], mutant["line"]) not in taken:
                taken.add((mutant["file"], mutant["line"]))
                mutants[len(mutants) + 1] = dict(mutant, seed=seed)
    keep(options, mutants)
    return mutants


def keep(options, mutants):
    (options.work / "mutants.json").write_text(
        json.dumps({"seeds": options.seeds, "count": options.count, "mutants": mutants}, indent=1))


def write_sources(options, mutants):
    """The changed files, below FOLDER/source."""
    changed = {}
    for number, mutant in mutants.items():
        lines = changed.setdefault(mutant["file"], (ROOT / mutant["file"]).read_text().split("\n"))
        if lines[mutant["line"] - 1] != mutant["text"]:
            sys.exit(f"{mutant['file']} changed; begin with another folder")
        lines[mutant["line"] - 1] = mutant["code"].replace("@", str(number))
    head = 'extern "C" bool ondine_mutant(int number);\n#line 1\n'
    texts = {name: head + "\n".join(lines) for name, lines in changed.items()}
    texts[SWITCH_FILE] = SWITCH
    for name, text in texts.items():
        target = options.work / "source" / name
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    return sorted(texts)


def compile_file(options, name, commands):
    """(object of the build folder, the object made in its place, errors)."""
    known = commands[str(ROOT / (NEIGHBOUR if name == SWITCH_FILE else name))]
    source = options.work / "source" / name
    target = source.with_suffix(".o")
    words = shlex.split(known["command"])
    replaced = words[words.index("-o") + 1]
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return replaced, target, ""
    words[words.index("-o") + 1] = str(target)
    words[words.index("-c") + 1] = str(source)
    words.insert(words.index("-c"), "-D_GLIBCXX_ASSERTIONS")
    if "-include" in words:  # a precompiled header
        at = words.index("-include")
        del words[at:at + 2]
    made = subprocess.run(words, cwd=known["directory"], text=True, stderr=subprocess.PIPE)
    return replaced, target, made.stderr if made.returncode else ""


def link(options, objects):
    """The library, the command line and the tests by the build folder's commands."""
    build = options.build
    (options.work / "bin").mkdir(exist_ok=True)
    objects = {old: str(new) for old, new in objects.items()}
    archive = str(options.work / "libondine.a")
    for target in ["libondine.a", "bin/ondine"] + [f"bin/test_{name}" for name in options.tests]:
        last = subprocess.run(["ninja", "-C", build, "-t", "commands", target], check=True,
                              text=True, stdout=subprocess.PIPE).stdout.splitlines()[-1]
        words = [objects.get(word, archive if word == "libondine.a" else word)
                 for word in last.split(" ")]
        if target == "libondine.a":
            words.insert(words.index("qc") + 2, objects[SWITCH_FILE])
        else:
            words[words.index("-o") + 1] = str(options.work / target)
        subprocess.run(" ".join(words), cwd=build, shell=True, check=True)


def build(options, mutants, pool):
    """Compiles the changed files in place of those of the build folder, which must be up to date;
    mutants that do not compile are dropped."""
    commands = {entry["file"]: entry
                for entry in json.loads((options.build / "compile_commands.json").read_text())}
    for _ in range(6):
        names = write_sources(options, mutants)
        results = list(pool.map(lambda name: compile_file(options, name, commands), names))
        log = "".join(errors for _, _, errors in results)
        (options.work / "build.log").write_text(log)
        if not log:
            link(options, {SWITCH_FILE if name == SWITCH_FILE else old: new
                           for name, (old, new, _) in zip(names, results)})
            return
        wrong = mutant_sites.wrong_lines(log, options.work / "source", ROOT)
        bad = [n for n, mutant in mutants.items() if (mutant["file"], mutant["line"]) in wrong]
        if not bad:
            sys.exit(log[-3000:])
        print(f"{len(bad)} mutants do not compile and are left out", flush=True)
        for number in bad:
            del mutants[number]
        keep(options, mutants)
    sys.exit("mutants still do not compile")


def test_units(options):
    """(name, command, digest of what it tests with): a test file each, then conformance cases."""
    units = []
    for executable in options.tests:
        for path in sorted((ROOT / "tests" / executable).rglob("*_test.cpp")):
            command = [str(options.work / "bin" / f"test_{executable}"), "-#",
                       f"[#{path.stem}]~[.]"]
            name = str(path.relative_to(ROOT / "tests"))
            units.append((name, command, hashlib.sha256(path.read_bytes()).hexdigest()))
    program = str(options.work / "bin/ondine")
    units.append(("cases/conformance", [sys.executable, "-B", str(ROOT / "conformance/run.py"),
                                        "--program", program], ""))
    cases = pathlib.Path(os.environ.get("ONDINE_CASES", ROOT.parent / "shared/cases"))
    units += [(f"cases/{name}", [program, "verify", str(cases / name)], "") for name in CASES
              if (cases / name).is_dir()]
    return units


def limited():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))
    os.setsid()


def run(options, command, limit, **variables):
    """'passed', 'failed' or 'timeout'."""
    scratch = options.work / "scratch" / hashlib.sha256(os.urandom(16)).hexdigest()[:12]
    scratch.mkdir(parents=True)
    environment = dict(os.environ, TMPDIR=str(scratch),
                       ONDINE_PROGRAM=str(options.work / "bin/ondine"), **variables)
    child = subprocess.Popen(command, env=environment, cwd=scratch, preexec_fn=limited,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return "passed" if child.wait(limit) == 0 else "failed"
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        child.wait()
        return "timeout"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def reach(options, unit, mutants):
    """Which mutants a unit reaches, and how long it takes; None where it fails by itself."""
    name, command, digest = unit
    file = options.work / (name.replace("/", "_") + ".reached")
    file.write_bytes(bytes(MAX_MUTANTS))
    start = time.monotonic()
    result = run(options, command, options.unit_limit, ONDINE_MUTANTS_REACHED=str(file))
    seconds = time.monotonic() - start
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as found:
        numbers = [number for number in mutants if found[number]]
    file.unlink()
    return {"name": name, "digest": digest, "result": result, "seconds": seconds,
            "reached": numbers}


def attempt(options, number, mutant, units, reached):
    """What a mutant's tests say: who killed it, or that it survived the tests in `units`."""
    folder = mutant["file"].split("/")
    order = []
    for unit in units:
        facts = reached[unit[0]]
        if facts["result"] == "passed" and number in facts["reached"]:
            near = sum(part in unit[0] for part in folder[:-1])
            stem = folder[-1].split(".")[0] in unit[0]
            order.append((facts["seconds"] / (1 + near + 4 * stem), unit))
    tried = mutant.get("tried", {})
    start = time.monotonic()
    for _, (name, command, digest) in sorted(order, key=lambda entry: entry[0]):
        if tried.get(name) == digest:
            continue
        if time.monotonic() - start > options.seconds_each:
            return {"killed": None, "tried": tried, "given_up": True}
        limit = 15 + 6 * reached[name]["seconds"]
        result = run(options, command, limit, ONDINE_MUTANT=str(number))
        if result != "passed":
            return {"killed": name, "by": result}
        tried[name] = digest
    return {"killed": None, "tried": tried}


def survey(options, mutants, pool):
    """Runs each unit without a mutant where its test file changed since the last time."""
    file = options.work / "reached.json"
    reached = json.loads(file.read_text()) if file.exists() else {}
    units = test_units(options)
    stale = [u for u in units if u[0] not in reached or reached[u[0]]["digest"] != u[2]]
    for facts in pool.map(lambda unit: reach(options, unit, mutants), stale):
        reached[facts["name"]] = facts
        if facts["result"] != "passed":
            print(f"not used, {facts['result']} without a mutant: {facts['name']}", flush=True)
        file.write_text(json.dumps(reached))
    return units, reached


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
    parser.add_argument("--tests", default=",".join(EXECUTABLES), help="folders below tests/")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build-mutants")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="folder in which library, command line and tests are built")
    parser.add_argument("--unit-limit", type=float, default=300, help="seconds of a test file")
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
    mutants = draw(options)
    if options.list:
        for number, mutant in mutants.items():
            code = mutant["code"].replace("@", str(number)).strip()
            print(f"{number} {mutant['file']}:{mutant['line']} {mutant['kind']}: {code}")
        return 0
    file = options.work / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        if not options.skip_build:
            build(options, mutants, pool)
        units, reached = survey(options, mutants, pool)
        open_ones = [n for n in sorted(mutants) if not results.get(str(n), {}).get("killed")]
        for number in open_ones:
            mutants[number]["tried"] = results.get(str(number), {}).get("tried", {})
        work = {pool.submit(attempt, options, n, mutants[n], units, reached): n for n in open_ones}
        for done in concurrent.futures.as_completed(work):
            results[str(work[done])] = done.result()
            file.write_text(json.dumps(results))
    report(options, mutants, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
