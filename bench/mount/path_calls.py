#!/usr/bin/env python3
"""Sums samples of `perf script -F comm,ip,sym,dso` by what the processor was doing (path_calls.sh)."""

import re
import sys

FREQUENCY_HZ = 4999
# Kernel functions that a call enters by.
BY_PATH = re.compile(r"_sys_(newfstatat|newl?stat|statx|openat2?|open|creat|faccessat2?|access|readlink(at)?)$")
BEGIN_AND_END = re.compile(
    r"_sys_(execve(at)?|v?fork|clone3?|exit(_group)?|wait4|waitid|mmap\w*|munmap|mprotect|brk|mremap|arch_prctl|"
    r"set_robust_list|set_tid_address|rseq)$|^(asm_)?exc_page_fault$|^ret_from_fork|^schedule_tail$")
CALL = re.compile(r"^(do_syscall_64|entry_SYSCALL_64\w*|__(x64|do|se)_sys_\w+)$")
LOADER = re.compile(r"/ld-linux|/ld-[0-9.]+\.so")
KINDS = ("by path", "begin and end", "other calls", "programs")


def kind_of(frames):
    """`frames`: (symbol, object), innermost first."""
    symbols = [symbol for symbol, _ in frames]
    if any(LOADER.search(dso) for _, dso in frames):
        return "begin and end"
    if any(BY_PATH.search(symbol) for symbol in symbols):
        return "by path"
    if any(BEGIN_AND_END.search(symbol) for symbol in symbols):
        return "begin and end"
    return "other calls" if any(CALL.search(symbol) for symbol in symbols) else "programs"


def main():
    subject, mount_ms, repetitions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    counts = dict.fromkeys(KINDS, 0)
    for sample in sys.stdin.read().split("\n\n"):
        frames = [match.groups() for match in re.finditer(r"^\s+[0-9a-f]+ (.*) \((.*)\)$", sample, re.M)]
        if frames:
            counts[kind_of([(symbol.split("+")[0].strip(), dso) for symbol, dso in frames])] += 1
    total = sum(counts.values())
    if total == 0:
        sys.exit("path_calls.py: no samples")
    shares = [f"{100 * counts[kind] / total:.1f} %" for kind in KINDS]
    print(f"{subject:10} {1000 * total / FREQUENCY_HZ / repetitions:10.0f} {shares[0]:>8} {shares[1]:>14} "
          f"{shares[2]:>12} {shares[3]:>10} {mount_ms:10}", flush=True)


main()
