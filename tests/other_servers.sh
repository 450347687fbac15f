#!/usr/bin/env bash
# Runs the tests of a real server over those of another Debian: the NFS server of its Linux, in a user-mode Linux, and its
# nfs-ganesha.
#   tests/other_servers.sh trixie|sid [FLAG...]        flags of bazel test
# trixie (Debian 13) has Linux 6.12 and nfs-ganesha 6.5; sid changes from day to day, and had Linux 7.2, which delegates
# directories, and nfs-ganesha 15.2. What cannot be installed is told of, and left out. MIRROR: where the packages come from,
# if not from Debian itself. They take 1 GiB in TMPDIR [/var/tmp], which is freed at the end. Each part ends with a line
# "N passed, N failed"; the exit code is 0 only if all passed. As root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/sbin:/sbin

fail() {
  echo "other_servers.sh: $1" >&2
  exit 2
}

[[ ${1-} == trixie || ${1-} == sid ]] || fail "\"${1-}\" is neither trixie (Debian 13) nor sid"
suite=$1
shift
[ "$(id -u)" -eq 0 ] || fail "not root, whom debootstrap and the servers need: sudo $0 $suite"
third_party/install.sh linux
command -v debootstrap >/dev/null ||
  { apt-get update -q && apt-get install -y -q --no-install-recommends debootstrap; } >&2 </dev/null

root=$(mktemp -d "${TMPDIR:-/var/tmp}/other_servers.XXXXXX")
mappings=/proc/sys/vm/max_map_count
before=$(cat "$mappings")
end() {
  rm -rf --one-file-system "$root"
  [ "$before" -ge 1048576 ] || echo "$before" >"$mappings" || true
}
trap end EXIT
chmod 0755 "$root"
echo "other_servers.sh: makes a $suite in $root" >&2
# shellcheck disable=SC2086
said=$(debootstrap --variant=minbase "$suite" "$root" ${MIRROR-} 2>&1) || {
  tail -n 20 <<<"$said" >&2
  fail "debootstrap failed; is a package mirror in reach?"
}
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
# Returns whether `packages` are there by now.
install() {
  said=$(chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" 2>&1 </dev/null) &&
    return 0
  tail -n 3 <<<"$said" >&2
  echo "other_servers.sh: left out, as $suite does not install $*" >&2
  return 1
}

mapfile -t with_server < <(bazel query --noshow_progress 'kind("cc_test|sh_test", rdeps(//tests/..., //tests/fixtures:nfs_server))
  - attr(tags, nightly, tests(//tests/...)) - //tests/integration:dist_test - //tests/integration:benchmark_test' 2>/dev/null)
[ ${#with_server[@]} -gt 0 ] || fail "bazel query has found no tests"
status=0
if install user-mode-linux; then
  # User-mode Linux maps each page by itself.
  [ "$before" -ge 1048576 ] || echo 1048576 >"$mappings" || true
  UML_ROOT=$root tests/run.sh --run_under="$PWD/tests/fixtures/user_mode_linux.sh" --test_env=UML_ROOT \
    --test_timeout=3600 "$@" "${with_server[@]}" || status=1
fi
if install nfs-ganesha nfs-ganesha-vfs; then
  GANESHA_ROOT=$root tests/run.sh --run_under="$PWD/tests/fixtures/ganesha_of.sh" --test_env=GANESHA_ROOT \
    "$@" "${with_server[@]}" || status=1
fi
exit "$status"
