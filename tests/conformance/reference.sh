#!/usr/bin/env bash
# Does on the Linux kernel's own NFS client, in a user-mode Linux, what run.sh does on `nfswalk mount`:
#   tests/conformance/reference.sh [-v VERSION] [-o OPTIONS] SUITE...
#     writes the failures of pjdfstest and fsx to reference_v3.txt and reference_v4.txt
#   tests/conformance/reference.sh -v VERSION [-o OPTIONS] -c COMMAND [ARGUMENT...]
#     runs a command in the mounted directory, and prints how often each procedure was called for it
# OPTIONS: more of nfs(5). As root, with user-mode-linux (tests/fixtures/user_mode_linux.sh) and nfs-common.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# Of all mounts of NFS: "PROCEDURE count", a line each (fs/nfs/super.c, nfs_show_stats()).
calls() { awk '/per-op statistics/ { ops = 1; next } ops && NF > 2 { sub(":", "", $1); n[$1] += $2 }
  !NF { ops = 0 } END { for (p in n) print p, n[p] }' /proc/self/mountstats | sort; }

# In the user-mode Linux.
mounted() {
  local version=$1 options=$2 what=$3
  shift 3
  ip address add 10.9.0.2/24 dev vec0
  ip link set vec0 up
  echo Y >/sys/module/nfs/parameters/nfs4_disable_idmapping
  mkdir /run/mnt
  case $version in
    3) options=vers=3,nolock,mountproto=tcp,mountport=20048,$options ;;
    4) options=vers=4.0,$options ;;
  esac
  mount -t nfs -o "proto=tcp,port=2049,$options" "$SERVER:/export" /run/mnt
  if [ "$what" = suites ]; then
    "$here/suites.sh" /run/mnt "$@" >"$WORK/found"
  else
    calls >/run/before
    (cd /run/mnt && "$@")
    calls >/run/after
    echo "calls by procedure:"
    join /run/before /run/after | awk '$3 > $2 { print $1, $3 - $2 }'
  fi
  umount /run/mnt
}

# In the namespaces of the server.
booted() {
  local version=$1
  UML_OPTIONS="vec0:transport=tap,ifname=tap0,depth=128" \
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
    c) what=command ;;
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
