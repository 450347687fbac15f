"""The rows of inode_scale: beside the letters' figures, as tables, simulated on more processors, and
what may be concluded from which of them."""

import functools

import letters
from bundle_model import PROCESSORS, RCU_LOOKUP, HoldTimes, bulkstat_curve
from rows import find, in_order, is_timed
from table import Reasons, Table, cross
from tables import spread, threads_text

BASELINE = "H0+L0+U0"
# A simulated time that is off the measured one by more than this part is marked.
TOLERANCE = 0.25
# A rate of hits that is further off than this is told.
_HITS_TOLERANCE = 0.02

_NONE = "-"
_COUNTED_HASH_LOCKS = ("H0", "H1", "H5", "H6")  # those of the others are bits of the chains' heads
_SOURCES = [  # the letters' tables that stand beside ours: mark, letter, filesystem, what it compares
    ("ext4 [1]", letters.VFS_SCALE, "ext4",
     "400,000 files a thread, from one hash lock and one list to a lock for each chain and a sharded "
     "list"),
    ("xfs [2]", letters.ITERATION, "xfs",
     "100,000 files a thread, 64 processors, from one list beside the file system's own index to no "
     "list"),
    ("ext4 [3]", letters.RCU_LOOKUP, "ext4",
     "1,000,000 files a thread, 32 processors, from a first lookup under the one hash lock to one "
     "under RCU"),
]


def seconds(row, processors, key="ns_per_op"):
    """Until the last thread was done: the median, or the least ("ns_min") or the most."""
    return row[key] * row["inodes"] / min(row["threads"], processors) / 1e9


def inodes_per_s(row, processors):
    """Of all threads together, in the median turn."""
    return row["inodes"] / seconds(row, processors)


def efficiency(rows, row):
    """The part of ideal speed: 1 where the time of one visit on one core is that of one thread. None
    without the row of one thread."""
    alone = find(rows, workload=row["workload"], policy=row["policy"], fill_ns=row["fill_ns"], threads=1)
    return alone["ns_per_op"] / row["ns_per_op"] if alone and is_timed(alone) else None


def best_policy(rows, workload, processors):
    """The bundle that took least at the most threads that the processors can run at once, or else at
    the fewest threads. None if nothing but the baseline was timed."""
    others = [row for row in rows
              if row["workload"] == workload and is_timed(row) and row["policy"] != BASELINE]
    if not others:
        return None
    measured = {row["threads"] for row in others}
    threads = max((count for count in measured if count <= processors), default=min(measured))
    return min((row for row in others if row["threads"] == threads),
               key=lambda row: row["ns_per_op"])["policy"]


def without_fill(rows):
    """The rows of the letters' workloads with the least fill time."""
    rows = [row for row in rows if "workload" in row and "hit_percent" not in row]
    least_ns = min((row["fill_ns"] for row in rows), default=0)
    return [row for row in rows if row["fill_ns"] == least_ns]


def speedups(rows, workload, processors):
    """{threads: (before, after)}: timed rows of the baseline and of the best bundle."""
    best = best_policy(rows, workload, processors)
    pairs = {}
    for threads in sorted({row["threads"] for row in rows}):
        pair = tuple(find(rows, workload=workload, policy=policy, threads=threads)
                     for policy in (BASELINE, best))
        if all(row and is_timed(row) for row in pair):
            pairs[threads] = pair
    return pairs


def _seconds_text(value):
    return f"{value:.{4 if value < 1 else 3 if value < 100 else 1}f}"


def _change(before_s, after_s):
    ratio = before_s / after_s
    return f"{_seconds_text(before_s)} -> {_seconds_text(after_s)} {ratio:.{2 if ratio < 10 else 1}f}x"


def _our_cell(pair, processors):
    before, after = pair
    overlap = before["ns_min"] <= after["ns_max"] and after["ns_min"] <= before["ns_max"]
    return _change(*(seconds(row, processors) for row in pair)) + ("~" if overlap else "")


def _our_cells(rows, workloads, threads, processors, reasons):
    cells = []
    for workload in workloads:
        pair = speedups(rows, workload, processors).get(threads)
        if pair:
            cells.append(_our_cell(pair, processors))
            continue
        disturbed = [row for row in rows if row["workload"] == workload and row["threads"] == threads
                     and not is_timed(row)
                     and row["policy"] in (BASELINE, best_policy(rows, workload, processors))]
        cells.append(reasons.cell(disturbed[0]["disturbed"]) if disturbed else _NONE)
    return cells


