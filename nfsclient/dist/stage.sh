#!/usr/bin/env bash
# Lays out an installation below TREE.
#
# usage: stage.sh VERSION TREE LIBDIR PC_PREFIX FILE...
#
# LIBDIR: from TREE, "lib". PC_PREFIX: what nfswalk.pc takes for TREE. FILES are told apart by their names.
set -euo pipefail
version=$1 tree=$2 libdir=$3 pc_prefix=$4
shift 4
soname=libnfswalk.so.${version%%.*}
lib=$tree/$libdir
mkdir -p "$lib/pkgconfig" "$tree"/{bin,include} "$tree"/share/doc/nfswalk

archives=()
for file in "$@"; do
  name=${file##*/}
  case "$name" in
    nfswalk) install -m 755 -s "$file" "$tree/bin/nfswalk" ;;
    nfswalk.map) map=$file ;;
    *.a | *.lo) archives+=("$file") ;;
    nfswalk.h)
      install -m 644 "$file" "$tree/include/nfswalk.h"
      for number in MAJOR MINOR PATCH; do
        awk -v name="NFSWALK_VERSION_$number" '$2 == name { print $3 }' "$file"
      done | paste -sd . | grep -qxF "$version" || {
        echo "stage.sh: $file is not of version $version; change one of them" >&2
        exit 1
      }
      ;;
    nfswalk.pc.in)
      sed -e "s|@PREFIX@|$pc_prefix|; s|@LIBDIR@|\${prefix}/$libdir|; s|@VERSION@|$version|" "$file" \
        >"$lib/pkgconfig/nfswalk.pc"
      read -ra system_libraries < <(sed -n 's/^Libs.private: //p' "$file")
      ;;
    *.[13])
      mkdir -p "$tree/share/man/man${name##*.}"
      gzip -9n <"$file" >"$tree/share/man/man${name##*.}/$name.gz"
      ;;
    nfswalk.bash)
      mkdir -p "$tree/share/bash-completion/completions"
      install -m 644 "$file" "$tree/share/bash-completion/completions/nfswalk"
      ;;
    LICENSE | *.md) install -m 644 "$file" "$tree/share/doc/nfswalk/$name" ;;
    *)
      echo "stage.sh: no place for $file" >&2
      exit 1
      ;;
  esac
done

# Makes the static and the shared library from one object, in which only the public symbols are global, so that it
# clashes with nothing.
object=$(mktemp -d)/nfswalk.o
trap 'rm -rf "${object%/*}"' EXIT
ld -r --force-group-allocation -o "$object" --whole-archive "${archives[@]}"
objcopy --strip-debug --wildcard --keep-global-symbol='nfswalk_*' "$object"
ar rcsD "$lib/libnfswalk.a" "$object"
gcc -shared -s -Wl,-soname,"$soname" -Wl,--version-script="$map" -Wl,--no-undefined -Wl,--as-needed \
  -Wl,-z,relro,-z,now,-z,nodelete -o "$lib/$soname.${version#*.}" "$object" "${system_libraries[@]}"
chmod 644 "$lib/$soname.${version#*.}"
ln -s "$soname.${version#*.}" "$lib/$soname"
ln -s "$soname" "$lib/libnfswalk.so"
