#!/usr/bin/env bash
# Builds ninja with nfswalk inside, from Debian's source package and nfswalk.patch, and compares its null builds with
# plain ninja's on `nfswalk mount` and on a tmpfs (README.md):
#   bench/ninja/run.sh [-s SOURCES] [-k DIR] [-- ARGUMENTS]
# SOURCES: a directory with ninja-build's .dsc and what it names; fetched with apt if none is given. DIR: keeps the
# ninja and the library there, and takes them from there the next time. ARGUMENTS: of compare.py. As root.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$here/../..
sources=
keep=
while getopts s:k: option; do
  case $option in
    s) sources=$(readlink -f "$OPTARG") ;;
    k) keep=$OPTARG ;;
    *)
      sed -n '4,6s/^# *//p' "${BASH_SOURCE[0]}" >&2
      exit 2
      ;;
  esac
done
shift $((OPTIND - 1))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "$keep" ]; then
  mkdir -p "$keep"
  made=$(readlink -f "$keep")
else
  made=$work/made
  mkdir "$made"
fi

make_library() {
  cd "$root"
  bazel build -c opt --noshow_progress //:dist </dev/null >&2
  tar xzf "$(bazel info -c opt bazel-bin 2>/dev/null)"/nfswalk-*.tar.gz --strip-components=1 -C "$made"
}

make_ninja() {
  if [ -z "$sources" ]; then
    sources=$work/sources
    mkdir "$sources"
    (cd "$sources" && "$root/third_party/fetch_source.sh" ninja-build) >&2
  fi
  cd "$work"
  dpkg-source -x "$sources"/ninja-build_*.dsc ninja >&2
  cd ninja
  patch -p1 <"$here/nfswalk.patch" >&2
  export PKG_CONFIG_PATH=$made/lib/pkgconfig
  # ninja's objects come after LDFLAGS.
  CXXFLAGS=$(pkg-config --cflags nfswalk) \
    LDFLAGS="-Wl,--no-as-needed $(pkg-config --libs nfswalk) -Wl,-rpath,$made/lib" \
    ./configure.py --bootstrap >bootstrap.log 2>&1 || {
    tail -n 30 bootstrap.log >&2
    exit 1
  }
  install ninja "$made/bin/ninja"
}

"$root/third_party/install.sh"
[ -x "$made/bin/nfswalk" ] || (make_library)
[ -x "$made/bin/ninja" ] || (make_ninja)
"$root/tests/conformance/server.sh" /usr/bin/python3 "$here/compare.py" "$made/bin" "$@"
