"""Compares null builds in one run, beside a server of tests/conformance/server.sh: compare.py BIN [--help]"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from make_tree import make_tree

# As bench/measure/turns.h.
_PART_THAT_COUNTS = 2
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_NO_WORK = "ninja: no work to do."


class Row(NamedTuple):
    """What is measured of a process that builds `build` times."""
    name: str
    place: str  # "tmpfs", "mount", "new mount"
    walker: bool
    build: int  # the last one is measured, of the only one the whole process


_ROWS = [
    Row("tmpfs, process", "tmpfs", False, 1),
    Row("tmpfs, second build", "tmpfs", False, 2),
    Row("mount, process", "mount", False, 1),
    Row("mount, second build", "mount", False, 2),
    Row("walker, process", "mount", True, 1),
    Row("walker, second build", "mount", True, 2),
    Row("new mount, process", "new mount", False, 1),
    Row("walker on new mount, process", "new mount", True, 1),
]
# Text, the figure, over which row, of which row, the limit, whether at most or at least.
_TARGETS = [
    ("warm, second build in a process: walker over tmpfs, whole", "whole_s", "walker, second build",
     "tmpfs, second build", 1, False),
    ("the same: tmpfs over walker, stats", "stats_s", "tmpfs, second build", "walker, second build", 3, True),
    ("cold: new mount over walker, whole", "whole_s", "new mount, process", "walker on new mount, process", 5, True),
    ("a process that knows nothing, on a warm mount: walker over tmpfs, whole", "whole_s", "walker, process",
     "tmpfs, process", None, False),
    ("the same: tmpfs over walker, stats", "stats_s", "tmpfs, process", "walker, process", None, True),
]


class Failure(Exception):
    """A sentence."""


def _run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def _stats_ms(report):
    """Of each build that `ninja -d stats` reports: in Node::Stat() and NfsDiskInterface::StatAhead() since the start."""
    for part in report.split("path->node")[:-1]:
        total_ms = {}
        for name, total in re.findall(r"^(node stat|stat ahead)\s+\d+\s+[\d.]+\s+([\d.]+)$", part, re.MULTILINE):
            # RealDiskInterface::Stat() has a line of the same name, for a part of that time.
            total_ms.setdefault(name, float(total))
        yield sum(total_ms.values())


class _MachineShare:
    """As bench/measure/machine_share.h, where all processes that /proc shows are the benchmark's."""

    def __init__(self):
        self._start = self._sample()

    @staticmethod
    def _sample():
        ours_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                ours_s += sum(map(int, stat.read_text("ascii", "replace").rpartition(")")[2].split()[11:13])) * _TICK_S
        processors = pathlib.Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()
        unused_s = sum(int(processors[column]) for column in (4, 5, 6, 7)) * _TICK_S
        return time.monotonic(), ours_s, unused_s

    def share(self):
        """1 - (processor time of others + stolen time) / (processors x time)."""
        seconds, ours_s, unused_s = (now - then for now, then in zip(self._sample(), self._start))
        all_s = seconds * os.cpu_count()
        return min(1, max(0, 1 - (all_s - unused_s - ours_s - _TICK_S) / all_s))


class _Places:
    """The same tree on a tmpfs and on the export, and mounts of that."""

    def __init__(self, binaries, options):
        self._binaries = binaries
        work = pathlib.Path(os.environ["WORK"])
        self._local, self._export, self._mounts = work / "local", work / "export", [work / "mount", work / "new"]
        for directory in (self._local, *self._mounts):
            directory.mkdir()
        self._url = (f"nfs://{os.environ['SERVER']}/export?version={options.version}&port=2049&mountport=20048"
                     "&actimeo=600")
        self._mounted = []

    def __enter__(self):
        _run("mount", "-t", "tmpfs", "tmpfs", self._local)
        self._mounted.append(self._local)
        return self

    def __exit__(self, *_):
        for directory in reversed(self._mounted):
            subprocess.run(["umount", directory], check=False)

    def make(self, edges):
        """Builds the tree on the tmpfs, copies it to the export, mounts that and reads it once."""
        make_tree(self._local, edges)
        _run(self._binaries / "ninja", "--quiet", cwd=self._local)
        _run("cp", "-a", f"{self._local}/.", self._export)
        self._mount(self._mounts[0])
        self.build("mount", False, 1)

    def check(self):
        """Touches files: through the mount and the walker, ninja must want to run what it wants to on the tmpfs."""
        wanted = []
        for tree in (self._local, self._export):
            for file in ("src/part00/module000/file00.c", "src/part00/module000/private.h"):
                os.utime(tree / file)
            (tree / "out/src/part00/module000.a").unlink()
        for place, walker in (("tmpfs", False), ("new mount", False), ("new mount", True)):
            with self._at(place, walker) as (directory, variables):
                wanted.append(_run(self._binaries / "ninja", "-n", "-v", cwd=directory, env=variables))
        if _NO_WORK in wanted[0] or any(other != wanted[0] for other in wanted[1:]):
            raise Failure("the walker and the mount do not want what the tmpfs wants:\n" + "\n".join(wanted))

    def build(self, place, walker, builds):
        """Seconds of the last one, in all and in stats, and the share of the machine."""
        with self._at(place, walker) as (directory, variables):
            share = _MachineShare()
            start = time.monotonic()
            report = _run(self._binaries / "ninja", "-d", "stats", cwd=directory,
                          env={**variables, "NINJA_REPEAT": str(builds)})
            whole_s = time.monotonic() - start
            got = share.share()
        if report.count(_NO_WORK) != builds:
            raise Failure(f"not a null build:\n{report}")
        stats_ms = [0, *_stats_ms(report)]
        if builds > 1:
            whole_s = int(re.search(rf"^build {builds}: (\d+) us$", report, re.MULTILINE).group(1)) / 1e6
        return whole_s, (stats_ms[-1] - stats_ms[-2]) / 1e3, got

    @contextlib.contextmanager
    def _at(self, place, walker):
        directory = {"tmpfs": self._local, "mount": self._mounts[0], "new mount": self._mounts[1]}[place]
        variables = dict(os.environ)
        if walker:
            variables["NINJA_NFSWALK_URL"] = self._url
        if place == "new mount":
            self._mount(directory)
        try:
            yield directory, variables
        finally:
            if place == "new mount":
                _run("fusermount3", "-u", directory)
                self._mounted.remove(directory)

    def _mount(self, directory):
        _run(self._binaries / "nfswalk", "mount", self._url, directory)
        self._mounted.append(directory)


