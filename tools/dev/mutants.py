#!/usr/bin/env python3
"""Mutation testing: which one-line mistakes do the tests notice?

usage: mutants.py [--count N] [--seed N] [--modules core,graph,...] [--work build-mutants]

Copies the sources, puts mutants into them that the environment variable ONDINE_MUTANT switches on one
at a time, builds once, and runs the tests of a mutant's module until one fails. Prints the survivors
and the share that was killed. A mutant negates a condition, leaves out a statement, or replaces a 1
that is added or subtracted by 0.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The executables that may kill a mutant of a module, the cheapest first.
TESTS = {
    "core": ["core", "checkpoints", "proto", "trainer"],
    "graph": ["graph", "autodiff", "trainer", "system"],
    "autodiff": ["autodiff", "trainer", "kernels"],
    "proto": ["proto", "trainer"],
    "checkpoints": ["checkpoints"],
    "trainer": ["trainer", "autodiff", "system"],
    "kernels": ["kernels", "trainer"],
    "tools": ["system"],
}
SWITCH = """#pragma once
#include <cstdlib>
inline bool ondine_mutant(int number) {
  static const int chosen = [] {
    const char* text = std::getenv("ONDINE_MUTANT");
    return text != nullptr ? std::atoi(text) : 0;
  }();
  return chosen == number;
}
"""
NO_STATEMENT = re.compile(
    r"(return|throw|delete|using|const|auto|static|break|case|continue|else|do|goto|namespace|"
    r"fail|template|typedef|extern|CHECK|REQUIRE)\b")
CALL = re.compile(r"(\+\+|--)?[A-Za-z_][\w.:]*(->\w+|\[[^\]]*\]|\.\w+)*"
                  r"(\(.*\)| [-+*/|&^]?= [^=].*);")


def balanced(text):
    depth = 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            return False
    return depth == 0 and text.count('"') % 2 == 0


def mutations(lines, at):
    """(kind, replacement) of a line, with %d for the mutant's number."""
    line = lines[at]
    text = line.strip()
    indent = line[:len(line) - len(line.lstrip())]
    code = line.replace("%", "%%")
    if text.startswith(("#", "//", "static_assert")) or "constexpr" in text or not indent:
        return
    found = re.match(r"( *(?:\} else )?if \()(.*)(\)(?: \{| [^{]*;)?)$", code)
    declares = found and re.search(r"[^=!<>]=[^=]", found[2])
    if found and balanced(found[2]) and ";" not in found[2] and not declares:
        yield "negated", f"{found[1]}ondine_mutant(%d) != static_cast<bool>({found[2]}){found[3]}"
    before = lines[at - 1].split("//")[0].rstrip() if at else ""
    whole = before.endswith((";", "{", "}")) or before == ""
    if whole and CALL.fullmatch(text) and balanced(text) and not NO_STATEMENT.match(text):
        yield "left out", f"{indent}if (!ondine_mutant(%d)) {code.strip()}"
    found = re.search(r"(?<=[\w)\]] [-+] )1(?=[;,)\] ])", code)
    if found and "//" not in code[:found.start()] and '"' not in code:
        yield "1 as 0", code[:found.start()] + "(ondine_mutant(%d) ? 0 : 1)" + code[found.end():]


def sites(modules):
    """All possible mutants by module: (file, line from 0, kind, replacement)."""
    listed = subprocess.run(["git", "ls-files", "*.cpp"], cwd=ROOT, check=True, text=True,
                            stdout=subprocess.PIPE).stdout.split()
    result = {module: [] for module in modules}
    for name in listed:
        module = name.split("/")[0]
        if module not in result or name.startswith(("kernels/simd/", "tools/dev/")):
            continue
        lines = (ROOT / name).read_text(encoding="utf-8").split("\n")
        for at in range(len(lines)):
            result[module] += [(name, at, *mutation) for mutation in mutations(lines, at)]
    return result


