#!/usr/bin/env bash
# Runs a command beside the Linux kernel's NFS server, in a user-mode Linux at the other end of a tap device:
#   bench/linux_server.sh bazel-bin/bench/make_replay/make_replay --server 'nfs://10.9.0.2/export?version=4'
#   ... --server 'nfs://10.9.0.2/export?version=3&mountport=20048'
# As root, with what third_party/install.sh linux installs. All ends with this script.
set -euo pipefail

if [ "${1-}" != --inside ]; then
  exec unshare --net --mount --pid --fork --kill-child --mount-proc "${BASH_SOURCE[0]}" --inside "$@"
fi
shift
fixtures=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../tests/fixtures
ip link set lo up
ip tuntap add tap0 mode tap
ip address add 10.9.0.1/24 dev tap0
ip link set tap0 up
UML_OPTIONS=vec0:transport=tap,ifname=tap0,depth=128 \
  "$fixtures/user_mode_linux.sh" "$fixtures/knfsd.sh" serve 10.9.0.2/24 >&2 &
until (exec 3<>/dev/tcp/10.9.0.2/2049) 2>/dev/null; do
  kill -0 $!
  sleep 0.1
done
"$@"
