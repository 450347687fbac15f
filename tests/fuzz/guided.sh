#!/usr/bin/env bash
# Fuzzes tests/fuzz/wire with mutations chosen by the code that they reach (clang's libFuzzer, with the address and
# undefined-behaviour sanitizers), from the corpus and the attacks of tests/hostile:
#
#   tests/fuzz/guided.sh [INPUTS [SECONDS]]   as many inputs over all processors; fails if there were fewer in the time
#
# A finding is left in the current directory as crash-*, oom-* or timeout-*: `wire_fuzzer FILE` repeats it. What reaches
# more than the corpus stays in the folder that is printed; `wire_fuzzer -merge=1 tests/fuzz/wire/corpus FOLDER` adds it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

inputs=${1:-10000000}
seconds=${2:-9000}
third_party/install.sh fuzz
bazel build --noshow_progress //tests/fuzz/wire:write_seeds
found=$(mktemp -d)
mkdir "$found/seeds" "$found/new"
bazel-bin/tests/fuzz/wire/write_seeds "$found/seeds"
bazel build --noshow_progress --config=fuzz //tests/fuzz/wire:wire_fuzzer
fuzzer=$(readlink -f bazel-bin)/tests/fuzz/wire/wire_fuzzer

jobs=$(nproc)
# libFuzzer looks for leaks after each input that may have left one. Repeated alone, a finding has its stacks.
export ASAN_OPTIONS=leak_check_at_exit=0:quarantine_size_mb=16:malloc_context_size=0
status=0
pids=()
# Scaled: of inputs that reach as much, those that take less time are mutated more often. The timeout, of an input that
# takes milliseconds, is of the wall clock: other processes may hold this one up.
for ((job = 1; job <= jobs; ++job)); do
  "$fuzzer" -seed=$((RANDOM + job)) -runs=$(((inputs + jobs - 1) / jobs)) -max_total_time="$seconds" -max_len=4096 \
    -entropic_scale_per_exec_time=1 -malloc_limit_mb=64 -timeout=300 -print_final_stats=1 \
    "$found/new" tests/fuzz/wire/corpus "$found/seeds" 2>"$found/log$job" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
[ "$status" -eq 0 ] || tail -n 40 "$found"/log*
grep -h 'DONE' "$found"/log* || true
run=$(cat "$found"/log* | awk '/number_of_executed_units/ { sum += $2 } END { print sum + 0 }')
echo "$run of $inputs inputs; what reaches more than the corpus: $found/new"
[ "$run" -ge "$inputs" ] || status=1
exit "$status"
