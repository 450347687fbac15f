"""Writes the replay plan of each trace: make_plan.py [--build] [--out DIR] TRACE...

`git-null.strace.xz` becomes `git-null.plan`. A trace is what
`strace -f -y -e trace=%file,getdents64,...` printed, plain or .xz; with --build what
record_build.sh recorded. Exits 1 if a trace cannot be read, 2 for bad arguments.
"""

import argparse
import os
import sys

import build_calls
import build_plan
import calls
import plan
import strace


def name_of(file):
    """"git-null" of "bench/traces/git-null.strace.xz"."""
    return os.path.basename(file).partition(".")[0]


def _plan_of(file):
    trace = calls.load(file)
    made = plan.Plan(trace)
    return plan.text_of(name_of(file), trace, made) if made.lots else None


def _build_plan_of(file):
    trace = calls.load(file, build_calls.parse)
    made = build_plan.BuildPlan(trace)
    return build_plan.text_of(name_of(file), trace, made) if made.processes else None


def write_plan(file, directory, is_build=False):
    """Raises strace.TraceError or OSError."""
    text = _build_plan_of(file) if is_build else _plan_of(file)
    if text is None:
        raise strace.TraceError(f"{file}: no call of this trace can be replayed")
    with open(os.path.join(directory, name_of(file) + ".plan"), "w", encoding="ascii") as stream:
        stream.write(text)


def main(arguments):
    """The exit code."""
    parser = argparse.ArgumentParser(prog="make_plan", description="Writes the replay plan of each "
                                     "trace, for make_replay --plan.")
    parser.add_argument("traces", nargs="+", metavar="TRACE",
                        help="output of `strace -f -y -e trace=%%file,...`, plain or .xz")
    parser.add_argument("--build", action="store_true",
                        help="replay what the traces change, too: a whole build, once")
    parser.add_argument("--out", default=".", metavar="DIR",
                        help="where the plans go [%(default)s]")
    options = parser.parse_args(arguments)
    try:
        for file in options.traces:
            write_plan(file, options.out, options.build)
    except (strace.TraceError, OSError) as error:
        print(f"make_plan: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
