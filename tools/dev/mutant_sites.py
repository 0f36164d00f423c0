"""The one-line mutants of a source file, and samples of them."""
import os
import random
import re

NO_STATEMENT = re.compile(
    r"(return|throw|delete|using|const|auto|static|break|case|continue|else|do|goto|namespace|"
    r"fail|template|typedef|extern|CHECK|REQUIRE)\b")
CALL = re.compile(r"(\+\+|--)?[A-Za-z_][\w.:]*(->\w+|\[[^\]]*\]|\.\w+)*"
                  r"(\(.*\)| [-+*/|&^]?= [^=].*);")
OPERATORS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-",
             "-": "+", "*": "+", "/": "*"}
OPERATOR = re.compile(r" (<|<=|>|>=|==|!=|\+|-|\*|/) ")
LEFT_END = re.compile(r"(?:return|&&|\|\||[-+*/|&]?=|\?|(?<!:):|<<|[(,;{\[])$")
RIGHT_END = re.compile(r" ?(?:&&|\|\||\?|(?<!:):(?!:)|<<|[),;}\]])")
# What is fetched early, and into how many pieces threads cut a loop, change no result.
PREFETCH = re.compile(r"\bprefetch_row\(|__builtin_prefetch")
GRAIN = re.compile(r"\bgrain_of\(")
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.S)
FILES_OF_A_SEED = 6  # of a module; the fewer, the faster the build


def balanced(text):
    depth = 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            return False
    return depth == 0 and text.count('"') % 2 == 0


def bounds(code, at, end):
    """Where the operands of the operator in code[at:end] begin and end; None if not on the line."""
    depth = 0
    first = at
    while True:
        inside_name = code[first - 1:first + 1] == "::"
        if depth == 0 and not inside_name and LEFT_END.search(code[:first].rstrip()):
            break
        first -= 1
        if first < 0:
            return None
        depth += (code[first] in ")]}") - (code[first] in "([{")
    depth = 0
    last = end
    while depth > 0 or not RIGHT_END.match(code, last):
        if last >= len(code):
            return None
        depth += (code[last] in "([{") - (code[last] in ")]}")
        last += 1
    while code[first] == " ":
        first += 1
    return first, last


def operators(code):
    grain = GRAIN.search(code)
    for found in OPERATOR.finditer(code):
        if grain and found.start() > grain.end():
            continue
        if code[:found.start()].replace('\\"', "").count('"') % 2 != 0:  # within a text
            continue
        span = bounds(code, found.start(), found.end())
        if span is None or '"' in code[span[0]:span[1]]:
            continue
        old = code[span[0]:span[1]]
        new = code[span[0]:found.start() + 1] + OPERATORS[found[1]] + code[found.end() - 1:span[1]]
        pointers = re.search(r"\.(data|begin|end)\(\)", old)
        paths = found[1] == "/" and not re.search(r" / (\d|\w+\.size|sizeof|static_cast)", old)
        texts = found[1] == "+" and re.search(r"string|substr|text|name|path", old)
        if balanced(old) and not pointers and not paths and not texts:
            yield (f"{found[1]} as {OPERATORS[found[1]]}",
                   f"{code[:span[0]]}(ondine_mutant(@) ? ({new}) : ({old})){code[span[1]:]}")


