"""The units of the tests that are run for mutants: a test file each, a folder of cases, a script."""
import hashlib
import json
import mmap
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import threading
import time

from mutant_build import MAX_MUTANTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXECUTABLES = ["core", "graph", "autodiff", "kernels", "proto", "checkpoints", "trainer", "system"]
CASES = ["training", "hostile", "backend"]
TESTS_OF = {"tools": "system"}  # where the folder of tests has another name than the module


def node_cases(options):
    """The folder of the node cases of the package `onnx`, as ctest has them; None without it."""
    python = options.build / "python"
    cases = options.build / "node_cases"
    for command in (
            [ROOT / "scripts/python_packages.sh", python, "-r",
             ROOT / "tests/conformance/requirements.txt"],
            [python / "bin/python", ROOT / "tools/dev/export_node_cases.py", cases]):
        if subprocess.run(command).returncode != 0:
            print("not used, no package onnx: cases/node", flush=True)
            return None
    return cases


def other_units(options):
    """What ctest runs beside the test programs and takes seconds."""
    program = str(options.work / "bin/ondine")
    maker = options.work / "bin/example_make_cnn"
    maker.unlink(missing_ok=True)
    maker.symlink_to(options.build / "bin/example_make_cnn")
    units = [("cases/conformance", [sys.executable, "-B", str(ROOT / "conformance/run.py"),
                                    "--program", program]),
             ("docs/readme", [sys.executable, str(ROOT / "tests/system/readme.py"),
                              str(ROOT / "README.md"), str(options.work / "bin"), "readme"]),
             ("checkpoints/golden", [str(options.work / "bin/golden"), *sorted(
                 map(str, (ROOT / "tests/fuzz/corpus/checkpoint").iterdir()))])]
    cases = pathlib.Path(os.environ.get("ONDINE_CASES", ROOT.parent / "shared/cases"))
    folders = {name: cases / name for name in CASES if (cases / name).is_dir()}
    node = node_cases(options)
    if node is not None:
        folders["node"] = node
    return units + [(f"cases/{name}", [program, "verify", str(folder)])
                    for name, folder in folders.items()]


def test_units(options):
    """(name, command, digest of what it tests with): a test file each, then the other tests."""
    units = []
    for executable in options.tests:
        for path in sorted((ROOT / "tests" / executable).rglob("*_test.cpp")):
            command = [str(options.work / "bin" / f"test_{executable}"), "-#",
                       f"[#{path.stem}]~[.]"]
            name = str(path.relative_to(ROOT / "tests"))
            units.append((name, command, hashlib.sha256(path.read_bytes()).hexdigest()))
    units += [(name, command, "") for name, command in other_units(options)]
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


class Survey:
    """What each unit reaches without a mutant, found out when it is first asked for and kept in
    FOLDER/reached.json."""

    def __init__(self, options, mutants):
        self.options = options
        self.mutants = mutants
        self.file = options.work / "reached.json"
        self.known = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.units = test_units(options)
        self.locks = {unit[0]: threading.Lock() for unit in self.units}
        self.writing = threading.Lock()

    def facts(self, unit):
        name, _, digest = unit
        with self.locks[name]:
            if name not in self.known or self.known[name]["digest"] != digest:
                found = reach(self.options, unit, self.mutants)
                if found["result"] != "passed":
                    print(f"not used, {found['result']} without a mutant: {name}", flush=True)
                with self.writing:
                    self.known[name] = found
                    self.file.write_text(json.dumps(self.known))
            return self.known[name]

    def seconds(self, unit):
        """Of the last run, else a guess."""
        if unit[0] in self.known:
            return self.known[unit[0]]["seconds"]
        return 6 if unit[0].startswith(("system", "cases", "docs")) else 1


def nearness(unit, mutant):
    """How much a unit's name has in common with the mutant's file."""
    name = unit[0]
    folders = mutant["file"].split("/")
    stem = folders.pop().split(".")[0]
    score = 4 * (name.split("/")[0] == TESTS_OF.get(folders[0], folders[0]))
    score += 2 * sum("/" + folder in name or "_" + folder in name for folder in folders[1:])
    score += sum(len(word) > 3 and word in name for word in stem.split("_"))
    return score + 4 * (stem in name)


def attempt(options, number, mutant, survey):
    """What a mutant's tests say: who killed it, or that it survived those that were tried. The
    nearest units come first, and of equally near ones the fastest."""
    order = sorted(survey.units,
                   key=lambda unit: 0.4 * survey.seconds(unit) - nearness(unit, mutant))
    tried = mutant.get("tried", {})
    spent = 0.0
    for unit in order:
        name, command, digest = unit
        if tried.get(name) == digest or nearness(unit, mutant) < options.near:
            continue
        if spent > options.seconds_each:
            return {"killed": None, "tried": tried, "given_up": True}
        facts = survey.facts(unit)
        if facts["result"] != "passed" or number not in facts["reached"]:
            continue
        start = time.monotonic()
        result = run(options, command, 15 + 6 * facts["seconds"], ONDINE_MUTANT=str(number))
        spent += time.monotonic() - start
        if result != "passed":
            return {"killed": name, "by": result}
        tried[name] = digest
    return {"killed": None, "tried": tried}
