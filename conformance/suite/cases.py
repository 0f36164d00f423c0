# SPDX-License-Identifier: Apache-2.0
"""Cases as they lie on disk."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from suite import tensors

ROOT = Path(__file__).resolve().parents[1]
SUITE = json.loads((ROOT / "suite.json").read_text())


@dataclass
class Call:
    """One call and the files of call_K."""

    plan: dict
    folder: Path
    known: dict = field(default_factory=dict)  # tensors that were read

    def names(self):
        """Names of the outputs and state variables that a program writes."""
        return {"output": self.plan.get("outputs", []), "state": self.plan["state"]}

    def expected(self, prefix):
        """Tensors by name that the case holds; random ones have none."""
        if prefix not in self.known:
            self.known[prefix] = tensors.read_folder(self.folder, prefix)
        return dict(self.known[prefix])


@dataclass
class Case:
    folder: Path
    plan: dict
    calls: list = field(default_factory=list)

    @property
    def name(self):
        return "/".join(self.folder.parts[-2:])

    @property
    def refused(self):
        return self.plan["expect"] == "refusal"

    def needs(self):
        """Names of the operators and element types without which a runtime may skip the case."""
        operators = [one.rpartition(".")[2] for one in self.plan["operators"]]
        return {*operators, *self.plan["types"]}


def read_case(folder):
    plan = json.loads((folder / "case.json").read_text())
    if plan.get("format") != SUITE["format"]:
        raise ValueError(f"{folder}: the format is not {SUITE['format']}")
    calls = [Call(one, folder / f"call_{i}") for i, one in enumerate(plan["calls"])]
    return Case(folder, plan, calls)


def read_cases(root=ROOT / "cases"):
    return [read_case(path.parent) for path in sorted(root.rglob("case.json"))]
