#!/usr/bin/env python3
"""Draws who talks with whom: docs/images/topology_cluster.svg, topology_federation.svg and
topology_simulation.svg.

  bench/topologies.py          writes them
  bench/topologies.py --check  fails when one is out of date
"""
import pathlib
import sys

import svg
from svg import FAINT, INK, text

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/images"
WIDTH = 720
BLUE, GREEN, ORANGE, GREY = "#ddf4ff", "#dafbe1", "#fff1e5", "#f6f8fa"
EDGE = "#59636e"


def box(x, y, width, height, fill, title, *notes):
    """A rectangle with a title and smaller lines, all in its middle."""
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" '
             f'stroke="{EDGE}"/>']
    first = y + height / 2 - 8 * len(notes) + 5
    parts.append(text(x + width / 2, first, title, 13, INK, "middle", "bold"))
    parts += [text(x + width / 2, first + 17 * (number + 1), note, 11.5, FAINT, "middle")
              for number, note in enumerate(notes)]
    return parts


def arrow(x1, y1, x2, y2, both=True):
    start = ' marker-start="url(#tip)"' if both else ""
    return (f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{EDGE}" stroke-width="1.5"'
            f'{start} marker-end="url(#tip)"/>')


TIP = ('<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
       f'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="{EDGE}"/></marker></defs>')


def cluster():
    parts = [TIP]
    places = [20, 195, 370, 545]
    for number, x in enumerate(places):
        notes = ["prints and saves"] if number == 0 else ["prints nothing"]
        parts += box(x, 40, 155, 84, BLUE, f"rank {number}", f"shard {number} of a batch",
                     *notes)
        parts.append(arrow(x + 77, 126, x + 77, 172))
    parts += box(20, 176, 680, 46, ORANGE, "MPI: gradients, each number twice in a step",
                 "a part to each rank, which adds it up; the sums back to all")
    for x in places:
        parts.append(arrow(x + 77, 224, x + 77, 262, both=False))
    parts += box(20, 264, 680, 40, GREEN, "the same update on every rank, with the same bits")
    parts.append(text(20, 24, "Every rank reads the model and the data. The network is a trusted one.",
                      12, FAINT))
    return svg.image(WIDTH, 324, "Ranks of mpirun that train one model", parts)


def federation():
    parts = [TIP]
    parts += box(250, 40, 220, 84, ORANGE, "SuperLink of Flower", "ServerApp: a strategy, the weights",
                 "no row of a node")
    nodes = [(20, BLUE, "ondine federate", "Linux, no Python"),
             (195, BLUE, "ondine federate", "Linux, no Python"),
             (370, GREEN, "SuperNode", "ondine_train.flower"), (545, GREEN, "SuperNode",
                                                                "other frameworks")]
    for x, fill, title, note in nodes:
        parts += box(x, 210, 155, 70, fill, title, note, "own rows, own key")
        parts.append(arrow(x + 77, 208, 360 + (x + 77 - 360) * 0.3, 128))
    parts.append(text(20, 60, "down: weights, settings", 12, FAINT))
    parts.append(text(20, 78, "up: trained weights, metrics", 12, FAINT))
    parts.append(text(490, 60, "nodes ask: HTTPS, each call", 12, FAINT))
    parts.append(text(490, 78, "signed, no open port at a node", 12, FAINT))
    return svg.image(WIDTH, 300, "A federation: nodes of two kinds and a SuperLink", parts)


def simulation():
    parts = [TIP, f'<rect x="10" y="10" width="700" height="280" rx="8" fill="{GREY}" '
                  f'stroke="{EDGE}" stroke-dasharray="5 4"/>', text(24, 32, "one machine", 12, FAINT)]
    parts += box(40, 56, 200, 70, ORANGE, "SuperLink --simulation", "ServerApp: a strategy")
    parts += box(300, 56, 160, 70, GREY, "Ray", "as many actors as cores")
    parts.append(arrow(242, 91, 298, 91))
    for number, y in enumerate((46, 106)):
        parts += box(530, y, 160, 46, GREEN, f"actor {number}", "a node at a time")
        parts.append(arrow(462, 91, 528, y + 23))
    for number in range(10):
        x = 40 + 65 * number
        parts += box(x, 200, 56, 46, BLUE, f"{number}", "rows")
    parts.append(text(40, 186, "nodes are numbers of parts of the data; each answer is one of an "
                               "actor's", 12, FAINT))
    return svg.image(WIDTH, 300, "A simulation of ten nodes on one machine", parts)


def main(check):
    status = 0
    for draw in (cluster, federation, simulation):
        status |= svg.write_or_check(draw(), FOLDER / f"topology_{draw.__name__}.svg", ROOT, check,
                                     "bench/topologies.py")
    return status


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
