#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export.py FOLDER: writes the suite in the form of onnx.backend.test.

FOLDER/onnx/backend/test/data/training/test_*   the cases, named as ONNX names them
FOLDER/onnx/backend/test/training.py            loads them and adds them to a backend's tests
FOLDER/onnx/training_rules.py                   the rules on training_info, for onnx.checker
FOLDER/test_training_rules.py                   tests of the rules
FOLDER/test_training_backend.py                 runs the cases with the backend of the example

Files below onnx/ lie where they would lie in ONNX; the tests find them beside the installed package.
"""

import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from suite import cases


def name_of(case):
    """test_snake_case."""
    return "test_training_" + case.name.replace("/", "_").replace("-", "_")


def description(case, names):
    """What data.json holds: tolerances as ONNX names them, and the calls."""
    plan = dict(case.plan)
    plan["rtol"], plan["atol"] = plan.pop("tolerance")
    if "twin" in plan:
        plan["twin"] = names[plan["twin"]]
    return json.dumps(plan, indent=1) + "\n"


def write_cases(folder):
    found = cases.read_cases()
    names = {case.name: name_of(case) for case in found}
    if len(set(names.values())) != len(names):
        sys.exit("two cases would have one name")
    for case in found:
        target = folder / names[case.name]
        shutil.copytree(case.folder, target)
        (target / "case.json").unlink()
        (target / "data.json").write_text(description(case, names))
    return len(found)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1])
    if target.exists():
        sys.exit(f"{target} exists")
    count = write_cases(target / "onnx/backend/test/data/training")
    shutil.copy(HERE / "training.py", target / "onnx/backend/test/training.py")
    shutil.copy(ROOT / "reference/validate.py", target / "onnx/training_rules.py")
    for one in ("test_training_rules.py", "test_training_backend.py"):
        shutil.copy(HERE / one, target / one)
    for one in ("onnx_reference.py", "onnx_reference_defects.txt"):
        shutil.copy(ROOT / "examples" / one, target / one)
    shutil.copy(ROOT / "LICENSE", target / "LICENSE")
    print(f"{count} cases in {target}")


if __name__ == "__main__":
    main()
