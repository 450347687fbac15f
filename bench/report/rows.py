"""The rows that benchmarks write, one JSON object a line, read and checked (docs/benchmarks.md)."""

import dataclasses
import json

BENCHES = ["make_replay", "warm_stat", "cold_walk", "rpc", "data", "memory", "inode_scale",
           "shared_lines"]

_OTHER_VERSION = "is it of another version?"
_TIME_KEYS = ["ns_per_op", "ns_min", "ns_max"]
# Lists for each kind of row: benchmark, a key that no later kind of the benchmark has, the other keys,
# whether it has a time (or the reason why it has none).
_KINDS = [
    ("make_replay", "coverage", ["trace"], False),
    ("make_replay", "phase", ["trace", "subject", "mode", "threads", "ops", "mismatches", "rpcs",
                              "need_ref", "peek_hits"], True),
    ("warm_stat", "pattern", ["subject", "mode", "depth", "threads", "identities"], True),
    ("warm_stat", "churn", ["directories", "changes_per_s", "prefix_hits"], True),
    ("cold_walk", "protocol", ["subject", "mode", "threads", "files", "rpcs"], True),
    ("rpc", "in_flight", ["server", "subject"], True),
    ("data", "rss_mebibytes", ["work", "protocol", "subject", "readers", "limit_mebibytes"], True),
    ("data", "work", ["protocol", "subject", "files", "in_flight", "round_trip_ms"], True),
    ("memory", "bytes_per_file", ["names", "files", "bytes_min", "bytes_max"], False),
    ("memory", "entries", ["mode", "hot"], True),
    ("inode_scale", "hold", ["files"], True),
    ("inode_scale", "hit_percent", ["policy", "threads", "fill_ns", "keys", "inodes",
                                    "hash_acq_per_inode"], True),
    ("inode_scale", "workload", ["policy", "threads", "fill_ns", "inodes",
                                 "global_acq_per_inode"], True),
    ("shared_lines", "workload", ["policy", "threads", "visits", "shared_writes",
                                  "shared_reads"], False),
]


class ReportError(Exception):
    """A sentence for whoever asked for the report."""


@dataclasses.dataclass
class Run:
    """One run of a benchmark: its first line, its rows, its last line (None: it ended early)."""
    facts: dict
    rows: list = dataclasses.field(default_factory=list)
    totals: dict = None

    def is_complete(self):
        return self.totals is not None and not self.totals.get("interrupted")

    def with_key(self, key):
        return [row for row in self.rows if key in row]


def is_timed(row):
    return "disturbed" not in row


def _check(place, row):
    kinds = [kind for kind in _KINDS if kind[0] == row["bench"]]
    kind = next((kind for kind in kinds if kind[1] in row), None)
    if kind is None:
        raise ReportError(f"{place}: no row of {row['bench']} looks like this: {_OTHER_VERSION}")
    _, _, keys, has_time = kind
    for key in keys + (_TIME_KEYS if has_time and is_timed(row) else []):
        if key not in row:
            raise ReportError(f'{place}: a row of {row["bench"]} has no "{key}": {_OTHER_VERSION}')


def _read_line(place, line, runs):
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ReportError(f"{place} is no JSON: {error}") from error
    bench = row.get("bench") if isinstance(row, dict) else None
    if bench not in ["machine", *BENCHES]:
        raise ReportError(f"{place} is no row of a benchmark")
    if "facts" in row:
        runs[bench] = Run(row["facts"])  # a later run takes the place of an earlier one
    elif bench not in runs:
        raise ReportError(f"{place}: a row of {bench} stands before the facts of its run")
    elif "totals" in row:
        runs[bench].totals = row["totals"]
    else:
        _check(place, row)
        runs[bench].rows.append(row)


def read(paths):
    """{benchmark or "machine": Run}, in the order of BENCHES; "-" is standard input."""
    runs = {}
    for path in paths:
        try:
            with open(0 if path == "-" else path, encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        _read_line(f"{path}, line {number}", line, runs)
        except OSError as error:
            raise ReportError(f"{path}: {error.strerror}") from error
    for bench, run in runs.items():
        if bench != "machine" and not run.rows:
            raise ReportError(f"{bench} has no rows: did its run end early?")
    return {bench: runs[bench] for bench in ["machine", *BENCHES] if bench in runs}


def find(rows, **wanted):
    """The first row with these values, or None."""
    return next((row for row in rows
                 if all(row.get(key) == value for key, value in wanted.items())), None)


def in_order(values):
    """Each of them once, as they come."""
    return list(dict.fromkeys(values))
