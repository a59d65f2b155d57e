"""Charts as SVG, by plain text: lines over a linear or logarithmic scale, and horizontal bars."""

import html
import math

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 44, 56
BAR_HEIGHT, BAR_LEFT, BAR_RIGHT = 24, 150, 110
CHARACTER_WIDTH = 7
COLOURS = (
    "#1b6ca8",
    "#d1495b",
    "#3a7d44",
    "#edae49",
    "#6a4c93",
    "#00798c",
    "#8d6a4f",
    "#555555",
    "#e07be0",
    "#9fb300",
    "#3d5a80",
    "#ff7f50",
)
FONT = 'font-family="sans-serif" font-size="12"'


def _text(x, y, text, anchor="start", extra=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {FONT} fill="#222" {extra}>'
        f"{html.escape(str(text))}</text>"
    )


def _line(x1, y1, x2, y2, colour="#ddd", width=1):
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )


def number(value):
    """A number as short as it can be read: 12000 as 12k, 0.25, 3."""
    if abs(value) >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def linear_ticks(low, high, wanted=6):
    """Round numbers from `low` or below to `high` or above."""
    if high <= low:
        high = low + 1
    raw = (high - low) / wanted
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [index * step for index in range(first, last + 1)]


def log_ticks(low, high):
    """1, 2 and 5 times powers of ten that enclose the range."""
    low, high = max(low, 1e-9), max(high, 1e-9)
    ticks = []
    for exponent in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2):
        ticks += [factor * 10.0**exponent for factor in (1, 2, 5)]
    below = max(tick for tick in ticks if tick <= low * 1.0001)
    above = min(tick for tick in ticks if tick >= high * 0.9999)
    return [tick for tick in ticks if below <= tick <= max(above, below * 1.01)]


class _Scale:
    """From values to positions."""

    def __init__(self, values, begin, end, logarithmic, from_zero):
        low, high = min(values), max(values)
        self.logarithmic = logarithmic
        if logarithmic:
            self.ticks = log_ticks(low, high)
        else:
            self.ticks = linear_ticks(0 if from_zero else low, high)
        self.begin, self.end = begin, end

    def at(self, value):
        low, high = self.ticks[0], self.ticks[-1]
        if self.logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, low))
        part = (value - low) / (high - low) if high > low else 0.5
        return self.begin + part * (self.end - self.begin)


def _frame(width, height, body):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def line_chart(title, x_label, y_label, series, log_x=False, log_y=False, x_names=None):
    """A chart of {name: [(x, y)]}, as the text of an SVG file; empty series are left out.

    x_names: {x: name}, where the axis has places instead of numbers.
    """
    series = {name: sorted(points) for name, points in series.items() if points}
    if not series:
        return _frame(WIDTH, 60, [_text(20, 35, f"{title}: nothing was measured")])
    points = [point for line in series.values() for point in line]
    x = _Scale([point[0] for point in points], LEFT, WIDTH - RIGHT, log_x, False)
    y = _Scale([point[1] for point in points], HEIGHT - BOTTOM, TOP, log_y, True)
    body = [_text(LEFT, 22, title, extra='font-weight="bold"')]
    for tick in y.ticks:
        body.append(_line(LEFT, y.at(tick), WIDTH - RIGHT, y.at(tick)))
        body.append(_text(LEFT - 6, y.at(tick) + 4, number(tick), "end"))
    for tick, name in (x_names or {tick: number(tick) for tick in x.ticks}).items():
        body.append(_line(x.at(tick), TOP, x.at(tick), HEIGHT - BOTTOM, "#eee"))
        body.append(_text(x.at(tick), HEIGHT - BOTTOM + 18, name, "middle"))
    body.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_label, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'transform="rotate(-90 18 {middle:.1f})"'
    body.append(_text(18, middle, y_label, "middle", turned))
    for index, (name, line) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{x.at(px):.1f},{y.at(py):.1f}" for px, py in line)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body += [
            f'<circle cx="{x.at(px):.1f}" cy="{y.at(py):.1f}" r="3" fill="{colour}"/>'
            for px, py in line
        ]
        legend = TOP + 10 + 20 * index
        body.append(_line(WIDTH - RIGHT + 14, legend, WIDTH - RIGHT + 34, legend, colour, 3))
        body.append(_text(WIDTH - RIGHT + 40, legend + 4, name))
    return _frame(WIDTH, HEIGHT, body)


def bar_chart(title, unit, bars):
    """Horizontal bars of [(name, value, text beside it)], as the text of an SVG file."""
    bars = [bar for bar in bars if bar[1] is not None]
    height = TOP + len(bars) * BAR_HEIGHT + BOTTOM
    if not bars:
        return _frame(WIDTH, 60, [_text(20, 35, f"{title}: nothing was measured")])
    left = max(BAR_LEFT, CHARACTER_WIDTH * max(len(bar[0]) for bar in bars) + 20)
    scale = _Scale([max(0, bar[1]) for bar in bars], left, WIDTH - BAR_RIGHT, False, True)
    bottom = TOP + len(bars) * BAR_HEIGHT
    body = [_text(20, 22, title, extra='font-weight="bold"')]
    for tick in scale.ticks:
        body.append(_line(scale.at(tick), TOP, scale.at(tick), bottom))
        body.append(_text(scale.at(tick), bottom + 18, number(tick), "middle"))
    body.append(_text((left + WIDTH - BAR_RIGHT) / 2, bottom + 40, unit, "middle"))
    for index, (name, value, beside) in enumerate(bars):
        top = TOP + index * BAR_HEIGHT
        length = scale.at(max(0, value)) - scale.at(0)
        colour = COLOURS[0] if name.startswith("mgw") else COLOURS[1]
        body.append(_text(left - 8, top + 16, name, "end"))
        body.append(
            f'<rect x="{left}" y="{top + 4}" width="{max(length, 1):.1f}" '
            f'height="{BAR_HEIGHT - 8}" fill="{colour}"/>'
        )
        body.append(_text(left + max(length, 1) + 6, top + 16, beside))
    return _frame(WIDTH, height, body)
