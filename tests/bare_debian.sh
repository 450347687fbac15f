#!/usr/bin/env bash
# Runs a command, by default tests/run.sh, in this checkout on a bare Debian: one that debootstrap has just made, where
# nothing is installed that third_party/install.sh does not install. It has its own root, mounts and processes, and the
# network, the devices and the kernel of this machine. As root.
#   tests/bare_debian.sh bookworm|trixie [COMMAND [ARGUMENT...]]
# MIRROR: where its packages come from, if not from Debian itself. The root takes up to 15 GiB in TMPDIR [/var/tmp], which
# are freed at the end. The exit code is the command's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/sbin:/sbin

fail() {
  echo "bare_debian.sh: $1" >&2
  exit 2
}

[[ ${1-} == bookworm || ${1-} == trixie ]] || fail "\"${1-}\" is neither bookworm (Debian 12) nor trixie (Debian 13)"
suite=$1
shift
[ $# -gt 0 ] || set -- tests/run.sh
[ "$(id -u)" -eq 0 ] || fail "not root, whom debootstrap and mounts need: sudo $0 $suite"
case "$(realpath "${TMPDIR:-/var/tmp}")/" in
  "$(pwd -P)"/*) fail "TMPDIR is in the checkout, where Bazel would look for packages" ;;
esac
if ! command -v debootstrap >/dev/null; then
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends debootstrap; } >&2 ||
    fail "apt-get did not install debootstrap"
fi

root=$(mktemp -d "${TMPDIR:-/var/tmp}/bare_debian.XXXXXX")
chmod 0755 "$root"
inside=
end() {
  # All processes in there go with the first one, and all mounts with them.
  [ -z "$inside" ] || { kill -KILL "$inside" && wait "$inside"; } 2>/dev/null || true
  rm -rf --one-file-system "$root" || true
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# A chroot would not do: namespaces that tests make lead out of it. What debootstrap says is shown where it fails.
# shellcheck disable=SC2016
enter='
set -e
root=$1 suite=$2 mirror=$3 checkout=$4
shift 4
said=$(debootstrap --variant=minbase "$suite" "$root" $mirror 2>&1) || {
  tail -n 20 <<<"$said" >&2
  echo "bare_debian.sh: debootstrap failed; is a package mirror in reach?" >&2
  exit 2
}
mount --bind "$root" "$root"
mkdir -p "$root/old" "$root/srv/nfswalk"
mount --bind "$checkout" "$root/srv/nfswalk"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
cd "$root"
pivot_root . old
umount -l /old
cd /srv/nfswalk
exec env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} ${no_proxy:+"no_proxy=$no_proxy"} "$@"
'
echo "bare_debian.sh: makes a $suite in $root" >&2
set -m # else the tests would begin with SIGINT ignored
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --propagation private \
  bash -c "$enter" - "$root" "$suite" "${MIRROR-}" "$PWD" "$@" </dev/null &
inside=$!
wait "$inside"
