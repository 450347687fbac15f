"""Makes one page of the rows that bench/run.sh --all has left in a directory. The page needs neither a
network nor scripts nor any other file."""

import argparse
import os
import sys
from typing import NamedTuple

import figures
import tables
from result_rows import ReportError, load


class Section(NamedTuple):
    bench: str
    title: str
    what: str
    plots: list
    tables: list
    printed: str


def _sections(results):
    import plots  # says what is missing, if anything is
    cores = results.machine["cores"]
    made = [
        ("make_replay", "The null make, replayed",
         "The file system calls of a recorded make, warm, in every walk mode, beside the kernel's own "
         "on a tmpfs with the same tree. Every answer was compared with the recorded one.",
         [plots.replay_plot(results.make_replay)], tables.replay_tables(results.make_replay)),
        ("warm_stat", "Warm stats by threads, depth and pattern",
         "stat of files that are cached, beside the kernel's stat(2) on a tmpfs with the same tree and "
         "libnfs' nfs_stat64, which asks the server each time.",
         [plots.threads_plot(results.warm_stat), plots.depth_plot(results.warm_stat),
          plots.pattern_plot(results.warm_stat)], tables.warm_tables(results.warm_stat)),
        ("memory", "What a cached file costs",
         "Bytes of memory, and a warm stat of the same files as the cache around them grows.",
         [plots.memory_plot(results.bytes, results.costs)],
         tables.memory_tables(results.bytes, results.costs)),
        ("cold_walk", "Cold walks",
         "Walks that begin with empty caches, beside libnfs' synchronous calls and beside the same "
         "calls made without a client (\"raw calls\", the ceiling).",
         [plots.cold_plot(results.cold_walk)], tables.cold_tables(results.cold_walk)),
        ("inode_scale", "The inode cache's locking policies, beside the letters' figures",
         f"How many times as fast the letters' workloads become. The shaded part is what {cores} "
         "processors can show; beyond it are more threads than processors.",
         [plots.letters_plot(results.inode_scale, results.letters, cores)],
         tables.letters_tables(results.inode_scale, results.letters, cores)),
    ]
    return [Section(*parts, results.printed[parts[0]]) for parts in made]


def page(results):
    """The HTML."""
    try:
        import jinja2
    except ImportError as error:
        raise ReportError("the page needs jinja2: run third_party/install.sh report, and then "
                          "/usr/bin/python3, which Debian's packages belong to") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(os.path.dirname(os.path.abspath(__file__))), autoescape=True,
        undefined=jinja2.StrictUndefined)
    return environment.get_template("page.html.j2").render(
        machine=results.machine, sections=_sections(results),
        figures=tables.figures_table(figures.all_figures(results)),
        least_share=figures.least_cpu_share(results),
        share_min=figures.CPU_SHARE_MIN)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", help="where bench/run.sh --all --out left its rows")
    parser.add_argument("page", help="the file to write")
    arguments = parser.parse_args()
    try:
        text = page(load(arguments.directory))
        with open(arguments.page, "w", encoding="utf-8") as file:
            file.write(text)
    except (ReportError, OSError) as error:
        sys.exit(f"make_report.py: {error}")


if __name__ == "__main__":
    main()
