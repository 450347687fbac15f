#!/usr/bin/env python3
"""Breaks the code once for each patch in this folder and sees the test that the patch names turn red.

usage: tests/mutants/run.py [PATCH ...]    (all, unless some are named)

Works in a checkout of HEAD of its own. A mutant that does not build proves nothing and counts as one
that survived. Exits 0 only if every mutant was seen.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
TESTS_FAILED = 3  # Bazel's exit code for: built, ran, red


def bazel(checkout, *arguments):
    return subprocess.run(["bazel", *arguments, "--noshow_progress"], cwd=checkout, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def verdict(checkout, patch):
    """What the mutant came to: "red", or why it was not seen."""
    label, test_filter = re.match(r"# red: (\S+) (\S+)", patch.read_text()).groups()
    applied = subprocess.run(["git", "apply", str(patch)], cwd=checkout, capture_output=True, text=True)
    if applied.returncode != 0:
        return f"DOES NOT APPLY: {applied.stderr.strip()}"
    try:
        built = bazel(checkout, "build", label)
        if built.returncode != 0:
            return f"DOES NOT BUILD:\n{built.stdout}"
        ran = bazel(checkout, "test", label, f"--test_filter={test_filter}", "--nocache_test_results")
        if ran.returncode == TESTS_FAILED:
            return "red"
        return "SURVIVED" if ran.returncode == 0 else f"BAZEL FAILED:\n{ran.stdout}"
    finally:
        subprocess.run(["git", "checkout", "-q", "."], cwd=checkout, check=True)


def main():
    patches = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or sorted(FOLDER.glob("*.patch"))
    seen = 0
    with tempfile.TemporaryDirectory(prefix="nfswalk-mutants-") as scratch:
        checkout = pathlib.Path(scratch) / "checkout"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(checkout)], cwd=FOLDER, check=True)
        try:
            for patch in patches:
                outcome = verdict(checkout, patch)
                seen += outcome == "red"
                print(f"{patch.stem}: {outcome}", flush=True)
        finally:
            bazel(checkout, "clean", "--expunge")
            subprocess.run(["git", "worktree", "remove", "--force", str(checkout)], cwd=FOLDER, check=True)
    print(f"{seen} of {len(patches)} mutants seen")
    return 0 if seen == len(patches) else 1


if __name__ == "__main__":
    sys.exit(main())
