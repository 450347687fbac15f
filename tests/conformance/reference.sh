#!/usr/bin/env bash
# Does on the Linux kernel's own NFS client, in a user-mode Linux, what run.sh does on `nfswalk mount`:
#   tests/conformance/reference.sh [-v VERSION] [-o OPTIONS] SUITE...
#     writes the failures of the suites to reference_v3.txt and reference_v4.txt
#   tests/conformance/reference.sh -v VERSION [-o OPTIONS] -c COMMAND [ARGUMENT...]
#     runs a command in the mounted directory, and prints how often each procedure was called for it
# OPTIONS: more of nfs(5). As root, with user-mode-linux (tests/fixtures/user_mode_linux.sh) and nfs-common.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# In the user-mode Linux.
mounted() {
  local version=$1 options=$2 what=$3
  shift 3
  mkdir /run/mnt
  "$here/kernel_mount.sh" "$version" "$options" /run/mnt
  if [ "$what" = suites ]; then
    "$here/suites.sh" /run/mnt "$@" >"$WORK/found"
  else
    "$here/calls.sh" /run/mnt >/run/before
    (cd /run/mnt && "$@")
    "$here/calls.sh" /run/mnt >/run/after
    echo "calls by procedure:"
    join /run/before /run/after | awk '$3 > $2 { print $1, $3 - $2 }'
  fi
  umount /run/mnt
}

# In the namespaces of the server.
booted() {
  local version=$1
  UML_OPTIONS=$("$here/kernel_mount.sh" --machine) \
    "$here/../fixtures/user_mode_linux.sh" "$here/reference.sh" --mounted "$@" || return 2
  [ "$3" = suites ] || return 0
  {
    echo "# What the Linux kernel's own client fails over version $version (reference.sh):" \
      "$(sed -n 's/^ran //p' "$WORK/found") tests on nfs-ganesha"
    echo "# $(ganesha.nfsd -v | sed -n 's/.*V\([0-9.]*\).*/\1/p;q'), tmpfs, Attr_Expiration_Time 0."
    grep -v '^ran ' "$WORK/found" || true
  } >"$here/reference_v$version.txt"
}

case "${1-}" in
  --mounted) shift; mounted "$@"; exit ;;
  --booted) shift; booted "$@"; exit ;;
esac

versions="3 4"
options=hard
what=suites
while getopts v:o:c option; do
  case $option in
    v) versions=$OPTARG ;;
    o) options=$OPTARG ;;
    c) what="command" ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
if [ $# = 0 ]; then
  sed -n '2,7s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
arguments=("$@")
if [ "$what" = suites ]; then
  for index in "${!arguments[@]}"; do arguments[index]=$(readlink -f "${arguments[index]}"); done
fi
for version in $versions; do
  "$here/server.sh" "$here/reference.sh" --booted "$version" "$options" "$what" "${arguments[@]}"
done
