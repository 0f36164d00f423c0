#!/usr/bin/env python3
"""Runs a command in a terminal and draws what it shows as an SVG, which is readable on light and dark
pages: record_terminal.py OUT.svg COMMAND...

Lines longer than 100 columns are cut; of more than 14 lines those in the middle are left out."""
import html
import os
import pty
import re
import shlex
import sys
import time

COLUMNS, LINES, WIDTH, HEIGHT = 100, 14, 7.3, 17


def run(command):
    """What the terminal shows at the end, and the seconds."""
    shown = []

    def read(descriptor):
        data = os.read(descriptor, 65536)
        shown.append(data)
        return data
    os.environ.update(COLUMNS=str(COLUMNS), TERM="xterm")
    start = time.perf_counter()
    if os.waitstatus_to_exitcode(pty.spawn(command, read)) != 0:
        sys.exit("the command failed")
    return b"".join(shown).decode(errors="replace"), time.perf_counter() - start


def lines(text):
    """Without escapes; a carriage return begins its line anew."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")
    result = [line.rpartition("\r")[2].rstrip() for line in text.split("\n")]
    result = [line if len(line) <= COLUMNS else line[:COLUMNS - 1] + "…" for line in result if line]
    if len(result) > LINES:
        half = LINES // 2
        result = [*result[:half], "…", *result[-half:]]
    return result


def svg(rows):
    width, height = round(COLUMNS * WIDTH + 24), len(rows) * HEIGHT + 24
    texts = "".join(f'<text x="12" y="{24 + i * HEIGHT}" xml:space="preserve">{html.escape(row)}</text>\n'
                    for i, row in enumerate(rows))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">\n'
            f'<rect width="{width}" height="{height}" rx="6" fill="#1d2433"/>\n'
            f'<g font-family="monospace" font-size="12" fill="#d8dee9">\n{texts}</g></svg>\n')


def main(out, *command):
    text, seconds = run(list(command))
    rows = [f"$ {shlex.join(command)}", *lines(text), f"({seconds:.1f} s)"]
    with open(out, "w") as file:
        file.write(svg(rows))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
