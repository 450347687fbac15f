"""docs/results.md, docs/targets.md, and the results in README.md."""

from headline import headline_table, headlines, sentences
from ratios import ratio_table, ratios, target_table
from rows import ReportError
from sections import sections
from table import as_markdown, wrapped
from tables import kernel_client_table, warm_replay_tables

MARKER = "<!-- results -->"
METHOD = ("A row is the median of turns that all rows of a benchmark took in one run, with the "
          "least and the most. Turns in which the processes got less than 95 % of the processors "
          "they could use were repeated; a row that could not be had undisturbed is left out, with "
          "the reason.")


def where(machine):
    """The machine, the versions and the date, in a sentence."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (f"{machine['date']}: {machine['cpu']}, {machine['cores']} cores, "
            f"{machine['memory_gib']} GiB, Linux {machine['kernel']}; {versions}.")


def _linux_server_parts(run):
    if not run.is_complete():
        raise ReportError("the run over the Linux kernel's server ended early")
    ours = [row for row in run.with_key("phase") if row["subject"] == "nfswalk"]
    compared, differ = (sum(row[key] for row in ours) for key in ("ops", "mismatches"))
    return [f"## The null make over the Linux kernel's server: `{run.facts['server']}`",
            wrapped("The server of a user-mode Linux, at the other end of a tap device "
                    f"(`bench/linux_server.sh`): {compared:,} answers compared with the recorded "
                    f"ones, {differ:,} differ."),
            *map(as_markdown, warm_replay_tables(run))]


def _kernel_client_parts(run):
    if not run.is_complete():
        raise ReportError("the run beside the Linux kernel's client ended early")
    return ["## The null make beside the Linux kernel's client",
            wrapped("Both in a user-mode Linux (`bench/kernel_client.sh`), with attributes that "
                    f"live for {run.facts['lifetime_s']} s. Server: {run.facts['server']}."),
            as_markdown(kernel_client_table(run))]


def results_text(runs, picture="results.svg", over_linux=(), beside_kernel=()):
    """docs/results.md. `over_linux`: runs of make_replay over the Linux kernel's server;
    `beside_kernel`: beside its client."""
    parts = ["# Results",
             wrapped("Made by `bench/run.sh --all --out DIR`; [benchmarks.md](benchmarks.md) says "
                     "how each figure comes about and what it can show. " +
                     where(runs["machine"].facts)),
             wrapped(METHOD),
             wrapped("What programs do on a mount, fio, ninja and git among them, is in "
                     "[mount.md](mount.md)."),
             f"![The rows below as bars]({picture})",
             as_markdown(headline_table(headlines(runs))),
             *map(wrapped, sentences(runs)),
             "## Ratios", as_markdown(ratio_table(ratios(runs)))]
    for section in sections(runs):
        parts += [f"## {section.title}", wrapped(section.what)]
        parts += [wrapped(section.conditions)] if section.conditions else []
        parts += map(as_markdown, section.tables)
    for run in over_linux:
        parts += _linux_server_parts(run)
    for run in beside_kernel:
        parts += _kernel_client_parts(run)
    return "\n\n".join(parts) + "\n"


def targets_text(runs):
    """docs/targets.md."""
    return "\n\n".join([
        "# Targets",
        wrapped("For who works on nfswalk: what figures are meant to reach, and what one run of "
                "`bench/run.sh --all` measured, which `bench/report/render.py --targets` writes "
                "here. A target that is missed stays until it is reached or shown to be out of "
                "reach; [results.md](results.md) has the same run for readers. " +
                where(runs["machine"].facts)),
        as_markdown(target_table(ratios(runs)))]) + "\n"


def readme_text(runs):
    """What stands between the markers of README.md."""
    machine = runs["machine"].facts
    return "\n\n".join([
        as_markdown(headline_table(headlines(runs))),
        "\n".join("- " + wrapped(sentence).replace("\n", "\n  ") for sentence in sentences(runs)),
        wrapped(f"Medians of one run of `bench/run.sh --all` on {machine['date'][:10]}, "
                f"{machine['cores']} cores of {machine['cpu']}, nfs-ganesha over loopback; all "
                "rows, their spread and the versions are in [docs/results.md](docs/results.md).")])


def with_results(readme, text):
    """`readme` with `text` between its markers."""
    parts = readme.split(MARKER)
    if len(parts) != 3:
        raise ReportError(f"{MARKER} stands {len(parts) - 1} times where it must stand twice")
    return MARKER.join([parts[0], f"\n{text}\n", parts[2]])
