"""The rows of README.md as one picture: an SVG that a light and a dark page can show."""

from xml.sax.saxutils import escape

from headline import time_text
from rows import is_timed

_WIDTH, _LABEL, _VALUE, _RATIO, _MARGIN = 760, 150, 130, 110, 24
_BAR, _STEP, _TITLE = 16, 24, 34  # heights
_BARS = _WIDTH - _LABEL - _VALUE - _RATIO - 2 * _MARGIN  # pixels of the longest bar

# A card with a background of its own, so that what is around it does not matter.
_STYLE = """
.nw-card { fill: #ffffff; stroke: #d5dbe3; }
.nw-text { fill: #1c2530; font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; }
.nw-title { font-weight: 600; font-size: 14px; }
.nw-small { fill: #5c6773; font-size: 11.5px; }
.nw-ratio { fill: #1a62c7; font-size: 26px; font-weight: 700; }
.nw-ours { fill: #1a62c7; } .nw-walk { fill: #8db6ec; } .nw-other { fill: #a9b2bd; }
.nw-range { stroke: #1c2530; stroke-opacity: 0.6; }
@media (prefers-color-scheme: dark) {
.nw-card { fill: #161b22; stroke: #343c46; }
.nw-text { fill: #e3e8ee; }
.nw-small { fill: #9aa5b1; }
.nw-ratio { fill: #6cabff; }
.nw-ours { fill: #4f97f5; } .nw-walk { fill: #2c5691; } .nw-other { fill: #66707c; }
.nw-range { stroke: #e3e8ee; }
}
"""


def _text(x, y, text, more="", anchor="start"):
    return (f'<text class="nw-text {more}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">'
            f"{escape(text)}</text>")


def _bars_of(pair):
    """(label, class, row) of each bar, ours first."""
    suffix = f", {pair.label}" if pair.label else ""
    bars = [(f"nfswalk{suffix}", "nw-ours", pair.ours),
            ("nfswalk, ref-walk", "nw-walk", pair.reference_walk),
            (pair.best_name() + (suffix if "protocol" in pair.best else ""), "nw-other", pair.best)]
    return [bar for bar in bars if bar[2] and is_timed(bar[2])]


def _pair(headline, pair, top, longest):
    """The elements of its bars and its ratio."""
    bars, elements, left = _bars_of(pair), [], _MARGIN + _LABEL
    like = pair.ours.get("ns_per_op", longest)
    for place, (label, colour, row) in enumerate(bars):
        y = top + place * _STEP
        length, low, high = (max(1.5, row[key] / longest * _BARS)
                             for key in ("ns_per_op", "ns_min", "ns_max"))
        time = f"{time_text(row['ns_per_op'], like)} {headline.per}"
        elements += [
            _text(left - 10, y + 13, label, anchor="end"),
            f'<rect class="{colour}" x="{left}" y="{y:g}" width="{length:.1f}" height="{_BAR}" '
            'rx="2"/>',
            f'<path class="nw-range" d="M{left + low:.1f} {y + _BAR / 2:g}H{left + high:.1f}"/>',
            _text(left + max(length, high) + 8, y + 13, time, "nw-small"),
        ]
    if not pair.disturbed():
        middle = top + ((len(bars) - 1) * _STEP + _BAR) / 2
        elements.append(_text(_WIDTH - _MARGIN, middle + 9, f"{pair.ratio():.1f}×", "nw-ratio",
                              "end"))
    return elements


def _panel(headline, top):
    """([elements], where the panel ends)."""
    elements = [_text(_MARGIN, top + 16, headline.what.replace("`", ""), "nw-title")]
    top += _TITLE - 8
    times = [bar[2]["ns_max"] for pair in headline.pairs for bar in _bars_of(pair)]
    if not times:
        left_out = "left out: other work ran on the machine"
        elements.append(_text(_MARGIN, top + 13, left_out, "nw-small"))
        return elements, top + _STEP + 14
    for pair in headline.pairs:
        elements += _pair(headline, pair, top, max(times))
        top += len(_bars_of(pair)) * _STEP + 4
    return elements, top + 10


def picture(found, caption):
    """The SVG element; `caption` is a line below."""
    elements, top = [], _MARGIN - 6
    for headline in found:
        drawn, top = _panel(headline, top)
        elements += drawn
    elements.append(_text(_MARGIN, top + 12, caption, "nw-small"))
    height = top + 28
    what = "Times of nfswalk beside the best of the others: " + "; ".join(
        headline.what.replace("`", "") for headline in found)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" '
        f'width="{_WIDTH}" height="{height:g}" role="img" aria-label="{escape(what)}">',
        f"<style>{_STYLE}</style>",
        f'<rect class="nw-card" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1:g}" '
        'rx="8"/>',
        *elements, "</svg>"]) + "\n"
