"""One section for each benchmark that was run: what it is, and its tables."""

from typing import NamedTuple

import inode_scale
import letters
import shared_lines
import tables
from table import cross


class Section(NamedTuple):
    bench: str
    title: str
    what: str
    conditions: str  # what held for the whole run
    tables: list
    more: list  # tables for the page alone


_TEXTS = {
    "make_replay": (
        "The null make, replayed",
        "The file system calls of a recorded make, warm, in every walk mode (with nocto) and with "
        "close-to-open (cto), beside the kernel's own on a tmpfs with the same tree. Every answer "
        "is compared with the recorded one."),
    "warm_stat": (
        "Warm stat by threads, depth and pattern",
        "stat, and open with close, of cached files, beside the kernel on a tmpfs with the same "
        "tree, libnfs, which asks the server each time, and a hash map from path to attributes."),
    "cold_walk": (
        "Cold walks",
        "Walks that begin with empty caches, beside libnfs' synchronous calls and beside the same "
        "calls without a client around them (\"raw calls\", the ceiling)."),
    "rpc": (
        "Calls",
        "NULL calls over one connection: our own, libnfs' loop, and a socket without a client; to "
        "a server of version 3 (nfs) and to a process that does nothing else (null)."),
    "data": (
        "Data",
        "Large files written until they are stable, read, and read at random; the memory of a process "
        "that writes one beside its readers; small ones created, written and closed; trees copied "
        "and files shown by the command; many cold names looked up. Beside libnfs' calls and "
        "commands, the same calls without a client (\"raw calls\"; the depth that does best is the "
        "ceiling), and the kernel on the server's tmpfs."),
    "memory": (
        "Bytes and time of a cached file",
        "Resident memory, and a warm stat of the same files as the cache around them grows."),
    "inode_scale": (
        "Locking policies of the inode cache",
        "The workloads of the letters about the kernel's inode cache, with interchangeable "
        "policies for its hash (H), list (L) and LRU (U); what each is, docs/inode_cache.md says."),
    "shared_lines": (
        "Cache lines shared in the inode cache",
        "Writes and reads of a visit that hit a cache line which another virtual thread wrote "
        "last. Counts, the same on any machine."),
}


def _tables_of(bench, run):
    if bench == "inode_scale":
        return inode_scale.tables(run.facts, run.rows)
    if bench == "shared_lines":
        return shared_lines.tables(run.facts, run.rows)
    return {"make_replay": tables.replay_tables, "warm_stat": tables.warm_tables,
            "cold_walk": tables.cold_tables, "rpc": tables.rpc_tables,
            "data": tables.data_tables, "memory": tables.memory_tables}[bench](run)


def _letters_table():
    return cross("All that the letters report: seconds before and after, and their ratio",
                 letters.rows(), lambda row: (row["letter"], row["filesystem"], row["threads"]),
                 lambda row: row["workload"],
                 lambda row: f"{row['before_s']:.3f} -> {row['after_s']:.3f} "
                 f"{row['before_s'] / row['after_s']:.2f}x", ["", "", "threads"])


def _fact_text(value):
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _conditions(run):
    shown = {name.replace("_", " "): value for name, value in run.facts.items()
             if name != "optimised" and value not in (None, "", False)}
    sentences = ["; ".join(f"{name}: {_fact_text(value)}" for name, value in shown.items()) + "."]
    if not run.facts.get("optimised", True):
        sentences.append("NOT OPTIMISED: the times are of a debug build.")
    if not run.is_complete():
        sentences.append("The run ended early.")
    return " ".join(sentences)


def sections(runs):
    return [Section(bench, *_TEXTS[bench], _conditions(run), _tables_of(bench, run),
                    [_letters_table()] if bench == "inode_scale" else [])
            for bench, run in runs.items() if bench != "machine"]