def mutations(lines, at):
    """(kind, replacement) of a line, with @ for the mutant's number."""
    code = lines[at]
    text = code.strip()
    indent = code[:len(code) - len(code.lstrip())]
    if (not indent or "@" in code or "//" in code or "constexpr" in code or "operator" in code
            or text.startswith(("#", "static_assert", "template")) or ".reserve(" in code
            or PREFETCH.search(code)):
        return
    found = re.match(r"( *(?:\} else )?if \()(.*)(\)(?: \{| [^{]*;)?)$", code)
    declares = found and re.search(r"[^=!<>]=[^=]", found[2])
    if found and balanced(found[2]) and ";" not in found[2] and not declares:
        yield "negated", f"{found[1]}ondine_mutant(@) != static_cast<bool>({found[2]}){found[3]}"
        for one, other in ((" && ", " || "), (" || ", " && ")):
            if found[2].count(one) == 1 and other not in found[2]:
                changed = found[2].replace(one, other)
                if all(balanced(part) for part in found[2].split(one)):
                    yield (f"{one.strip()} as {other.strip()}",
                           f"{found[1]}ondine_mutant(@) ? ({changed}) : ({found[2]}){found[3]}")
    before = lines[at - 1].split("//")[0].rstrip() if at else ""
    whole = before.endswith((";", "{", "}")) or before == ""
    if whole and CALL.fullmatch(text) and balanced(text) and not NO_STATEMENT.match(text):
        yield "left out", f"{indent}if (!ondine_mutant(@)) {text}"
    if text in ("return true;", "return false;"):
        same = "!=" if "true" in text else "=="
        yield "other truth", f"{indent}return ondine_mutant(@) {same} true;"
    found = re.search(r"(?<=[\w)\]] [-+] )1(?=[;,)\] ])", code)
    if found and '"' not in code:
        yield "1 as 0", code[:found.start()] + "(ondine_mutant(@) ? 0 : 1)" + code[found.end():]
    yield from operators(code)


def lines_in_strings(text):
    """The numbers, from 0 on, of lines that a raw string of several lines is on."""
    result = set()
    for found in RAW_STRING.finditer(text):
        first, last = (text.count("\n", 0, at) for at in found.span())
        if first < last:
            result.update(range(first, last + 1))
    return result


def sites(root, name):
    text = (root / name).read_text(encoding="utf-8")
    lines = text.split("\n")
    strings = lines_in_strings(text)
    result = []
    for at in range(len(lines)):
        if at in strings:
            continue
        for kind, code in mutations(lines, at):
            result.append({"file": name, "module": name.split("/")[0], "line": at + 1,
                           "kind": kind, "text": lines[at], "code": code})
    return result


def equivalents(file):
    """(file, kind, line's text) of mutants that change nothing; reasons are comments."""
    entries = [line.split(" | ") for line in file.read_text(encoding="utf-8").splitlines()
               if line.strip() and not line.startswith("#")]
    return {tuple(part.strip() for part in entry) for entry in entries}


def sample(root, listed, modules, count, seed):
    """`count` mutants, as many of each module, in some of its files, at most one a line."""
    choose = random.Random(seed)
    chosen = []
    for module in modules:
        names = [n for n in listed if n.startswith(module + "/") and n.endswith(".cpp")
                 and not n.startswith("tools/dev/") and not n.endswith("signatures_data.cpp")]
        choose.shuffle(names)
        found = []
        for name in names:
            own = sites(root, name)
            choose.shuffle(own)
            found.append(list({mutant["line"]: mutant for mutant in own}.values()))
        found = [entry for entry in found if len(entry) >= 3][:FILES_OF_A_SEED]
        wanted = -(-count // len(modules))
        pool = [mutant for entry in found for mutant in entry]
        chosen += choose.sample(pool, min(wanted, len(pool)))
    return chosen


def wrong_lines(log, source, root, mutants):
    """(file, line) of the mutants that the compiler's errors are about, in files below `source`,
    whose lines it may know by the names below `root`. Where no error is on a mutant's line, it is
    the mutant before it, or the nearest: what is left out on one line is missed on another."""
    places = {}
    for found in re.finditer(r"(?:^|from |at )(\S+\.cpp):(\d+)(:\d+: error)?", log, re.M):
        folder = source if found[1].startswith(f"{source}/") else root
        errors, others = places.setdefault(os.path.relpath(found[1], folder), ([], []))
        (errors if found[3] else others).append(int(found[2]))
    result = set()
    for name, (errors, others) in places.items():
        lines = {mutant["line"] for mutant in mutants if mutant["file"] == name}
        own = lines.intersection(errors)
        if not own and lines:
            at = (errors or others)[0]
            own = {min(lines, key=lambda line: (line > at, abs(line - at)))}
        result.update((name, line) for line in own)
    return result
