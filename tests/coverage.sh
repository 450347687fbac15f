#!/usr/bin/env bash
# Runs every test (or those that Bazel is told) in a build that counts lines, and prints which lines of the
# folders below were reached. Fails if a test does, or if a folder is below its floor.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folders=(rcu sunrpc_auth access_cache nfsclient/vfs nfsclient/superblock nfsclient/nfs nfsclient/ahead)
floor_percent=90

third_party/install.sh
[ $# -gt 0 ] || set -- //...

execution_root=$(bazel info execution_root)
objects=$execution_root/bazel-out/k8-fastbuild-coverage
[ ! -d "$objects" ] || find "$objects" -name '*.gcda' -delete
status=0
# Objects know themselves as /proc/self/cwd/bazel-out/...; a test runs elsewhere.
bazel test --config=coverage --nocache_test_results --noshow_progress \
  --test_env=GCOV_PREFIX="$execution_root" --test_env=GCOV_PREFIX_STRIP=3 "$@" </dev/null || status=$?

report=$(mktemp)
trap 'rm -f "$report"' EXIT
filter=$(IFS='|'; echo "$PWD/(${folders[*]})/")
(cd "$execution_root" && gcovr --root "$OLDPWD" --filter "$filter" --json "$report" "$objects" >/dev/null)
sed -i "s#$execution_root/##g" "$report" # a file of two builds is one file
gcovr --add-tracefile "$report"
for folder in "${folders[@]}"; do
  gcovr --add-tracefile "$report" --filter "$folder/" --fail-under-line "$floor_percent" |
    awk -v folder="$folder" '$1 == "TOTAL" { printf "%s: %s of %s lines, %s\n", folder, $3, $2, $4 }' ||
    status=1
done
exit "$status"
