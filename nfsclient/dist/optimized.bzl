"""What is handed out is optimised and plain, however the rest of the build is."""

def _optimize(_settings, _attr):
    return {
        "//command_line_option:compilation_mode": "opt",
        # The libraries and the command are made of the same objects.
        "//command_line_option:force_pic": True,
        # No sanitizer, nothing for a debugger; no symbols that are global whatever is said of them.
        "//command_line_option:copt": ["-Wall", "-Wextra", "-fno-gnu-unique"],
        "//command_line_option:linkopt": ["-lpthread"],
    }

_optimized = transition(
    implementation = _optimize,
    inputs = [],
    outputs = [
        "//command_line_option:compilation_mode",
        "//command_line_option:copt",
        "//command_line_option:force_pic",
        "//command_line_option:linkopt",
    ],
)

_attrs = {
    "target": attr.label(cfg = _optimized, mandatory = True),
    "_allowlist_function_transition": attr.label(
        default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
    ),
}

def _file_impl(ctx):
    return [DefaultInfo(files = ctx.attr.target[0][DefaultInfo].files)]

# The files of `target`.
optimized_file = rule(implementation = _file_impl, attrs = _attrs)

def _archives_impl(ctx):
    archives = []
    for needed in ctx.attr.target[0][CcInfo].linking_context.linker_inputs.to_list():
        for library in needed.libraries:
            archive = library.pic_static_library or library.static_library
            if archive:
                archives.append(archive)
    return [DefaultInfo(files = depset(archives))]

# The static libraries that a program with `target` is linked with, position-independent where there is a
# choice.
optimized_archives = rule(implementation = _archives_impl, attrs = _attrs)
