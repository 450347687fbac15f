#!/usr/bin/env bash
# Mounts the export of server.sh with the kernel's own client, within tests/fixtures/user_mode_linux.sh, whose
# UML_OPTIONS have to be what `kernel_mount.sh --machine` prints:
#   tests/conformance/kernel_mount.sh VERSION OPTIONS DIRECTORY
# OPTIONS: more of nfs(5), or "".
set -euo pipefail

if [ "${1-}" = --machine ]; then
  echo "vec0:transport=tap,ifname=tap0,depth=128,gro=1"
  exit
fi
version=$1 options=$2 directory=$3
if ! ip address show dev vec0 | grep -q 'inet '; then
  ip address add 10.9.0.2/24 dev vec0
  ip link set vec0 up
  echo Y >/sys/module/nfs/parameters/nfs4_disable_idmapping
fi
case $version in
  3) options=vers=3,nolock,mountproto=tcp,mountport=20048,$options ;;
  4) options=vers=4.0,$options ;;
  *) options=vers=$version,$options ;;
esac
mount -t nfs -o "proto=tcp,port=2049,$options" "$SERVER:/export" "$directory"
