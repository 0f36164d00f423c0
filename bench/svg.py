"""Elements of the charts: text, lines and dots of an SVG image."""

import html

INK, FAINT, LINE = "#1f2328", "#59636e", "#d8dee4"
FONT = "system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif"


def text(x, y, content, size=13, color=INK, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" '
            f'text-anchor="{anchor}" font-weight="{weight}">{html.escape(content)}</text>')


def line(x1, y1, x2, y2, color=LINE, width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{color}" stroke-width="{width}"/>')


def dot(x, y, color, radius, title):
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}">'
            f'<title>{html.escape(title)}</title></circle>')


def image(width, height, title, parts):
    """The whole file: `parts` on a white card."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" '
        f'font-family="{FONT}">',
        f'<title>{html.escape(title)}</title>',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        *parts]) + "\n</svg>\n"


def write_or_check(svg, path, root, check, command):
    """Writes the file, or says whether it is up to date. Returns the exit status."""
    if check:
        fresh = path.exists() and path.read_text() == svg
        print(f"{path.relative_to(root)} is "
              + ("up to date" if fresh else f"out of date: run {command}"))
        return 0 if fresh else 1
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg)
    return 0
