#!/usr/bin/env python3
"""Holds the messages of new commits to one form: `area: what changed`, at most 72 characters; why and measurements in the body.

usage: check_commits.py            every fault of the commits after FIRST on a line of its own, and 1 if there is one
       check_commits.py RANGE      of the commits that `git log RANGE` lists

An area is a module, folder or file, or several with commas: "lm", "ops/conv", "README, run". The second line of a message is empty. Merges are left out.
Without git, or in a clone that lacks FIRST, there is nothing to check.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
FIRST = "7bd7ed7a5d2ba3fd362c1cd3618cb4797694b763"
LONGEST = 72
SUBJECT = re.compile(r"[\w./+-]+(?:, [\w./+-]+)*: \S.*")


def git(*words):
    """Returns the output of git, or None where it is missing or fails."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def faults(messages):
    """messages: [(hash, text)]."""
    for commit, text in messages:
        subject, _, body = text.rstrip("\n").partition("\n")
        said = f"{commit[:10]} \"{subject}\""
        if not SUBJECT.fullmatch(subject):
            yield f"{said}: expected `area: what changed`"
        if len(subject) > LONGEST:
            yield f"{said}: {len(subject)} characters, expected at most {LONGEST}"
        if subject.endswith("."):
            yield f"{said}: a subject ends without a full stop"
        if body and not body.startswith("\n"):
            yield f"{said}: the second line of a message is empty"


def main():
    if len(sys.argv) > 2 or sys.argv[1:] and sys.argv[1].startswith("-"):
        sys.exit("usage: check_commits.py [RANGE]")
    listed = git("log", "--no-merges", "-z", "--format=%H%n%B", sys.argv[1] if len(sys.argv) > 1 else f"{FIRST}..HEAD")
    if listed is None:
        if len(sys.argv) > 1:
            sys.exit(f"check_commits.py: git log {sys.argv[1]} fails")
        print("commits: not checked, since git or the first commit is missing")
        return
    messages = [tuple(entry.partition("\n")[::2]) for entry in listed.split("\0") if entry]
    wrong = list(faults(messages))
    print("\n".join(wrong) or f"commits: {len(messages)} messages have their form")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
