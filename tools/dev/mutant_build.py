"""Builds the library and the tests with every mutant of a sample behind a switch."""
import json
import pathlib
import re
import shlex
import subprocess
import sys

import mutant_sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_MUTANTS = 1 << 16
SWITCH_FILE = "core/mutant_switch.cpp"
NEIGHBOUR = "core/random/random.cpp"  # whose flags it gets
PROGRAMS = ["bin/ondine", "bin/golden", "bin/readme_example_1", "bin/readme_example_2"]
# A byte of the file ONDINE_MUTANTS_REACHED says whether a mutant's line was reached.
SWITCH = f"""#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) bool ondine_mutant(int number);
namespace {{
int chosen() {{
  const char* text = std::getenv("ONDINE_MUTANT");
  return text != nullptr ? std::atoi(text) : 0;
}}
char* reached() {{
  const char* file = std::getenv("ONDINE_MUTANTS_REACHED");
  if (file == nullptr) return nullptr;
  const int descriptor = open(file, O_RDWR);
  if (descriptor < 0) return nullptr;
  void* bytes = mmap(nullptr, {MAX_MUTANTS}, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  return bytes == MAP_FAILED ? nullptr : static_cast<char*>(bytes);
}}
}}  // namespace
bool ondine_mutant(int number) {{
  static const int one = chosen();
  static char* const bytes = reached();
  if (bytes != nullptr) bytes[number] = 1;
  return one == number;
}}
"""


def write_sources(options, mutants):
    """The changed files, below FOLDER/source."""
    changed = {}
    for number, mutant in mutants.items():
        lines = changed.setdefault(mutant["file"], (ROOT / mutant["file"]).read_text().split("\n"))
        if lines[mutant["line"] - 1] != mutant["text"]:
            sys.exit(f"{mutant['file']} changed; begin with another folder")
        lines[mutant["line"] - 1] = mutant["code"].replace("@", str(number))
    head = 'extern "C" bool ondine_mutant(int number);\n#line 1\n'
    texts = {name: head + "\n".join(lines) for name, lines in changed.items()}
    texts[SWITCH_FILE] = SWITCH
    for name, text in texts.items():
        target = options.work / "source" / name
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    return sorted(texts)


def assertions(options, compiler):
    """Flags that let operator[] of containers check its position. The header of vector<bool> lacks
    that in some versions of libstdc++: then a copy that has it comes before it."""
    flags = ["-D_GLIBCXX_ASSERTIONS"]
    text = subprocess.run([compiler, "-E", "-x", "c++", "-"], input="#include <vector>\n",
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    found = re.search(r'^# \d+ "(.*/bits/stl_bvector\.h)"', text, re.M)
    if found is None:
        return flags
    old = pathlib.Path(found[1]).read_text(encoding="utf-8")
    new = re.sub(r"(operator\[\]\(size_type __n\)[^{;]*\{)",
                 r"\1 __glibcxx_assert(__n < this->size());", old)
    if new == old or "__glibcxx_requires_subscript" in old:
        return flags
    header = options.work / "include/bits/stl_bvector.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(new, encoding="utf-8")
    return flags + ["-isystem", str(options.work / "include")]


def compiler_of(words):
    return words[1] if words[0].endswith("ccache") else words[0]


def compile_file(options, name, entry, number):
    """(object of the build folder, the object made in its place, errors)."""
    source = options.work / "source" / name
    target = source.with_suffix(f".{number}.o")
    words = ["-O1" if word in ("-O2", "-O3", "-Os") else word  # it is compiled once and runs little
             for word in shlex.split(entry["command"])]
    replaced = words[words.index("-o") + 1]
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return replaced, target, ""
    words[words.index("-o") + 1] = str(target)
    words[words.index("-c") + 1] = str(source)
    at = words.index("-c")
    # What a compiler guesses at -O1 is no mistake of the mutant.
    words[at:at] = assertions(options, compiler_of(words)) + ["-Wno-error=maybe-uninitialized"]
    if "-include" in words:  # a precompiled header
        at = words.index("-include")
        del words[at:at + 2]
    made = subprocess.run(words, cwd=entry["directory"], text=True, stderr=subprocess.PIPE)
    return replaced, target, made.stderr if made.returncode else ""


def link(options, objects):
    """The library, the programs and the tests by the build folder's commands."""
    build = options.build
    (options.work / "bin").mkdir(exist_ok=True)
    objects = {old: str(new) for old, new in objects.items()}
    archive = str(options.work / "libondine.a")
    for target in ["libondine.a"] + PROGRAMS + [f"bin/test_{name}" for name in options.tests]:
        last = subprocess.run(["ninja", "-C", build, "-t", "commands", target], check=True,
                              text=True, stdout=subprocess.PIPE).stdout.splitlines()[-1]
        words = [objects.get(word, archive if word == "libondine.a" else word)
                 for word in last.split(" ")]
        if target == "libondine.a":
            words.insert(words.index("qc") + 2, objects[SWITCH_FILE])
        else:
            words[words.index("-o") + 1] = str(options.work / target)
        subprocess.run(" ".join(words), cwd=build, shell=True, check=True)


def features():
    """What the processor can, in the words of the compiler without their hyphens."""
    found = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {word.replace("_", "") for word in found[1].split()} if found else set()


def runs_here(entry, known):
    """Whether the processor has the instructions that an object is compiled for."""
    needed = re.findall(r" -m((?:avx|fma|bmi|amx)[\w-]*)", entry["command"])
    return all(word.replace("-", "") in known for word in needed)


def compile_commands(options):
    """The commands of the objects of each file that run on this processor, by the file's name. A
    file is compiled once for each instruction set that it is written for."""
    known = features()
    commands = {}
    for entry in json.loads((options.build / "compile_commands.json").read_text()):
        name = pathlib.Path(entry["file"])
        if name.is_relative_to(ROOT) and runs_here(entry, known):
            commands.setdefault(str(name.relative_to(ROOT)), []).append(entry)
    if not any(name.startswith("core/") for name in commands):
        raise SystemExit(f"{options.build} compiles folders together, needed: -DONDINE_UNITY=OFF")
    return commands


def build(options, mutants, commands, pool, keep):
    """Compiles the changed files in place of those of the build folder, which must be up to date;
    mutants that do not compile are dropped and `keep` is called."""
    commands = dict(commands)
    commands[SWITCH_FILE] = commands[NEIGHBOUR][:1]
    for _ in range(30):
        jobs = [(name, entry, number) for name in write_sources(options, mutants)
                for number, entry in enumerate(commands[name])]
        results = list(pool.map(lambda job: compile_file(options, *job), jobs))
        log = "".join(errors for _, _, errors in results)
        (options.work / "build.log").write_text(log)
        if not log:
            link(options, {SWITCH_FILE if job[0] == SWITCH_FILE else old: new
                           for job, (old, new, _) in zip(jobs, results)})
            return
        wrong = mutant_sites.wrong_lines(log, options.work / "source", ROOT, mutants.values())
        bad = [n for n, mutant in mutants.items() if (mutant["file"], mutant["line"]) in wrong]
        if not bad:
            sys.exit(log[-3000:])
        print(f"{len(bad)} mutants do not compile and are left out", flush=True)
        for number in bad:
            del mutants[number]
        keep()
    sys.exit("mutants still do not compile")
