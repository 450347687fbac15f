#!/usr/bin/env bash
# Installs what is missing, builds optimised, starts its own nfs-ganesha and replays both traces.
# Arguments are make_replay's: --trace, --modes, --threads, --seconds, --server, --json; see --help.
#
# bench/run.sh --all [--quick] [--out DIR] runs every benchmark, one after the other, and leaves in DIR
# [bench-results] their rows, what they printed, and report.html.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The servers and the kernel's tmpfs need root; the build does not.
become_root=()
need_root() {
  [ "$(id -u)" -ne 0 ] || return 0
  if ! command -v sudo >/dev/null; then
    echo "run.sh: not root and no sudo: neither nfs-ganesha nor a private tmpfs can start" >&2
    exit 1
  fi
  become_root=(sudo)
}

# Builds these benchmarks and sets `bin` to where their folders are.
build() {
  bazel build -c opt --noshow_progress "${@/#///bench/}" </dev/null >&2
  bin=$(bazel info -c opt bazel-bin 2>/dev/null)/bench
}

if [ "${1-}" = --all ]; then
  source bench/report/run_all.sh
  shift
  run_all "$@"
  exit
fi

third_party/install.sh
build make_replay
need_root
exec "${become_root[@]}" "$bin/make_replay/make_replay" "$@"
