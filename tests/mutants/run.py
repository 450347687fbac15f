#!/usr/bin/env python3
"""Breaks the code once for each mutant of the tables beside this file and sees its test turn red.

Works in a checkout of HEAD of its own. A test counts only if it passes without the mutant; a mutant that
does not build, or after which the test still passes, has survived. Exits 0 only if every mutant was seen.
"""

import argparse
import itertools
import pathlib
import subprocess
import sys
import tempfile
import time

import mutant_table

FOLDER = pathlib.Path(__file__).resolve().parent
PASSED, DID_NOT_BUILD, FAILED = 0, 1, 3  # exit codes of `bazel test`

# Cheap to compile and to link. Code put back comes out of the disk cache; one in ~/.bazelrc is used instead.
BAZELRC = """
build --copt=-g0 --copt=-w
build --disk_cache={cache}
test --nocache_test_results --test_sharding_strategy=disabled
"""


class Checkout:
    """HEAD in a scratch folder, with a Bazel server of its own."""

    def __init__(self, scratch):
        self.root = scratch / "checkout"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(self.root)], cwd=FOLDER,
                       check=True)
        with open(self.root / ".bazelrc", "a", encoding="utf-8") as bazelrc:
            bazelrc.write(BAZELRC.format(cache=scratch / "cache"))

    def bazel(self, *arguments):
        return subprocess.run(["bazel", *arguments, "--noshow_progress"], cwd=self.root, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)

    def test(self, label, test_filter, *arguments):
        return self.bazel("test", label, f"--test_filter={test_filter}", *arguments)

    def close(self):
        self.bazel("clean", "--expunge")
        subprocess.run(["git", "worktree", "remove", "--force", str(self.root)], cwd=FOLDER, check=True)


def verdict(checkout, mutant, timeout_s):
    """"red", or why the mutant was not seen. A test that hangs is red, too."""
    originals = {edit.file: (checkout.root / edit.file).read_text() for edit in mutant.edits}
    mutated = dict(originals)
    try:
        for edit in mutant.edits:
            mutated[edit.file] = mutant_table.apply(edit, mutated[edit.file])
    except ValueError as error:
        return f"DOES NOT APPLY: {error}"
    try:
        for file, code in mutated.items():
            (checkout.root / file).write_text(code)
        ran = checkout.test(mutant.label, mutant.test_filter, f"--test_timeout={timeout_s}")
    finally:
        for file, code in originals.items():
            (checkout.root / file).write_text(code)
    return {PASSED: "SURVIVED", DID_NOT_BUILD: f"DOES NOT BUILD:\n{ran.stdout}",
            FAILED: "red"}.get(ran.returncode, f"BAZEL FAILED:\n{ran.stdout}")


def verdicts(checkout, mutants):
    """Yields (mutant, verdict) for the mutants that one label sees."""
    label = mutants[0].label
    checkout.bazel("build", label)
    begin = time.monotonic()
    healthy = checkout.test(label, ":".join(mutant.test_filter for mutant in mutants))
    timeout_s = 10 + 3 * int(time.monotonic() - begin)
    for mutant in mutants:
        yield mutant, (verdict(checkout, mutant, timeout_s) if healthy.returncode == PASSED else
                       f"FAILS WITHOUT THE MUTANT:\n{healthy.stdout}")


def run(mutants):
    """Yields (mutant, verdict), label by label."""
    with tempfile.TemporaryDirectory(prefix="nfswalk-mutants-") as scratch:
        checkout = Checkout(pathlib.Path(scratch))
        try:
            for _, group in itertools.groupby(mutants, key=lambda mutant: mutant.label):
                yield from verdicts(checkout, list(group))
        finally:
            checkout.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to run; default: all")
    parser.add_argument("--list", action="store_true", help="print each mutant and what it breaks")
    options = parser.parse_args()
    mutants = [mutant for table in sorted(FOLDER.glob("*.toml"))
               for mutant in mutant_table.parse(table.read_text())]
    unknown = set(options.names) - {mutant.name for mutant in mutants}
    if unknown:
        parser.error(f"no mutant {', '.join(sorted(unknown))}; --list prints them all")
    if options.names:
        mutants = [mutant for mutant in mutants if mutant.name in options.names]
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name}: {mutant.invariant}")
        return 0
    mutants.sort(key=lambda mutant: (mutant.label, mutant.edits[0].file))
    seen, begin = 0, time.monotonic()
    for mutant, outcome in run(mutants):
        seen += outcome == "red"
        print(f"{mutant.name}: {outcome}", flush=True)
    print(f"{seen} of {len(mutants)} mutants seen in {time.monotonic() - begin:.0f} s")
    return 0 if seen == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
