#!/bin/sh
echo "coverage reports are made with gcov, not by Bazel" >&2
exit 1
