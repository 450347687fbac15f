#!/usr/bin/env bash
# How much of the processor time of a warm build with nothing to do goes into calls by path, which a library in the
# process could answer from a shared cache, on `nfswalk mount` and on tmpfs:
#   bench/mount/path_calls.sh [-b NFSWALK] DIRECTORY [COMMAND...]
# DIRECTORY: a built tree, copied. COMMAND [make -s -j2]: run in the copies, ten times under perf(1) after two times
# without. As root, with what third_party/install.sh work installs. Prints a table: of the samples of all processes of the
# command, those in calls by path (stat, open, access, readlink), in programs' beginnings and ends (fork, exec, exit, the
# loader, memory), in other calls, and in programs themselves; then the mount's own processor time.
# shellcheck disable=SC2153  # WORK and SERVER are server.sh's
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
repetitions=10

ticks_of() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

measured() {
  local subject=$1 directory=$2 mount=$3 before=0 spent=0 index
  shift 3
  cd "$directory"
  for ((index = 0; index < 2; ++index)); do "$@" >/dev/null; done
  [ "$mount" = 0 ] || before=$(ticks_of "$mount")
  # shellcheck disable=SC2016
  perf record -q -g -F 4999 -e cpu-clock -o "$WORK/perf" -- \
    bash -c 'for ((i = 0; i < $0; ++i)); do "$@" >/dev/null; done' "$repetitions" "$@" 2>/dev/null
  [ "$mount" = 0 ] || spent=$(($(ticks_of "$mount") - before))
  perf script -i "$WORK/perf" -F comm,ip,sym,dso 2>/dev/null |
    python3 "$here/path_calls.py" "$subject" "$((spent * 1000 / $(getconf CLK_TCK) / repetitions))" "$repetitions"
  cd /
}

inside() {
  local nfswalk=$1 directory=$2 options
  shift 2
  printf '%-10s %10s %8s %14s %12s %10s %10s\n' on "ms a run" "by path" "begin and end" "other calls" programs "mount, ms"
  cp -a "$directory" "$WORK/export/tree"
  measured tmpfs "$WORK/export/tree" 0 "$@"
  for options in vers=3,nocto vers=3 vers=4,nocto vers=4; do
    mkdir -p "$WORK/mount"
    "$nfswalk" mount -o "$options,actimeo=600" "nfs://$SERVER/export" "$WORK/mount"
    measured "$options" "$WORK/mount/tree" "$(pgrep -f "mount -o $options,actimeo=600 nfs://$SERVER")" "$@"
    fusermount3 -u "$WORK/mount"
  done
}

if [ "${1-}" = --inside ]; then
  shift
  inside "$@"
  exit
fi
nfswalk=$here/../../bazel-bin/nfsclient/cli/nfswalk
while getopts b: option; do
  case $option in
    b) nfswalk=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
if [ $# = 0 ]; then
  sed -n '2,9s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
directory=$(readlink -f "$1")
shift
[ $# != 0 ] || set -- make -s -j2
exec "$here/../../tests/conformance/server.sh" "$(readlink -f "${BASH_SOURCE[0]}")" --inside "$(readlink -f "$nfswalk")" \
  "$directory" "$@"
