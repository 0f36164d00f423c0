#!/usr/bin/env python3
"""Prints a header with its // comments as Doxygen's: /// before a declaration, ///< behind one."""
import re
import sys

COMMENT = re.compile(r"^(\s*)// ?(.*)$")
TRAILING = re.compile(r"^(.*[;,{(}\w])\s+// (.*)$")


def escaped(text):
    """Angle brackets outside code would be read as HTML, @ and # as commands and links."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([<>@#\\])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def converted(lines):
    """Comments above the first line of code describe the file."""
    head = True
    behind = None  # column of a comment behind a declaration, which the next lines may continue
    for number, line in enumerate(lines):
        comment = COMMENT.match(line)
        trailing = TRAILING.match(line)
        if comment and "NOLINT" not in line:
            indent, text = comment.groups()
            if head and number == 0:
                yield "/// @file"
            mark = "///<" if behind is not None and len(indent) == behind else "///"
            yield f"{indent}{mark} {escaped(text)}"
            continue
        head = False
        behind = None
        if trailing and "NOLINT" not in line:
            behind = line.index("// " + trailing.group(2))
            yield f"{trailing.group(1)}  ///< {escaped(trailing.group(2))}"
        else:
            yield re.sub(r"\s*// NOLINT.*", "", line)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(converted(file.read().splitlines())))


if __name__ == "__main__":
    main()
