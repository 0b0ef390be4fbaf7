#!/usr/bin/env python3
"""Sums up runs of the tests from the event streams that Swift Testing wrote.

  summary.py count FILE... [--again FILE...]
                              prints the failures with what they said, then "passed failed skipped" as three numbers
  summary.py skipped FILE...  prints a --filter pattern for each test that was skipped in all of the files
  summary.py failed FILE...   prints a --filter pattern for each test that failed

A test counts as passed when it passed in one run and failed in none: what a run skips for want of the lab, the run in
the lab makes up for. A test that began and never ended has failed: its process crashed, or was ended for taking too long.
A test that failed has failed, whatever a run after --again says of it; how it went there is told beside it.
"""

import json
import re
import sys


class Test:
    def __init__(self, record):
        self.id = record["id"]
        self.name = record.get("displayName") or record["name"]
        self.passed = self.failed = False
        self.said = []
        self.reasons = []


def read(path, tests):
    begun = {}
    issues = {}
    skipped = {}
    try:
        lines = open(path, encoding="utf-8")
    except OSError:
        return
    with lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                # The last line of a process that died in the middle of it.
                continue
            payload = record["payload"]
            if record["kind"] == "test":
                if payload["kind"] == "function" and payload["id"] not in tests:
                    tests[payload["id"]] = Test(payload)
                continue
            kind, test = payload["kind"], tests.get(payload.get("testID"))
            if test is None:
                if kind == "issueRecorded" and is_failure(payload):
                    # An issue of a suite or of no test at all must not be lost.
                    name = payload.get("testID", "(no test)")
                    test = tests.setdefault(name, Test({"id": name, "name": name}))
                    test.failed = True
                    test.said += said(payload)
                continue
            if kind == "testStarted":
                begun[test.id] = True
            elif kind == "issueRecorded" and is_failure(payload):
                issues.setdefault(test.id, []).extend(said(payload))
            elif kind in ("testSkipped", "testCancelled"):
                skipped[test.id] = [m["text"] for m in payload.get("messages", [])]
            elif kind == "testEnded":
                begun[test.id] = False
    for name, running in begun.items():
        test = tests[name]
        if running and name not in skipped:
            test.failed = True
            test.said.append("it did not end: the process crashed in it, or it took too long")
        elif name in issues:
            test.failed = True
        elif name not in skipped:
            test.passed = True
    for name, texts in issues.items():
        tests[name].failed = True
        tests[name].said += texts
    for name, texts in skipped.items():
        tests[name].reasons += texts


def is_failure(payload):
    issue = payload.get("issue", {})
    return not issue.get("isKnown") and issue.get("severity", issue.get("_severity", "error")) == "error"


def said(payload):
    place = payload.get("issue", {}).get("sourceLocation") or {}
    where = "%s:%s: " % (place["fileID"], place["line"]) if place.get("fileID") else ""
    return [where + " / ".join(m["text"] for m in payload.get("messages", []))]


def pattern(test):
    # Without the place in the source, which a filter does not know.
    return "^" + re.escape(re.sub(r"/[^/]*\.swift:\d+:\d+$", "", test.id)) + "(/|$)"


def main():
    action, paths = sys.argv[1], sys.argv[2:]
    again = []
    if "--again" in paths:
        paths, again = paths[: paths.index("--again")], paths[paths.index("--again") + 1 :]
    tests, second = {}, {}
    for path in paths:
        read(path, tests)
    for path in again:
        read(path, second)
    for test in tests.values():
        other = second.get(test.id)
        if test.failed and other:
            verdict = "failed too" if other.failed else "passed" if other.passed else "was not run"
            test.said = test.said[:11] + ["run once more, alone, it " + verdict]
    failed = [t for t in tests.values() if t.failed]
    skipped = [t for t in tests.values() if not t.failed and not t.passed]
    if action == "skipped":
        for test in skipped:
            print(pattern(test))
        return
    if action == "failed":
        for test in failed:
            print(pattern(test))
        return
    # What is left for --long has a short form that ran; it is no test that could not be run.
    long_form = [t for t in skipped if any("ROUTER_LONG=1" in reason for reason in t.reasons)]
    skipped = [t for t in skipped if t not in long_form]
    for test in long_form:
        print("left to --long: %s" % test.id)
    for test in failed:
        print("FAILED %s\n       %s" % (test.id, test.name))
        for text in test.said[:12]:
            print("       " + text.replace("\n", "\n       "))
    for test in skipped:
        print("skipped %s: %s" % (test.id, "; ".join(dict.fromkeys(test.reasons)) or "it was not run"))
    print(sum(1 for t in tests.values() if t.passed and not t.failed), len(failed), len(skipped))


main()
