"""Writes the results of one run of bench/run.sh --all between the two markers of README.md."""

import argparse
import sys
import textwrap

import figures
import tables
from result_rows import ReportError, load

MARKER = "<!-- results -->"
_COLUMNS = 100


def _markdown(table):
    """A pipe table; its title is left to the text around it."""
    lines = [table.header, ["---"] * len(table.header), *table.lines]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |"
                     for line in lines)


def _text(paragraph):
    return textwrap.fill(paragraph, _COLUMNS, break_long_words=False, break_on_hyphens=False)


def _where(machine):
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (f"`bench/run.sh --all`, {machine['date']}: {machine['cpu']}, {machine['cores']} cores, "
            f"{machine['memory_gib']} GiB, Linux {machine['kernel']}; {versions}.")


def _answers(rows):
    compared = sum(row["compared"] for row in rows)
    differ = sum(row["mismatches"] for row in rows)
    exits = sum(sum(row["need_ref"].values()) for row in rows
                if row["phase"] == "warm" and row["mode"].startswith("rcu-"))
    rpcs = sum(row["rpcs"] for row in rows if row["phase"] == "warm")
    return (f"{compared:,} answers were compared with the recorded ones: {differ:,} differ. Warm rows "
            f"sent {rpcs:,} RPCs, and those of the rcu modes left RCU mode {exits:,} times.")


def _warning(results):
    least = figures.least_cpu_share(results)
    if least >= figures.CPU_SHARE_MIN:
        return []
    return [f"Other work ran on the machine: some rows got {100 * least:.0f} % of the processor time "
            "that they could use. The answers count; the times and ratios do not."]


def results_text(results):
    """Everything between the markers."""
    paragraphs = [_text("The null `make`, warm: nanoseconds of one call on one core, the median of turns "
                        "that all rows took in one run (least-most). " + _where(results.machine))]
    for table in tables.replay_tables(results.make_replay)[:-1]:
        named = tables.Table(table.title, [table.title.split(",")[0], *table.header[1:]], table.lines)
        paragraphs.append(_markdown(named))
    paragraphs.append(_text(_answers(results.make_replay)))
    paragraphs += map(_text, _warning(results))
    paragraphs.append("What was asked for, and what that run gave:")
    paragraphs.append(_markdown(tables.figures_table(figures.all_figures(results))))
    return "\n\n".join(paragraphs)


def with_results(readme, text):
    """`readme` with `text` between its markers."""
    parts = readme.split(MARKER)
    if len(parts) != 3:
        raise ReportError(f"{MARKER} stands {len(parts) - 1} times where it must stand twice")
    return MARKER.join([parts[0], f"\n{text}\n", parts[2]])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", help="where bench/run.sh --all --out left its rows")
    parser.add_argument("readme", help="the file whose table is replaced")
    arguments = parser.parse_args()
    try:
        text = results_text(load(arguments.directory))
        with open(arguments.readme, encoding="utf-8") as file:
            readme = with_results(file.read(), text)
        with open(arguments.readme, "w", encoding="utf-8") as file:
            file.write(readme)
    except (ReportError, OSError) as error:
        sys.exit(f"readme_table.py: {error}")


if __name__ == "__main__":
    main()
