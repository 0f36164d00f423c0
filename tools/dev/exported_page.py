"""Tables of check_exported.py on a page, between two marks: one for each group of networks."""
BEGIN, END = "<!-- exported begins -->", "<!-- exported ends -->"
HEADER = ["| network | exporter | optimizer | losses | trained outputs | lowered | loss |",
          "|---|---|---|---|---|---|---|"]


def key_of(row):
    """Network and exporter."""
    cells = [cell.strip() for cell in row.split("|")]
    return cells[1], cells[2]


def read(text):
    """Rows of each title, by network and exporter."""
    tables, rows = {}, None
    for line in text.splitlines():
        if line.startswith("### "):
            rows = tables.setdefault(line[4:], {})
        elif line.startswith("| ") and line not in HEADER:
            rows[key_of(line)] = line
    return tables


def write(page, groups, rows):
    """Adds rows to the tables, or replaces those of the same network and exporter. `groups` has the
    networks of each title."""
    head, rest = page.read_text().split(BEGIN)
    body, tail = rest.split(END)
    tables = read(body)
    for title, networks in groups.items():
        tables.setdefault(title, {}).update(
            {key_of(row): row for row in rows if key_of(row)[0] in networks})
    parts = []
    for title, table in tables.items():
        place = {name: i for i, name in enumerate(groups.get(title, []))}
        ordered = sorted(table, key=lambda key: (place.get(key[0], len(place)), key[1] == "dynamo"))
        if ordered:
            parts.append("\n".join([f"### {title}", *HEADER, *(table[key] for key in ordered)]))
    page.write_text(f"{head}{BEGIN}\n" + "\n\n".join(parts) + f"\n{END}{tail}")
