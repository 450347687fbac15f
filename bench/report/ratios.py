"""Ratios and limits that a run is judged by, each of rows that nothing disturbed."""

from typing import NamedTuple

from rows import find, in_order, is_timed
from table import Reasons, Table

BEST = "rcu-search"
WALK_MODES = ("ref", "rcu-locked", "rcu-peek", BEST)  # those of make_replay have nocto
KERNEL = "kernel, tmpfs"
KERNEL_CLIENT = "kernel, nfs "  # and the mode
LIBNFS = "libnfs sync"
RAW = "raw calls"
TREE_WORKS = ("find", "du", "chmod -R", "rm -r")  # of data, beside the copies


class Figure(NamedTuple):
    text: str
    measured: str  # empty: `reason` says why
    target: str = ""
    reached: bool = None  # None: it has no target
    reason: str = ""
    letter: str = ""  # what the NFS RCU-walk letter measured


def name_of(row):
    """"rcu-search", or the subject that has no modes."""
    return row["subject"] if row["mode"] in ("-", "") else row["mode"]


def _figure(text, rows, value, unit="x", digits=2, at_least=None, at_most=None, letter=""):
    """Of the value that `value(*rows)` makes of them; none where one was not measured."""
    if not all(rows):
        return
    target = ""
    if at_least is not None:
        target = f"at least {at_least:g}{unit}"
    if at_most is not None:
        target = f"at most {at_most:g}{unit}"
    disturbed = next((row["disturbed"] for row in rows if not is_timed(row)), None)
    if disturbed:
        yield Figure(text, "", target, reason=disturbed, letter=letter)
        return
    found = value(*rows)
    reached = None
    if at_least is not None or at_most is not None:
        reached = found >= at_least if at_most is None else found <= at_most
    yield Figure(text, f"{found:.{digits}f}{unit}", target, reached, letter=letter)


def _speedup(ours, other):
    return other["ns_per_op"] / ours["ns_per_op"]


def _time_over(ours, other):
    return ours["ns_per_op"] / other["ns_per_op"]


def of_make_replay(run):
    warm = [row for row in run.with_key("phase") if row["phase"] == "warm"]
    for trace in in_order(row["trace"] for row in warm):
        def row_of(name, threads, trace=trace):
            return next((row for row in warm if row["trace"] == trace and
                         row["threads"] == threads and name_of(row) == name), None)
        for ours, other, threads, letter in (("rcu-locked", "ref", 4, "about 1.2x"),
                                             ("rcu-peek", "rcu-locked", 4, "about 1.02x"),
                                             (BEST, "ref", 4, ""), (BEST, KERNEL, 1, "")):
            count = "1 thread" if threads == 1 else f"{threads} threads"
            yield from _figure(f"{trace}: {ours} over {other}, {count}",
                               (row_of(ours, threads), row_of(other, threads)), _speedup,
                               letter=letter)
        yield from _figure(f"{trace}: {BEST}, calls a second of 2 threads over 1",
                           (row_of(BEST, 2), row_of(BEST, 1)), _scaling(run))
        for version, at_most in (("v3", 1), ("v4", None)):
            opening = row_of(f"{version}-cto", 1)
            if opening and opens_of(opening):
                yield from _figure(
                    f"{trace}: {version} with close-to-open, RPCs of an open and close", (opening,),
                    lambda row: row["rpcs"] / opens_of(row), unit="", at_most=at_most)
            expired, cold = (find(run.rows, trace=trace, phase=phase, mode=f"{version}-expired")
                             for phase in ("expired", "cold"))
            yield from _figure(f"{trace}: {version}, everything expired, RPCs over those of empty "
                               "caches", (expired, cold), lambda ours, other:
                               ours["rpcs"] / other["rpcs"])
            yield from _figure(f"{trace}: {version}, everything expired, time over that of empty "
                               "caches", (expired, cold), _time_over)
    yield from _of_kernel_client(run)


