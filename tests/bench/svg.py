# SPDX-License-Identifier: LGPL-2.1-or-later
"""Charts as SVG: lines over logarithmic axes, and bars. Colours are those of Okabe and Ito, which
are told apart by people who see colours differently."""
import math
from xml.sax.saxutils import escape

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#000000")
INK, FAINT, GRAY = "#303030", "#e2e2e2", "#808080"
WIDTH = 900
LEFT, RIGHT, TOP, BOTTOM = 78, 262, 62, 56
ROW = 21  # pixels of a bar


class Drawing:
    def __init__(self, height, title, subtitle):
        self.height = height
        self.parts = []
        self.text(16, 24, title, size=16, weight="bold")
        self.text(16, 44, subtitle, size=12, color=GRAY)

    def text(self, x, y, words, size=12, anchor="start", color=INK, weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
                          f' fill="{color}" font-weight="{weight}">{escape(str(words))}</text>')

    def line(self, points, color, width=1.0, dash=""):
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{places}" fill="none" stroke="{color}"'
                          f' stroke-width="{width}"' + (f' stroke-dasharray="{dash}"' if dash
                                                        else "") + "/>")

    def dot(self, x, y, color, radius=3):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}"/>')

    def bar(self, x, y, width, color):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}"'
                          f' height="{ROW - 6}" fill="{color}"/>')

    def finish(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}"'
                f' width="{WIDTH}" height="{self.height}"'
                ' font-family="DejaVu Sans, Liberation Sans, Arial, sans-serif">\n'
                '<rect width="100%" height="100%" fill="#ffffff"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def short(value):
    """0.015, 1.5, 20 or 3,000."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def logarithmic_ticks(least, most):
    """1, 2, 5, 10... or, over many decades, powers of ten."""
    steps = (1, 2, 5) if math.log10(most / least) < 2.6 else (1,)
    return [step * 10.0 ** power
            for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
            for step in steps if least <= step * 10.0 ** power <= most * 1.0001]


def spread(heights, gap):
    """Moves labels apart that would lie across each other, and keeps their order."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    result = list(heights)
    for _ in range(50):
        moved = False
        for one, other in zip(order, order[1:]):
            short_of = gap - (result[other] - result[one])
            if short_of > 0.1:
                result[one] -= short_of / 2
                result[other] += short_of / 2
                moved = True
        if not moved:
            break
    return result


def lines(title, subtitle, series, unit, axis, places=None):
    """`series` is {name: {x: y}}; names that start with "~" are drawn gray and dashed. Axes are
    logarithmic; `places` names positions in the place of numbers: {x: text}."""
    height = max(440, TOP + BOTTOM + 17 * len(series))
    drawing = Drawing(height, title, subtitle)
    xs = sorted({x for points in series.values() for x in points})
    ys = [y for points in series.values() for y in points.values()]
    low, high = min(ys) / 1.25, max(ys) * 1.25
    bottom, right = height - BOTTOM, WIDTH - RIGHT

    def across(x):
        span = math.log(xs[-1] / xs[0]) or 1.0
        return LEFT + 12 + (right - LEFT - 24) * math.log(x / xs[0]) / span

    def up(y):
        return bottom - (bottom - TOP) * math.log(y / low) / math.log(high / low)

    for tick in logarithmic_ticks(low, high):
        drawing.line(((LEFT, up(tick)), (right, up(tick))), FAINT)
        drawing.text(LEFT - 8, up(tick) + 4, short(tick), anchor="end")
    last = -math.inf
    for x in xs:
        if across(x) - last >= 34:  # room for its text
            last = across(x)
            drawing.line(((last, bottom), (last, bottom + 5)), GRAY)
            drawing.text(last, bottom + 20, places[x] if places else short(x), anchor="middle",
                         size=11)
    drawing.line(((LEFT, TOP), (LEFT, bottom), (right, bottom)), GRAY)
    drawing.text((LEFT + right) / 2, height - 12, axis, anchor="middle")
    drawing.text(LEFT, TOP - 6, unit, anchor="middle", color=GRAY, size=11)

    ends = [up(points[max(points)]) for points in series.values()]
    labels = spread(ends, 16)
    colors = iter(COLORS * 3)
    for (name, points), end, label in zip(series.items(), ends, labels):
        plain = not name.startswith("~")
        color = next(colors) if plain else GRAY
        drawn = [(across(x), up(points[x])) for x in sorted(points)]
        drawing.line(drawn, color, 2.2 if plain else 1.6, "" if plain else "5 4")
        for place in drawn if plain else ():
            drawing.dot(*place, color)
        drawing.line(((drawn[-1][0] + 5, end), (right + 14, label)), color, 0.7)
        drawing.text(right + 18, label + 4, name.lstrip("~"), color=color)
    return drawing.finish()


