#!/usr/bin/env bash
# Runs Bazel, and where stderr is no terminal prints a line of its progress every 15 seconds. Bazel
# itself waits there for 15 % of the time since its start.
set -uo pipefail

[ ! -t 2 ] || exec bazel "$@"
command=$1
shift
{
  bazel "$command" --curses=yes --color=no --show_progress_rate_limit=15 --ui_actions_shown=1 "$@" \
    2>&1 >&3 3>&- | sed -u 's/\x1b\[[0-9;]*[A-Za-z]//g; s/\r//g; /^ *$/d' >&2
} 3>&1
