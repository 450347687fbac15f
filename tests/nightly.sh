#!/usr/bin/env bash
# What takes too long for every submission: the long versions of tests (tag "nightly"), the tests of a real server
# over the Linux kernel's own and over servers of newer Debians, the mutants, and the lines that the tests reach. Each
# part ends with a line of its own; the exit code is 0 only if all are well.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

status=0
part() {
  echo "== $*"
  "$@" || status=1
}

third_party/install.sh linux || exit 1
mapfile -t long < <(bazel query --noshow_progress 'attr(tags, nightly, tests(//tests/...))' 2>/dev/null)
# Optimized, so that fifty million walks take a third of an hour; sync points stay.
part tests/run.sh --copt=-O2 "${long[@]}"
# Suites that .ci/suites has no time for under the sanitizers.
left_out=(//tests/integration/... //tests/differential/... //tests/faults/... //tests/unit/nfsclient/{cli,protocol}/...)
part tests/run.sh --config=asan "${left_out[@]}"
part tests/run.sh --config=tsan "${left_out[@]}"
# Everything that starts a server; but the packages are of no server, and of the benchmarks only the replay has answers
# to compare. One processor, many times slower: nothing has its usual time.
mapfile -t with_server < <(bazel query --noshow_progress 'kind(cc_test, rdeps(//tests/..., //tests/fixtures:nfs_server))
  - //tests/integration:dist_test - //tests/integration:benchmark_test' 2>/dev/null)
over_linux=(--run_under="$PWD/tests/fixtures/user_mode_linux.sh" --test_timeout=3600)
part tests/run.sh "${over_linux[@]}" "${with_server[@]}"
part tests/run.sh "${over_linux[@]}" --test_filter='*MakeReplay*' //tests/integration:benchmark_test
part tests/mount_linux_6_1.sh
for suite in trixie sid; do part tests/other_servers.sh "$suite"; done
# Runs where git's source is at hand: a .orig.tar.xz of `apt-get source git`.
if [ -n "${GIT_SOURCE-}" ]; then
  third_party/install.sh work || exit 1
  part bazel build -c opt //nfsclient/cli:nfswalk
  part tests/conformance/real_work.sh -b "$(bazel info -c opt bazel-bin)/nfsclient/cli/nfswalk" "$GIT_SOURCE"
fi
part tests/fuzz/guided.sh
part tests/mutants/run.py
part tests/coverage.sh
exit "$status"