def dots(title, subtitle, rows, unit):
    """`rows` is [(name, {series: y})]: a line a row with a dot for each series, over a logarithmic
    scale; the series are named above."""
    names = list(dict.fromkeys(series for _, points in rows for series in points))
    values = [value for _, points in rows for value in points.values()]
    low, high = min(values) / 1.3, max(values) * 1.3
    left, right, top = 150, WIDTH - 40, TOP + 30
    height = top + ROW * len(rows) + 44
    drawing = Drawing(height, title, subtitle)

    def across(value):
        return left + (right - left) * math.log(value / low) / math.log(high / low)

    for tick in logarithmic_ticks(low, high):
        drawing.line(((across(tick), top - 4), (across(tick), height - 38)), FAINT)
        drawing.text(across(tick), height - 22, short(tick), anchor="middle", size=11, color=GRAY)
    drawing.text(right, height - 6, unit, anchor="end", size=11, color=GRAY)
    place = left - 134
    for name, color in zip(names, COLORS):
        drawing.dot(place, TOP + 6, color)
        drawing.text(place + 8, TOP + 10, name, color=color)
        place += 30 + 7.2 * len(name)
    for number, (name, points) in enumerate(rows):
        y = top + ROW * number + ROW / 2
        drawing.text(left - 10, y + 4, name, anchor="end", size=11)
        drawing.line(((left, y), (right, y)), FAINT, 0.7)
        for series, value in points.items():
            drawing.dot(across(value), y, COLORS[names.index(series)], 4.5)
    return drawing.finish()


def bars(title, subtitle, groups, unit):
    """`groups` is [(heading, [(name, value, text)])]; the scale is logarithmic, from the power of
    ten below all values. Names that start with "~" are drawn gray."""
    values = [value for _, rows in groups for _, value, _ in rows]
    low = 10.0 ** math.floor(math.log10(min(values) * 0.999))
    high = max(values) * 1.1
    left, right = 290, WIDTH - 130
    height = TOP + 28 + sum(ROW * (len(rows) + 1) + 8 for _, rows in groups)
    drawing = Drawing(height, title, subtitle)

    def across(value):
        return left + (right - left) * math.log(value / low) / math.log(high / low)

    y = TOP
    for tick in logarithmic_ticks(low, high):
        drawing.line(((across(tick), TOP), (across(tick), height - 26)), FAINT)
        drawing.text(across(tick), height - 10, short(tick), anchor="middle", size=11, color=GRAY)
    drawing.text(right + 40, height - 10, unit, size=11, color=GRAY)
    for (heading, rows), color in zip(groups, COLORS * 3):
        drawing.text(16, y + 15, heading, weight="bold")
        y += ROW
        for name, value, text in rows:
            plain = not name.startswith("~")
            drawing.text(left - 8, y + 13, name.lstrip("~"), anchor="end", size=11)
            drawing.bar(left, y + 2, across(value) - left, color if plain else "#b8b8b8")
            drawing.text(across(value) + 6, y + 13, text, size=11)
            y += ROW
        y += 8
    return drawing.finish()
