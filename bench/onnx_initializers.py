"""Initializers of an .onnx file, read from the wire format: no package but numpy."""

import numpy

DTYPES = {1: numpy.float32, 6: numpy.int32, 7: numpy.int64, 11: numpy.float64}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """Pairs of a field's number and its value: an integer or the bytes inside."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def varints(value):
    if isinstance(value, int):
        return [value]
    result, at = [], 0
    while at < len(value):
        one, at = varint(value, at)
        result.append(one)
    return result


def tensor(data):
    """Name and elements of a TensorProto whose elements are in raw_data."""
    dims, dtype, name, raw = [], None, "", None
    for number, value in fields(data):
        if number == 1:
            dims += varints(value)
        elif number == 2:
            dtype = DTYPES[value]
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = value
    if raw is None:
        raise ValueError(f"tensor {name!r} is not stored as raw data")
    return name, numpy.frombuffer(raw, dtype).reshape(dims)


def read(path):
    """The initializers of the main graph by name."""
    with open(path, "rb") as file:
        model = memoryview(file.read())
    result = {}
    for number, graph in fields(model):
        if number == 7:
            for inner, value in fields(graph):
                if inner == 5:
                    name, elements = tensor(value)
                    result[name] = elements
    return result