def _letter_cells(letter, filesystem, workloads, threads):
    figures = [letters.find(letter, filesystem, workload, threads) for workload in workloads]
    return [_change(*figure) if figure else _NONE for figure in figures]


def beside_letters(rows, processors):
    """A line for each number of threads, a column for each workload, the letters' lines under ours."""
    workloads = in_order([*letters.WORKLOADS, *(row["workload"] for row in rows)])
    reasons = Reasons()
    lines = [["after:", "", *(best_policy(rows, workload, processors) or _NONE
                              for workload in workloads)]]
    for threads in sorted({row["threads"] for row in [*rows, *letters.rows()]}):
        whose = "ours *" if threads > processors else "ours"
        candidates = [(whose, _our_cells(rows, workloads, threads, processors, reasons))]
        candidates += [(mark, _letter_cells(letter, filesystem, workloads, threads))
                       for mark, letter, filesystem, _ in _SOURCES]
        shown = [(mark, cells) for mark, cells in candidates if set(cells) != {_NONE}]
        lines += [["" if number else str(threads), mark, *cells]
                  for number, (mark, cells) in enumerate(shown)]
    return Table(f"Seconds, from {BASELINE} to the bundle under the workload's name: the fastest one "
                 "measured, chosen afterwards, which flatters it a little. All threads do the same "
                 "work, so a constant time is ideal", ["threads", "", *workloads], lines,
                 reasons.notes() + ["~ the ranges of the turns overlap: no difference is shown. "
                                    f"* more threads than the {processors} processors here: "
                                    "oversubscription, not scalability. The letters' seconds are of "
                                    "other machines and whole file systems: compare ratios and shapes."]
                 + [f"{mark} {letter}: {what}." for mark, letter, _, what in _SOURCES], 2)


def _timing_tables(rows):
    """One for each workload: what a visit took, under each bundle."""
    tables = []
    for workload in in_order(row["workload"] for row in rows):
        reasons = Reasons()

        def cell(row, reasons=reasons):
            if not is_timed(row):
                return reasons.cell(row["disturbed"])
            text = f"{row['ns_per_op']:,.0f} ({row['ns_min']:,.0f}-{row['ns_max']:,.0f})"
            part = efficiency(rows, row)
            return text if part is None or row["threads"] == 1 else f"{text} {part:.2f}"
        shown = [row for row in rows if row["workload"] == workload]
        table = cross(f"{workload}: nanoseconds of one visit on one core, median (least-most), and the "
                      "part of ideal speed, that of one thread", shown,
                      lambda row: (f"{row['fill_ns']:,}", row["policy"]), lambda row: row["threads"],
                      cell, ["fill ns", "policies"],
                      lambda threads: "1 thread" if threads == 1 else f"{threads} threads")
        tables.append(table._replace(notes=reasons.notes()))
    return tables


def _pressure_tables(rows, times):
    """What a lookup took over the rate of hits, how often it took the busiest hash lock, and what
    follows from both with the HoldTimes (None: nothing)."""
    parts = []
    for keys, threads in in_order((row["keys"], row["threads"]) for row in rows):
        reasons = Reasons()
        shown = [row for row in rows if (row["keys"], row["threads"]) == (keys, threads)]

        def cell(row, reasons=reasons):
            if not is_timed(row):
                return reasons.cell(row["disturbed"])
            return spread(row["ns_per_op"], row["ns_min"], row["ns_max"])
        table = cross(f"Lookups under memory pressure, keys {keys}, {threads_text(threads)}: nanoseconds "
                      "of one on one core, median (least-most), by how many in 100 find their inode; "
                      "the others evict one", shown,
                      lambda row: (f"{row['fill_ns']:,}", row["policy"]),
                      lambda row: row["hit_percent"], cell, ["fill ns", "policies"], "{} %".format)
        off = [row for row in shown if abs(row.get("hits", row["hit_percent"] / 100) -
                                           row["hit_percent"] / 100) > _HITS_TOLERANCE]
        parts.append(table._replace(notes=reasons.notes() + [
            f"{row['policy']}: {100 * row['hits']:.0f} % hits instead of {row['hit_percent']} %: its "
            "threads drifted apart." for row in off]))
    alone = [row for row in rows if row["threads"] == 1 and row["fill_ns"] == 0]
    counted = [row for row in alone if row["policy"].split("+")[0] in _COUNTED_HASH_LOCKS]

    def add(title, shown, cell):
        if shown:
            parts.append(cross(title, shown, lambda row: (row["keys"], row["policy"]),
                               lambda row: row["hit_percent"], cell, ["keys", "policies"],
                               "{} %".format))
    add("Acquisitions of the hash lock most often taken, for each of these lookups of one thread (counts)",
        counted, lambda row: f"{row['hash_acq_per_inode']:.3f}")
    if times:
        # One chain is held for longer than the table whose holds were timed.
        add("PREDICTED, not measured: processors from which on that lock sets the pace, from the time of "
            "one thread and what it holds the lock", [row for row in counted if is_timed(row)
                                                       and row["keys"] != "one-chain"],
            lambda row: _processors_text(hash_lock_onset(row, times)))
    return parts


