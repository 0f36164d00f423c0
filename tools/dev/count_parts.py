#!/usr/bin/env python3
"""Counts what the kernels and passes are made of, for docs/architecture.md: each line is a figure, the
most that is wanted where there is such a bound, and its scope. Words in comments do not count.

usage: count_parts.py [--list]"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".h"):
                yield path.relative_to(ROOT), path.read_text()


def found(pattern, *folders, skip="/nothing/"):
    pattern = re.compile(pattern, re.MULTILINE)
    for path, text in sources(*folders):
        if str(path).startswith(skip):
            continue
        code = re.sub(r"//[^\n]*", "", text)
        for match in pattern.finditer(code):
            yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: {match.group(0).strip()[:70]}"


def files_with(pattern, folder, skip):
    return sorted({one.split(":")[0] for one in found(pattern, folder, skip=skip)})


def lines():
    return sum(text.count("\n") for _, text in sources("kernels", "graph/passes"))


COUNTS = (
    ("enumerations of activations", 1, "kernels, graph",
     lambda: list(found(r"enum class \w*Activation\b", "kernels", "graph"))),
    ("flags that say bfloat16", 0, "headers of kernels",
     lambda: [one for one in found(r"\bbool \w*(bf16|bfloat|rounded)\w*( = (false|true))?;", "kernels")
              if ".h:" in one]),
    ("casts between bfloat16 and the type that computes", 0, "kernels without kernels/simd",
     lambda: list(found(r"reinterpret_cast<(const )?(T|float)\*>\([^)]*(bf16|bfloat16|rounded)",
                        "kernels", skip="kernels/simd"))),
    ("descriptions of products outside of their family", 0, "kernels without kernels/matmul",
     lambda: list(found(r"\bGemmShape( \w+)?\s*(\{|;| = )", "kernels", skip="kernels/matmul"))),
    ("files that ask for an instruction set", None, "kernels/simd without kernels/simd/vector",
     lambda: files_with(r"#if.*__(AVX|ARM_NEON|AMX|wasm_simd)", "kernels/simd",
                        "kernels/simd/vector")),
)


def main():
    failed = False
    for name, most, scope, count in COUNTS:
        places = count()
        failed = failed or (most is not None and len(places) > most)
        bound = "" if most is None else f", wanted {most}"
        print(f"{len(places):6d}{bound}: {name} ({scope})")
        if "--list" in sys.argv:
            for place in places:
                print(f"          {place}")
    print(f"{lines():6d}, wanted 67000: lines of kernels and graph/passes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
