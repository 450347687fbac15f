#!/usr/bin/env bash
# Counts the RPCs of programs on `nfswalk mount` and on the Linux kernel's own client (in a user-mode Linux), each of the
# same tree of the same nfs-ganesha, and takes ours' time with a server that is 0 and 1 ms away:
#   bench/mount/rpcs.sh [-b NFSWALK] [-p DELAYING_PROXY] [-v VERSION] [-w WORK[,WORK...]] [-d] GIT_SOURCE
# GIT_SOURCE: git_*.orig.tar.xz of `apt-get source git`. NFSWALK, DELAYING_PROXY: built, bazel-bin/nfsclient/cli/nfswalk
# and bazel-bin/bench/mount/delaying_proxy. -d: the calls by procedure, too. As root, with what third_party/install.sh
# linux and work install.
# WORK:
#   null        a null make of git, after two others, attributes within their timeouts: a fresh process
#   null-nocto  the same without close-to-open
#   expired     a null make of git after the timeouts (20 s)
#   status      git status of 10,000 files after the timeouts
#   build       a build of git's libgit.a with -O0, one job
#   find        find that prints the sizes of 100,000 files that are not cached
#   copy        cp -r of 1,000 files of 4 KiB to a new directory
#   untar       tar x of 4,000 files of 1 KiB in 40 directories
#   rsync       rsync -a of the same from a local directory
#   remove      rm -rf of the same
# VERSION: 3, 4.0, 4.1 or 4.2; without it 3 and 4.0, and all works but the last three.
# Prints a table: RPCs of ours, of the kernel's, the ratio, LOOKUP and GETATTR requests of FUSE, seconds at 0 and 1 ms.
# shellcheck disable=SC2153  # WORK is server.sh's
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
conformance=$here/../../tests/conformance
lifetime=20

make_git() {
  make "$@" CFLAGS=-O0 ARFLAGS=rcsD NO_OPENSSL=1 NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PYTHON=1 NO_PERL=1 >/dev/null
}

git_of() { git -c safe.directory='*' -c user.name=author -c user.email=author@example.org "$@"; }

# All of these in the directory of the work. Of the server, without NFS:
prepare() {
  case $1 in
    null* | expired)
      tar xf "$SOURCE" --strip-components=1
      make_git -j2
      ;;
    build) tar xf "$SOURCE" --strip-components=1 ;;
    status)
      mkdir -p directory{000..099}
      printf '%s\n' directory{000..099}/file{00..99} | xargs touch
      git init -q
      git_of add -A
      git_of commit -qm files
      ;;
    find)
      mkdir -p directory{000..999}
      printf '%s\n' directory{000..999}/file{00..99} | xargs touch
      ;;
    copy)
      mkdir source
      head -c $((1000 * 4096)) /dev/urandom | split -a 3 -b 4096 -d - source/
      ;;
    remove)
      make_small .
      ;;
    untar | rsync)
      [ -e "$WORK/small" ] || make_small "$WORK/small"
      tar cf "$WORK/small.tar" -C "$WORK/small" .
      ;;
  esac
}

make_small() {
  for directory in "$1"/{00..39}; do
    mkdir -p "$directory"
    head -c $((100 * 1024)) /dev/urandom | split -a 2 -b 1024 -d - "$directory/"
  done
}

# On the mount, not counted:
warm() {
  case $1 in
    null*) make_git && make_git ;;
    expired) make_git && make_git && sleep $((lifetime + 1)) ;;
    status) git_of status >/dev/null && git_of status >/dev/null && sleep $((lifetime + 1)) ;;
    build) make_git -n libgit.a ;;
  esac
}

# On the mount, counted:
work() {
  case $1 in
    null* | expired) make_git ;;
    status) git_of status >/dev/null ;;
    build) make_git libgit.a ;;
    find) find . -printf '%s\n' >/dev/null ;;
    copy) cp -r source "copy$(date +%s%N)" ;;
    untar | rsync) into=copy$(date +%s%N) && mkdir "$into" && fill "$1" "$into" ;;
    remove) rm -rf -- * ;;
  esac
}

options_of() {
  case $1 in
    null) echo actimeo=3600 ;;
    null-nocto) echo actimeo=3600,nocto ;;
    expired | status) echo "actimeo=$lifetime" ;;
    *) echo actimeo=3600 ;;
  esac
}

fill() {
  case $1 in
    untar) tar xf "$WORK/small.tar" -C "$2" ;;
    rsync) rsync -a "$WORK/small/" "$2" ;;
  esac
}

