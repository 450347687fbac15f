"""RCU-walk and ref-walk take the same steps in the same order, so that a change of one is not forgotten in the
other."""

import re

from source_text import cxx_functions

WALKS = ("nfsclient/walk/rcu_walk.cc", "nfsclient/walk/ref_walk.cc")
# Lists the names of the steps that both walks take in each function; "parent" in any case.
STEPS = {
    "LinkPathWalk": ["SkipSlashes", "AtEnd", "MayLookup", "ScanName", "IsLast", "IsDots", "FollowDotDot", "AdvanceTo",
                     "StepToChild"],
    "FollowDotDot": ["start_.root", "beneath", "cross_device_link", "parent", "scoped"],
    "StepToChild": ["no_such_file_or_directory", "kSymlink", "follow_last", "FollowLink", "not_a_directory"],
    "FollowLink": ["no_symlinks", "kLinksMax", "ReadLink", "MayFollowLink", "permission_denied", "empty",
                   "no_such_file_or_directory", "beneath", "cross_device_link", "Splice", "links_", "start_.root"],
}


def _steps(text, function):
    """(line, the steps of `function` in the order in which they are named first); None without the function."""
    lines = text.splitlines()
    wanted = re.compile("|".join(f"(?i:{re.escape(step)})" if step == "parent" else re.escape(step)
                                 for step in STEPS[function]))
    for first, last in cxx_functions(text):
        # The definition of a class member; its name stands in the head's first lines.
        if not re.search(rf"\w+Walk::{function}\(", "\n".join(lines[first - 1:first + 2])):
            continue
        body = "\n".join(lines[first - 1:last]).split("{", 1)[1]
        found = [match.group().lower() for match in wanted.finditer(body)]
        return first, list(dict.fromkeys(found))
    return None


def walk_steps(tree):
    if not all(path in tree.files for path in WALKS):
        return
    for function in STEPS:
        rcu, ref = (_steps(tree.code[path], function) for path in WALKS)
        if rcu is None or ref is None:
            yield WALKS[0] if rcu is None else WALKS[1], 1, f"there is no {function}()"
        elif rcu[1] != ref[1]:
            yield WALKS[1], ref[0], f"{function}(): {' '.join(ref[1])}; in RCU-walk: {' '.join(rcu[1])}"
        elif len(ref[1]) != len(STEPS[function]):
            yield WALKS[1], ref[0], f"{function}() lacks {set(map(str.lower, STEPS[function])) - set(ref[1])}"
