#!/usr/bin/env bash
# usage: make_deb.sh STAGE_SH VERSION OUT FILE...
#
# A binary package for this release of Debian from the same files, for whoever has no use for a source package.
set -euo pipefail
stage=$1 version=$2 out=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
multiarch=$(gcc -print-multiarch)
"$stage" "$version" "$work/usr" "lib/$multiarch" /usr "$@"
mv "$work/usr/share/doc/nfswalk/LICENSE" "$work/usr/share/doc/nfswalk/copyright"
# Lists the packages of the libraries that the command and libnfswalk were linked with here: package names differ
# from release to release.
mkdir "$work/debian"
printf 'Source: nfswalk\n\nPackage: nfswalk\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps --warnings=0 -O usr/bin/nfswalk "usr/lib/$multiarch"/libnfswalk.so.*.* | sed 's/^shlibs:Depends=//')
rm -r "$work/debian"
mkdir "$work/DEBIAN"
cat >"$work/DEBIAN/control" <<END
Package: nfswalk
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: The nfswalk developers <nfswalk@localhost>
Installed-Size: $(du -sk --apparent-size "$work/usr" | cut -f1)
Depends: $depends
Recommends: fuse3
Section: net
Priority: optional
Description: NFS client in user space, with cached lookups that take no lock
 A command and a C library that look at an NFS export (versions 3 and 4.0)
 without mounting it. What was looked up once is answered from caches by an
 RCU path walk, as the kernel does for local files.
END
printf 'activate-noawait ldconfig\n' >"$work/DEBIAN/triggers"
chmod -R u=rwX,go=rX "$work"
SOURCE_DATE_EPOCH=0 dpkg-deb --root-owner-group -Zgzip --build "$work" "$out" >&2