def hash_lock_onset(row, times):
    """Processors that keep the busiest hash lock busy all the time, if each does what the one thread of
    this row did."""
    hits = row["hit_percent"] / 100
    looks_up_locked = row["policy"].split("+")[0] not in RCU_LOOKUP
    held_ns = (times.hash_find * looks_up_locked +
               (1 - hits) * (times.hash_insert + times.hash_unhash))
    acquisitions = looks_up_locked + 2 * (1 - hits)  # of all locks of the hash
    if not acquisitions:
        return float("inf")
    busy_ns = row["hash_acq_per_inode"] * (held_ns / acquisitions + times.transfer)
    # Holds that were measured by themselves can seem longer than all of the lookup.
    return max(1.0, row["ns_per_op"] / busy_ns) if busy_ns else float("inf")


def _processors_text(count):
    return "never" if count == float("inf") else f"{count:.1f}"


def _counts_table(rows):
    """The same on any machine."""
    return cross("Acquisitions of global locks for each visit (counts, the same on any machine)",
                 sorted((row for row in without_fill(rows)
                         if row["threads"] == min(other["threads"] for other in rows)),
                        key=lambda row: row["policy"]),
                 lambda row: (row["policy"],), lambda row: row["workload"],
                 lambda row: f"{row['global_acq_per_inode']:.3f}", ["policies"])


_curve = functools.cache(bulkstat_curve)


def _hold_times(rows):
    """(HoldTimes or None, reasons why there are none)."""
    holds = {row["hold"]: row for row in rows if "hold" in row}
    disturbed = [name for name, row in holds.items() if not is_timed(row)]
    if disturbed:
        return None, [f"Nothing is simulated: {disturbed[0]} could not be timed undisturbed."]
    # One processor hands nothing over.
    times = HoldTimes(*(holds[name]["ns_per_op"] if name in holds else 0 for name in HoldTimes._fields))
    return (times if holds else None), []


def curves(rows):
    """(Curves of bulkstat, reasons why there are not more). None without measured hold times."""
    times, reasons = _hold_times(rows)
    if not times:
        return [], reasons
    found = []
    for row in without_fill(rows):
        if row["workload"] != "bulkstat" or row["threads"] != 1 or row["fill_ns"] != 0:
            continue
        if is_timed(row):
            found.append(_curve(row["policy"], times, row["ns_per_op"], row["inodes"]))
        else:
            reasons.append(f"No simulation of {row['policy']}: its one thread was disturbed.")
    return found, reasons


def _curves_table(found, reasons):
    lines = [[str(count), *(f"{curve.seconds[count]:.4f} ({curve.seconds[count] / curve.seconds[1]:.2f})"
                            for curve in found)] for count in PROCESSORS]
    lines.append(["onset ~", *(_processors_text(curve.onset) for curve in found)])
    return Table("SIMULATED, not measured: seconds of bulkstat, and in brackets times that of one "
                 "processor, with first come, first served locks and the hold times of one thread. No "
                 "preemption, no other shared lines", ["processors", *(curve.policy for curve in found)],
                 lines, reasons + ["onset: processors from which on one global lock sets the pace; a "
                                   "prediction."])


