#!/usr/bin/env python3
"""Checks the documentation: links and anchors lead somewhere, prose wraps at 100 columns, the README
fits its bounds, and documents and sources name only files that exist."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS, README_LINES = 100, 120
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MENTION = re.compile(r"\b(?:docs|examples)/[\w/-]+\.md\b")
NAMED = re.compile(r"`(?:[a-z_]+/)+[\w*.-]+\.(?:h|cpp|cmake|inc|py|sh|json|svg)\b")
SOURCES = {".h", ".cpp", ".cmake", ".py", ".sh", ".txt", ".in"}
FOLDERS = ("autodiff", "bench", "bindings", "checkpoints", "cmake", "conformance", "core", "docs", "examples",
           "graph", "include", "kernels", "packaging", "proto", "scripts", "tests", "tools", "trainer")


def anchors(text):
    """The anchors of a document's headings, as hosting sites make them."""
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def prose(text):
    """Numbered lines outside code blocks."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield number, line


def link_findings(path, text):
    for number, line in prose(text):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            there = (path.parent / file).resolve() if file else path
            if not there.exists():
                yield number, f"{target} does not exist"
            elif anchor and anchor not in anchors(there.read_text()):
                yield number, f"{target}: there is no such heading"


def document_findings(path):
    text = path.read_text()
    yield from link_findings(path, text)
    for number, line in prose(text):
        for name in NAMED.findall(line):
            example = "/twice" in name  # the operator of docs/adding-an-operator.md
            known = name[1:].split("/")[0] in FOLDERS
            if known and not example and not any(ROOT.glob(name[1:])):
                yield number, f"{name[1:]} does not exist"
        if len(line) > COLUMNS and not line.startswith("|") and "](" not in line:
            yield number, f"{len(line)} columns; prose wraps at {COLUMNS}"
    if path == ROOT / "README.md":
        lines = text.splitlines()
        if len(lines) > README_LINES:
            yield len(lines), f"the README has more than {README_LINES} lines"
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS:
                yield number, f"{len(line)} columns; the README keeps to {COLUMNS}"


def error_code_findings():
    """The page of error codes has the numbers of both headers."""
    header = (ROOT / "include/ondine/error.h").read_text()
    c_header = (ROOT / "include/ondine/c.h").read_text().split("enum ondine_code")[1].split("}")[0]
    page = (ROOT / "docs/errors.md").read_text()
    in_c = {name.lower(): number for name, number in re.findall(r"ONDINE_(\w+) = (\d+)", c_header)}
    codes = header.split("enum class ErrorCode")[1].split("}")[0]
    for name, number in re.findall(r"^  (\w+) = (\d+)", codes, re.M):
        if f"| `{name}` | {number} | {in_c[name]} |" not in page:
            yield f"docs/errors.md: no line says `{name}`, {number} in C++ and {in_c[name]} in C"


def environment_findings():
    """docs/environment.md and the variables that the library, its command line and the examples
    read."""
    rows = re.findall(r"^\| `(ONDINE_\w+)` \|", (ROOT / "docs/environment.md").read_text(), re.M)
    read = set()
    sources = files()[1]
    for path in sources:
        folder = path.relative_to(ROOT).parts[0]
        if path.suffix == ".cpp" and folder not in ("tests", "bench"):
            read |= set(re.findall(r"getenv\(\"(ONDINE_\w+)\"", path.read_text()))
        elif path.suffix == ".sh" and folder == "examples":
            read |= set(re.findall(r"\$\{?(ONDINE_\w+)", path.read_text()))
    anywhere = "".join(path.read_text() for path in sources)
    for name in sorted(read - set(rows)):
        yield f"docs/environment.md: {name} is read, but not named"
    for name in rows:
        if name not in anywhere:
            yield f"docs/environment.md: nothing reads {name}"


def source_findings(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for name in MENTION.findall(line):
            if not (ROOT / name).exists():
                yield number, f"{name} does not exist"


def files():
    documents, sources = [*ROOT.glob("*.md")], []
    for folder in FOLDERS:
        documents += (ROOT / folder).rglob("*.md")
        sources += [path for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES]
    return sorted(documents), sorted(sources)


def main():
    documents, sources = files()
    bad = [f"{path.relative_to(ROOT)}:{number}: {finding}"
           for check, paths in ((document_findings, documents), (source_findings, sources))
           for path in paths for number, finding in check(path)]
    bad += error_code_findings()
    bad += environment_findings()
    print("\n".join(bad) if bad else f"docs: {len(documents)} documents, no findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