def kernel_client_pairs(run):
    """(mode, our row, that of the kernel's NFS client) of each pass that both made."""
    for theirs in run.with_key("phase"):
        mode = theirs["subject"].removeprefix(KERNEL_CLIENT)
        ours = find(run.rows, trace=theirs["trace"], phase=theirs["phase"],
                    threads=theirs["threads"], subject="nfswalk", mode=mode)
        if ours:
            yield mode, ours, theirs


def _of_kernel_client(run):
    for mode, ours, theirs in kernel_client_pairs(run):
        if ours["phase"] == "expired":
            ratio = ours["rpcs"] / theirs["rpcs"]
            yield Figure(f"{ours['trace']}: {mode}, RPCs over those of the kernel's NFS client",
                         f"{ratio:.2f}x", "at most 0.1x", ratio <= 0.1)


def opens_of(row):
    """How many walks under RCU ended in an open that sends an RPC, of a warm row of make_replay."""
    return row["need_ref"].get("complete", 0)


def _scaling(run):
    processors = run.facts["processors"]

    def scaling(several, one):
        return min(several["threads"], processors) * one["ns_per_op"] / several["ns_per_op"]
    return scaling


def of_warm_stat(run):
    def row_of(mode, pattern, depth, threads=1, identities=1):
        key = {"subject": KERNEL} if mode == KERNEL else {"subject": "nfswalk", "mode": mode}
        return find(run.rows, pattern=pattern, depth=depth, threads=threads, identities=identities,
                    **key)
    deep = row_of(BEST, "distinct", 8)
    yield from _figure("stat at depth 8, distinct files, 1 thread, over the kernel",
                       (deep, row_of(KERNEL, "distinct", 8)), _speedup, at_least=5)
    yield from _figure("stat at depth 16, distinct files, 1 thread, over the kernel",
                       (row_of(BEST, "distinct", 16), row_of(KERNEL, "distinct", 16)), _speedup,
                       at_least=6)
    yield from _figure("stat at depth 8, nopathcache, 1 thread, over the kernel",
                       (row_of("nopathcache", "distinct", 8), row_of(KERNEL, "distinct", 8)),
                       _speedup, at_least=5)
    yield from _figure("random order over many files, 1 thread, over the kernel",
                       (row_of(BEST, "random", 8), row_of(KERNEL, "random", 8)), _speedup,
                       at_least=2.5)
    for paths, at_most in ((1_000, 2.5), (100_000, 2), (1_000_000, 2)):
        pattern = "random" if paths == run.facts.get("files") else f"random-{paths}"
        yield from _figure(f"{paths:,} paths in random order, 1 thread, time over a map's",
                           (row_of(BEST, pattern, 8),
                            find(run.rows, subject="map", pattern=pattern, threads=1)), _time_over,
                           at_most=at_most)
    yield from _figure("open and close at depth 8, 4 threads, rcu-search over ref",
                       (row_of(BEST, "open", 8, 4), row_of("ref", "open", 8, 4)), _speedup,
                       at_least=3)
    yield from _figure("open and close at depth 8, 1 thread, over the kernel",
                       (row_of(BEST, "open", 8), row_of(KERNEL, "open", 8)), _speedup, at_least=3)
    yield from _figure("one file, calls a second of 2 threads over 1",
                       (row_of(BEST, "same-file", 8, 2), row_of(BEST, "same-file", 8)),
                       _scaling(run), at_least=1.95)
    yield from _figure("4 identities, 4 threads, rcu-search over rcu-locked",
                       (row_of(BEST, "distinct", 8, 4, 4),
                        row_of("rcu-locked", "distinct", 8, 4, 4)), _speedup, at_least=3)
    yield from _figure("stat at depth 8, 4 threads, rcu-search over ref",
                       (row_of(BEST, "distinct", 8, 4), row_of("ref", "distinct", 8, 4)), _speedup,
                       at_least=4)
    yield from _figure("time of a negative name over that of a positive one",
                       (row_of(BEST, "negative", 8), deep), _time_over, at_most=1)
    for row in run.with_key("churn"):
        if row["churn"] == "none":
            continue
        beside = f"beside changes of {row['churn']} elsewhere, {row['directories']:,} directories"
        rest = find(run.rows, churn="none", directories=row["directories"])
        yield from _figure(f"stat at depth 8 {beside}, time over none", (row, rest), _time_over,
                           at_most=1.1)
        yield from _figure(f"stat at depth 8 {beside}, began at a cached prefix", (row,),
                           lambda row: 100 * row["prefix_hits"], unit=" %", digits=1, at_least=95)


