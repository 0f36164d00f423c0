#!/usr/bin/env python3
"""Writes graph/contract/signatures_data.cpp from the facts on the standard's operators.

usage: generate_signatures.py --from-package OUTPUT
       generate_signatures.py operators.json OUTPUT
       generate_signatures.py --list-new      (exits with 1 when the project lacks some)

OUTPUT is graph/contract/signatures_data.cpp. The facts come from the installed package `onnx`, or from a file: a list of objects with domain,
name, since_version, deprecated, deterministic, function, inputs, outputs, attributes and
type_constraints. Equal lists are stored once. --list-new compares the package with the table in the
sources.
"""

import io
import json
import pathlib
import re
import struct
import sys
import textwrap

DTYPES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8,
    "bool": 9, "float16": 10, "double": 11, "uint32": 12, "uint64": 13, "complex64": 14,
    "complex128": 15, "bfloat16": 16, "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19,
    "float8e5m2fnuz": 20, "uint4": 21, "int4": 22, "float4e2m1": 23, "float8e8m0": 24, "uint2": 25,
    "int2": 26,
}
# Element types of the standard that the project has no DType for: a constraint loses them, and a
# model that holds one is refused when it is imported.
ABSENT = re.compile(r"float6e2m3|float6e3m2")
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
        if ABSENT.search(member):
            continue
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
    """Lists stored one after the other; an equal list, or a part of one, is stored once."""

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


def emit(out, declaration, entries):
    whole = [entry.replace(" ", "\1") for entry in entries]  # an entry stays on one line
    text = textwrap.fill(", ".join(whole), 100, initial_indent="  ", subsequent_indent="  ",
                         break_long_words=False, break_on_hyphens=False)
    print(declaration + " = {", text.replace("\1", " "), "};", sep="\n", file=out)


def default_of(attribute):
    """The default of an attribute, or None."""
    from onnx import AttributeProto, helper
    if attribute.default_value.type == AttributeProto.UNDEFINED:
        return None
    value = helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return shortest(value)
    if isinstance(value, (int, str)):
        return value
    return [item.decode() if isinstance(item, bytes) else
            shortest(item) if isinstance(item, float) else item for item in value]


def shortest(value):
    """The shortest decimal number that rounds to the same float32."""
    for digits in range(1, 10):
        text = float("%.*g" % (digits, value))
        if struct.pack("f", text) == struct.pack("f", value):
            return int(text) if text == int(text) and abs(text) < 1e9 else text
    return value


def facts_of(schema):
    """A schema of the package as the facts of the file."""
    fact = {"domain": schema.domain, "name": schema.name, "since_version": schema.since_version,
            "deprecated": schema.deprecated,
            "deterministic": schema.node_determinism != schema.NodeDeterminism.NonDeterministic,
            "function": schema.has_function or schema.has_context_dependent_function}
    if schema.deprecated:
        return fact

    def parameters(formal):
        rows = []
        for one in formal:
            row = {"name": one.name, "type": one.type_str,
                   "option": one.option.name.lower(),
                   "differentiation": {"Unknown": "unknown", "Differentiable": "differentiable",
                                       "NonDifferentiable": "non_differentiable"}[
                                           one.differentiation_category.name]}
            if row["option"] == "variadic":
                row.update(min_arity=one.min_arity, homogeneous=one.is_homogeneous)
            rows.append(row)
        return rows

    fact["inputs"], fact["outputs"] = parameters(schema.inputs), parameters(schema.outputs)
    fact["attributes"] = []
    for name in sorted(schema.attributes):
        attribute = schema.attributes[name]
        row = {"name": name, "type": attribute.type.name, "required": attribute.required}
        default = default_of(attribute)
        if default is not None:
            row["default"] = default
        fact["attributes"].append(row)
    fact["type_constraints"] = {one.type_param_str: list(one.allowed_type_strs)
                                for one in schema.type_constraints}
    return fact


def package_facts():
    import onnx.defs
    return [facts_of(schema) for schema in onnx.defs.get_all_schemas_with_history()]


def known_versions():
    """(domain, name, version) of every row in the table of the sources."""
    path = pathlib.Path(__file__).parents[2] / "graph/contract/signatures_data.cpp"
    text = path.read_text(encoding="utf-8")
    listed = re.search(r"domain_rows\[\] = \{(.*?)\};", text, re.S)[1]
    domains = re.findall(r'"([^"]*)"', listed)
    rows = text[text.index("signature_rows[] = {"):]
    found = re.findall(r'\{"(\w+)", (\d+), (\d+), \d+,', rows)
    return {(domains[int(domain)], name, int(version)) for name, domain, version in found}


def list_new():
    versions = {(fact["domain"], fact["name"], fact["since_version"]) for fact in package_facts()}
    new = sorted(versions - known_versions())
    for domain, name, version in new:
        print("new: %s %s %d" % (domain or "ai.onnx", name, version))
    print("%d of %d operator versions are new" % (len(new), len(versions)))
    return 1 if new else 0


def main():
    if sys.argv[1:] == ["--list-new"]:
        sys.exit(list_new())
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--from-package":
        facts = package_facts()
    else:
        facts = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    table = io.StringIO()
    emit_table(facts, table)
    pathlib.Path(sys.argv[2]).write_text(table.getvalue(), encoding="utf-8")


def emit_table(facts, out):
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
    print("// Written by tools/dev/generate_signatures.py: change that, not this.", file=out)
    print("// clang-format off", file=out)
    print('#include "graph/contract/signature_tables.h"\n', file=out)
    print("namespace ondine::graph::tables {\nnamespace {\n", file=out)
    print("using K = AttributeKind;\n", file=out)
    emit(out, "constexpr std::string_view domain_rows[]", [json.dumps(domain) for domain in domains])
    emit(out, "constexpr TypeSet type_set_rows[]", sets)
    emit(out, "constexpr TypeConstraint constraint_rows[]", constraints.items)
    emit(out, "constexpr Parameter parameter_rows[]", parameters.items)
    emit(out, "constexpr AttributeSpec attribute_rows[]", attributes.items)
    emit(out, "constexpr Signature signature_rows[]", rows)
    print("\n}  // namespace\n", file=out)
    for name, kind in [("domain", "std::string_view"), ("type_set", "TypeSet"),
                       ("constraint", "TypeConstraint"), ("parameter", "Parameter"),
                       ("attribute", "AttributeSpec"), ("signature", "Signature")]:
        print("const std::span<const %s> %ss = %s_rows;" % (kind, name, name), file=out)
    print("\n}  // namespace ondine::graph::tables", file=out)


main()
