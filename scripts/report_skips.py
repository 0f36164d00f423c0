#!/usr/bin/env python3
"""Tells why tests were skipped: report_skips.py RESULTS.xml

RESULTS.xml is what `ctest --output-junit` writes. A test that is skipped prints a line that begins
with "skipped: ". Fails where one has no such line, or where what the line says is not true: a
package that is installed, a file or a program that is there, a package from PyPI that can be had."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

NAMES = r"[a-z0-9][a-z0-9.+-]*[a-z0-9+]"


def is_installed(package):
    if shutil.which("dpkg-query") is None:
        return False
    query = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True)
    return query.stdout.endswith("ok installed")


def can_be_had(arguments):
    """Whether pip downloads what could not be installed."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
        return subprocess.run(pip + arguments, capture_output=True).returncode == 0


def untrue(reason):
    """What is not so, or nothing."""
    for names in re.findall(rf"\bpackages? ({NAMES}(?:(?:, | and ){NAMES})*)", reason):
        names = re.split(", | and ", names)
        if all(is_installed(name) for name in names):
            return f"installed: {' '.join(names)}"
    for path in re.findall(r"\bno (?:folder |data in )?(/[^\s()]+)", reason):
        if os.path.exists(path):
            return f"{path} is there"
    for program in re.findall(r"\bno ([\w.+-]+) \(", reason):
        if shutil.which(program):
            return f"{program} is there"
    from_pypi = re.search(r"cannot install from PyPI: (.+)", reason)
    if from_pypi and can_be_had(from_pypi.group(1).split()):
        return f"pip downloads {from_pypi.group(1)}"
    return None


def main(results):
    wrong = 0
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        if case.find("skipped") is None or case.get("status") == "disabled":
            continue
        lines = (case.findtext("system-out") or "").splitlines()
        reasons = [line[len("skipped: "):] for line in lines if line.startswith("skipped: ")]
        problem = untrue(reasons[-1]) if reasons else "it says no reason"
        wrong += problem is not None
        print(f"skipped {case.get('name')}: {reasons[-1] if reasons else ''}"
              + (f" -- NOT TRUE: {problem}" if problem else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
