#!/usr/bin/env bash
# Runs the suites of the mount on Linux 6.1, Debian 12's user-mode Linux, beside nfs-ganesha. Its FUSE keeps names that an
# EEXIST or ENOENT contradicts, which later kernels drop.
#   tests/mount_linux_6_1.sh [FLAG...]        flags of bazel test
# The last line is "N passed, N failed"; the exit code is 0 only if all passed. As root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

third_party/install.sh linux
mapfile -t suites < <(bazel query --noshow_progress \
  'filter("/integration:(mount_|two_clients_test)", kind(cc_test, //tests/integration:*)) except attr(tags, nightly, //tests/...)
   union tests(//tests/unit/nfsclient/mount/...)' 2>/dev/null)
# User-mode Linux maps each page by itself: a process with more than 256 MiB has more mappings than are allowed else.
mappings=/proc/sys/vm/max_map_count
before=$(cat "$mappings")
trap 'echo "$before" >"$mappings"' EXIT
[ "$before" -ge 1048576 ] || echo 1048576 >"$mappings"

# One processor for kernel and programs: nothing has its usual time.
tests/run.sh --run_under="$PWD/tests/fixtures/user_mode_linux.sh env -u NFSWALK_KNFSD" --test_timeout=3600 "$@" \
  "${suites[@]}"
