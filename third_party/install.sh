#!/usr/bin/env bash
# Installs what nfswalk is built and run with, from the packages of Debian 12 or 13 alone; with the argument "report"
# what bench/report needs, with "linux" what tests/fixtures/user_mode_linux.sh needs, with "work" what
# tests/conformance/real_work.sh and bench/mount need, with "fuzz" what tests/fuzz/guided.sh needs, too. Does nothing if
# all is there.
set -euo pipefail

packages=(
  bazel-bootstrap bazel-rules-java g++ python3 python-is-python3
  libnfs-dev libnfs-utils liburcu-dev libtirpc-dev libboost-dev
  libfuse3-dev fuse3
  libcli11-dev nlohmann-json3-dev libfmt-dev libabsl-dev
  googletest gcovr pkg-config dpkg-dev
  nfs-ganesha nfs-ganesha-vfs nfs-ganesha-mem rpcbind netbase e2fsprogs procps xz-utils groff-base
)
case "${1-}" in
  report) packages+=(python3-jinja2 python3-matplotlib) ;;
  linux) packages+=(user-mode-linux kmod iproute2 nfs-kernel-server) ;;
  work) packages+=(iproute2 git make perl zlib1g-dev rsync sqlite3 vim-tiny fio ninja-build jq) ;;
  fuzz) packages+=(clang-19 libclang-rt-19-dev) ;;
esac

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
# nfs-ganesha reads the mounts there. Debian links it at the first boot, which a container has not had.
mounts=/etc/mtab
[ "$(id -u)" -ne 0 ] || [ -e "$mounts" ] || ln -s ../proc/self/mounts "$mounts"
[ ${#missing[@]} -eq 0 ] && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install.sh: not root and no sudo; as root run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  root=(sudo)
fi

# The packages of the servers start them at once; tests start their own, in their own namespaces.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
  "${root[@]}" chmod +x "$policy"
  trap '"${root[@]}" rm -f "$policy"' EXIT
fi

echo "install.sh: installing ${missing[*]}" >&2
if ! { "${root[@]}" apt-get update -q &&
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}"; } >&2 </dev/null; then
  echo "install.sh: apt-get failed; is this Debian 12 or 13 with a package mirror in reach?" >&2
  exit 1
fi
