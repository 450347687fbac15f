#!/usr/bin/env bash
# Records `make -j2` of git from a clean tree to its end: bench/trace/record_build.sh [DIR] [OUT]
#
# Fetches git's source package of this Debian release into DIR [a temporary directory, removed
# again], unpacks it there and traces its build. OUT [git-build.strace.xz] is what make_plan.py
# reads. Needs apt's sources, strace, make, gcc and xz; takes three times as long as the build.
#
# Recorded are the calls that name files and those that tell how long a file becomes: no data, and
# of attributes only what the replay compares. The compiler is told not to resolve the names of
# system headers (-fno-canonical-system-headers): that is half a million readlinks of a few names.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
filter='
  # Data, arguments of programs, addresses, attributes that are not compared.
  s/^([0-9]+ +p?writev?(64)?\([^"]*)"([^"\\]|\\.)*"(\.\.\.)?, /\1"", /
  s/^([0-9]+ +execve\("[^"]*"), \[.*\], 0x[0-9a-f]+ \/\* [0-9]+ vars \*\//\1, [], 0x0/
  s/0x[0-9a-f]{6,}/0x0/g
  s/st_dev=makedev\([^)]*\), st_ino=[0-9]+, //
  s/ st_uid=[0-9]+, st_gid=[0-9]+, st_blksize=[0-9]+, st_blocks=[0-9]+,//
  s/ st_atime=-?[0-9]+( \/\*[^*]*\*\/)?, st_atime_nsec=[0-9]+,//
  s/, st_ctime=-?[0-9]+( \/\*[^*]*\*\/)?, st_ctime_nsec=[0-9]+//
  s/(st_mtime=-?[0-9]+) \/\*[^*]*\*\//\1/
'
directory=${1-}
out=$(realpath "${2-git-build.strace.xz}")
if [ -z "$directory" ]; then
  directory=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$directory'" EXIT
fi
mkdir -p "$directory"
cd "$directory"
"$here/../../third_party/fetch_source.sh" git
tar xf git_*.orig.tar.xz
cd git-*/

changes=openat,creat,write,pwrite64,writev,pwritev,lseek,ftruncate,fallocate,copy_file_range
changes+=,sendfile,fchmod,fchown,dup,dup2,dup3,fcntl,umask
umask 022
env -i PATH=/usr/bin:/bin LC_ALL=C \
  strace -f -y -s 256 --seccomp-bpf -e 'abbrev=!stat,lstat,fstat,newfstatat' -o ../raw.strace \
  -e "trace=%file,getdents64,fchdir,getcwd,clone,clone3,fork,vfork,$changes" \
  make -s -j2 NO_OPENSSL=1 NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PERL=1 NO_PYTHON=1 \
  CFLAGS="-O0 -fno-canonical-system-headers" </dev/null >/dev/null
sed -E "$filter" ../raw.strace | xz -9 >"$out"