def of_memory(run):
    for row in run.with_key("bytes_per_file"):
        yield from _figure(f"bytes of a cached file, {row['files']:,} files, names of "
                           f"{row['names']}", (row,), lambda row: row["bytes_per_file"], unit="",
                           digits=0, at_most=500)
    costs = run.with_key("entries")
    for row in costs:
        if row["entries"] == 10_000_000:
            yield from _figure(
                f"time of a warm stat of the same {row['hot']:,} files, 10 million cached over "
                "100,000", (row, find(costs, entries=100_000, hot=row["hot"])), _time_over,
                at_most=1.1)


def files_per_s(row):
    return 1e9 / row["ns_per_op"]


def ceiling_of(rows, row):
    """The raw calls that a walk is held against, or None; libnfs' against those of our default."""
    option = row["subject"].removeprefix("nfswalk").removeprefix(RAW).removeprefix(LIBNFS)
    return find(rows, subject=RAW + option, protocol=row["protocol"], mode=row["mode"], threads=1)


def of_cold_walk(run):
    rows = run.rows
    deep = find(rows, subject="nfswalk", protocol="v4", mode="deep", threads=1)
    if deep:
        yield Figure("v4, cold stat of a path of 8 names, round trips", str(deep["rpcs"]),
                     "at most 1", deep["rpcs"] <= 1)
    for version in ("v3", "v4"):
        def row_of(subject, mode, version=version):
            return find(rows, subject=subject, protocol=version, mode=mode, threads=4)
        listing, path = row_of("nfswalk", "find"), row_of("nfswalk", "path")
        if listing:
            rpcs = listing["rpcs"] / listing["files"]
            yield Figure(f"{version}, cold find, RPCs a file", f"{rpcs:.4f}", "at most 0.05",
                         rpcs <= 0.05)
        libnfs = row_of(LIBNFS, "path")
        yield from _figure(f"{version}, cold stat over libnfs, 4 threads", (path, libnfs), _speedup,
                           at_least=40 if version == "v3" else 10)
        yield from _figure(f"{version}, cold stat over libnfs, 4 threads, directories not listed "
                           "ahead", (row_of("nfswalk nordirplus", "path"), libnfs), _speedup)
        yield from _figure(f"{version}, cold find over libnfs, 4 threads",
                           (listing, row_of(LIBNFS, "find")), _speedup)
        alone = find(rows, subject="nfswalk", protocol=version, mode="find", threads=1)
        yield from _figure(f"{version}, cold find, processor time of the client a file", (alone,),
                           lambda row: row["cpu_ns"], unit=" ns", digits=0,
                           at_most=1000 if version == "v3" else None)
        yield from _figure(f"{version}, cold find from a server that answers from memory, 4 threads, "
                           "processor time of the client a file",
                           (row_of("nfswalk memory", "find"),), lambda row: row["cpu_ns"],
                           unit=" ns", digits=0)
        expired, cold = (find(rows, subject="nfswalk", protocol=version, mode=mode, threads=1)
                         for mode in ("expired", "path"))
        if expired:
            rpcs = expired["rpcs"] / expired["files"]
            most = 0.06 if version == "v3" else 0.02
            yield Figure(f"{version}, stat of files that have expired, RPCs a file", f"{rpcs:.4f}",
                         f"at most {most}", rpcs <= most)
        yield from _figure(f"{version}, stat of files that have expired, 1 thread, time over cold",
                           (expired, cold), _time_over, at_most=0.9)
        distant = find(rows, subject="nfswalk 1 ms", protocol=version, mode="expired")
        yield from _figure(f"{version}, stat of files that have expired, 1 ms round trips, a file",
                           (distant,), lambda row: row["ns_per_op"] / 1e6, unit=" ms", digits=3,
                           at_most=0.08 if version == "v3" else None)
        large, large_raw, changes, raw = (
            find(rows, subject=subject, protocol=version, mode=mode)
            for mode in ("large", "create+unlink") for subject in ("nfswalk", RAW))
        names = f"{10 * large['files']:,}" if large else ""
        yield from _figure(f"{version}, longest cold stat in a directory of {names} names, over a "
                           "round trip", (large,),
                           lambda row: row["longest_ns"] / row["round_trip_ns"], digits=1,
                           at_most=3)
        yield from _figure(f"{version}, longest cold stat in a directory of {names} names, over the "
                           "longest of its calls without a client", (large, large_raw),
                           lambda ours, calls: ours["longest_ns"] / calls["longest_ns"], digits=1)
        if changes:
            yield Figure(f"{version}, create + unlink of a name at depth 8, RPCs",
                         f"{changes['rpcs'] / changes['files']:.2f}")
        yield from _figure(f"{version}, create + unlink of a name at depth 8, processor time of "
                           "the client beside the RPCs", (changes, raw),
                           lambda ours, calls: ours["cpu_ns"] - calls["cpu_ns"], unit=" ns",
                           digits=0)
        for row in filter(None, (cold, alone, path, listing)):
            threads, least = ("1 thread", 0.7) if row["threads"] == 1 else ("4 threads", 0.9)
            yield from _figure(f"{version}, cold {row['mode']}, {threads}, share of the raw-call "
                               "ceiling", (row, ceiling_of(rows, row)), _speedup, unit="",
                               at_least=least)


