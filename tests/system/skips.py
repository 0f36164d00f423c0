#!/usr/bin/env python3
"""scripts/report_skips.py tells true reasons from others: skips.py SOURCE"""
import pathlib
import subprocess
import sys
import tempfile

TRUE = [
    "no /nowhere/folder (package no-such-package-of-debian)",
    "there is no folder /nowhere/cases/backend",
    "no data in /nowhere/data (package no-such-package-of-debian)",
    "no no-such-program (Debian package no-such-package-of-debian)",
    "the npm package @scope/name cannot be had",
]
FALSE = [
    "there is no folder /usr",
    "no data in /usr (package no-such-package-of-debian)",
    "no sh (Debian package no-such-package-of-debian)",
]


def run(script, lines):
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.xml"
        results.write_text(
            '<?xml version="1.0"?><testsuite><testcase name="passes" status="run"/>'
            '<testcase name="job" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
            f"<system-out>{lines}</system-out></testcase></testsuite>")
        ran = subprocess.run([sys.executable, script, results], capture_output=True, text=True)
        return ran.returncode, ran.stdout


def main(source):
    script = pathlib.Path(source) / "scripts/report_skips.py"
    for reason in TRUE:
        code, out = run(script, f"more\nskipped: {reason}\nmore\n")
        assert (code, out) == (0, f"skipped job: {reason}\n"), out
    for reason in FALSE:
        code, out = run(script, f"skipped: {reason}\n")
        assert code == 1 and "NOT TRUE" in out, reason
    code, out = run(script, "nothing of that\n")
    assert code == 1 and "no reason" in out, out
    if pathlib.Path("/usr/bin/dpkg-query").exists():
        assert run(script, "skipped: no x (package dpkg)\n")[0] == 1


if __name__ == "__main__":
    main(sys.argv[1])
