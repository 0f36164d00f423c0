"""Writes the table of real_models.py."""
import textwrap

STAGES = ["check", "infer", "prepare", "gradients", "train", "export"]
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"


def table(rows):
    columns = [*STAGES[:3], "trained", *STAGES[3:]]
    lines = ["| model | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in rows:
        lines.append(f"| `{name}` | " + " | ".join(row.get(one, "") for one in columns) + " |")
    return "\n".join(lines)


def filled(lines):
    return "\n".join(textwrap.fill(line, 100, subsequent_indent="  ", break_long_words=False,
                                   break_on_hyphens=False) for line in lines)


def exceptions(rows):
    lines = []
    for name, row in rows:
        if "why" in row:
            lines.append(f"- {name}, {row['why'].replace('|', ' ')}")
            if row.get("note"):
                lines[-1] += f". {row['note']}"
    return filled(lines)


def body_of(rows, refused):
    passed = sum("why" not in row for _, row in rows)
    body = f"\n{table(rows)}\n\n{passed} of {len(rows)} files pass all stages."
    if passed < len(rows):
        body += "\n\nExceptions:\n" + exceptions(rows)
    if refused:
        body += ("\n\nNetworks that an exporter of PyTorch did not write, or wrote in a file that "
                 "onnxruntime does\nnot load:\n")
        body += filled(f"- {name}: {reason[:200]}" for name, reason in sorted(refused.items()))
    return body


def write_page(path, rows, refused):
    head, rest = path.read_text().split(BEGIN)
    path.write_text(head + BEGIN + body_of(rows, refused) + "\n" + END + rest.split(END)[1])
