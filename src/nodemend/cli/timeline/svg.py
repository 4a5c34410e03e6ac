"""The few shapes that a picture of a timeline is made of, and how they look in a light and in a dark room."""

from typing import Final
from xml.sax.saxutils import escape, quoteattr

from nodemend.cli.timeline.view import Mark
from nodemend.telemetry.printable import printable

LETTER: Final = 0.56
"""How wide a letter is at most on average, in parts of its height: nobody knows the reader's font."""
_LIGHT: Final = {
    ".page": "fill:#ffffff",
    ".ink": "fill:#1f2328",
    ".soft": "fill:#59636e",
    ".grid": "stroke:#e4e8ec",
    ".edge": "stroke:#c5ccd3",
    ".band": "fill:#f6f8fa",
    ".well": "fill:#bfe8c8",
    ".waits": "fill:#f7e3a1",
    ".sick": "fill:#f9c0bb",
    ".works": "fill:#bcd9f7",
    ".dark": "fill:#3a424c",
    ".on-dark": "fill:#ffffff",
    ".plain": "fill:#ffffff;stroke:#59636e",
    ".trouble": "fill:#ffe5e2;stroke:#b3261e",
    ".evidence": "fill:#e9ddfb;stroke:#6f42c1",
    ".release": "fill:#6f42c1;stroke:#6f42c1",
    ".flag": "stroke:#6f42c1",
    ".flagged": "fill:#6f42c1",
    ".on-release": "fill:#ffffff",
}
_DARK: Final = {
    ".page": "fill:#0d1117",
    ".ink": "fill:#e6edf3",
    ".soft": "fill:#9ba4ae",
    ".grid": "stroke:#21262d",
    ".edge": "stroke:#3d444d",
    ".band": "fill:#151b23",
    ".well": "fill:#1d5c2e",
    ".waits": "fill:#6b5310",
    ".sick": "fill:#86251f",
    ".works": "fill:#174d85",
    ".dark": "fill:#000000;stroke:#6e7681",
    ".on-dark": "fill:#e6edf3",
    ".plain": "fill:#0d1117;stroke:#9ba4ae",
    ".trouble": "fill:#3d1412;stroke:#ff7b72",
    ".evidence": "fill:#2c1f45;stroke:#c297ff",
    ".release": "fill:#c297ff;stroke:#c297ff",
    ".flag": "stroke:#c297ff",
    ".flagged": "fill:#c297ff",
    ".on-release": "fill:#0d1117",
}
_FONT: Final = "Inter,'Helvetica Neue',Helvetica,Arial,'Liberation Sans',sans-serif"


def style() -> str:
    light = "".join(f"{name}{{{look}}}" for name, look in _LIGHT.items())
    dark = "".join(f"{name}{{{look}}}" for name, look in _DARK.items())
    return (
        f"<style>text{{font-family:{_FONT};font-variant-numeric:tabular-nums}}"
        f"{light}@media (prefers-color-scheme:dark){{{dark}}}</style>"
    )


def text(x: float, y: float, said: str, look: str = "ink", *, size: float = 12.0, **others: str) -> str:
    """`others` are attributes of SVG, with _ for -."""
    extra = "".join(f" {name.replace('_', '-')}={quoteattr(value)}" for name, value in others.items())
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{extra}>{safe(said)}</text>'


def line(look: str, from_: tuple[float, float], to: tuple[float, float]) -> str:
    (x, y), (to_x, to_y) = from_, to
    return f'<line class="{look}" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'


def path(look: str, way: str) -> str:
    return f'<path class="{look}" d="{way}"/>'


def box(
    look: str, at: tuple[float, float], size: tuple[float, float], *, round_: float = 0.0, title: str = ""
) -> str:
    told = f"<title>{safe(title)}</title>" if title else ""
    return (
        f'<rect class="{look}" x="{at[0]:.1f}" y="{at[1]:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}"'
        f' rx="{round_:g}">{told}</rect>'
    )


def sign(mark: Mark, x: float, y: float) -> str:
    """A shape for each mark, so that colour says nothing alone: dot, triangle, diamond, arrow."""
    shapes = {
        Mark.PLAIN: f"M{x - 3:.1f} {y:.1f}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
        Mark.TROUBLE: f"M{x:.1f} {y - 5:.1f}l5 9h-10z",
        Mark.EVIDENCE: f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
        Mark.RELEASE: f"M{x - 5:.1f} {y - 5:.1f}l10 5l-10 5z",
    }
    return path(mark, shapes[mark])


def width_of(said: str, size: float) -> float:
    return len(said) * size * LETTER


def shortened(said: str, room: float, size: float) -> str:
    """As much of it as there is room for."""
    most = int(room / (size * LETTER))
    return said if len(said) <= most else f"{said[: max(most - 1, 0)]}…"


def safe(said: str) -> str:
    return escape(printable(said, 4000))
