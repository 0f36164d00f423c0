# SPDX-License-Identifier: Apache-2.0
"""Makes cases/ and checks that the standard still says what sentences.txt says.

cd conformance && python -m generate            writes all cases and SENTENCES.md
cd conformance && python -m generate --check    fails when they differ from what lies there
"""

import argparse
import filecmp
import importlib
import pkgutil
import shutil
import sys
import tempfile
from pathlib import Path

from generate import areas, build, check, extract
from suite import cases as stored
from suite import compare, sentences, tensors


def described_cases():
    """All cases of the modules of generate/areas, which are also the folders."""
    for module in sorted(one.name for one in pkgutil.iter_modules(areas.__path__)):
        area = importlib.import_module(f"generate.areas.{module}")
        for case in area.cases():
            yield f"{area.FOLDER}/{case.name}", case


def write_all(folder, chosen, with_torch):
    names, bad = set(), []
    for name, case in described_cases():
        if chosen not in name:
            continue
        if name in names:
            bad.append(f"two cases have the name {name}")
        names.add(name)
        try:
            build.write(case, folder / name, *check.expected(case, with_torch))
        except Exception as error:  # pylint: disable=broad-except
            bad.append(f"{name}: {type(error).__name__}: {str(error)[:400]}")
    return names, bad


def all_agreements():
    """The relative difference that two computations of a case may have."""
    return {name: case.agreement or check.RELATIVE for name, case in described_cases()}


def changed_sentences(document):
    """Sentences that the standard has and sentences.txt has not, and the other way round."""
    known = {}
    for one in sentences.read():
        known.setdefault(one.source, []).append(one.text)
    for source, texts in extract.all_sources(document).items():
        yield from (f"new in {source}: {one}" for one in texts if one not in known.get(source, []))
        yield from (f"no longer in {source}: {one}" for one in known[source] if one not in texts)


def same_tensor(one, other, relative):
    """Whether two files hold the same tensor but for the last digits."""
    first, second = tensors.read_file(one), tensors.read_file(other)
    tolerance = (relative, relative * check.ABSOLUTE / check.RELATIVE)
    return first.name == second.name and compare.difference(first, second, tolerance) is None


def same_file(one, other, relative):
    if not one.exists() or not other.exists():
        return False
    if relative and one.suffix == ".pb":
        return same_tensor(one, other, relative)
    return filecmp.cmp(one, other, shallow=False)


def differences(one, other, agreements):
    """Relative paths of files that are not the same in both folders.

    `agreements` has the relative difference that tensors of a case may have; without it, none.
    """
    files = {
        path.relative_to(root)
        for root in (one, other)
        for path in root.rglob("*")
        if path.is_file()
    }
    for path in sorted(files):
        if not same_file(one / path, other / path, agreements.get("/".join(path.parts[:2]))):
            yield str(path)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare and change nothing")
    parser.add_argument(
        "--without-torch",
        action="store_true",
        help="compute values with onnx.reference alone; --check then compares numbers, not bytes",
    )
    parser.add_argument("--only", default="", help="part of the names of cases to make")
    parser.add_argument("--document", help="IR.md of the standard, to check its sentences as well")
    return parser.parse_args()


def main():
    options, target = parse(), stored.ROOT / "cases"
    bad = list(changed_sentences(options.document))
    with tempfile.TemporaryDirectory() as temporary:
        fresh = Path(temporary) / "cases"
        agreements = all_agreements() if options.without_torch else {}
        names, wrong = write_all(fresh, options.only, not options.without_torch)
        bad += wrong
        if options.check:
            bad += [
                f"{one} is not what the generator makes"
                for one in differences(fresh, target, agreements)
            ]
        elif not options.only and not bad:
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(fresh, target)
            sentences.TABLE.write_text(sentences.table(stored.read_cases()))
    print("\n".join([*bad, f"{len(names)} cases, {len(bad)} findings"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
