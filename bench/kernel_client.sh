#!/usr/bin/env bash
# Replays a recorded make with our client and with the Linux kernel's own, on a machine whose kernel has none: in a
# user-mode Linux, over the NFS server of that kernel. Its RPCs count, its times do not: a system call takes many times
# as long there, so attributes live for LIFETIME seconds [600], which has to be longer than a pass.
#   bench/kernel_client.sh bazel-bin/bench/make_replay/make_replay [--plan FILE] [--json ROWS]
# As root, with what third_party/install.sh linux installs.
set -euo pipefail
replay=$(readlink -f "$1")
shift
modes=
for mode in v3-expired v4-expired v3-nocto-expired v4-nocto-expired; do modes+=$mode,kernel-$mode,; done
# Without leases the server grants no delegations, which our client does not take.
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../tests/fixtures/user_mode_linux.sh" \
  bash -c 'echo 0 >/proc/sys/fs/leases-enable && exec "$@"' replay \
  "$replay" --threads 1 --repetitions 1 --lifetime "${LIFETIME-600}" --modes "${modes%,}" "$@"
