"""Makes a tree of C sources, as ninja sees one: make_tree.py DIRECTORY EDGES

In directories of up to 99 sources and two headers; an edge for each source and one that links each directory. The
commands leave what a compiler would, an object and a depfile, by the shell's own means.
"""

import pathlib
import sys

_SOURCES_MAX = 99  # of a directory
_RULES = """\
rule cc
  command = : >$out && echo $out: $in $headers include/config.h >$out.d
  depfile = $out.d
  deps = gcc
rule link
  command = : >$out
"""


def _make_module(root, number, edges):
    """Its part of the manifest, of as many edges."""
    name = f"src/part{number // 25:02}/module{number:03}"
    headers = " ".join(f"{name}/{header}.h" for header in ("module", "private"))
    sources = [f"{name}/file{file:02}.c" for file in range(edges - 1)]
    (root / name).mkdir(parents=True)
    for file in sources + headers.split():
        (root / file).touch()
    objects = [f"out/{source[:-2]}.o" for source in sources]
    lines = [f"build {made}: cc {source}\n  headers = {headers}" for made, source in zip(objects, sources)]
    return "\n".join([*lines, f"build out/{name}.a: link {' '.join(objects)}\n"])


def make_tree(root, edges):
    """Below `root`."""
    (root / "include").mkdir(parents=True)
    (root / "include/config.h").touch()
    modules = range(0, edges, _SOURCES_MAX + 1)
    manifest = [_make_module(root, number, min(_SOURCES_MAX + 1, edges - done))
                for number, done in enumerate(modules)]
    (root / "build.ninja").write_text(_RULES + "".join(manifest), encoding="utf-8")


if __name__ == "__main__":
    make_tree(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