# Prints the calls for a work in a directory of a mount, and its seconds: "PROCEDURE count", "seconds count".
counted() {
  local work=$1 directory=$2 start end
  shift 2
  cd "$1/$directory"
  warm "$work"
  "$conformance/calls.sh" "$@" >/run/before
  start=$(date +%s.%N)
  work "$work"
  end=$(date +%s.%N)
  "$conformance/calls.sh" "$@" >/run/after
  join -a 2 -e 0 -o 0,1.2,2.2 /run/before /run/after | awk '$3 > $2 { print $1, $3 - $2 }'
  echo "$end $start" | awk '{ print "seconds", $1 - $2 }'
  cd /
}

# In the user-mode Linux.
booted() {
  mkdir -p /run/mnt
  "$conformance/kernel_mount.sh" "$VERSION" "hard,$(options_of "$1")" /run/mnt
  counted "$1" "$2" /run/mnt >"$WORK/kernel"
  umount /run/mnt
}

# Ours through a port, for a work, into a file.
ours() {
  local work=$1 port=$2 file=$3
  mkdir -p "$WORK/mnt"
  "$NFSWALK" mount -o "$(options_of "$work")" "nfs://127.0.0.1/export?version=$VERSION&port=$port&mountport=20048" "$WORK/mnt"
  (counted "$work" "$work" "$WORK/mnt" "$NFSWALK" >"$file")
  fusermount3 -u "$WORK/mnt"
}

# Never a name for the second time: nfs-ganesha may know it by a handle that is stale.
make_tree() {
  mkdir "$WORK/export/$2"
  (cd "$WORK/export/$2" && prepare "$1") >&2
}

# Adds up the calls in file $2 of the procedures whose names match $1. The requests of FUSE begin with "fuse_".
sum() { awk -v pattern="$1" '$1 != "seconds" && $1 ~ pattern { n += $2 } END { print n + 0 }' "$2"; }
seconds() { awk '$1 == "seconds" { printf "%.2f", $2 }' "$1"; }

served() {
  local work near far tree mine theirs distant
  mkfifo "$WORK/port" "$WORK/end"
  "$PROXY" 2049 1000 <"$WORK/end" >"$WORK/port" &
  exec 3>"$WORK/end"
  read -r distant <"$WORK/port"
  for work in ${1//,/ }; do
    far=-
    tree=$work
    make_tree "$work" "$tree"
    ours "$work" 2049 "$WORK/ours"
    near=$(seconds "$WORK/ours")
    if [ "$work" = build ] || [ "$work" = remove ]; then
      tree=another
      make_tree "$work" "$tree"
    else
      ours "$work" "$distant" "$WORK/far"
      far=$(seconds "$WORK/far")
    fi
    UML_OPTIONS=$("$conformance/kernel_mount.sh" --machine) \
      "$here/../../tests/fixtures/user_mode_linux.sh" "$here/rpcs.sh" --booted "$work" "$tree" >&2
    mine=$(sum '^[A-Z]' "$WORK/ours") theirs=$(sum . "$WORK/kernel")
    printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$work" "$VERSION" "$mine" "$theirs" \
      "$(awk -v m="$mine" -v t="$theirs" 'BEGIN { if (t) printf "%.2f", m / t; else printf "-" }')" \
      "$(sum '^fuse_(LOOKUP|GETATTR)$' "$WORK/ours")" "$near" "$far"
    if [ "$DETAILS" = 1 ]; then
      join -a 1 -a 2 -e 0 -o 0,1.2,2.2 "$WORK/ours" "$WORK/kernel" | grep -v ^seconds | sed 's/^/    /'
    fi
    rm -rf "$WORK/export/${work:?}" "$WORK/export/${tree:?}"
  done
}

case ${1-} in
  --served) shift; served "$@"; exit ;;
  --booted) shift; booted "$@"; exit ;;
esac

nfswalk=$here/../../bazel-bin/nfsclient/cli/nfswalk
proxy=$here/../../bazel-bin/bench/mount/delaying_proxy
versions="3 4.0"
works=null,null-nocto,expired,status,find,copy,build
DETAILS=0
while getopts b:p:v:w:d option; do
  case $option in
    b) nfswalk=$OPTARG ;;
    p) proxy=$OPTARG ;;
    v) versions=$OPTARG ;;
    w) works=$OPTARG ;;
    d) DETAILS=1 ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
if [ $# != 1 ] || [ ! -f "$1" ]; then
  sed -n '2,26s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# Builds may go on meanwhile.
cp -L "$nfswalk" "$copy/nfswalk"
cp -L "$proxy" "$copy/proxy"
SOURCE=$(readlink -f "$1") NFSWALK=$copy/nfswalk PROXY=$copy/proxy
export SOURCE NFSWALK PROXY DETAILS VERSION
echo "| work | version | RPCs | kernel's | ratio | LOOKUP, GETATTR | s, 0 ms | s, 1 ms |"
echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
for VERSION in $versions; do "$conformance/server.sh" "$here/rpcs.sh" --served "$works"; done
