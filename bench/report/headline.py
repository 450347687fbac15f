"""The rows of README.md, nfswalk beside the best of the others, and the sentences below."""

from typing import NamedTuple

from ratios import BEST, KERNEL, LIBNFS, WALK_MODES, opens_of
from rows import find, is_timed
from table import Reasons, Table

_OTHERS = {KERNEL: "kernel on tmpfs", LIBNFS: "libnfs"}
_NULL_MAKE = {"trace": "linux-null", "phase": "warm", "threads": 4}
_UNITS = ((1e3, 1, "ns", 0), (1e6, 1e3, "µs", 1), (float("inf"), 1e6, "ms", 1))


class Pair(NamedTuple):
    label: str  # "v3"; empty: the only pair
    ours: dict
    best: dict  # the fastest that is not nfswalk
    reference_walk: dict = None  # nfswalk without RCU-walk

    def disturbed(self):
        return next((row["disturbed"] for row in (self.ours, self.best) if not is_timed(row)), "")

    def ratio(self):
        return self.best["ns_per_op"] / self.ours["ns_per_op"]

    def best_name(self):
        return _OTHERS.get(self.best["subject"], self.best["subject"])


class Headline(NamedTuple):
    what: str
    per: str  # what the time is of
    pairs: list


def _fastest(rows):
    """None of none. One that was disturbed, if any was: it may be the fastest."""
    rows = sorted(rows, key=lambda row: row.get("ns_per_op", 0))
    return rows[0] if rows else None


def _pair(rows, our_mode, label="", **key):
    """A list of one, or of none."""
    rows = [row for row in rows if all(row[name] == value for name, value in key.items())]
    ours = find(rows, subject="nfswalk", mode=our_mode)
    best = _fastest(row for row in rows if row["subject"] in _OTHERS)
    if not (ours and best):
        return []
    reference = find(rows, subject="nfswalk", mode="ref") if our_mode == BEST else None
    return [Pair(label, ours, best, reference)]


def headlines(runs):
    """Those whose rows were measured."""
    def rows_of(bench, key):
        return runs[bench].with_key(key) if bench in runs else []
    replayed, cold = rows_of("make_replay", "phase"), rows_of("cold_walk", "protocol")
    files = max((row["files"] for row in cold if row["mode"] == "find"), default=0)
    found = [
        Headline("null `make` of Linux replayed with `nocto`, 4 threads", "a call",
                 _pair(replayed, BEST, **_NULL_MAKE)),
        Headline("the same with close-to-open, NFS v3 / v4", "a call",
                 [pair for version in ("v3", "v4")
                  for pair in _pair(replayed, version + "-cto", version, **_NULL_MAKE)]),
        Headline("warm `stat` at depth 8", "a call",
                 _pair(rows_of("warm_stat", "pattern"), BEST, pattern="distinct", depth=8,
                       threads=1, identities=1)),
        Headline(f"cold `find` over {files:,} files, 4 threads, NFS v3 / v4", "a file",
                 [pair for version in ("v3", "v4")
                  for pair in _pair(cold, "find", version, mode="find", protocol=version,
                                    threads=4)]),
    ]
    return [headline for headline in found if headline.pairs]


def time_text(ns, like_ns):
    """In the unit in which `like_ns` reads well."""
    _, divisor, unit, digits = next(each for each in _UNITS if like_ns < each[0])
    return f"{ns / divisor:,.{digits}f} {unit}"


def headline_table(found):
    reasons, lines = Reasons(), []
    for headline in found:
        ours, best, ratio = [], [], []
        for pair in headline.pairs:
            disturbed = pair.disturbed()
            if disturbed:
                ours.append(reasons.cell(disturbed))
                best.append("-")
                ratio.append("-")
                continue
            like = pair.ours["ns_per_op"]
            ours.append(time_text(like, like))
            best.append(time_text(pair.best["ns_per_op"], like))
            ratio.append(f"{pair.ratio():.1f}x")
        if all(pair.disturbed() for pair in headline.pairs):
            lines.append([headline.what, ours[0], "-", "-"])
            continue
        name = headline.pairs[-1].best_name()
        lines.append([headline.what, f"{' / '.join(ours)} {headline.per}",
                      f"{' / '.join(best)}, {name}", " / ".join(ratio)])
    return Table("", ["", "nfswalk", "best of the others", "ratio"], lines, reasons.notes())


def sentences(runs):
    """On correctness, cold speed and memory, a line each."""
    found = []
    if "make_replay" in runs:
        rows = [row for row in runs["make_replay"].with_key("phase") if row["subject"] == "nfswalk"]
        warm = [row for row in rows if row["phase"] == "warm" and row["mode"] in WALK_MODES]
        exits = sum(sum(row["need_ref"].values()) - opens_of(row) for row in warm
                    if row["mode"] != "ref")
        found.append(f"Correctness: {sum(row['ops'] for row in rows):,} answers compared with the "
                     f"recorded ones, {sum(row['mismatches'] for row in rows):,} differ; warm "
                     f"calls sent {sum(row['rpcs'] for row in warm):,} RPCs with `nocto` and left "
                     f"RCU-walk {exits:,} times before its end.")
    cold = runs["cold_walk"].rows if "cold_walk" in runs else []
    key = {"subject": "nfswalk", "mode": "find", "threads": 4}
    listings = list(filter(None, (find(cold, protocol=version, **key) for version in ("v3", "v4"))))
    deep = find(cold, subject="nfswalk", mode="deep", protocol="v4")
    rpcs = []
    if listings:
        rpcs.append(" / ".join(f"{row['rpcs'] / row['files']:.3f}" for row in listings) +
                    " RPCs a file in a cold `find` over " +
                    " / ".join(row["protocol"] for row in listings))
    if deep:
        trips = "1 round trip" if deep["rpcs"] == 1 else f"{deep['rpcs']} round trips"
        rpcs.append(f"{trips} for a cold path of 8 names over v4")
    if rpcs:
        found.append(f"Cold speed: {', '.join(rpcs)}.")
    sizes = runs["memory"].with_key("bytes_per_file") if "memory" in runs else []
    if sizes:
        largest = max(sizes, key=lambda row: (row["files"], row["bytes_per_file"]))
        found.append(f"Memory: {largest['bytes_per_file']:.0f} bytes a cached file, "
                     f"{largest['files']:,} files with names of {largest['names']}.")
    return found
