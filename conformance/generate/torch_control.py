# SPDX-License-Identifier: Apache-2.0
"""If, Loop and Scan in PyTorch."""

import torch


def if_(scope, node, attributes):
    chosen = "then_branch" if bool(scope.get(node.input[0])) else "else_branch"
    return scope.body(attributes(chosen), [])


def loop(scope, node, attributes):
    body = attributes("body")
    count, going, *carried = [scope.get(name) if name else None for name in node.input]
    going = torch.tensor(True) if going is None else going
    limit, scanned, i = None if count is None else int(count), None, 0
    while bool(going) and (limit is None or i < limit):
        going, *results = scope.body(body, [torch.tensor(i), going, *carried])
        carried, rows = results[: len(carried)], results[len(carried) :]
        scanned = [[] for _ in rows] if scanned is None else scanned
        for column, row in zip(scanned, rows):
            column.append(row)
        i += 1
    return [*carried, *(torch.stack(column) for column in scanned or [])]


def scan(scope, node, attributes):
    body, parts = attributes("body"), attributes("num_scan_inputs")
    inputs = [scope.get(name) for name in node.input]
    carried, sequences = inputs[:-parts], inputs[-parts:]
    scanned = None
    for row in zip(*sequences):
        results = scope.body(body, [*carried, *row])
        carried, rows = results[: len(carried)], results[len(carried) :]
        scanned = [[] for _ in rows] if scanned is None else scanned
        for column, one in zip(scanned, rows):
            column.append(one)
    return [*carried, *(torch.stack(column) for column in scanned)]


OPERATORS = {"If": if_, "Loop": loop, "Scan": scan}