def of_rpc(run):
    for server, name in (("nfs", "the file server"), ("null", "the server that does nothing")):
        def row_of(subject, in_flight, server=server):
            return find(run.rows, server=server, subject=subject, in_flight=in_flight)
        yield from _figure(f"{name}, one call at a time, calls a second over a bare socket's",
                           (row_of("connection", 1), row_of("bare socket", 1)), _speedup, unit="",
                           at_least=0.95)
        # A file server takes most of the time of both.
        yield from _figure(f"{name}, 256 calls in flight, over libnfs' loop",
                           (row_of("connection", 256), row_of("libnfs loop", 256)), _speedup,
                           at_least=1.5 if server == "null" else None)


def _fastest(rows):
    return min(filter(is_timed, rows), key=lambda row: row["ns_per_op"], default=None)


def _of_transfers(run, version):
    def row_of(subject, work, files, **more):
        return find(run.rows, work=work, protocol=version, subject=subject, files=files, **more)
    for work, files in (("read", 1), ("read", 4), ("write", 1), ("write", 4)):
        ours = row_of("nfswalk", work, files)
        name = (f"{version}, {work} of {'a large file' if files == 1 else f'{files} files'}" +
                (" and fsync" if work == "write" else ""))
        ceiling = _fastest(row for row in run.rows if row["subject"] == RAW and
                           (row["protocol"], row["work"], row["files"]) == (version, work, files))
        yield from _figure(f"{name}, share of the raw-call ceiling", (ours, ceiling), _speedup,
                           unit="", at_least=0.9)
        yield from _figure(f"{name}, over libnfs' synchronous calls",
                           (ours, row_of(LIBNFS, work, files)), _speedup, at_least=3)
        yield from _figure(f"{name}, over libnfs' asynchronous calls",
                           (ours, row_of("libnfs async", work, files)), _speedup)
        yield from _figure(f"{name}, time over the kernel's on the server's tmpfs",
                           (ours, find(run.rows, work=work, subject=KERNEL, files=files)),
                           _time_over)
    for depth in (1, 16, 64):
        yield from _figure(f"{version}, reads of 4 KiB at random, {depth} at once, share of the "
                           "raw-call ceiling", (row_of("nfswalk", "random", 1, in_flight=depth),
                                                row_of(RAW, "random", 1, in_flight=depth)),
                           _speedup, unit="")


