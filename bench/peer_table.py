"""Rows of Ondine against others, as compare_peers.py measures and prints them."""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from ondine_process import SOURCE, build_programs, ondine_process
from peer_process import (CHECKED_STEPS, TOLERANCE, PeerError, Process, check_losses,
                          time_in_turns)

# command() gives the words that start it, or raises PeerError; note: what it does otherwise than
# Ondine; checked: the number of steps whose losses must agree.
Other = collections.namedtuple("Other", "title command note checked",
                               defaults=("", CHECKED_STEPS))


def add_arguments(parser):
    parser.add_argument("--threads", type=int, default=1, help="of every program")
    parser.add_argument("--precision", choices=list(TOLERANCE), default="float32",
                        help="of every program; bf16: products in bfloat16, autocast in PyTorch")
    parser.add_argument("--blocks", type=int, default=9, help="timed blocks of each pair")
    parser.add_argument("--limit", type=float, default=1800,
                        help="seconds after which a program without an answer is given up")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows there too")
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build")
    parser.add_argument("--no-build", action="store_true", help="programs are up to date")
    parser.add_argument("--models", type=pathlib.Path, help="keep the models in this folder")


def add_written_arguments(parser):
    """Of scripts that start themselves to write a network and to serve its peer."""
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--serve", help=argparse.SUPPRESS)


def chosen(parser, text, known):
    """The names in "A,B", or all that are known."""
    names = text.split(",") if text else list(known)
    for name in names:
        if name not in known:
            parser.error(f"there is no {name}; there are {', '.join(known)}")
    return names


def compare(other, ours, first_steps, options):
    """The other's part of a row; first_steps: of Ondine, times and losses."""
    theirs = Process(other.command(), options.threads, options.limit)
    try:
        times, losses = theirs.steps(CHECKED_STEPS)
        check_losses(first_steps[1][:other.checked], losses, TOLERANCE[options.precision])
        our_ms, their_ms = time_in_turns(ours, theirs, max(first_steps[0][-1], times[-1]),
                                         options.blocks)
        return {"ms": their_ms, "ondine_ms": our_ms, "ratio": their_ms / our_ms,
                "mb": theirs.memory(), **({"note": other.note} if other.note else {})}
    finally:
        theirs.close()


def row_of(name, title, others, folder, options):
    """Ondine's median over its turns with all others, and each other's part.

    What Ondine cannot do is a reason in the row too.
    """
    row = {"name": name, "title": title, "threads": options.threads,
           "precision": options.precision, "others": {}}
    ours = ondine_process(name, folder, options)
    try:
        first_steps = ours.steps(CHECKED_STEPS)
        for other in others:
            print(f"{name}: {other.title}", file=sys.stderr, flush=True)
            try:
                row["others"][other.title] = compare(other, ours, first_steps, options)
            except PeerError as error:
                row["others"][other.title] = {"reason": str(error)}
        row["ondine_mb"] = ours.memory()
    except PeerError as error:
        return {**row, "others": {other.title: {} for other in others}, "reason": str(error)}
    finally:
        ours.close()
    ran = {title: one for title, one in row["others"].items() if "ms" in one}
    row["ondine_ms"] = statistics.median(
        [one["ondine_ms"] for one in ran.values()] or first_steps[0][-1:])
    if ran:
        row["best"] = min(ran, key=lambda title: ran[title]["ratio"])
        row["ratio"] = ran[row["best"]]["ratio"]
    return row


def print_line(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def print_header(titles):
    print_line(["ms per step", "Ondine", *titles, "best other / Ondine", "MB",
                "least MB of others"])
    print_line(["---"] * (len(titles) + 5))


def number(values, key, form):
    return form.format(values[key]) if key in values else "-"


def print_row(row):
    others = list(row["others"].values())
    best = f"{row['ratio']:.2f} ({row['best']})" if "best" in row else "-"
    memory = [one["mb"] for one in others if "mb" in one]
    print_line([f"{row['name']} {row['title']}".strip(), number(row, "ondine_ms", "{:.3g}"),
                *(number(one, "ms", "{:.3g}") for one in others), best,
                number(row, "ondine_mb", "{:.0f}"), f"{min(memory):.0f}" if memory else "-"])


def print_remarks(rows):
    """Each reason once, with all the rows that it holds for."""
    remarks = {}
    for row in rows:
        for title, one in (("Ondine", row), *row["others"].items()):
            text = one.get("reason") or one.get("note")
            if text:
                remarks.setdefault((title, text), []).append(row["name"])
    if remarks:
        print()
    for (title, text), names in remarks.items():
        print(f"- {title}, {', '.join(names)}: {text}")


def write_json(rows, options):
    """Called after every row, since a whole run takes long."""
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def compare_written(script, titles, others_of, options):
    """A row for each of titles {name: title}, printed as it is measured.

    `script --write NAME` exports a network in a process of its own: the memory of a process counts
    for those that it starts.
    """
    if not options.no_build:
        build_programs(options.build, ("bench_run", "ondine"))
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.models or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, title in titles.items():
            if not (folder / f"{name}.label.npy").exists():
                subprocess.run([sys.executable, script, "--write", name, "--models", str(folder),
                                "--build", str(options.build)], check=True)
            others = others_of(name)
            if not rows:
                print_header([other.title for other in others])
            rows.append(row_of(name, title, others, folder, options))
            print_row(rows[-1])
            write_json(rows, options)
    print_remarks(rows)
    return rows
