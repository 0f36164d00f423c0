#!/usr/bin/env python3
"""Writes the declarations of <ondine/c.h> in other languages: c_declarations.py rust > FILE, or
c_declarations.py java FOLDER. The crate ondine-sys keeps the first; the second is made for each
build of the Java package: Code and DType, the interface Calls, its two implementations (JNI and
java.lang.foreign) and the C file of the first."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = [ROOT / "include/ondine" / name for name in ("c.h", "c_language.h", "c_model.h", "c_trainer.h")]
NOTE = "Made by tools/dev/c_declarations.py from <ondine/c.h>."


def text_of_headers():
    text = "\n".join(path.read_text() for path in HEADERS)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^\s*#(?:.*\\\n)*.*$", " ", text, flags=re.M)
    return text.replace('extern "C" {', " ")


class Type:
    """A type of C: `base` and, for each *, whether what it points to is constant."""

    def __init__(self, text):
        self.text = " ".join(text.split())
        self.is_function = "(*" in text
        self.base, self.pointers = None, []
        if self.is_function:
            return
        head, *stars = re.sub(r"\bstruct ", "", self.text).split("*")
        constant = "const" in head.split()
        self.base = head.replace("const", "").strip()
        for star in stars:
            self.pointers.append(constant)
            constant = "const" in star


def parameter(text):
    """Name and type of a parameter or member."""
    text = text.strip()
    function = re.match(r"(.*)\(\*(\w+)\)\((.*)\)$", text, re.S)
    if function:
        return function.group(2), Type(f"{function.group(1)}(*)({function.group(3)})")
    name = re.search(r"(\w+)$", text).group(1)
    return name, Type(text[: -len(name)])


def split_parameters(text):
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [] if text.strip() in ("", "void") else [parameter(part) for part in parts]


class Header:
    def __init__(self):
        text = text_of_headers()
        found = (path.read_text() for path in HEADERS)
        self.abi = re.search(r"#define ONDINE_ABI_VERSION (\d+)", "".join(found)).group(1)
        self.handles = re.findall(r"typedef struct (\w+) \1;", text)
        self.enums = {
            name: re.findall(r"(\w+) = (\d+)", body)
            for name, body in re.findall(r"enum (\w+) \{(.*?)\};", text, re.S)
        }
        self.callbacks = [
            (name, Type(kind), split_parameters(parameters))
            for kind, name, parameters in re.findall(
                r"typedef (\w+) \(\*(\w+)\)\((.*?)\);", text, re.S)
        ]
        self.structs = [
            (name, [parameter(" ".join(one.split())) for one in body.split(";") if one.strip()])
            for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.S)
        ]
        self.functions = [
            (name, Type(kind), split_parameters(" ".join(parameters.split())))
            for kind, name, parameters in re.findall(
                r"ONDINE_C_API\s+([^;(]*?)\b(ondine_\w+)\((.*?)\);", text, re.S)
        ]


# ---- Rust ----

RUST = {"void": "c_void", "char": "c_char", "int": "c_int", "float": "f32", "double": "f64", "size_t": "usize",
        "int64_t": "i64", "uint64_t": "u64"}


def rust_type(one):
    if one.is_function:
        kind, parameters = re.match(r"(.*)\(\*\)\((.*)\)$", one.text).groups()
        return rust_function(Type(kind), split_parameters(parameters))
    result = RUST.get(one.base, one.base)
    for constant in one.pointers:
        result = ("*const " if constant else "*mut ") + result
    return result


def rust_result(one):
    return "" if one.text == "void" else f" -> {rust_type(one)}"


def rust_list(parameters):
    return ", ".join(f"{rust_name(name)}: {rust_type(one)}" for name, one in parameters)


def rust_name(name):
    return {"use": "purpose", "type": "kind", "loop": "cycle"}.get(name, name)


def rust_function(kind, parameters):
    return f'Option<unsafe extern "C" fn({rust_list(parameters)}){rust_result(kind)}>'


def rust(header):
    yield f"//! The C interface of Ondine, as it is. {NOTE}"
    yield "//! `docs/c.md` of the project explains it; the crate `ondine` has it as safe Rust."
    yield "#![allow(non_camel_case_types)]\n#![cfg_attr(rustfmt, rustfmt_skip)]\n"
    yield "use std::os::raw::{c_char, c_int, c_void};\n"
    yield f"pub const ONDINE_ABI_VERSION: c_int = {header.abi};"
    for values in header.enums.values():
        yield ""
        for name, number in values:
            yield f"pub const {name}: c_int = {number};"
    for handle in header.handles + ["DLManagedTensor"]:
        yield f"\n#[repr(C)]\npub struct {handle} {{\n    _private: [u8; 0],\n}}"
    yield ""
    for name, kind, parameters in header.callbacks:
        yield f"pub type {name} = {rust_function(kind, parameters)};"
    for name, members in header.structs:
        yield f"\n#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {name} {{"
        for member, one in members:
            yield f"    pub {rust_name(member)}: {rust_type(one)},"
        yield "}"
    yield '\nextern "C" {'
    for name, kind, parameters in header.functions:
        yield f"    pub fn {name}({rust_list(parameters)}){rust_result(kind)};"
    yield "}"


# ---- Java ----

JAVA = {"int": "int", "float": "float", "double": "double", "size_t": "long", "int64_t": "long", "uint64_t": "long"}
LAYOUT = {"int": "JAVA_INT", "long": "JAVA_LONG", "float": "JAVA_FLOAT", "double": "JAVA_DOUBLE"}


def java_type(one):
    """Addresses are numbers."""
    if one.text == "void":
        return "void"
    if one.is_function or one.pointers or one.base not in JAVA:
        return "long"
    return JAVA[one.base]


def java_list(parameters):
    return ", ".join(f"{java_type(one)} {name}" for name, one in parameters)


def java_functions(header):
    # Tensors of other libraries in the same memory.
    return [one for one in header.functions if "dlpack" not in one[0]]


def java_enum(name, comment, values, strip):
    yield f"package org.ondine;\n\n/** {comment} */\npublic enum {name} {{"
    names = [(re.sub(strip, "", one), number) for one, number in values]
    yield ",\n".join(f"  {one}({number})" for one, number in names) + ";\n"
    yield "  private final int number;\n"
    yield f"  {name}(int number) {{\n    this.number = number;\n  }}\n"
    yield "  /** As in ondine/c.h. */\n  public int number() {\n    return number;\n  }\n"
    yield f"  static {name} of(int number) {{"
    yield f"    for ({name} one : values()) {{\n      if (one.number == number) return one;\n    }}"
    yield f'    throw new IllegalStateException("the library has a {name} " + number);\n  }}\n}}'


def java_interface(header):
    yield f"package org.ondine;\n\n// {NOTE}\ninterface Calls {{"
    for name, kind, parameters in java_functions(header):
        yield f"  {java_type(kind)} {name}({java_list(parameters)});"
    yield "}"


def java_jni(header):
    yield f"package org.ondine;\n\n// {NOTE}\nfinal class JniCalls implements Calls {{"
    for name, kind, parameters in java_functions(header):
        yield f"  public native {java_type(kind)} {name}({java_list(parameters)});"
    yield "}"


def java_foreign(header):
    yield f"package org.ondine;\n\n// {NOTE}"
    yield "import static java.lang.foreign.ValueLayout.*;\n"
    yield "import java.lang.foreign.FunctionDescriptor;\nimport java.lang.invoke.MethodHandle;\n"
    yield "final class ForeignCalls extends ForeignLibrary implements Calls {"
    for name, kind, parameters in java_functions(header):
        result, names = java_type(kind), ", ".join(one for one, _ in parameters)
        layouts = [LAYOUT[java_type(one)] for _, one in parameters]
        described = (f"ofVoid({', '.join(layouts)})" if result == "void"
                     else f"of({', '.join([LAYOUT[result], *layouts])})")
        give = "" if result == "void" else f"return ({result}) "
        yield f'  private final MethodHandle {name} = find("{name}", FunctionDescriptor.{described});'
        yield f"  public {result} {name}({java_list(parameters)}) {{"
        yield f"    try {{\n      {give}{name}.invokeExact({names});"
        yield "    } catch (Throwable thrown) {\n      throw failed(thrown);\n    }\n  }"
    yield "}"


def c_cast(one):
    is_number = not one.pointers and one.base in JAVA
    return f"({one.text})" if is_number else f"({one.text})(intptr_t)"


def java_c(header):
    yield f"/* {NOTE} */\n#include <jni.h>\n#include <ondine/c.h>\n#include <stdint.h>\n"
    kinds = {"void": "void", "int": "jint", "long": "jlong", "float": "jfloat", "double": "jdouble"}
    for name, kind, parameters in java_functions(header):
        result = kinds[java_type(kind)]
        mangled = "Java_org_ondine_JniCalls_" + name.replace("_", "_1")
        given = "".join(f", {kinds[java_type(one)]} {parameter}" for parameter, one in parameters)
        call = f"{name}({', '.join(c_cast(one) + parameter for parameter, one in parameters)})"
        if result == "jlong":
            call = f"(jlong)(intptr_t){call}" if kind.pointers else f"(jlong){call}"
        give = "" if result == "void" else "return "
        yield f"JNIEXPORT {result} JNICALL {mangled}(JNIEnv* env, jobject self{given}) {{"
        yield f"  (void)env;\n  (void)self;\n  {give}{call};\n}}\n"


def java(header, folder):
    codes = [one for one in header.enums["ondine_code"] if one[0] != "ONDINE_OK"]
    files = {
        "java/org/ondine/Code.java": java_enum("Code", "What went wrong.", codes, "^ONDINE_"),
        "java/org/ondine/DType.java": java_enum(
            "DType", "Element types of tensors.", header.enums["ondine_dtype"], "^ONDINE_"),
        "java/org/ondine/Kind.java": java_enum(
            "Kind", "Kinds of values.", header.enums["ondine_kind"], "^ONDINE_"),
        "java/org/ondine/DataUse.java": java_enum(
            "DataUse", "What data is opened for.", header.enums["ondine_data_use"], "^ONDINE_FOR_"),
        "java/org/ondine/Calls.java": java_interface(header),
        "java/org/ondine/JniCalls.java": java_jni(header),
        "java22/org/ondine/ForeignCalls.java": java_foreign(header),
        "jni_calls.c": java_c(header),
    }
    for name, lines in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


def main():
    if sys.argv[1:] == ["rust"]:
        print("\n".join(rust(Header())))
    elif len(sys.argv) == 3 and sys.argv[1] == "java":
        java(Header(), sys.argv[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