def sample(modules, count, seed):
    """`count` mutants, as many of each module, at most one a line, numbered from 1."""
    choose = random.Random(seed)
    chosen = []
    for module, found in sorted(sites(modules).items()):
        choose.shuffle(found)
        lines = set()
        for site in found:
            if len(lines) == -(-count // len(modules)):
                break
            if site[:2] not in lines:
                lines.add(site[:2])
                chosen.append((module, *site))
    return dict(enumerate(chosen, 1))


def write_sources(work, mutants):
    source = work / "source"
    changed = {}
    for number, (_, name, at, _, replacement) in mutants.items():
        lines = changed.setdefault(name, (ROOT / name).read_text(encoding="utf-8").split("\n"))
        lines[at] = replacement % number
    for name in subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines():
        text = "\n".join(changed[name]).encode() if name in changed else (ROOT / name).read_bytes()
        target = source / name
        if not target.exists() or target.read_bytes() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
            shutil.copymode(ROOT / name, target)


def build(work, mutants, targets):
    """Builds once; mutants that do not compile are dropped."""
    (work / "mutant.h").write_text(SWITCH, encoding="utf-8")
    for _ in range(5):
        write_sources(work, mutants)
        subprocess.run(["cmake", "-S", work / "source", "-B", work / "build", "-G", "Ninja",
                        "-DCMAKE_BUILD_TYPE=Release", "-DONDINE_EXAMPLES=OFF",
                        "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
                        f"-DCMAKE_CXX_FLAGS=-w -include {work / 'mutant.h'}"],
                       check=True, stdout=subprocess.DEVNULL)
        made = subprocess.run(["ninja", "-C", work / "build", "-k", "0", *targets], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode == 0:
            return
        wrong = {(os.path.relpath(os.path.join(work / "build", found[1]), work / "source"),
                  int(found[2]) - 1)
                 for found in re.finditer(r"^(\S+\.cpp):(\d+):\d+: error", made.stdout, re.M)}
        bad = [number for number, mutant in mutants.items() if mutant[1:3] in wrong]
        if not bad:
            sys.exit(made.stdout[-3000:])
        for number in bad:
            del mutants[number]
    sys.exit("mutants still do not compile")


def passes(work, test, number, limit):
    environment = dict(os.environ, ONDINE_MUTANT=str(number))
    try:
        return subprocess.run([work / "build/bin" / f"test_{test}"], env=environment, timeout=limit,
                              cwd=work / "build", stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modules", default=",".join(TESTS))
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build-mutants")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    options = parser.parse_args()
    modules = options.modules.split(",")
    work = options.work.resolve()
    mutants = sample(modules, options.count, options.seed)
    if options.list:
        for number, (_, name, at, kind, replacement) in mutants.items():
            print(f"{number} {name}:{at + 1} {kind}: {(replacement % number).strip()}")
        return 0
    work.mkdir(parents=True, exist_ok=True)
    tests = sorted({test for module in modules for test in TESTS[module]})
    build(work, mutants, ["ondine_cli"] + [f"test_{test}" for test in tests])
    limits = {}
    for test in tests:
        start = time.monotonic()
        if not passes(work, test, 0, 3600):
            sys.exit(f"test_{test} fails without a mutant")
        limits[test] = 10 + 5 * (time.monotonic() - start)
    survivors = []
    for number, (module, name, at, kind, _) in sorted(mutants.items()):
        if all(passes(work, test, number, limits[test]) for test in TESTS[module]):
            line = (ROOT / name).read_text(encoding="utf-8").split("\n")[at].strip()
            survivors.append(f"{name}:{at + 1} {kind}: {line}")
            print("survived", survivors[-1], flush=True)
    killed = len(mutants) - len(survivors)
    print(f"{killed} of {len(mutants)} mutants were killed ({100 * killed / len(mutants):.0f} %)")
    return 0


sys.exit(main())
