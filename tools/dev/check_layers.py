#!/usr/bin/env python3
"""Reads the includes: every module knows only the modules it may, third parties stay behind their walls.
The planner names no operator: what it needs to know of them is in their OpTraits.
No code but graph/record names entries of the metadata.
Commands declare no options: the parser takes them from the library's table, at one place.
No name has two definitions, of which the linker would take the members of either.

The compiler enforces the first (cmake/OndineModules.cmake); this check needs no build."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Modules that a module may include besides itself and include/ondine.
MODULES = {
    "include": [],
    "core": [],
    "graph": ["core"],
    "autodiff": ["core", "graph"],
    "kernels": ["core", "graph"],
    "proto": ["core", "graph"],
    "checkpoints": ["core"],
    "trainer": ["core", "graph", "autodiff", "kernels", "proto", "checkpoints"],
    "bindings": [],
    "tools": [],
    "examples": [],
}
# Where the headers of a third party may be included.
WALLS = {
    r"google/protobuf/|(onnx_schema|fleet)\.pb\.h": r"proto/.*\.(cpp|h)$",
    r"Eigen/": r"(kernels/(matmul|elementwise)/.*\.cpp|kernels/matmul/checked_lu\.h|graph/training/adapters/principal\.cpp|include/ondine/eigen\.h|tests/.*)$",
    r"boost/": r"checkpoints/[^/]*\.cpp$",
    r"(jpeglib|jerror|png|tiffio|openjpeg)\.h|webp/": r"kernels/image/codecs/[^/]*\.cpp$",
    r"(sndfile|samplerate)\.h": r"trainer/data/audio/[^/]*\.cpp$",
    r"re2/": r"kernels/text/[^/]*\.cpp$",
    r"(curl|openssl)/": r"trainer/federated/((http_transport|node_key)\.cpp|open_ssl\.h)$",
    r"(pcre2|utf8proc)\.h": r"trainer/text/tokenizer/(regex|unicode)\.cpp$",
    r"dlpack/": r"(bindings/c/[^/]*\.cpp|tests/.*)$",
    r"zlib\.h": r"trainer/data/[^/]*\.cpp$",
    r"CLI/": r"tools/ondine/parser\.cpp$",
    r"toml\+\+/": r"tools/ondine/job_file\.cpp$",
    r"nlohmann/": r"((bindings/c|checkpoints|graph/record)/[^/]*\.cpp|trainer/text/tokenizer/json_tree\.cpp|(tools/ondine|tests|bench)/.*)$",
}
# Entries of the metadata are read and written in one place.
ENTRY = re.compile(
    r'"ondine\.(data|loss|prediction|label|class\w*|ctc_blank|sample_rate|preprocess|text_\w+|'
    r'learning_rate|accumulate|averaged|averages|schedule|scheduled_rate|qat)"'
)
# The loss model is a function of the domain "ondine.loss".
ENTRY_PLACES = re.compile(r"graph/record/|graph/training/prepare/losses/loss_model|tests/")
# The options of commands are rows of trainer/options/commands.
DECLARED = re.compile(r"(\.|->)add_(option|flag)\w*\(|\bgetopt|\bstrcmp\(|\bargv\[")
DECLARED_IN = "Parser::declare(CLI::App"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')

# The planner asks for OpTraits; what it may not do is tell operators apart by name.
PLANNER = "trainer/plan/"
BY_NAME = re.compile(r"op->(name|domain)\b\s*(==|!=|\.)")
OPERATOR = re.compile(r'\.name = "(\w+)"')
LITERAL = re.compile(r'"([^"]*)"')


def operator_names():
    return {
        name
        for path in (ROOT / "kernels").rglob("*.cpp")
        for name in OPERATOR.findall(path.read_text())
    }


def planner_findings():
    operators = operator_names()
    for path in sorted((ROOT / PLANNER).rglob("*.[ch]*")):
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            named = [text for text in LITERAL.findall(line) if text in operators or "ai.on" in text]
            if named or BY_NAME.search(line):
                yield f"{name}:{number}: the planner must not know operators by name"


def option_findings():
    for path in sorted((ROOT / "tools/ondine").rglob("*.[ch]*")):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        start = text.find(DECLARED_IN)
        end = text.find("\n}\n", start) if start >= 0 else -1
        for match in DECLARED.finditer(text):
            if not start < match.start() < end:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: options of commands are rows of trainer/options/commands"


def findings(path):
    name = path.relative_to(ROOT).as_posix()
    module = name.split("/")[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if ENTRY.search(line.split("//")[0]) and not ENTRY_PLACES.match(name):
            yield f"{name}:{number}: entries of the metadata belong into graph/record"
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        first = target.split("/")[0]
        if module in MODULES and first in MODULES and first not in MODULES[module] + [module]:
            yield f"{name}:{number}: {module} must not know {first} ({target})"
        for wall, allowed in WALLS.items():
            if re.match(wall, target) and not re.match(allowed, name):
                yield f"{name}:{number}: {target} belongs behind its wall"


SCOPE = re.compile(
    r"(?:inline )?namespace\s*([\w:]*)\s*\{"
    r"|\b(?:class|struct)\s+(?:[A-Z_]+\s+)?(\w+)(?:\s+final)?\s*(?::(?!:)[^{};]*)?\{|[{}]")


def classes_of(path):
    """Classes that a file defines in named namespaces, each with its namespaces."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    scopes = []
    for match in SCOPE.finditer(re.sub(r'"(\\.|[^"\\\n])*"', '""', text)):
        if match.group(0) == "}":
            del scopes[-1:]
        elif match.group(0) == "{":
            scopes.append(None)
        elif match.group(2):
            if all(scopes):
                yield "::".join([*scopes, match.group(2)])
            scopes.append(None)
        else:
            scopes.append(match.group(1))


def definition_findings(files):
    """One name has one definition: the linker would take the members of either."""
    defined = {}
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in (".h", ".cpp") and name.split("/")[0] in MODULES:
            for one in classes_of(path):
                defined.setdefault(one, set()).add(name)
    for one, names in sorted(defined.items()):
        systems = {re.sub(r"_(posix|win32)\.cpp$", ".cpp", name) for name in names}
        if len(systems) > 1:
            yield f"{one} is defined in {' and '.join(sorted(names))}"


def main():
    files = [
        path
        for suffix in ("*.h", "*.cpp", "*.inc")
        for path in ROOT.rglob(suffix)
        if path.relative_to(ROOT).parts[0] in [*MODULES, "tests", "bench"]
    ]
    bad = [finding for path in sorted(files) for finding in findings(path)]
    bad += planner_findings()
    bad += option_findings()
    bad += definition_findings(files)
    print("\n".join(bad) if bad else f"layers: {len(files)} files, no findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
