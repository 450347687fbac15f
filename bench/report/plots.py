"""Plots of the rows that have times, each an SVG element that stands in a page by itself and takes
the page's colours."""

import io
import re

import inode_scale
import letters
from ratios import RAW, name_of
from rows import ReportError, in_order, is_timed
from tables import threads_text

try:
    import matplotlib
except ImportError as error:
    raise ReportError("the plots need matplotlib: run third_party/install.sh report, and then "
                      "/usr/bin/python3, which Debian's packages belong to") from error

matplotlib.use("svg")
from matplotlib import pyplot  # after its back end is chosen

_COLOURS = {"ref": "#8a93a0", "rcu-locked": "#d98c21", "rcu-peek": "#4c9f70",
            "nopathcache": "#7fb2e5", "rcu-search": "#2f74d0", "kernel, tmpfs": "#c2473a",
            "libnfs sync": "#9a6bb0"}
_LETTER_COLOURS = ["#c2473a", "#d98c21", "#4c9f70", "#9a6bb0", "#8a93a0", "#3aa6a6", "#a8743a",
                   "#c96f9b"]
_OTHER_COLOURS = ["#2f74d0", "#c2473a", "#4c9f70", "#d98c21", "#9a6bb0", "#8a93a0"]
_FOREGROUND = "#000000"  # the page's, once it is in a page
_BAR_ERRORS = {"linewidth": 0.8, "ecolor": _FOREGROUND}
_PANEL = (4.6, 3.2)  # inches, of each panel
_LEGEND = 0.45  # inches, above all panels
_STYLE = {"svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3,
          "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left",
          "axes.edgecolor": _FOREGROUND, "axes.linewidth": 0.6, "axes.axisbelow": True,
          "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
          "figure.constrained_layout.use": True}
_NS = "ns of one call on one core"


