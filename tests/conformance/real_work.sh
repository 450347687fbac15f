#!/usr/bin/env bash
# Does real work on `nfswalk mount` of a private nfs-ganesha, and the same on tmpfs at the same path; compares what was
# printed and what was made, byte by byte:
#   tests/conformance/real_work.sh [-b NFSWALK] [-v VERSION] [-w WORK[,WORK...]] GIT_SOURCE
# GIT_SOURCE: git's, as Debian has it: the .orig.tar.xz of `apt-get source git`.
# NFSWALK: the command, bazel-bin/nfsclient/cli/nfswalk. As root, with what third_party/install.sh work installs.
# WORK (real_work_steps.sh says what each does):
#   git      a repository: init, add, commit, clone, checkout, merge, gc, fsck
#   files    tar, rsync, vim, sqlite3
#   build    configure and make -j2 of git, and a make that finds nothing to do
#   killed   the same build while the server is killed (SIGKILL) and started five times, for version 4 with a grace period
#   tests    git's tests t0000 to t0099 in directories on the mount; the program is tmpfs' build
#   bazel    a build of BAZEL_TARGETS [//rcu/... //sunrpc_auth/...] from a source tree on the mount
# Prints a table: seconds on the mount and on tmpfs, lines printed and files made, how many of them differ (files: as the
# server has them, and as the mount shows them); what differs goes to stderr.
# Exit code: 0 if nothing differs, 1 if something does, 2 if it cannot run.
# shellcheck disable=SC2153  # WORK is server.sh's
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
kills=5

# Lists files that two runs need not have in common: the index has inode numbers, packs are in an order of threads and
# listings (all objects are printed), the log of configure has temporary names, and git's build writes the time into one
# file.
passed_over=(-path '*/.git/index' -o -path '*/.git/objects/*pack*' -o -path '*/config.log' -o -name boilerplates.made)

# "path type mode links size target", of directories without links and size; then all contents.
description() {
  (
    cd "$1"
    find . "${passed_over[@]}" -o -type d -printf '%P d %m\n' -o -printf '%P %y %m %n %s %l\n' | sort
    find . "${passed_over[@]}" -o -type f -print0 | sort -z | xargs -0r sha256sum
  )
}

# Prints how many files of $1 and $2 differ.
differing() {
  diff <(description "$1") <(description "$2") >"$WORK/differs" || true
  head -n 40 "$WORK/differs" | sed "s|^|$1: |" >&2
  grep -c '^[<>]' "$WORK/differs" || true
}

# Does $1 in the directory $2 of $3, "mnt" or "local", which the work sees as $WORK/here; sets $seconds.
seconds=
on() {
  local work=$1 directory=$2 side=$3 start
  mkdir -p "$WORK/$side/$directory"
  start=$(date +%s.%N)
  unshare --mount bash -c "mount --bind \"\$WORK/$side/$directory\" \"\$WORK/here\"
    cd \"\$WORK/here\" && exec \"\$@\"" work "$here/real_work_steps.sh" "$work" \
    >"$WORK/printed/$directory.$side" 2>&1 </dev/null || echo "exit code $?" >>"$WORK/printed/$directory.$side"
  seconds=$(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }')
}

# "work | mount | tmpfs | lines | differing lines | files | differing files": of directory $2 on the mount, through the server
# and through the mount, and of $3 on tmpfs.
row() {
  local name=$1 directory=$2 other=$3 lines files
  lines=$(diff "$WORK/printed/$directory.mnt" "$WORK/printed/$other.local" >"$WORK/differs" || true
    head -n 40 "$WORK/differs" | sed "s|^|$name, printed: |" >&2
    grep -c '^[<>]' "$WORK/differs" || true)
  files=$(($(differing "$WORK/export/$directory" "$WORK/local/$other") +
    $(differing "$WORK/mnt/$directory" "$WORK/local/$other")))
  printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$name" "$4" "$5" "$(wc -l <"$WORK/printed/$directory.mnt")" "$lines" \
    "$(find "$WORK/export/$directory" | wc -l)" "$files"
  [ "$lines" = 0 ] && [ "$files" = 0 ] || code=1
}

# Kills the server each time that another sixth of $1 objects of the directory $2 is there.
killer() {
  local objects=$1 directory=$2 kill
  for ((kill = 1; kill <= kills; ++kill)); do
    until [ "$(find "$WORK/export/$directory" -name '*.o' 2>/dev/null | wc -l)" -ge $((kill * objects / (kills + 1))) ] &&
      [ -s "$WORK/pid" ]; do sleep 0.2; done
    kill -KILL "$(cat "$WORK/pid")"
    echo "$kill" >"$WORK/kills"
    while [ -s "$WORK/pid" ]; do sleep 0.1; done
  done
}

killed_build() {
  local objects killer
  [ -d "$WORK/local/build" ] || on build build local
  objects=$(find "$WORK/local/build" -name '*.o' | wc -l)
  killer "$objects" killed &
  killer=$!
  on build killed mnt
  kill "$killer" 2>/dev/null || true
  row "build, server killed $(cat "$WORK/kills") times" killed build "$seconds" -
  [ "$(cat "$WORK/kills")" = "$kills" ] || code=1
}

# In the namespaces of the server.
mounted() {
  local nfswalk=$1 version=$2 works=$3 work name on_mount
  export SOURCE=$4 PROJECT=$here/../..
  mkdir "$WORK/mnt" "$WORK/local" "$WORK/here" "$WORK/printed" "$WORK/bazel"
  mount -t tmpfs -o mode=0755 tmpfs "$WORK/local"
  "$nfswalk" mount "nfs://$SERVER/export?version=$version&port=2049&mountport=20048" "$WORK/mnt" || return 2
  echo 0 >"$WORK/kills"
  code=0
  for work in ${works//,/ }; do
    if [ "$work" = killed ]; then
      killed_build
      continue
    fi
    [ "$work" != tests ] || [ -d "$WORK/local/build" ] || on build build local
    on "$work" "$work" mnt
    on_mount=$seconds
    on "$work" "$work" local
    name=$work
    [ "$work" != tests ] || name="tests: $(tail -n 1 "$WORK/printed/tests.local")"
    row "$name" "$work" "$work" "$on_mount" "$seconds"
  done
  fusermount3 -u "$WORK/mnt" || code=2
  umount "$WORK/local"
  return "$code"
}

if [ "${1-}" = --mounted ]; then
  shift
  mounted "$@"
  exit
fi

nfswalk=$here/../../bazel-bin/nfsclient/cli/nfswalk
versions="3 4"
works=git,files,build,killed,tests,bazel
while getopts b:v:w: option; do
  case $option in
    b) nfswalk=$OPTARG ;;
    v) versions=$OPTARG ;;
    w) works=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
if [ $# != 1 ] || [ ! -f "$1" ]; then
  sed -n '2,16s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
source=$(readlink -f "$1")
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# Builds may go on meanwhile.
cp -L "$nfswalk" "$copy/nfswalk"

code=0
for version in $versions; do
  echo "version $version"
  echo "| work | s, mount | s, tmpfs | lines printed | of them differ | files | of them differ |"
  echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
  grace=0
  [ "$version" = 3 ] || grace=10
  result=0
  DIR_CHUNK=0 GRACE=$grace "$here/server.sh" "$here/real_work.sh" --mounted "$copy/nfswalk" "$version" "$works" "$source" || result=$?
  [ "$result" -le "$code" ] || code=$result
done
exit "$code"
