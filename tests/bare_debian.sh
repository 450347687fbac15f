#!/usr/bin/env bash
# Runs a command, by default tests/run.sh, in this checkout on a bare Debian: one that debootstrap has just made, where
# nothing is installed that third_party/install.sh does not install. It has its own root, mounts and processes, and the
# network, the devices and the kernel of this machine. As root.
#   tests/bare_debian.sh bookworm|trixie [COMMAND [ARGUMENT...]]
# The root takes up to 15 GiB in TMPDIR [/var/tmp], which are freed at the end. The exit code is the command's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "bare_debian.sh: $1" >&2
  exit 2
}

[[ ${1-} == bookworm || ${1-} == trixie ]] || fail "\"${1-}\" is neither bookworm (Debian 12) nor trixie (Debian 13)"
suite=$1
shift
[ $# -gt 0 ] || set -- tests/run.sh
[ "$(id -u)" -eq 0 ] || fail "not root, whom debootstrap and mounts need: sudo $0 $suite"
if ! command -v debootstrap >/dev/null; then
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends debootstrap; } >&2 ||
    fail "apt-get did not install debootstrap"
fi

root=$(mktemp -d "${TMPDIR:-/var/tmp}/bare_debian.XXXXXX")
chmod 0755 "$root"
# Mounts below $root are gone by then, with their namespace.
trap 'rm -rf --one-file-system "$root"' EXIT
echo "bare_debian.sh: makes a $suite in $root" >&2
if ! said=$(debootstrap --variant=minbase "$suite" "$root" 2>&1); then
  tail -n 20 <<<"$said" >&2
  fail "debootstrap failed; is a package mirror in reach?"
fi

# A chroot would not do: namespaces that tests make lead out of it.
# shellcheck disable=SC2016
enter='
set -e
root=$1 checkout=$2
shift 2
mount --bind "$root" "$root"
mkdir -p "$root/old" "$root/root/nfswalk"
mount --bind "$checkout" "$root/root/nfswalk"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
cd "$root"
pivot_root . old
umount -l /old
cd /root/nfswalk
exec env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
'
unshare --mount --pid --fork --kill-child --propagation private bash -c "$enter" - "$root" "$PWD" "$@"
