"""Plots of the rows, each an SVG element that stands in a page by itself."""

import io
import re

from result_rows import ReportError, in_order
from tables import BASELINE, bundle_of, name_of, speedups, threads_text

try:
    import matplotlib
except ImportError as error:
    raise ReportError("the plots need matplotlib: run third_party/install.sh report, and then "
                      "/usr/bin/python3, which Debian's packages belong to") from error

matplotlib.use("svg")
from matplotlib import pyplot  # after its back end is chosen

_COLOURS = {"ref": "#7f7f7f", "rcu-locked": "#d98c21", "rcu-peek": "#4c9f70",
            "nopathcache": "#8fc1e3", "rcu-search": "#1f5fa8", "kernel, tmpfs": "#b03a2e",
            "libnfs sync": "#8e5ea2"}
_OTHER_COLOURS = ["#1f5fa8", "#b03a2e", "#4c9f70", "#d98c21", "#8e5ea2", "#7f7f7f"]
_BAR_ERRORS = {"linewidth": 0.8, "ecolor": "#222222"}
_PANEL = (5.2, 3.6)  # inches, of each panel
_STYLE = {"svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3,
          "axes.spines.top": False, "axes.spines.right": False, "figure.constrained_layout.use": True}


def _svg(figure, name):
    """Nothing but the element: no prologue, no metadata, and no name of a schema, which HTML does
    without."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    svg = text.getvalue()
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)


def _panels(count, columns=2):
    with matplotlib.rc_context(_STYLE):
        lines = (count + columns - 1) // columns
        figure, axes = pyplot.subplots(lines, min(count, columns), squeeze=False,
                                       figsize=(_PANEL[0] * min(count, columns), _PANEL[1] * lines))
    axes = [axis for line in axes for axis in line]
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes


def _reach(points):
    """What error bars want of (x, median, least, most): how far below and above the median."""
    return [[point[1] - point[2] for point in points], [point[3] - point[1] for point in points]]


def _line(axis, points, label, colour, **style):
    """`points`: (x, median, least, most)."""
    points = sorted(points)
    middles = [point[1] for point in points]
    axis.errorbar([point[0] for point in points], middles, yerr=_reach(points), label=label,
                  color=colour,
                  **{"marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1.4, **style})


def _counts(axis, values, label, base=2):
    """Whole numbers along the x axis, by their logarithm."""
    values = sorted(set(values))
    axis.set_xscale("log", base=base)
    axis.set_xticks(values, [f"{value:,}" for value in values])
    axis.minorticks_off()
    axis.set_xlabel(label)


def _ns_lines(axis, rows, key):
    """A line for each mode and subject, over rows[key]."""
    for name in in_order(name_of(row) for row in rows):
        points = [(row[key], row["ns_per_op"], row["ns_min"], row["ns_max"])
                  for row in rows if name_of(row) == name]
        _line(axis, points, name, _COLOURS.get(name, "black"))
    axis.set_ylabel("ns of one call on one core")


def replay_plot(rows):
    warm = [row for row in rows if row["phase"] == "warm"]
    traces = in_order(row["trace"] for row in warm)
    figure, axes = _panels(len(traces))
    for axis, trace in zip(axes, traces):
        shown = [row for row in warm if row["trace"] == trace]
        _ns_lines(axis, shown, "threads")
        _counts(axis, [row["threads"] for row in shown], "threads")
        axis.set_ylim(bottom=0)
        axis.set_title(trace)
    axes[0].legend()
    return _svg(figure, "make_replay")


def depth_plot(rows):
    """Distinct files by depth, for each number of threads."""
    shown = [row for row in rows if row["pattern"] == "distinct" and row["identities"] == 1]
    counts = sorted({row["threads"] for row in shown})
    figure, axes = _panels(len(counts), 3)
    for axis, threads in zip(axes, counts):
        at_once = [row for row in shown if row["threads"] == threads]
        _ns_lines(axis, at_once, "depth")
        _counts(axis, [row["depth"] for row in at_once], "names in the path")
        axis.set_yscale("log")
        axis.set_title(threads_text(threads))
    axes[0].legend()
    return _svg(figure, "depth")


def threads_plot(rows):
    """What all threads together do, at depth 8."""
    panels = [("distinct files, one identity", "distinct", 1),
              ("distinct files, four identities taking turns", "distinct", 4),
              ("one file", "same-file", 1)]
    figure, axes = _panels(len(panels), 3)
    for axis, (title, pattern, identities) in zip(axes, panels):
        shown = [row for row in rows if row["subject"] != "libnfs sync" and row["depth"] == 8 and
                 row["pattern"] == pattern and row["identities"] == identities]
        for name in in_order(name_of(row) for row in shown):
            points = [(row["threads"], row["ops_per_s"] / 1e6,
                       row["ops_per_s"] * row["ns_per_op"] / row["ns_max"] / 1e6,
                       row["ops_per_s"] * row["ns_per_op"] / row["ns_min"] / 1e6)
                      for row in shown if name_of(row) == name]
            _line(axis, points, name, _COLOURS.get(name, "black"))
        if shown:
            _counts(axis, [row["threads"] for row in shown], "threads")
        axis.set_ylim(bottom=0)
        axis.set_ylabel("million calls a second, all threads")
        axis.set_title(title)
    axes[0].legend()
    return _svg(figure, "threads")


def pattern_plot(rows):
    """Bars for each pattern, with one thread."""
    shown = [row for row in rows if row["threads"] == 1 and row["identities"] == 1]
    courses = in_order((row["pattern"], row["depth"]) for row in shown)
    names = in_order(name_of(row) for row in shown)
    with matplotlib.rc_context(_STYLE):
        figure, axis = pyplot.subplots(figsize=(2 * _PANEL[0], _PANEL[1]))
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        points = [(courses.index((row["pattern"], row["depth"])) + width * place, row["ns_per_op"],
                   row["ns_min"], row["ns_max"]) for row in shown if name_of(row) == name]
        axis.bar([point[0] for point in points], [point[1] for point in points], width, label=name,
                 yerr=_reach(points), color=_COLOURS.get(name, "black"), error_kw=_BAR_ERRORS)
    axis.set_yscale("log")
    axis.set_xticks([at + 0.4 - width / 2 for at in range(len(courses))],
                    [f"{pattern}\ndepth {depth}" for pattern, depth in courses])
    axis.set_ylabel("ns of one call")
    axis.legend(ncol=len(names), loc="lower center", bbox_to_anchor=(0.5, 1))
    return _svg(figure, "pattern")


def memory_plot(in_bytes, costs):
    figure, (size, cost) = _panels(2)
    labels = [f"{row['files']:,} files\n{row['names'].replace(', ', chr(10))}" for row in in_bytes]
    sizes = [(label, row["bytes_per_file"], row["bytes_min"], row["bytes_max"])
             for label, row in zip(labels, in_bytes)]
    size.bar(labels, [point[1] for point in sizes], width=0.6, yerr=_reach(sizes),
             color=_OTHER_COLOURS[0], error_kw=_BAR_ERRORS)
    size.set_ylabel("resident bytes of a cached file")
    size.tick_params(axis="x", labelsize=7)
    for hot, colour in zip(in_order(row["hot"] for row in costs), _OTHER_COLOURS):
        _line(cost, [(row["entries"], row["ns_per_op"], row["ns_min"], row["ns_max"])
                     for row in costs if row["hot"] == hot], f"{hot:,} files asked for", colour)
    if costs:
        _counts(cost, [row["entries"] for row in costs], "files cached", 10)
        cost.legend()
    cost.set_ylim(bottom=0)
    cost.set_ylabel("ns of a warm stat")
    return _svg(figure, "memory")


def cold_plot(rows):
    """Files a second at the most threads that each subject was run with."""
    figure, axes = _panels(2)
    for axis, mode in zip(axes, ("path", "find")):
        most = {}
        for row in rows:
            label = f"{row['subject']}, {row['protocol']}"
            if row["mode"] == mode and row["threads"] >= most.get(label, row)["threads"]:
                most[label] = row
        labels = list(reversed(most))
        points = [(f"{label}, {threads_text(row['threads'])}", row["files_per_s"],
                   row["files"] / row["seconds_max"], row["files"] / row["seconds_min"])
                  for label, row in ((label, most[label]) for label in labels)]
        axis.barh([point[0] for point in points], [point[1] for point in points],
                  xerr=_reach(points), error_kw=_BAR_ERRORS,
                  color=[_OTHER_COLOURS[1 if "raw" in label else 4 if "libnfs" in label else 0]
                         for label in labels])
        axis.xaxis.set_major_locator(pyplot.MaxNLocator(5))
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.set_xlabel("files a second")
        axis.set_title({"path": "stat of every file, random order", "find": "every directory listed"}
                       [mode])
    return _svg(figure, "cold_walk")


def letters_plot(rows, letters, cores):
    """How many times faster, by threads: ours and the letters'."""
    workloads = in_order(row["workload"] for row in [*rows, *letters])
    figure, axes = _panels(len(workloads), 3)
    for axis, workload in zip(axes, workloads):
        ours = speedups(rows, workload, cores)
        counts = list(ours)
        if ours:
            label = bundle_of(next(iter(ours.values()))[1])
            _line(axis, [(threads, before["seconds"] / after["seconds"],
                          before["seconds_min"] / after["seconds_max"],
                          before["seconds_max"] / after["seconds_min"])
                         for threads, (before, after) in ours.items()],
                  f"ours, {label}", _OTHER_COLOURS[0])
        theirs = [row for row in letters if row["workload"] == workload]
        for place, (letter, filesystem) in enumerate(
                in_order((row["letter"], row["filesystem"]) for row in theirs)):
            points = [(row["threads"], row["before_s"] / row["after_s"])
                      for row in theirs
                      if row["letter"] == letter and row["filesystem"] == filesystem]
            counts += [point[0] for point in points]
            _line(axis, [(threads, ratio, ratio, ratio) for threads, ratio in points],
                  f"{letter.removeprefix('the ')}, {filesystem}",
                  _OTHER_COLOURS[1 + place % (len(_OTHER_COLOURS) - 1)], linestyle="--",
                  linewidth=1, markersize=3)
        axis.axvspan(0.9, cores + 0.1, color="#1f5fa8", alpha=0.06)
        if counts:
            _counts(axis, counts, "threads")
        axis.set_ylabel(f"times as fast as before (ours: {BASELINE})")
        axis.set_title(workload)
        axis.legend(fontsize=6)
    return _svg(figure, "letters")
