"""Prints a row that names the machine and the versions that are measured."""

import datetime
import json
import os
import platform
import re
import subprocess

_GIBIBYTE_KB = 1024 * 1024
# Maps the name in the report to the package that tells the version.
_PACKAGES = {"nfs-ganesha": "nfs-ganesha", "libnfs": "libnfs-dev", "liburcu": "liburcu-dev",
             "libtirpc": "libtirpc-dev"}
_UNKNOWN = "unknown"


def _output(*command):
    """What it prints, or "unknown" where it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return _UNKNOWN
    return done.stdout.strip() or _UNKNOWN


def _line_of(path, name):
    with open(path, encoding="utf-8") as file:
        match = re.search(rf"^{name}\s*:\s*(.*)$", file.read(), re.MULTILINE)
    return match.group(1) if match else _UNKNOWN


def _commit():
    commit = _output("git", "rev-parse", "--short", "HEAD")
    if commit != _UNKNOWN and _output("git", "status", "--porcelain", "-uno") != _UNKNOWN:
        commit += " with changes that are not committed"
    return commit


def facts():
    """What a report says about the machine."""
    versions = {"nfswalk": _commit()}
    for name, package in _PACKAGES.items():
        versions[name] = _output("dpkg-query", "-W", "-f", "${Version}", package)
    versions["gcc"] = _output("gcc", "-dumpfullversion")
    memory_kb = int(_line_of("/proc/meminfo", "MemTotal").split()[0])
    return {"cpu": _line_of("/proc/cpuinfo", "model name"),
            "cores": os.cpu_count(),
            "kernel": platform.release(),
            "memory_gib": round(memory_kb / _GIBIBYTE_KB, 1),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "versions": versions}


if __name__ == "__main__":
    print(json.dumps({"bench": "machine", "facts": facts()}))
