"""The picture: SVG as text."""

from collections.abc import Iterator
from html import escape
from typing import Final

from structure.layout import Layout, Spot, lay_out
from structure.packages import Box, Graph, Packages, reduced

_WIDEST: Final = 700.0
_ROW: Final = 80.0
_BOX: Final = 46.0
_MARGIN: Final = 24.0
_HEAD: Final = 64.0
_FONT: Final = "font-family=\"system-ui, 'DejaVu Sans', sans-serif\""
_TIP: Final = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path d="M0 0L8 4L0 8z" fill="#7a828c"/></marker></defs>'
)
_PER_LINE: Final = 0.03
_NAMED: Final = 2
"""The number of modules in the name of a package's part."""
_HUES: Final = (212, 152, 32, 268, 346, 188, 92, 304, 48, 232, 12, 128)


def draw(packages: Packages) -> str:
    """Boxes as wide as their code is long, and the arrows that do not follow from others."""
    arrows = reduced(packages.arrows)
    widths = {key: _width(box) for key, box in packages.boxes.items()}
    layout = lay_out(arrows, widths, _WIDEST)
    colours = _colours(packages, arrows)
    width = layout.width + 2 * _MARGIN
    height = _HEAD + layout.rows * _ROW + _MARGIN - (_ROW - _BOX)
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" {size}',
            f'     role="img" {_FONT}>',
            "<title>The packages of Nodemend and what they import</title>",
            f'<rect {size} fill="#ffffff"/>',
            _TIP,
            *_head(packages),
            *_arrows(layout, packages, colours),
            *(
                line
                for key, box in sorted(packages.boxes.items())
                for line in _box(box, layout.spots[key], widths[key], colours[box.group])
            ),
            "</svg>",
            "",
        )
    )


def _head(packages: Packages) -> Iterator[str]:
    lines = _rounded(sum(box.lines for box in packages.boxes.values()))
    yield (
        f'<text x="{_MARGIN:.0f}" y="28" font-size="16" font-weight="600" fill="#1f2328">'
        f"Packages of Nodemend: about {lines:,} lines</text>"
    )
    yield (
        f'<text x="{_MARGIN:.0f}" y="48" font-size="12.5" fill="#59636e">'
        "An arrow is an import. An arrow that follows from others is left out. "
        "A bar is the length of the code.</text>"
    )


def _arrows(layout: Layout, packages: Packages, colours: dict[str, int]) -> Iterator[str]:
    for (source, _), route in sorted(layout.routes.items()):
        hue = colours[packages.boxes[source].group]
        yield (
            f'<path d="{_curve(route)}" fill="none" stroke="hsl({hue} 30% 62%)" stroke-width="1.4"'
            ' marker-end="url(#tip)"/>'
        )


def _curve(route: tuple[Spot, ...]) -> str:
    """From the lower edge of the source to the upper edge of the target, straight past each row between."""
    first, last = route[0], route[-1]
    x, y = first.x + _MARGIN, _top(first.row) + _BOX
    path = [f"M{x:.1f} {y:.1f}"]
    for spot in route[1:]:
        next_x, next_y = spot.x + _MARGIN, _top(spot.row)
        middle = (y + next_y) / 2
        path.append(f"C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {next_y:.1f}")
        if spot is not last:
            path.append(f"V{next_y + _BOX:.1f}")
        x, y = next_x, next_y + _BOX
    return "".join(path)


def _box(box: Box, spot: Spot, width: float, hue: int) -> Iterator[str]:
    x, y = spot.x + _MARGIN - width / 2, _top(spot.row)
    middle, bar = spot.x + _MARGIN, min(_rounded(box.lines) * _PER_LINE, width - 12)
    yield (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BOX:.0f}" rx="6"'
        f' fill="hsl({hue} 60% 95%)" stroke="hsl({hue} 35% 55%)"/>'
    )
    yield (
        f'<rect x="{x + 6:.1f}" y="{y + _BOX - 7:.1f}" width="{bar:.1f}"'
        f' height="3" rx="1.5" fill="hsl({hue} 45% 55%)"/>'
    )
    yield (
        f'<text x="{middle:.1f}" y="{y + 18:.1f}" font-size="13.5" font-weight="600" text-anchor="middle"'
        f' fill="#1f2328">{escape(box.name)}</text>'
    )
    yield (
        f'<text x="{middle:.1f}" y="{y + 33:.1f}" font-size="10.5" text-anchor="middle"'
        f' fill="#59636e">{escape(_detail(box))}</text>'
    )


def _top(row: int) -> float:
    return _HEAD + row * _ROW


def _width(box: Box) -> float:
    """Wide enough for its text and for its bar."""
    return max(7.8 * len(box.name) + 20, 5.7 * len(_detail(box)) + 16, _rounded(box.lines) * _PER_LINE + 12)


def _detail(box: Box) -> str:
    lines = f"{_rounded(box.lines):,} lines"
    names = [module for module in box.modules if module != box.name.rpartition("/")[2]]
    if box.part:
        more = len(names) - _NAMED
        return f"{', '.join(names[:_NAMED])}{f' and {more} more' if more > 0 else ''} · {lines}"
    return lines


def _rounded(lines: int) -> int:
    """Rounded to hundreds, so that small changes of the code do not change the picture."""
    return max(100, round(lines, -2))


def _colours(packages: Packages, arrows: Graph) -> dict[str, int]:
    """One hue for each top-level package."""
    groups = sorted({packages.boxes[key].group for key in arrows})
    return {group: _HUES[index % len(_HUES)] for index, group in enumerate(groups)}