def _svg(figure, name):
    """Nothing but the element: no prologue, no metadata, and no name of a schema, which HTML does
    without."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", transparent=True,
                       metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    svg = text.getvalue()
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    return svg.replace(_FOREGROUND, "currentColor")


def _panels(count, columns=2, size=_PANEL, legend=True):
    """(figure, axes), with room for _legend() above them."""
    columns = min(count, columns)
    lines = (count + columns - 1) // columns
    height = size[1] * lines + (_LEGEND if legend else 0)
    figure, axes = pyplot.subplots(lines, columns, squeeze=False,
                                   figsize=(size[0] * columns, height))
    if legend:
        figure.get_layout_engine().set(rect=(0, 0, 1, 1 - _LEGEND / height))
    axes = [axis for line in axes for axis in line]
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes[:count]


def _legend(figure, axes):
    """One for all panels, above them, of at most two lines."""
    known = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            known.setdefault(label, handle)
    if known:
        figure.legend(known.values(), known.keys(), loc="upper left",
                      ncols=len(known) if len(known) <= 7 else (len(known) + 1) // 2)


def _reach(points):
    """What error bars want of (x, median, least, most): how far below and above the median."""
    return [[point[1] - point[2] for point in points], [point[3] - point[1] for point in points]]


def _line(axis, points, label, colour, **style):
    """`points`: (x, median, least, most)."""
    points = sorted(points)
    axis.errorbar([point[0] for point in points], [point[1] for point in points],
                  yerr=_reach(points), label=label, color=colour,
                  **{"marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1.6, **style})


def _counts(axis, values, label, base=2):
    """Whole numbers along the x axis, by their logarithm."""
    values = sorted(set(values))
    if values:
        axis.set_xscale("log", base=base)
        axis.set_xticks(values, [f"{value:,}" for value in values])
        axis.minorticks_off()
    axis.set_xlabel(label)


def _ns_lines(axis, rows, key):
    """A line for each mode and subject, over rows[key]."""
    for name in in_order(map(name_of, rows)):
        points = [(row[key], row["ns_per_op"], row["ns_min"], row["ns_max"])
                  for row in rows if name_of(row) == name]
        _line(axis, points, name, _COLOURS.get(name, _FOREGROUND))
    axis.set_ylabel(_NS)


def _replay(run):
    warm = [row for row in run.with_key("phase") if row["phase"] == "warm" and is_timed(row)]
    if not warm:
        return []
    traces = in_order(row["trace"] for row in warm)
    figure, axes = _panels(len(traces))
    for axis, trace in zip(axes, traces):
        shown = [row for row in warm if row["trace"] == trace]
        _ns_lines(axis, shown, "threads")
        _counts(axis, [row["threads"] for row in shown], "threads")
        axis.set_ylim(bottom=0)
        axis.set_title(trace)
    _legend(figure, axes)
    return [_svg(figure, "make_replay")]


def _depths(rows):
    """Distinct files by depth, for each number of threads."""
    shown = [row for row in rows if row["pattern"] == "distinct" and row["identities"] == 1]
    if not shown:
        return []
    counts = sorted({row["threads"] for row in shown})
    figure, axes = _panels(len(counts), 3)
    for axis, threads in zip(axes, counts):
        at_once = [row for row in shown if row["threads"] == threads]
        _ns_lines(axis, at_once, "depth")
        _counts(axis, [row["depth"] for row in at_once], "names in the path")
        axis.set_yscale("log")
        axis.set_title(f"distinct files, {threads_text(threads)}")
    _legend(figure, axes)
    return [_svg(figure, "depth")]


def _threads(rows, processors):
    """What all threads together do, at depth 8."""
    if not rows:
        return []
    panels = [("distinct files, one identity", "distinct", 1),
              ("distinct files, four identities in turn", "distinct", 4),
              ("one file", "same-file", 1)]
    figure, axes = _panels(len(panels), 3)
    for axis, (title, pattern, identities) in zip(axes, panels):
        shown = [row for row in rows if row["subject"] != "libnfs sync" and row["depth"] == 8 and
                 row["pattern"] == pattern and row["identities"] == identities]
        for name in in_order(map(name_of, shown)):
            points = [(row["threads"], *(1e3 * min(row["threads"], processors) / row[key]
                                         for key in ("ns_per_op", "ns_max", "ns_min")))
                      for row in shown if name_of(row) == name]
            _line(axis, points, name, _COLOURS.get(name, _FOREGROUND))
        _counts(axis, [row["threads"] for row in shown], "threads")
        axis.set_ylim(bottom=0)
        axis.set_ylabel("million calls a second, all threads")
        axis.set_title(title)
    _legend(figure, axes)
    return [_svg(figure, "threads")]


def _patterns(rows):
    """Bars for each pattern, with one thread."""
    shown = [row for row in rows if row["threads"] == 1 and row["identities"] == 1]
    if not shown:
        return []
    courses = in_order((row["pattern"], row["depth"]) for row in shown)
    names = in_order(map(name_of, shown))
    figure, (axis,) = _panels(1, size=(3 * _PANEL[0], _PANEL[1]))
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        points = [(courses.index((row["pattern"], row["depth"])) + width * place, row["ns_per_op"],
                   row["ns_min"], row["ns_max"]) for row in shown if name_of(row) == name]
        axis.bar([point[0] for point in points], [point[1] for point in points], width, label=name,
                 yerr=_reach(points), color=_COLOURS.get(name, _FOREGROUND), error_kw=_BAR_ERRORS)
    axis.set_yscale("log")
    axis.set_xticks([at + 0.4 - width / 2 for at in range(len(courses))],
                    [f"{pattern}\ndepth {depth}" for pattern, depth in courses])
    axis.set_ylabel(_NS)
    axis.set_title("every pattern, 1 thread")
    _legend(figure, [axis])
    return [_svg(figure, "pattern")]


def _warm(run):
    rows = [row for row in run.with_key("pattern") if is_timed(row)]
    return _threads(rows, run.facts["processors"]) + _depths(rows) + _patterns(rows)


def _memory(run):
    figure, (size, cost) = _panels(2, size=(1.4 * _PANEL[0], _PANEL[1]), legend=False)
    sizes = [(f"{row['files']:,} files\n{row['names'].replace(', ', chr(10))}",
              row["bytes_per_file"], row["bytes_min"], row["bytes_max"])
             for row in run.with_key("bytes_per_file")]
    size.bar([point[0] for point in sizes], [point[1] for point in sizes], width=0.6,
             yerr=_reach(sizes), color=_OTHER_COLOURS[0], error_kw=_BAR_ERRORS)
    size.set_title("resident bytes of a cached file")
    size.tick_params(axis="x", labelsize=7)
    costs = [row for row in run.with_key("entries") if is_timed(row)]
    for hot, colour in zip(in_order(row["hot"] for row in costs), _OTHER_COLOURS):
        _line(cost, [(row["entries"], row["ns_per_op"], row["ns_min"], row["ns_max"])
                     for row in costs if row["hot"] == hot], f"{hot:,} files asked for", colour)
    _counts(cost, [row["entries"] for row in costs], "files cached", 10)
    if costs:
        cost.legend()
    cost.set_ylim(bottom=0)
    cost.set_title("ns of a warm stat")
    return [_svg(figure, "memory")]


def _cold(run):
    """Files a second at the most threads that each subject was run with."""
    if not any(map(is_timed, run.rows)):
        return []
    figure, axes = _panels(2, size=(1.5 * _PANEL[0], _PANEL[1]), legend=False)
    titles = {"path": "stat of every file, random order", "find": "every directory listed"}
    for axis, (mode, title) in zip(axes, titles.items()):
        most = {}
        for row in run.rows:
            label = f"{row['subject']}, {row['protocol']}"
            if row["mode"] != mode or not is_timed(row):
                continue
            if row["threads"] >= most.get(label, row)["threads"]:
                most[label] = row
        bars = [(f"{label}, {threads_text(row['threads'])}",
                 *(1e9 / row[key] for key in ("ns_per_op", "ns_max", "ns_min")))
                for label, row in reversed(most.items())]
        colours = [_OTHER_COLOURS[1 if label.startswith(RAW) else 4 if "libnfs" in label else 0]
                   for label, *_ in bars]
        axis.barh([bar[0] for bar in bars], [bar[1] for bar in bars], xerr=_reach(bars),
                  color=colours, error_kw=_BAR_ERRORS)
        axis.xaxis.set_major_locator(pyplot.MaxNLocator(5))
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.set_xlabel("files a second")
        axis.set_title(title)
    return [_svg(figure, "cold_walk")]


def _letters(run):
    """How many times as fast each workload becomes, by threads: ours and the letters'. Shaded: as
    many threads as there are processors here."""
    processors = run.facts["processors"]
    rows = inode_scale.without_fill(run.rows)
    workloads = in_order(row["workload"] for row in [*rows, *letters.rows()])
    figure, axes = _panels(len(workloads), 3)
    theirs = in_order((row["letter"], row["filesystem"]) for row in letters.rows())
    for axis, workload in zip(axes, workloads):
        ours = inode_scale.speedups(rows, workload, processors)
        _line(axis, [(threads, before["ns_per_op"] / after["ns_per_op"],
                      before["ns_min"] / after["ns_max"], before["ns_max"] / after["ns_min"])
                     for threads, (before, after) in ours.items()], "ours", _OTHER_COLOURS[0])
        counts = list(ours)
        for place, (letter, filesystem) in enumerate(theirs):
            points = [(row["threads"], row["before_s"] / row["after_s"]) for row in letters.rows()
                      if (row["letter"], row["filesystem"], row["workload"]) ==
                      (letter, filesystem, workload)]
            counts += [threads for threads, _ in points]
            _line(axis, [(threads, ratio, ratio, ratio) for threads, ratio in points],
                  f"{letter.removeprefix('the ')}, {filesystem}", _LETTER_COLOURS[place],
                  linestyle="--", linewidth=1, markersize=3, capsize=0)
        axis.axvspan(0.9, processors + 0.1, color=_OTHER_COLOURS[0], alpha=0.08)
        _counts(axis, counts, "threads")
        policy = inode_scale.best_policy(rows, workload, processors)
        axis.set_title(f"{workload}, ours with {policy}" if policy else workload)
        axis.set_ylabel(f"times as fast (ours: as {inode_scale.BASELINE})")
    _legend(figure, axes)
    return [_svg(figure, "letters")]


_OF = {"make_replay": _replay, "warm_stat": _warm, "cold_walk": _cold, "memory": _memory,
       "inode_scale": _letters}


def plots(runs):
    """{benchmark: [SVG]}."""
    with matplotlib.rc_context(_STYLE):
        return {bench: draw(runs[bench]) for bench, draw in _OF.items() if bench in runs}
