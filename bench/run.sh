#!/usr/bin/env bash
# Installs what is missing, builds optimised, starts its own nfs-ganesha and replays both traces.
# Arguments are make_replay's: --trace, --modes, --threads, --seconds, --server, --json; see --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

third_party/install.sh

bazel build -c opt --noshow_progress //bench/make_replay </dev/null >&2
binary=$(bazel info -c opt bazel-bin 2>/dev/null)/bench/make_replay/make_replay

# The server and the kernel's tmpfs need root; the build does not.
become_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "run.sh: not root and no sudo: neither nfs-ganesha nor a private tmpfs can start" >&2
    exit 1
  fi
  become_root=(sudo)
fi
exec "${become_root[@]}" "$binary" "$@"