def _of_stream(row):
    # Includes disturbed turns: other work on the machine changes times, not memory.
    beyond = row["rss_mebibytes"] - row["limit_mebibytes"]
    yield Figure(f"{row['protocol']}, a large file written beside {row['readers']} threads that "
                 "read, resident memory beyond what may be dirty", f"{beyond:.1f} MiB",
                 "at most 32 MiB", beyond <= 32)


def of_data(run):
    for row in run.with_key("rss_mebibytes"):
        yield from _of_stream(row)
    for version, rpcs_most in (("v3", 4), ("v4", 3)):
        yield from _of_transfers(run, version)

        def row_of(subject, work, delay=0, version=version):
            return find(run.rows, work=work, protocol=version, subject=subject, round_trip_ms=delay)
        for delay, where in ((0, "loopback"), (1, "1 ms round trips")):
            yield from _figure(f"{version}, nfswalk cat over nfs-cat, {where}",
                               (row_of("nfswalk", "cat", delay), row_of("nfs-cat", "cat", delay)),
                               _speedup, at_least=1.5 if version == "v3" else None)
            for option in ("", " nordirplus"):
                yield from _figure(
                    f"{version}, stat of cold names, a batch over single calls{option}, {where}",
                    (row_of("nfswalk batch" + option, "stat", delay),
                     row_of("nfswalk single" + option, "stat", delay)), _speedup,
                    at_least=50 if delay else 5)
        for work in ("cp to", "cp from"):
            yield from _figure(f"{version}, {work} the export, 100 small files, 1 ms round trips",
                               (row_of("nfswalk", work, 1),),
                               lambda row: row["ns_per_op"] * row["files"] / 1e9, unit=" s",
                               digits=3, at_most=0.06)
        for work in ("cp to", "cp from", *TREE_WORKS):
            pair = (row_of("nfswalk", work), row_of("baseline", work))
            yield from _figure(f"{version}, {work} of a tree, time over that of the baseline", pair,
                               _time_over)
            yield from _figure(f"{version}, {work} of a tree, RPCs over those of the baseline", pair,
                               lambda ours, base: ours["rpcs_per_op"] / base["rpcs_per_op"],
                               digits=4, at_most=1)
        made = row_of("nfswalk", "create")
        if made:
            rpcs = made["rpcs_per_op"]
            yield Figure(f"{version}, small files created, written and closed, RPCs a file",
                         f"{rpcs:.2f}", f"at most {rpcs_most}", rpcs <= rpcs_most + 0.01)
        yield from _figure(f"{version}, small files created, written and closed, over libnfs' "
                           "synchronous calls", (made, row_of(LIBNFS, "create")), _speedup)


_OF = {"make_replay": of_make_replay, "warm_stat": of_warm_stat, "memory": of_memory,
       "cold_walk": of_cold_walk, "rpc": of_rpc, "data": of_data}


def ratios(runs):
    """Every Figure whose rows were measured."""
    return [figure for bench, of_run in _OF.items() if bench in runs
            for figure in of_run(runs[bench])]


def ratio_table(figures):
    reasons = Reasons()
    lines = [[figure.text, figure.measured or reasons.cell(figure.reason), figure.letter]
             for figure in figures]
    return Table("Of rows of one run", ["figure", "measured", "RCU-walk letter"], lines, reasons.notes())


def target_table(figures):
    """Of the figures that have one."""
    reasons = Reasons()
    lines = [[figure.text, figure.target, figure.measured or reasons.cell(figure.reason),
              "" if figure.reached is None else "reached" if figure.reached else "MISSED"]
             for figure in figures if figure.target]
    return Table("Targets of ratios and counts", ["figure", "target", "measured", ""], lines, reasons.notes())
