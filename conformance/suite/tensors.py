# SPDX-License-Identifier: Apache-2.0
"""Reads and writes serialized TensorProto messages without any package."""

import math
import struct
from dataclasses import dataclass

# Names of TensorProto.DataType and bits of one element in raw_data.
TYPES = {
    1: ("float", 32),
    2: ("uint8", 8),
    3: ("int8", 8),
    4: ("uint16", 16),
    5: ("int16", 16),
    6: ("int32", 32),
    7: ("int64", 64),
    8: ("string", 0),
    9: ("bool", 8),
    10: ("float16", 16),
    11: ("double", 64),
    12: ("uint32", 32),
    13: ("uint64", 64),
    14: ("complex64", 64),
    15: ("complex128", 128),
    16: ("bfloat16", 16),
    17: ("float8e4m3fn", 8),
    18: ("float8e4m3fnuz", 8),
    19: ("float8e5m2", 8),
    20: ("float8e5m2fnuz", 8),
    21: ("uint4", 4),
    22: ("int4", 4),
    23: ("float4e2m1", 4),
    24: ("float8e8m0", 8),
    25: ("uint2", 2),
    26: ("int2", 2),
}
BITS = dict(TYPES.values())
CODES = {name: code for code, (name, _) in TYPES.items()}
FORMATS = {
    "float": "f",
    "uint8": "B",
    "int8": "b",
    "uint16": "H",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "bool": "B",
    "float16": "e",
    "double": "d",
    "uint32": "I",
    "uint64": "Q",
    "complex64": "f",
    "complex128": "d",
}
FLOATING = {"float", "double", "float16", "bfloat16", "complex64", "complex128"}
FIELDS = {"float": 4, "complex64": 4, "string": 6, "int64": 7, "double": 10, "complex128": 10}
FIELDS.update({"uint32": 11, "uint64": 11})  # of typed data; all others use int32_data


class Malformed(Exception):
    """A file that holds no tensor."""


@dataclass
class Tensor:
    """`values` are numbers or, for strings, bytes; types below float16 keep their bits."""

    name: str
    type: str
    dims: tuple
    values: list

    def describe(self):
        return f"{self.type}{list(self.dims)}"


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a cut or overlong varint")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """Field number, wire type and content of each field of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            content, at = varint(data, at)
        else:
            size, at = (8, at) if wire == 1 else (4, at) if wire == 5 else varint(data, at)
            if wire not in (1, 2, 5) or at + size > len(data):
                raise Malformed("a cut message")
            content, at = data[at : at + size], at + size
        yield key >> 3, wire, content


def numbers(content, wire, code):
    """The elements of a repeated field, packed or not."""
    if code is None:
        if wire == 0:
            return [content]
        result, at = [], 0
        while at < len(content):
            value, at = varint(content, at)
            result.append(value)
        return result
    return list(struct.unpack(f"<{len(content) // struct.calcsize(code)}{code}", content))


def signed(value, bits=64):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def bfloat16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def from_bits(kind, elements):
    """Elements of int32_data or uint64_data as values of the type."""
    if kind == "float16":
        return [struct.unpack("<e", struct.pack("<H", one & 0xFFFF))[0] for one in elements]
    if kind == "bfloat16":
        return [bfloat16(one & 0xFFFF) for one in elements]
    if kind in ("int8", "int16", "int32"):
        return [signed(one, int(kind[3:])) for one in elements]
    bits = BITS[kind]
    if bits < 8:
        return unpack_small([one & 0xFF for one in elements], bits, len(elements) * (8 // bits))
    return elements


def unpack_small(data, bits, count):
    per_byte = 8 // bits
    mask = (1 << bits) - 1
    return [(data[i // per_byte] >> (bits * (i % per_byte))) & mask for i in range(count)]


def from_raw(kind, data, count):
    bits = BITS[kind]
    if bits == 0 or len(data) != (count * bits + 7) // 8:
        raise Malformed(f"{len(data)} bytes for {count} elements of type {kind}")
    if bits < 8:
        return unpack_small(data, bits, count)
    if kind == "bfloat16":
        return [bfloat16(one) for one in struct.unpack(f"<{count}H", data)]
    code = FORMATS.get(kind, "B")
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


class Parts:
    """Fields of a TensorProto; typed data by field number."""

    def __init__(self, data):
        self.dims, self.kind, self.name, self.raw, self.typed = [], None, "", None, {}
        codes = {4: "f", 5: None, 7: None, 10: "d", 11: None}
        for number, wire, content in fields(data):
            if number == 1:
                self.dims += [signed(one) for one in numbers(content, wire, None)]
            elif number == 2:
                self.kind = TYPES.get(content, (None,))[0]
            elif number == 8:
                self.name = content.decode()
            elif number == 9:
                self.raw = content
            elif number == 6:
                self.typed.setdefault(6, []).append(content)
            elif number == 13 or (number == 14 and content != 0):
                raise Malformed("external data")
            elif number in codes:
                got = numbers(content, wire, codes[number])
                got = [signed(one) for one in got] if number in (5, 7) else got
                self.typed.setdefault(number, []).extend(got)


def elements_of(parts, count):
    """The values of typed data, of which there must be `count`."""
    field = FIELDS.get(parts.kind, 5)
    wrong = [number for number, values in parts.typed.items() if values and number != field]
    if wrong:
        raise Malformed(f"elements of type {parts.kind} in field {wrong[0]}")
    given = parts.typed.get(field, [])
    values = given if parts.kind == "string" else from_bits(parts.kind, given)
    group = 8 // BITS[parts.kind] if 0 < BITS[parts.kind] < 8 else 1
    if group > 1 and len(given) == (count + group - 1) // group:
        values = values[:count]
    if len(values) != count:
        raise Malformed(f"{len(values)} elements for dims {parts.dims}")
    return values


def read(data):
    """The Tensor of a serialized TensorProto."""
    parts = Parts(data)
    if parts.kind is None:
        raise Malformed("no known element type")
    if any(one < 0 for one in parts.dims):
        raise Malformed(f"negative dims {parts.dims}")
    count = math.prod(parts.dims)
    if parts.raw is not None:
        values = from_raw(parts.kind, parts.raw, count)
    else:
        pairs = 2 if parts.kind.startswith("complex") else 1
        values = elements_of(parts, count * pairs)
    return Tensor(parts.name, parts.kind, tuple(parts.dims), values)


def read_file(path):
    return read(path.read_bytes())


def read_folder(folder, prefix):
    """The tensors of PREFIX_0.pb, PREFIX_1.pb, ... by their names."""
    found = {}
    for path in sorted(folder.glob(prefix + "_*.pb")):
        tensor = read_file(path)
        if tensor.name in found:
            raise Malformed(f"two tensors have the name '{tensor.name}'")
        found[tensor.name] = tensor
    return found
