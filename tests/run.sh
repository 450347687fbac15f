#!/usr/bin/env bash
# Installs what is missing and runs the tests: all of them, or what Bazel is told (flags, targets).
# The last line is "N passed, N failed", counted from the runs; the exit code is 0 only if all passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

third_party/install.sh report

targets=()
for argument in "$@"; do
  case "$argument" in
    -*) ;;
    */* | *:*) targets+=("$argument") ;;  # the rest are values of flags, as in "-c opt"
  esac
done
[ ${#targets[@]} -gt 0 ] || set -- "$@" //...

events=$(mktemp)
trap 'rm -f "$events"' EXIT
status=0
# Tests wait for a server half of their time, so one more runs than there are processors.
third_party/run_bazel.sh test --build_event_json_file="$events" --nocache_test_results \
  --jobs="$(($(nproc) + 1))" --local_cpu_resources="$(($(nproc) + 1))" \
  "$@" </dev/null || status=$?
python3 tests/count_cases.py "$events" "$status"
