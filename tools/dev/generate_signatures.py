#!/usr/bin/env python3
"""Writes graph/contract/signatures_data.cpp from the facts on the standard's operators.

usage: generate_signatures.py operators.json > graph/contract/signatures_data.cpp

The facts are a list of objects: domain, name, since_version, deprecated, deterministic, function,
inputs, outputs, attributes and type_constraints. Equal lists are stored once.
"""

import json
import re
import sys
import textwrap

DTYPES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8,
    "bool": 9, "float16": 10, "double": 11, "uint32": 12, "uint64": 13, "complex64": 14,
    "complex128": 15, "bfloat16": 16, "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19,
    "float8e5m2fnuz": 20, "uint4": 21, "int4": 22, "float4e2m1": 23, "float8e8m0": 24, "uint2": 25,
    "int2": 26,
}
KINDS = {
    "FLOAT": "real", "INT": "integer", "STRING": "string", "TENSOR": "tensor", "GRAPH": "graph",
    "SPARSE_TENSOR": "sparse_tensor", "TYPE_PROTO": "type", "FLOATS": "reals", "INTS": "integers",
    "STRINGS": "strings", "TENSORS": "tensors", "GRAPHS": "graphs",
    "SPARSE_TENSORS": "sparse_tensors", "TYPE_PROTOS": "types",
}
MARKS = {"unknown": 0, "differentiable": 1, "non_differentiable": 2}
# Fields of TypeSet in order, with the spelling of their members.
FORMS = ["tensor({})", "seq(tensor({}))", "optional(tensor({}))", "optional(seq(tensor({})))"]


def type_set(members):
    masks = [0] * 8
    for member in members:
        for field, form in enumerate(FORMS):
            found = re.fullmatch(re.escape(form).replace(r"\{\}", r"(\w+)"), member)
            if found:
                masks[field] |= 1 << DTYPES[found[1]]
                break
        else:
            found = re.fullmatch(r"(seq\()?map\((int64|string), (\w+)\)\)?", member)
            field = 4 + 2 * bool(found[1]) + (found[2] == "string")
            masks[field] |= 1 << DTYPES[found[3]]
    return "{" + ", ".join(hex(mask) if mask else "0" for mask in masks) + "}"


class Pool:
    """Lists stored one behind the other; an equal list, or a part of one, is stored once."""

    def __init__(self):
        self.items = []
        self.known = {}

    def add(self, entries):
        key = tuple(entries)
        if key not in self.known:
            n = len(key)
            for start in range(len(self.items) - n + 1):
                if tuple(self.items[start:start + n]) == key:
                    break
            else:
                start = len(self.items)
                self.items.extend(key)
            self.known[key] = start
        assert self.known[key] < 1 << 16 and len(key) < 1 << 8
        return "{%d, %d}" % (self.known[key] if key else 0, len(key))


def parameter(fact, constraints):
    name, at = json.dumps(fact["name"]), constraints.index(fact["type"])
    mark = MARKS[fact["differentiation"]]
    if fact["option"] == "variadic":
        homogeneous = int(fact["homogeneous"])
        return "V(%s, %d, %d, %d, %d)" % (name, at, mark, fact["min_arity"], homogeneous)
    return "%s(%s, %d, %d)" % ({"single": "S", "optional": "O"}[fact["option"]], name, at, mark)


def attribute(fact):
    name, kind = json.dumps(fact["name"]), KINDS[fact["type"]]
    if "default" in fact:
        value = fact["default"]
        text = value if isinstance(value, str) else json.dumps(value)
        return "D(%s, K::%s, %s)" % (name, kind, json.dumps(text))
    return "%s(%s, K::%s)" % ("R" if fact["required"] else "A", name, kind)


def emit(declaration, entries):
    whole = [entry.replace(" ", "\1") for entry in entries]  # an entry stays on one line
    text = textwrap.fill(", ".join(whole), 100, initial_indent="  ", subsequent_indent="  ",
                         break_long_words=False, break_on_hyphens=False)
    print(declaration + " = {")
    print(text.replace("\1", " "))
    print("};")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        facts = json.load(file)
    facts.sort(key=lambda fact: (fact["domain"], fact["name"], fact["since_version"]))
    sets, constraints = [], Pool()
    parameters, attributes = Pool(), Pool()
    domains = sorted({fact["domain"] for fact in facts})
    rows = []
    for fact in facts:
        allowed = dict(fact.get("type_constraints", {}))
        both = fact.get("inputs", []) + fact.get("outputs", [])
        for entry in both:  # a type in the place of a constraint's name allows itself
            allowed.setdefault(entry["type"], [entry["type"]])
        names = list(allowed)
        listed = []
        for name in names:
            members = type_set(allowed[name])
            if members not in sets:
                sets.append(members)
            listed.append("{%s, %d}" % (json.dumps(name), sets.index(members)))
        flags = fact["deprecated"] + 2 * fact["deterministic"] + 4 * fact["function"]
        rows.append("{%s, %d, %d, %d, %s, %s, %s, %s}" % (
            json.dumps(fact["name"]), domains.index(fact["domain"]), fact["since_version"], flags,
            parameters.add(parameter(entry, names) for entry in fact.get("inputs", [])),
            parameters.add(parameter(entry, names) for entry in fact.get("outputs", [])),
            attributes.add(attribute(entry) for entry in fact.get("attributes", [])),
            constraints.add(listed)))
    print("// Written by tools/dev/generate_signatures.py: change that, not this.")
    print("// clang-format off")
    print('#include "graph/contract/signature_tables.h"\n')
    print("namespace ondine::graph::tables {\nnamespace {\n")
    print("using K = AttributeKind;\n")
    emit("constexpr std::string_view domain_rows[]", [json.dumps(domain) for domain in domains])
    emit("constexpr TypeSet type_set_rows[]", sets)
    emit("constexpr TypeConstraint constraint_rows[]", constraints.items)
    emit("constexpr Parameter parameter_rows[]", parameters.items)
    emit("constexpr AttributeSpec attribute_rows[]", attributes.items)
    emit("constexpr Signature signature_rows[]", rows)
    print("\n}  // namespace\n")
    for name, kind in [("domain", "std::string_view"), ("type_set", "TypeSet"),
                       ("constraint", "TypeConstraint"), ("parameter", "Parameter"),
                       ("attribute", "AttributeSpec"), ("signature", "Signature")]:
        print("const std::span<const %s> %ss = %s_rows;" % (kind, name, name))
    print("\n}  // namespace ondine::graph::tables")


main()
