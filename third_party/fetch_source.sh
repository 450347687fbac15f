#!/usr/bin/env bash
# Downloads the source package of a package of this Debian release into the current directory:
#   third_party/fetch_source.sh PACKAGE
# From the machine's own sources of apt, whose configuration stays as it is.
set -euo pipefail

mkdir -p lists/partial parts
for sources in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [ ! -e "$sources" ] || sed -n 's/^deb /deb-src /p' "$sources"
done >sources.list
for sources in /etc/apt/sources.list.d/*.sources; do
  [ ! -e "$sources" ] || sed 's/^Types: .*/Types: deb-src/' "$sources" >"parts/${sources##*/}"
done
apt=(apt-get -q -o "Dir::Etc::sourcelist=$PWD/sources.list" -o "Dir::Etc::sourceparts=$PWD/parts"
  -o "Dir::State::lists=$PWD/lists")
"${apt[@]}" update
"${apt[@]}" source --download-only "$1"
