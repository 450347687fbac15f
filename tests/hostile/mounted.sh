#!/bin/sh
# usage: mounted.sh URL PLACE DIRECTORY/NAME
#
# Mounts below PLACE, where DIRECTORY/NAME of the export is hostile, and uses it by the system calls
# of common programs, which follow no link out of it. Exits with 0 if each has ended and the mount
# has served to the end, 3 if it did not mount, 5 if the mount has died, 6 if it does not end.
# Preconditions: mount and process namespaces of its own; the working directory has the command.

command=$PWD/nfsclient/cli/nfswalk
mount=$2/m
name=$3
directory=${name%%/*}

mkdir -p "$mount" "$2/out" || exit 3
"$command" mount "$1" "$mount" || exit 3

# Its output and its errors are the program's own. An interrupt ends the program alone.
trap : INT
run() {
  "$@" >/dev/null 2>&1 </dev/null
  # The second one, if an interrupt came late.
  stat -c %i "$mount" >/dev/null || stat -c %i "$mount" >/dev/null || exit 5
}

run ls -laR "$mount"
run find "$mount" -ls
run du -a "$mount"
run stat "$mount/$name"
run dd if="$mount/$name" iflag=nofollow,nonblock bs=65536 count=1
run dd if="$mount/$name" iflag=nofollow,nonblock bs=4096 count=1 skip=1000000000
run readlink "$mount/$name"
run stat -f "$mount/$name"
run cp -a "$mount/$directory" "$2/out"
run touch -h -c "$mount/$name"
run chmod -R u+rwX "$mount/$directory"
run ln "$mount/$name" "$mount/linked"
run ln -s text "$mount/$name.link"
run mkdir "$mount/$name.directory"
run dd if=/dev/zero of="$mount/$name" bs=4096 count=2 conv=notrunc,nocreat \
  oflag=nofollow,nonblock
run mv "$mount/$name" "$mount/moved"
run dd if=/dev/null of="$mount/moved" conv=nocreat oflag=nofollow,nonblock
run rm -rf "$mount/$directory" "$mount/moved"
"$command" stats "$mount" >/dev/null || exit 5
umount "$mount" || exit 6
