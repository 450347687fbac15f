"""Writes the replay plan of each trace: make_plan.py [--out DIR] TRACE...

`git-null.strace.xz` becomes `git-null.plan`. A trace is what
`strace -f -y -e trace=%file,getdents64,...` printed, plain or .xz. Exits 1 if a trace cannot be
read, 2 for bad arguments.
"""

import argparse
import os
import sys

import calls
import plan
import strace


def name_of(file):
    """"git-null" of "bench/traces/git-null.strace.xz"."""
    return os.path.basename(file).partition(".")[0]


def write_plan(file, directory):
    """Raises strace.TraceError or OSError."""
    trace = calls.load(file)
    made = plan.Plan(trace)
    if not made.lots:
        raise strace.TraceError(f"{file}: no call of this trace can be replayed")
    name = name_of(file)
    with open(os.path.join(directory, name + ".plan"), "w", encoding="ascii") as stream:
        stream.write(plan.text_of(name, trace, made))


def main(arguments):
    """The exit code."""
    parser = argparse.ArgumentParser(prog="make_plan", description="Writes the replay plan of each "
                                     "trace, for make_replay --plan.")
    parser.add_argument("traces", nargs="+", metavar="TRACE",
                        help="output of `strace -f -y -e trace=%%file,...`, plain or .xz")
    parser.add_argument("--out", default=".", metavar="DIR",
                        help="where the plans go [%(default)s]")
    options = parser.parse_args(arguments)
    try:
        for file in options.traces:
            write_plan(file, options.out)
    except (strace.TraceError, OSError) as error:
        print(f"make_plan: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
