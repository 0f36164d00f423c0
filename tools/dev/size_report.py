#!/usr/bin/env python3
"""What takes the bytes of a program: size_report.py [BUILD] [--target T] [--depth N] [--names N]

Links a target of a build by Ninja once more, with a map of what the linker keeps, and prints the
bytes that each folder of sources and each library gives it: code, tables for exceptions, constants,
and tables that hold addresses. kernels/simd has a row for each instruction set. What the linker
writes itself has one row. --names prints the names of functions that take most, all instances of a
template together.
"""
import argparse
import collections
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = {  # how the names of sections begin
    "code": (".text", ".init", ".fini", ".plt"),
    "exceptions": (".eh_frame", ".gcc_except_table"),
    "constants": (".rodata",),
    "addresses": (".data.rel.ro", ".rela", ".relr", ".got", ".dynsym", ".dynstr", ".gnu", ".dynamic"),
    "data": (".data", ".tdata", ".init_array", ".fini_array"),
}
LINKER = (".rela", ".relr", ".dynsym", ".dynstr", ".dynamic", ".gnu", ".eh_frame_hdr", ".plt", ".got")
ROW = re.compile(r"^ (\.[\w.$-]+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$", re.M)


def run(*words, folder=None):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words[:6]))}: {done.stderr.strip()}")
    return done.stdout


def column_of(section):
    for name, beginnings in COLUMNS.items():
        if section.startswith(beginnings):
            return name
    return None


def objects_of(build, archive):
    lines = run("ninja", "-C", build, "-t", "query", archive).splitlines()
    return [line.strip() for line in lines if line.strip().endswith(".o")]


def with_unique_names(build, words, folder):
    """The words of a link, with the archives of the build made anew in `folder`: members have their
    path as name, so that the map tells those of one name apart."""
    result = []
    for word in words:
        objects = objects_of(build, word) if re.fullmatch(r"[\w/]+\.a", word) else []
        if objects:
            links = folder / f"{pathlib.Path(word).name}.links"
            links.mkdir()
            for name in objects:
                (links / name.replace("/", "@")).symlink_to((build / name).resolve())
            word = folder / pathlib.Path(word).name
            run("ar", "qcs", word, *sorted(links.iterdir()))
        result.append(str(word))
    return result


def link(build, target, folder):
    """The program, linked again in `folder`, and its map."""
    commands = run("ninja", "-C", build, "-t", "commands", target).splitlines()
    steps = [shlex.split(step) for line in commands[-2:] for step in line.split(" && ")]
    links = [words for words in steps if "-o" in words and "-c" not in words]
    if not links:
        sys.exit(f"the target {target} is not a program or a shared library")
    words = with_unique_names(build, links[-1], folder)
    program = folder / "program"
    words[words.index("-o") + 1] = str(program)
    run(*words, f"-Wl,-Map={folder}/map", folder=build)
    return program, (folder / "map").read_text(errors="replace")


def folders_by_identifier():
    """What a folder is called in the name of a unit (cmake/OndineUnity.cmake)."""
    names = run("git", "-C", ROOT, "ls-files", "*.cpp").splitlines()
    folders = {str(pathlib.PurePosixPath(name).parent) for name in names}
    return {re.sub(r"\W", "_", name): name for name in folders}


def place_of(path, folders, depth):
    member = re.search(r"\(([^()]*)\)$", path)
    name = (member.group(1) if member else path).replace("@", "/")
    found = re.search(r"(?:^|/)CMakeFiles/(\w+)\.dir/(.*)", name)
    if not found:
        return pathlib.PurePosixPath(path.split("(")[0]).name
    target, source = found.groups()
    unit = re.match(r"Unity/unity_(\w+)_\d+_cxx\.", source)
    folder = folders.get(unit.group(1)) if unit else None
    if folder is None:
        folder = str(pathlib.PurePosixPath(source).parent)
        prefix = name.split("CMakeFiles/")[0]
        folder = folder if (ROOT / folder).is_dir() and folder != "." else f"{prefix}{folder}"
    folder = "/".join(folder.split("/")[:depth])
    isa = re.match(r"ondine_simd_(\w+)", target)
    return f"{folder} ({isa.group(1)})" if isa else folder


def rows_of(text, folders, depth):
    rows = collections.defaultdict(collections.Counter)
    text = text[text.index("Linker script and memory map"):]
    text = re.sub(r"^( \.\S+)\n +0x", r"\1 0x", text, flags=re.M)  # long names have a line of their own
    for section, address, size, path in ROW.findall(text):
        column = column_of(section)
        if int(address, 16) == 0 or column is None:
            continue
        place = "the linker" if section.startswith(LINKER) else place_of(path, folders, depth)
        rows[place][column] += int(size, 16)
    return rows


def print_rows(rows, size):
    print(f"{'bytes':>10}" + "".join(f"{name:>12}" for name in COLUMNS) + "  of")
    for place, row in sorted(rows.items(), key=lambda item: -item[1].total()):
        print(f"{row.total():10}" + "".join(f"{row[name]:12}" for name in COLUMNS) + f"  {place}")
    total = sum(rows.values(), collections.Counter())
    print(f"{total.total():10}" + "".join(f"{total[name]:12}" for name in COLUMNS) + "  all")
    print(f"{size:10}  stripped, with the ends of pages and headers")


def without_brackets(name):
    """A function's name without arguments, those of templates and those of calls."""
    name = name.replace("(anonymous namespace)::", "").replace("operator()", "call")
    kept, depth = "", 0
    for letter in name:
        depth += letter in "<("
        if depth == 0:
            kept += letter
        depth -= letter in ">)" and depth > 0
    # What is left of a template may begin with the type that it returns.
    words = [word for word in kept.replace(" const::", "::").split() if "::" in word]
    return words[-1] if words else kept.strip()


def print_names(program, count):
    sizes, instances = collections.Counter(), collections.Counter()
    for line in run("nm", "-CS", program).splitlines():
        words = line.split(None, 3)
        if len(words) == 4 and words[2] in "tTwWdDrRvV":
            name = without_brackets(words[3])
            sizes[name] += int(words[1], 16)
            instances[name] += 1
    print(f"\n{'bytes':>10}{'instances':>12}  of")
    for name, size in sizes.most_common(count):
        print(f"{size:10}{instances[name]:12}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--target", default="ondine_cli")
    parser.add_argument("--depth", default=2, type=int, help="folders of a path that a row names")
    parser.add_argument("--names", default=0, type=int, metavar="N")
    given = parser.parse_args()
    if not (given.build / "build.ninja").exists():
        sys.exit(f"{given.build} is no build by Ninja")
    with tempfile.TemporaryDirectory() as folder:
        program, text = link(given.build, given.target, pathlib.Path(folder))
        stripped = pathlib.Path(folder, "stripped")
        run("strip", "-o", stripped, program)
        print_rows(rows_of(text, folders_by_identifier(), given.depth), stripped.stat().st_size)
        if given.names:
            print_names(program, given.names)


main()
