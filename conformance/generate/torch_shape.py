# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, in PyTorch."""

import numpy as np
import torch
import torch.nn.functional as F

DTYPES = {
    1: torch.float64,
    2: torch.uint8,
    3: torch.int8,
    5: torch.int16,
    6: torch.int32,
    7: torch.int64,
    9: torch.bool,
    10: torch.float64,
    11: torch.float64,
    16: torch.float64,
}


def given_axes(a, axes):
    found = a("axes") if axes is None else axes.tolist()
    return None if found is None else [int(axis) for axis in found]


def squeeze(a, x, axes=None):
    found = given_axes(a, axes)
    found = [i for i, size in enumerate(x.shape) if size == 1] if found is None else found
    return x.squeeze(tuple(found)) if found else x


def unsqueeze(a, x, axes=None):
    found = given_axes(a, axes)
    rank = x.dim() + len(found)
    for axis in sorted(axis % rank for axis in found):
        x = x.unsqueeze(axis)
    return x


def reshape(a, x, shape):
    sizes = [int(one) for one in shape]
    if not a("allowzero", 0):
        sizes = [x.shape[i] if one == 0 else one for i, one in enumerate(sizes)]
    return x.reshape(sizes)


def flatten(a, x):
    axis = a("axis", 1) % (x.dim() + 1)
    return x.reshape(int(np.prod(x.shape[:axis], dtype=int)), -1)


def split(a, x, sizes=None):
    axis = a("axis", 0)
    if sizes is not None:
        return x.split(sizes.tolist(), axis)
    parts = a("num_outputs")
    return x.split(-(-x.shape[axis] // parts), axis)


def take(x, axis, indices):
    return x.index_select(axis, torch.as_tensor(np.array(indices), dtype=torch.int64))


def slice_(_, x, starts, ends, axes=None, steps=None):
    axes = range(x.dim()) if axes is None else axes.tolist()
    steps = [1] * len(starts) if steps is None else steps.tolist()
    for start, end, axis, step in zip(starts.tolist(), ends.tolist(), axes, steps):
        x = take(x, axis, range(x.shape[axis])[start:end:step])
    return x


def gather(a, x, indices):
    axis = a("axis", 0) % x.dim()
    flat = torch.remainder(indices.reshape(-1), x.shape[axis]).to(torch.int64)
    shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
    return x.index_select(axis, flat).reshape(shape)


def gather_elements(a, x, indices):
    axis = a("axis", 0)
    return x.gather(axis, torch.remainder(indices, x.shape[axis]))


def gather_nd(a, x, indices):
    assert a("batch_dims", 0) == 0
    return x[tuple(indices.movedim(-1, 0))]


def scatter_elements(a, x, indices, updates):
    axis, how = a("axis", 0), a("reduction", "none")
    indices = torch.remainder(indices, x.shape[axis])
    return (
        x.scatter(axis, indices, updates)
        if how == "none"
        else x.scatter_add(axis, indices, updates)
    )


def scatter_nd(a, x, indices, updates):
    place = tuple(indices.movedim(-1, 0))
    return x.index_put(place, updates, accumulate=a("reduction", "none") == "add")


def pad(a, x, pads, value=None, axes=None):
    axes = list(range(x.dim())) if axes is None else axes.tolist()
    amounts, half, sizes = pads.tolist(), len(axes), {}
    for i, axis in enumerate(axes):
        sizes[axis % x.dim()] = (amounts[i], amounts[half + i])
    for axis, (before, after) in sizes.items():
        size = x.shape[axis]
        places = np.pad(
            np.arange(size),
            (before, after),
            mode={"reflect": "reflect", "edge": "edge", "wrap": "wrap", "constant": "edge"}[
                a("mode", "constant")
            ],
        )
        inside = np.zeros(len(places), bool)
        inside[before : before + size] = True
        x = take(x, axis, places)
        if a("mode", "constant") == "constant":
            mask = torch.from_numpy(inside).reshape(
                [-1 if i == axis else 1 for i in range(x.dim())]
            )
            fill = torch.zeros((), dtype=x.dtype) if value is None else value.reshape(())
            x = torch.where(mask, x, fill)
    return x


def depth_to_space(a, x):
    n, c, h, w = x.shape
    b = a("blocksize")
    if a("mode", "DCR") == "DCR":
        parts = x.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, c // (b * b), b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // (b * b), h * b, w * b)


def space_to_depth(a, x):
    n, c, h, w = x.shape
    b = a("blocksize")
    parts = x.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, c * b * b, h // b, w // b)


def trilu(a, x, k=None):
    k = 0 if k is None else int(k)
    return torch.triu(x, k) if a("upper", 1) else torch.tril(x, k)


def transpose(a, x):
    return x.permute(a("perm", list(reversed(range(x.dim())))))


def constant(a):
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if a(name) is not None:
            value = a(name)
            floating = name.startswith("value_float")
            return (
                torch.tensor(value, dtype=torch.float64 if floating else torch.int64)
                if name != "value"
                else value
            )
    raise ValueError("Constant without a value")


def constant_of_shape(a, shape):
    value = a("value", torch.zeros(1, dtype=torch.float64))
    return torch.full(shape.tolist(), value.item(), dtype=value.dtype)


def top_k(a, x, k):
    values, indices = x.topk(int(k), a("axis", -1), bool(a("largest", 1)), bool(a("sorted", 1)))
    return values, indices


def one_hot(a, indices, depth, values):
    hot = F.one_hot(indices.to(torch.int64), int(depth)).to(values.dtype)
    return (values[0] + (values[1] - values[0]) * hot).movedim(-1, a("axis", -1))


OPERATORS = {
    "Identity": lambda _, x: x,
    "Reshape": reshape,
    "Transpose": transpose,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Flatten": flatten,
    "Concat": lambda a, *inputs: torch.cat(inputs, a("axis")),
    "Split": split,
    "Slice": slice_,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Expand": lambda _, x, shape: x * torch.ones(shape.tolist(), dtype=x.dtype),
    "Tile": lambda _, x, repeats: x.tile(repeats.tolist()),
    "Pad": pad,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Trilu": trilu,
    "Cast": lambda a, x: x.to(DTYPES[a("to")]),
    "CastLike": lambda _, x, like: x.to(like.dtype),
    "Shape": lambda _, x: torch.tensor(x.shape),
    "Size": lambda _, x: torch.tensor(x.numel()),
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Range": lambda _, start, end, step: torch.arange(
        start.item(), end.item(), step.item(), dtype=start.dtype
    ),
    "EyeLike": lambda a, x: torch.eye(*x.shape, dtype=torch.float64),
    "TopK": top_k,
    "OneHot": one_hot,
}
