"""A macro for libraries named after their file."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def nfswalk_library(name, **kwargs):
    """Builds NAME from NAME.h, and from NAME.cc if there is one."""
    cc_library(
        name = name,
        srcs = native.glob([name + ".cc"]),
        hdrs = [name + ".h"],
        **kwargs
    )
