"""The figures to reach, computed from the rows of one run."""

from typing import NamedTuple

from result_rows import find

BEST = "rcu-search"
KERNEL = "kernel, tmpfs"
# A row that got less of the processors than this was disturbed by other work.
CPU_SHARE_MIN = 0.9


def least_cpu_share(results):
    """Of all warm rows but libnfs', which wait for a server and want no more."""
    warm = [row for row in results.make_replay if row["phase"] == "warm"]
    warm += [row for row in results.warm_stat if row["subject"] != "libnfs sync"]
    return min((row["cpu_share"] for row in warm + results.costs), default=1)


class Figure(NamedTuple):
    text: str
    asked: str
    measured: str
    reached: bool  # None: a letter's figure, of another machine, to hold ours against
    disturbed: bool


def _share(*rows):
    return min(row["cpu_share"] for row in rows)


def _at_least(text, ratio, least, *rows):
    return Figure(text, f"at least {least:g}x", f"{ratio:.2f}x", ratio >= least,
                  _share(*rows) < CPU_SHARE_MIN)


def _warm(rows, mode, pattern, depth, threads=1, identities=1):
    key = {"subject": KERNEL} if mode == KERNEL else {"subject": "nfswalk", "mode": mode}
    return find(rows, pattern=pattern, depth=depth, threads=threads, identities=identities, **key)


def _over(text, least, ours, other):
    """How many times as much the other costs; nothing where one was not measured."""
    if ours and other:
        yield _at_least(text, other["ns_per_op"] / ours["ns_per_op"], least, ours, other)


def warm_figures(rows):
    """Of warm_stat."""
    deep = _warm(rows, BEST, "distinct", 8)
    yield from _over("stat at depth 8, distinct files, 1 thread, over the kernel", 5, deep,
                     _warm(rows, KERNEL, "distinct", 8))
    yield from _over("stat at depth 16, distinct files, 1 thread, over the kernel", 6,
                     _warm(rows, BEST, "distinct", 16), _warm(rows, KERNEL, "distinct", 16))
    yield from _over("random order over many files, 1 thread, over the kernel", 2.5,
                     _warm(rows, BEST, "random", 4), _warm(rows, KERNEL, "random", 4))
    one, two = (_warm(rows, BEST, "same-file", 8, threads) for threads in (1, 2))
    if one and two:
        yield _at_least("the same file from 2 threads over 1 thread",
                        two["ops_per_s"] / one["ops_per_s"], 1.95, one, two)
    yield from _over("4 identities, 4 threads, rcu-search over rcu-locked", 3,
                     _warm(rows, BEST, "distinct", 8, 4, 4),
                     _warm(rows, "rcu-locked", "distinct", 8, 4, 4))
    yield from _over("stat at depth 8, 4 threads, rcu-search over ref", 4,
                     _warm(rows, BEST, "distinct", 8, 4), _warm(rows, "ref", "distinct", 8, 4))
    negative = _warm(rows, BEST, "negative", 8)
    if negative and deep:
        ratio = negative["ns_per_op"] / deep["ns_per_op"]
        yield Figure("a negative name over a positive one", "at most 1x", f"{ratio:.2f}x", ratio <= 1,
                     _share(negative, deep) < CPU_SHARE_MIN)


def memory_figures(in_bytes, costs):
    """Of memory."""
    for row in in_bytes:
        value = row["bytes_per_file"]
        yield Figure(f"bytes per cached file, {row['files']:,} files, names of {row['names']}",
                     "at most 500", f"{value:.0f}", value <= 500, False)
    for row in costs:
        reference = find(costs, entries=100_000, hot=row["hot"])
        if row["entries"] != 10_000_000 or reference is None:
            continue
        yield Figure(f"warm stat of the same {row['hot']:,} files, 10 million cached over 100,000",
                     "at most 1.1x", f"{row['over_1e5']:.2f}x", row["over_1e5"] <= 1.1,
                     _share(row, reference) < CPU_SHARE_MIN)


def replay_figures(rows):
    """Of make_replay, beside what the NFS RCU-walk letter reports of 4 threads on 2 cores."""
    warm = [row for row in rows if row["phase"] == "warm"]
    for trace in dict.fromkeys(row["trace"] for row in warm):
        def ns_of(mode, threads, trace=trace):
            key = {"subject": mode} if mode == KERNEL else {"mode": mode}
            return find(warm, trace=trace, threads=threads, **key)
        for text, letter, ours, other in (
                ("rcu-locked over ref, 4 threads", "NFS RCU-walk letter: about 1.2x", ns_of("rcu-locked", 4),
                 ns_of("ref", 4)),
                ("rcu-peek over rcu-locked, 4 threads", "NFS RCU-walk letter: about 1.02x",
                 ns_of("rcu-peek", 4), ns_of("rcu-locked", 4)),
                ("rcu-search over ref, 4 threads", "", ns_of(BEST, 4), ns_of("ref", 4)),
                ("rcu-search over the kernel, 1 thread", "", ns_of(BEST, 1), ns_of(KERNEL, 1))):
            if ours and other:
                yield Figure(f"{trace}: {text}", letter,
                             f"{other['ns_per_op'] / ours['ns_per_op']:.2f}x", None,
                             _share(ours, other) < CPU_SHARE_MIN)


def cold_figures(rows):
    """Of cold_walk, with 4 threads where nothing else is said. Its threads wait for a server, so
    that nothing can be said about what disturbed them."""
    deep = find(rows, subject="nfswalk", protocol="v4", mode="deep", threads=1)
    if deep:
        yield Figure("v4, cold stat of a depth-8 path, round trips", "at most 1", str(deep["rpcs"]),
                     deep["rpcs"] <= 1, False)
    for version in ("v3", "v4"):
        listing, path = (find(rows, subject="nfswalk", protocol=version, mode=mode, threads=4)
                         for mode in ("find", "path"))
        libnfs = find(rows, subject="libnfs sync", protocol=version, mode="path", threads=4)
        if listing:
            value = listing["rpcs_per_file"]
            yield Figure(f"{version}, cold find, RPCs a file", "at most 0.05", f"{value:.4f}",
                         value <= 0.05, False)
        if path and libnfs:
            ratio = path["files_per_s"] / libnfs["files_per_s"]
            yield Figure(f"{version}, cold stat over libnfs' synchronous calls", "at least 4x",
                         f"{ratio:.2f}x", ratio >= 4, False)
        for row in (path, listing):
            if row and row["of_ceiling"] is not None:
                yield Figure(f"{version}, cold {row['mode']}, share of the raw-call ceiling",
                             "at least 0.7", f"{row['of_ceiling']:.2f}", row["of_ceiling"] >= 0.7,
                             False)


def all_figures(results):
    """Every Figure whose rows were measured."""
    return [*replay_figures(results.make_replay), *warm_figures(results.warm_stat),
            *memory_figures(results.bytes, results.costs), *cold_figures(results.cold_walk)]