def _validation_table(rows, found, processors):
    lines = []
    for curve in found:
        for count in PROCESSORS:
            row = find(rows, workload="bulkstat", policy=curve.policy, threads=count)
            if row is None or count > processors or not is_timed(row):
                continue
            part = curve.seconds[count] / seconds(row, processors)
            lines.append([curve.policy, str(count), f"{part:.2f}",
                          "OFF" if abs(part - 1) > TOLERANCE else ""])
    return Table("Simulated over measured time", ["policies", "processors", "simulated over measured", ""],
                 lines, [f"OFF: by more than {TOLERANCE * 100:.0f} %; the simulation of that bundle "
                         "leaves out what decides here."])


def _measurable(processors):
    if processors < 2:
        return "What times on one processor can show: what each policy costs."
    return (f"What times on {processors} processors can show, with up to {processors} threads: warm "
            "lookups (under RCU no hash lock, near ideal speed at two threads, less with H0). H0 to H1 "
            "where every lookup misses: at most 2x at two threads, with long chains and no fill time, "
            "towards 1x as the fill time grows. H0 to H2 or H5, L0 to L1 or L3: between 1x and 2x "
            "without fill time, about 1x from 5 us on. No gain where the file system's own lock is the "
            "bottleneck. What each policy costs a single thread.")


def _stream(rows, processors):
    timed = [row for row in rows
             if row["workload"] == "bulkstat" and row["threads"] <= processors and is_timed(row)]
    if not timed:
        return []
    fastest = max(timed, key=lambda row: inodes_per_s(row, processors))
    return [f"bulkstat, {fastest['threads']} threads, {fastest['policy']}: "
            f"{inodes_per_s(fastest, processors) / 1e6:.2f} million inodes/s ({letters.ITERATION}: "
            f"{letters.LONG_BULKSTAT_PER_S / 1e6:.2f} million with {letters.LONG_BULKSTAT_THREADS} "
            "threads, in a longer run than that of its table)."]


def _beyond(rows, processors):
    def ratio(letter, filesystem, workload, threads):
        before_s, after_s = letters.find(letter, filesystem, workload, threads)
        return before_s / after_s
    system_before_s, system_after_s = letters.FSTREE_SYSTEM_S["ext4"]
    notes = ["What only counts and simulation show on fewer than 8 to 64 processors: the letters' "
             f"{ratio(letters.RCU_LOOKUP, 'ext4', 'fstree', 20):.2f}x (fstree; "
             f"{system_before_s / system_after_s:.2f}x of its system time), "
             f"{ratio(letters.VFS_SCALE, 'ext4', 'walk', 16):.2f}x and "
             f"{ratio(letters.VFS_SCALE, 'btrfs-svol', 'walk', 32):.2f}x (walk), "
             f"{ratio(letters.ITERATION, 'xfs', 'bulkstat', 64):.1f}x (bulkstat)."]
    above = sorted({row["threads"] for row in rows if row["threads"] > processors})
    if above:
        notes.append(f"Rows with {', '.join(map(str, above))} threads: oversubscription, not "
                     "scalability. They show how preempted lock holders are borne.")
    return notes


def claims(facts, rows):
    """Which ratios this machine can show, and which follow from counts and simulation alone."""
    processors = facts["processors"]
    if facts.get("server"):
        return Table("", [], [], [f"On {facts['server']}, through the client: these times contain the "
                                  "server."])
    return Table("", [], [], [_measurable(processors), *_stream(rows, processors),
                              *_beyond(rows, processors)])


def tables(facts, rows):
    processors = facts["processors"]
    parts = _pressure_tables([row for row in rows if "hit_percent" in row], _hold_times(rows)[0])
    timings = [row for row in rows if "workload" in row and "hit_percent" not in row]
    if not timings:
        return parts
    first = without_fill(rows)
    found, reasons = curves(rows)
    parts += [beside_letters(first, processors), *_timing_tables(timings), _counts_table(timings)]
    if found:
        parts.append(_curves_table(found, reasons))
        validation = _validation_table(first, found, processors)
        parts += [validation] if validation.lines else []
    elif reasons:
        parts.append(Table("", [], [], reasons))
    return [*parts, claims(facts, first)]
