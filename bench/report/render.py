"""Shows the rows of benchmarks: as tables on the terminal, as a page, as docs/results.md and its
picture, as docs/targets.md, and in README.md. Needs nothing but Python; a page needs jinja2 and matplotlib."""

import argparse
import signal
import sys

import documents
from headline import headline_table, headlines, sentences
from picture import picture
from ratios import ratio_table, ratios, target_table
from rows import ReportError, read
from sections import sections
from table import as_text, wrapped


def terminal_text(runs):
    parts = [wrapped(documents.where(runs["machine"].facts))] if "machine" in runs else []
    for section in sections(runs):
        parts.append(f"{section.title}\n{'=' * len(section.title)}")
        parts += [wrapped(section.conditions)] if section.conditions else []
        parts += map(as_text, section.tables)
    figures = ratios(runs)
    parts += [as_text(ratio_table(figures)), as_text(target_table(figures))] if figures else []
    found = headlines(runs)
    parts += [as_text(headline_table(found))] if found else []
    return "\n\n".join(parts + sentences(runs)) + "\n"


def drawn(runs):
    machine = runs["machine"].facts
    return picture(headlines(runs), "Shorter is better. Bars: medians; lines: least to most. "
                   f"{machine['cores']} cores, nfs-ganesha over loopback, {machine['date'][:10]}")


def _check_complete(runs):
    if "machine" not in runs:
        raise ReportError("no row names the machine: bench/run.sh --all writes one")
    for bench, run in runs.items():
        if bench != "machine" and not run.is_complete():
            raise ReportError(f"the run of {bench} ended early")
        if not run.facts.get("optimised", True):
            raise ReportError(f"the times of {bench} are of a debug build: build it with -c opt")


def _write(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from error


def _with_results(path, text):
    try:
        with open(path, encoding="utf-8") as file:
            return documents.with_results(file.read(), text)
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from error


def _parser():
    parser = argparse.ArgumentParser(prog="render.py", description=__doc__)
    parser.add_argument("rows", nargs="+", help='files of rows, JSON Lines; "-": standard input')
    parser.add_argument("--page", help="write a page of plots and tables to this file")
    parser.add_argument("--results", help="write docs/results.md to this file")
    parser.add_argument("--linux-server", action="append", default=[], metavar="ROWS",
                        help="rows of make_replay over the Linux kernel's server, for --results")
    parser.add_argument("--kernel-client", action="append", default=[], metavar="ROWS",
                        help="rows of bench/kernel_client.sh, for --results")
    parser.add_argument("--picture", help="write its picture, an SVG, to this file")
    parser.add_argument("--targets", help="write docs/targets.md to this file")
    parser.add_argument("--readme", help="replace the results in this README.md")
    return parser


def main():
    arguments = _parser().parse_args()
    # Ignores Ctrl-C: if it interrupts a benchmark that writes to a pipe, the rows so far are shown.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        runs = read(arguments.rows)
        written = [arguments.page, arguments.results, arguments.picture,
                   arguments.targets, arguments.readme]
        if any(written):
            _check_complete(runs)
        if arguments.page:
            from page import page
            _write(arguments.page, page(runs, drawn(runs)))
        if arguments.results:
            over_linux = [read([rows])["make_replay"] for rows in arguments.linux_server]
            beside_kernel = [read([rows])["make_replay"] for rows in arguments.kernel_client]
            _write(arguments.results, documents.results_text(runs, over_linux=over_linux,
                                                             beside_kernel=beside_kernel))
        if arguments.picture:
            _write(arguments.picture, drawn(runs))
        if arguments.targets:
            _write(arguments.targets, documents.targets_text(runs))
        if arguments.readme:
            _write(arguments.readme, _with_results(arguments.readme, documents.readme_text(runs)))
        if not any(written):
            sys.stdout.write(terminal_text(runs))
    except ReportError as error:
        sys.exit(f"render.py: {error}")


if __name__ == "__main__":
    main()
