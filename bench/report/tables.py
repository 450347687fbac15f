"""Rows as tables: text in cells, for a page as well as for Markdown."""

from typing import NamedTuple

from result_rows import find, in_order

BASELINE = "H0+L0+U0"
_NOT_MEASURED = "-"
_NS = "nanoseconds of one call on one core: median (min-max)"


class Table(NamedTuple):
    title: str
    header: list
    lines: list  # of lists of cells


def spread(middle, least, most, digits=0):
    """"12 (11-14)"."""
    return f"{middle:.{digits}f} ({least:.{digits}f}-{most:.{digits}f})"


def ns_cell(row):
    return spread(row["ns_per_op"], row["ns_min"], row["ns_max"]) if row else _NOT_MEASURED


def name_of(row):
    """"rcu-search", or the subject that has no modes."""
    return row["subject"] if row["mode"] in ("-", "") else row["mode"]


def _cross(title, rows, line_keys, column_key, cell, lines_header, column=str):
    """A line for each combination of `line_keys`, a column for each value of `column_key`."""
    columns = in_order(column_key(row) for row in rows)
    lines = {}
    for row in rows:
        lines.setdefault(line_keys(row), {})[column_key(row)] = cell(row)
    return Table(title, lines_header + [column(value) for value in columns],
                 [[str(part) for part in key] + [cells.get(value, _NOT_MEASURED) for value in columns]
                  for key, cells in lines.items()])


def threads_text(threads):
    return f"{threads} thread" if threads == 1 else f"{threads} threads"


def replay_tables(rows):
    """One for each trace, warm; and one of the first passes."""
    tables = []
    warm = [row for row in rows if row["phase"] == "warm"]
    for trace in in_order(row["trace"] for row in warm):
        tables.append(_cross(f"{trace}, warm: {_NS}", [row for row in warm if row["trace"] == trace],
                             lambda row: (name_of(row),), lambda row: row["threads"], ns_cell, [""],
                             threads_text))
    cold = [[row["trace"], name_of(row), threads_text(row["threads"]), f"{row['compared']:,}",
             f"{row['ns_per_op']:,.0f}", f"{row['rpcs']:,}", str(row["mismatches"])]
            for row in rows if row["phase"] == "cold"]
    tables.append(Table("First passes, with empty caches",
                        ["trace", "", "", "calls", "ns a call", "RPCs", "answers that differ"], cold))
    return tables


def warm_tables(rows):
    """One for each number of threads."""
    return [_cross(f"{threads_text(threads)}: {_NS}",
                   [row for row in rows if row["threads"] == threads],
                   lambda row: (row["pattern"], row["depth"], row["identities"]), name_of, ns_cell,
                   ["pattern", "depth", "identities"])
            for threads in sorted({row["threads"] for row in rows})]


def memory_tables(in_bytes, costs):
    sizes = [[row["names"], f"{row['files']:,}",
              spread(row["bytes_per_file"], row["bytes_min"], row["bytes_max"], 1)]
             for row in in_bytes]

    def cell(row):
        over = "" if row["over_1e5"] is None else f", {row['over_1e5']:.2f}x"
        return spread(row["ns_per_op"], row["ns_min"], row["ns_max"], 1) + over
    return [Table("Resident growth of a process for each cached file, bytes: median (min-max)",
                  ["names", "files", "bytes a file"], sizes),
            _cross("A warm stat of the same files: ns, median (min-max), over that among 100,000",
                   costs, lambda row: (f"{row['entries']:,}",), lambda row: row["hot"], cell,
                   ["files cached"], lambda hot: f"{hot:,} files asked for")]


def cold_tables(rows):
    lines = [[row["subject"], row["protocol"], row["mode"], str(row["threads"]), f"{row['files']:,}",
              f"{row['rpcs']:,}", f"{row['rpcs_per_file']:.4f}",
              spread(row["seconds"], row["seconds_min"], row["seconds_max"], 4),
              f"{row['files_per_s']:,.0f}",
              _NOT_MEASURED if row["of_ceiling"] is None else f"{row['of_ceiling']:.2f}"]
             for row in rows]
    return [Table("Walks with empty caches: seconds are medians (min-max)",
                  ["", "NFS", "walk", "threads", "files", "RPCs", "RPCs a file", "seconds",
                   "files a second", "of the ceiling"], lines)]


def bundle_of(row):
    return f"{row['hash']}+{row['list']}+{row['lru']}"


def best_bundle(rows, workload, cores):
    """The one that took least at the most threads that the cores can run at once, as inode_scale
    chooses it; None if nothing but the baseline was measured."""
    others = [row for row in rows if row["workload"] == workload and bundle_of(row) != BASELINE]
    if not others:
        return None
    measured = {row["threads"] for row in others}
    threads = max((count for count in measured if count <= cores), default=min(measured))
    return bundle_of(min((row for row in others if row["threads"] == threads),
                         key=lambda row: row["seconds"]))


def speedups(rows, workload, cores):
    """{threads: (before, after)} of the rows from the baseline to the best bundle, without fill time."""
    rows = [row for row in rows if row["fill_ns"] == 0]
    best = best_bundle(rows, workload, cores)
    pairs = {}
    for threads in sorted({row["threads"] for row in rows}):
        found = {bundle_of(row): row for row in rows
                 if row["workload"] == workload and row["threads"] == threads}
        if BASELINE in found and best in found:
            pairs[threads] = (found[BASELINE], found[best])
    return pairs


def _change(before, after):
    return f"{before:.4g} -> {after:.4g} s, {before / after:.2f}x"


def letters_tables(rows, letters, cores):
    """Ours beside the letters', and all that was measured."""
    sources = in_order((row["letter"], row["filesystem"]) for row in letters)
    lines = []
    for workload in in_order(row["workload"] for row in rows):
        ours = speedups(rows, workload, cores)
        theirs = [row for row in letters if row["workload"] == workload]
        for threads in sorted({*ours, *(row["threads"] for row in theirs)}):
            cells = [workload, str(threads), _NOT_MEASURED]
            if threads in ours:
                before, after = ours[threads]
                cells[2] = f"{bundle_of(after)}: {_change(before['seconds'], after['seconds'])}"
            for letter, filesystem in sources:
                row = find(theirs, letter=letter, filesystem=filesystem, threads=threads)
                cells.append(_change(row["before_s"], row["after_s"]) if row else _NOT_MEASURED)
            lines.append(cells)
    beside = Table(f"Ours, from {BASELINE} to the fastest bundle, beside the letters' "
                   "(other machines, whole file systems: compare shapes)",
                   ["workload", "threads", "ours"] + [f"{letter}, {filesystem}"
                                                      for letter, filesystem in sources], lines)
    everything = [[row["workload"], bundle_of(row), str(row["threads"]), f"{row['fill_ns']:,}",
                   spread(row["seconds"], row["seconds_min"], row["seconds_max"], 4),
                   f"{row['inodes_per_s']:,.0f}", f"{row['global_acq_per_inode']:.3f}"]
                  for row in rows]
    return [beside, Table("All that was measured: seconds are medians (min-max)",
                          ["workload", "bundle", "threads", "fill ns", "seconds", "inodes a second",
                           "global locks an inode"], everything)]


def figures_table(figures):
    def verdict(figure):
        words = []
        if figure.reached is not None:
            words.append("reached" if figure.reached else "NOT REACHED")
        if figure.disturbed:
            words.append("(disturbed by other work)")
        return " ".join(words)
    lines = [[figure.text, figure.asked, figure.measured, verdict(figure)] for figure in figures]
    return Table("Figures to reach", ["figure", "asked", "measured", ""], lines)
