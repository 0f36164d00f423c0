#!/usr/bin/env python3
"""Writes the pages of the site and their order for mkdocs-material: make_site.py FOLDER

FOLDER/pages has every document at its place in the tree, FOLDER/mkdocs.yml the order of
docs/README.md. Links to files that are no pages become plain text; mkdocs checks the others."""
import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = (".md", ".svg", ".png")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
STYLE = """\
.md-typeset table:not([class]) { display: block; max-width: 100%; overflow-x: auto }
.md-typeset table:not([class]) th { min-width: 0 }
.md-typeset table:not([class]) td:last-child { min-width: 12rem }
.md-typeset td code { white-space: nowrap }
"""


def pages():
    for folder in ("docs", "examples", "conformance", "kernels"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in PAGES:
                yield path
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))


def linked(path, text):
    def keep(match):
        words, target, anchor = match.groups()
        if re.match(r"[a-z]+:", target):
            return match.group(0)
        there = (path.parent / target).resolve()
        if there.suffix not in PAGES and (there / "README.md").exists():
            return f"[{words}]({target.rstrip('/')}/README.md{anchor or ''})"
        return match.group(0) if there.suffix in PAGES else words
    text = LINK.sub(keep, text)
    # A list right below a line of text, as GitHub shows it.
    return re.sub(r"(?m)^(?!- |  |$)(.+)\n(?=- )", r"\1\n\n", text)


def order(index):
    """The parts of docs/README.md with their pages, each once."""
    seen, parts = set(), []
    for line in index.splitlines():
        if heading := re.fullmatch(r"\*\*(.+)\*\*", line):
            parts.append({heading.group(1): []})
        for _, target, anchor in LINK.findall(line):
            page = (ROOT / "docs" / target).resolve().relative_to(ROOT).as_posix()
            if page.endswith(".md") and page not in seen and parts:
                seen.add(page)
                next(iter(parts[-1].values())).append(page)
    return [{"Ondine": "README.md"}, *parts]


def main(target):
    site = pathlib.Path(target).resolve()
    shutil.rmtree(site / "pages", ignore_errors=True)
    for path in pages():
        copy = site / "pages" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(linked(path, path.read_text()))
        else:
            shutil.copy(path, copy)
    (site / "pages/site.css").write_text(STYLE)
    settings = {
        "site_name": "Ondine", "docs_dir": "pages", "site_dir": "site", "use_directory_urls": False,
        "theme": {"name": "material", "font": False,
                  "palette": [{"media": "(prefers-color-scheme: light)", "scheme": "default"},
                              {"media": "(prefers-color-scheme: dark)", "scheme": "slate"}]},
        "plugins": ["search"], "extra_css": ["site.css"],
        "markdown_extensions": ["tables", "attr_list", "pymdownx.highlight",
                                "pymdownx.superfences", {"toc": {"permalink": True}}],
        "validation": {"omitted_files": "ignore", "links": {"anchors": "ignore"}},
        "nav": order((ROOT / "docs/README.md").read_text()),
    }
    (site / "mkdocs.yml").write_text(json.dumps(settings, indent=1))  # JSON is YAML


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