class _Turns:
    """The undisturbed turns of each row, interleaved; as bench/measure/turns.h."""

    def __init__(self, repetitions, share_min):
        self._repetitions, self._share_min = repetitions, share_min
        self._counted = {row.name: [] for row in _ROWS}
        self._disturbed = {row.name: [] for row in _ROWS}  # the share that each got

    def _wants(self, name):
        counted = len(self._counted[name])
        return counted < self._repetitions and counted + len(self._disturbed[name]) < 2 * self._repetitions

    def run(self, places):
        """All rounds."""
        while any(map(self._wants, self._counted)):
            for row in _ROWS:
                if not self._wants(row.name):
                    continue
                turn = places.build(row.place, row.walker, row.build)
                if turn[2] >= self._share_min:
                    self._counted[row.name].append(turn)
                else:
                    self._disturbed[row.name].append(turn[2])

    def rows(self):
        """As JSON, by name."""
        for name, counted in self._counted.items():
            disturbed = self._disturbed[name]
            row = {"bench": "ninja", "row": name, "turns": len(counted), "repeated": len(disturbed)}
            if len(counted) * _PART_THAT_COUNTS < self._repetitions:
                row["disturbed"] = (f"other work on the machine: only {len(counted)} of "
                                    f"{len(counted) + len(disturbed)} turns got {self._share_min:.0%} of it, "
                                    f"the best of the others {max(disturbed):.0%}")
            else:
                for number, figure in enumerate(("whole_s", "stats_s")):
                    values = [turn[number] for turn in counted]
                    row[figure] = [statistics.median(values), min(values), max(values)]
            yield row


def _show(rows):
    print(f"{'':30} {'whole, ms':>24} {'in stats, ms':>24}  turns (repeated)")
    for row in rows.values():
        cells = [row.get("disturbed", "")]
        if not cells[0]:
            cells = ["{:8.1f} ({:.1f} to {:.1f})".format(*(1e3 * value for value in row[figure])).rjust(24)
                     for figure in ("whole_s", "stats_s")]
        print(f"{row['row']:30} {' '.join(cells)}  {row['turns']} ({row['repeated']})")
    for text, figure, over, of, limit, at_least in _TARGETS:
        if figure in rows[over] and figure in rows[of]:
            ratio = rows[over][figure][0] / rows[of][figure][0]
            verdict = "" if limit is None else f"; target {limit:.1f}: " + (
                "met" if (ratio >= limit if at_least else ratio <= limit) else "MISSED")
            print(f"{text}: {ratio:.2f}{verdict}")


def main():
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binaries", type=pathlib.Path, help="the directory of ninja and nfswalk")
    parser.add_argument("--edges", type=int, default=50_000)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--share", type=float, default=0.95,
                        help="of the machine, that a turn must get to count [%(default)s]; less is for trials")
    parser.add_argument("--version", type=int, choices=[3, 4], default=3)
    parser.add_argument("--json", type=pathlib.Path, help="gets the rows")
    options = parser.parse_args()
    turns = _Turns(options.repetitions, options.share)
    try:
        with _Places(options.binaries, options) as places:
            places.make(options.edges)
            turns.run(places)
            places.check()
    except Failure as failure:
        print(f"compare.py: {failure}", file=sys.stderr)
        return 1
    rows = {row["row"]: row for row in turns.rows()}
    if options.json:
        facts = {"bench": "ninja", "edges": options.edges, "version": options.version,
                 "share_min": options.share}
        options.json.write_text("".join(json.dumps({**facts, **row}) + "\n" for row in rows.values()), "utf-8")
    _show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
