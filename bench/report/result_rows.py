"""The rows that the benchmarks have left in a directory, read and checked."""

import dataclasses
import json
import os


class ReportError(Exception):
    """A sentence for whoever asked for the report."""


# What must be in each file, as far as the report uses it. A file that is no list holds "rows".
_KEYS = {
    "machine": ["cpu", "cores", "kernel", "memory_gib", "date", "versions"],
    "make_replay": ["trace", "subject", "mode", "phase", "threads", "ns_per_op", "ns_min", "ns_max",
                    "ops_per_s", "rpcs", "compared", "mismatches", "need_ref", "cpu_share"],
    "warm_stat": ["subject", "mode", "pattern", "depth", "threads", "identities", "ns_per_op",
                  "ns_min", "ns_max", "ops_per_s", "cpu_share"],
    "memory": ["subject"],
    "cold_walk": ["subject", "protocol", "mode", "threads", "files", "rpcs", "rpcs_per_file",
                  "seconds", "seconds_min", "seconds_max", "files_per_s", "of_ceiling"],
    "inode_scale": ["workload", "hash", "list", "lru", "threads", "fill_ns", "seconds",
                    "seconds_min", "seconds_max", "inodes_per_s", "global_acq_per_inode"],
    "letters": ["letter", "filesystem", "workload", "threads", "before_s", "after_s"],
}
_BYTES_KEYS = ["names", "files", "bytes_per_file", "bytes_min", "bytes_max"]
_COST_KEYS = ["mode", "entries", "hot", "ns_per_op", "ns_min", "ns_max", "cpu_share", "over_1e5"]

# Benchmarks whose output for people is kept beside their rows.
BENCHES = ["make_replay", "warm_stat", "memory", "cold_walk", "inode_scale"]


@dataclasses.dataclass
class Results:
    """Rows are dictionaries, as the benchmarks wrote them."""
    machine: dict
    make_replay: list
    warm_stat: list
    bytes: list
    costs: list
    cold_walk: list
    inode_scale: list
    letters: list
    printed: dict  # {benchmark: what it printed}


def _read(directory, name):
    try:
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError as error:
        raise ReportError(f"there is no {name} in {directory}: "
                          f"bench/run.sh --all --out {directory} writes it") from error


def _check(file, number, row, keys):
    for key in keys:
        if key not in row:
            raise ReportError(f'{file}: row {number} has no "{key}": is it of another version?')


def _rows(directory, name):
    file = f"{name}.json"
    text = _read(directory, file)
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise ReportError(f"{os.path.join(directory, file)} is no JSON: {error}") from error
    if isinstance(rows, dict):
        rows = rows.get("rows", [rows])
    if not rows:
        raise ReportError(f"{os.path.join(directory, file)} has no rows: did its run end early?")
    for number, row in enumerate(rows):
        _check(file, number, row, _KEYS[name])
    return rows


def load(directory):
    """The Results in `directory`, as bench/run.sh --all leaves them there."""
    machine = _rows(directory, "machine")[0]
    memory = _rows(directory, "memory")
    in_bytes = [row for row in memory if "bytes_per_file" in row]
    costs = [row for row in memory if "bytes_per_file" not in row]
    for kind, keys in ((in_bytes, _BYTES_KEYS), (costs, _COST_KEYS)):
        for number, row in enumerate(kind):
            _check("memory.json", number, row, keys)
    return Results(machine=machine, bytes=in_bytes, costs=costs,
                   printed={bench: _read(directory, f"{bench}.txt") for bench in BENCHES},
                   **{name: _rows(directory, name)
                      for name in ("make_replay", "warm_stat", "cold_walk", "inode_scale", "letters")})


def find(rows, **wanted):
    """The first row with these values, or None."""
    return next((row for row in rows if all(row[key] == value for key, value in wanted.items())),
                None)


def in_order(values):
    """Each of them once, as they come."""
    return list(dict.fromkeys(values))
