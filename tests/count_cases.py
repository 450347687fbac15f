"""Counts test cases from what Bazel said it ran: count_cases.py EVENTS_FILE BAZEL_STATUS.

A target that wrote a test.xml counts by its cases, one that did not (it crashed, timed out or did not
build) as one failure. Prints "N passed, N failed" or "N passed, N failed, N skipped"; exits 0 only if
something passed and nothing failed.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def cases(path):
    """(passed, failed, skipped) of one test.xml."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("result") in ("skipped", "suppressed"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def target(result):
    """(passed, failed, skipped) of one run of a target."""
    ok = result.get("status") == "PASSED"
    for output in result.get("testActionOutput", []):
        if output.get("name") != "test.xml":
            continue
        path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
        try:
            passed, failed, skipped = cases(path)
        except (OSError, ElementTree.ParseError):
            break
        # A crash after the last case that was written down is a failure of its own.
        return passed, failed if ok or failed else 1, skipped
    return (1, 0, 0) if ok else (0, 1, 0)


def main():
    events, status = sys.argv[1], int(sys.argv[2])
    total = [0, 0, 0]
    with open(events, encoding="utf-8") as lines:
        for line in lines:
            result = json.loads(line).get("testResult")
            if result is not None:
                total = [a + b for a, b in zip(total, target(result))]
    passed, failed, skipped = total
    if status != 0 and failed == 0:
        failed = 1  # something did not build, or Bazel itself failed
    line = f"{passed} passed, {failed} failed"
    print(line + (f", {skipped} skipped" if skipped else ""))
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
