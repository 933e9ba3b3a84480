#!/usr/bin/env python3
"""Counts words and sentence openings that readers have to translate first, and compares each folder with its allowance.

usage: plain_words.py                    compare the counts with tools/plain_words.tsv
       plain_words.py FOLDER             list the places of one folder: docs/guide, src/lm, README.md
       plain_words.py --new [REVISION]   list the places that the files have since a revision, HEAD by default
       plain_words.py --lower            write lower counts into tools/plain_words.tsv; a count above its allowance stays a fault

Reads the prose of pages (without code, quoted text and generated parts), comments, and string literals that hold more than one word. Literals of
tests are inputs and expected texts, so they do not count; names do not count either. Generated files count where they come from: api/*.json and
tools/bindings. tools/check_docs.py runs this check.
"""
import collections
import io
import json
import os
import re
import subprocess
import sys
import tokenize

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
ALLOWANCES = "tools/plain_words.tsv"
EXISTS = r"(?!\s+(?:is|are|was|were|be|been|isn|aren|has|have|had|can|cannot|may|might|must|will|would|should|need|exists?|remains?)\b)"
WORDS = (  # name, pattern, write instead
    ("behind", r"behind", "after; for a place: in, below, through"),
    ("here", r"(?<!come )here(?!, come)", "name the place: in Loom, in this folder, on the host"),
    ("there", rf"(?<!are )(?<!is )there{EXISTS}|(?:is|are) there(?!\s+(?:an?|any|no|nothing|anything|more)\b)", "name the place, or: exists, is available"),
    ("lies", r"(?:lies?|lay|lying)(?!\s+(?:between|within)\b)", "is, is stored"),
    ("tells", r"tells|told|telling|(?:says?|said|saying) of", "reports, describes, shows"),
    ("anew", r"anew", "again, re-encode, re-plan"),
    ("to be had", r"to be had", "is unavailable, out of memory"),
    ("what it needs", r"what\b[^.,;:()]{1,40}\bneeds?(?! not)", "name the noun: the memory that it needs"),
    ("finds back", r"(?:finds?|found|finding) back", "recovers"),
    ("in turn", r"in turn", "interleaved, one after another"),
    ("wanted", r"wanted", "target, expected, requested"),
    ("foreign", r"foreign", "custom"),
    ("any file", r"any file", "model file, network file"),
    ("sweep", r"sweeps?", "forward pass"),
    ("planet", r"planets?", "framework"),
    ("bedrock", r"bedrocks?", "layer kind"),
    ("mission", r"missions?", "specification"),
    ("beyond counting", r"beyond what can be counted", "overflows"),
)
OPENINGS = (  # of a sentence, a comment or a literal; questions do not count
    ("What ...", r"What\b", "begin with the thing or a verb"),
    ("The same ...", r"The same(?=[.,:;]| (?:as|at|but|by|for|from|goes|holds|if|in|of|on|over|to|when|where|with|without)\b)",
     "name the function: Like `prepare()`, for ..."),
    ("Of the ...", r"Of the\b", "begin with the thing or a verb"),
    ("Those that ...", r"Those (?:that|who|which|of)\b", "begin with the thing or a verb"),
    ("Whose ...", r"Whose\b", "begin with the thing or a verb"),
)
WORD = re.compile(r"(?<![\w./-])(?:" + "|".join(rf"(?P<w{i}>(?:{pattern})\b)" for i, (_, pattern, _) in enumerate(WORDS)) + r")(?![/(]|\.\w)",
                  re.IGNORECASE)
OPENING = re.compile("|".join(f"(?P<w{i}>{pattern})" for i, (_, pattern, _) in enumerate(OPENINGS)))
SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[\"'(]?[A-Z])")

GENERATED = re.compile(r"(?:made|generated) by tools/", re.IGNORECASE)
MADE_PART = re.compile(r"<!--[^>]*made by tools/(?:.*?<!-- end [^>]*-->|.*)", re.DOTALL | re.IGNORECASE)  # without an end: to the end of the page
CODE = re.compile(r"`[^`]*`|\"[^\"]*\"|https?://\S+|<!--.*?-->", re.DOTALL)
C_TOKENS = re.compile(
    r"(?P<number>\b\d[\w.']*)|R\"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)\"|\"(?P<text>(?:\\.|[^\"\\\n])*)\"|'(?:\\.|[^'\\\n])+'"
    r"|(?P<line>//[^\n]*)|/\*(?P<block>.*?)\*/", re.DOTALL)
C_NAMES = (".h", ".hpp", ".c", ".cpp", ".S", ".cs", ".java", ".go", ".rs", ".js", ".ts", ".mjs")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
TREES = ("docs", "include", "api", "python", "bindings", "tools/bindings", "examples", "src")


def folder_of(name):
    """Returns the row of the table that a file belongs to; None for files that are not read."""
    parts = name.split("/")
    if name in PAGES:
        return name
    if name.startswith("tools/bindings/") or name == "tools/gen_bindings.py":
        return "bindings"
    if parts[0] not in TREES or "golden" in parts:
        return None
    return "/".join(parts[:2]) if parts[0] in ("docs", "src") and len(parts) > 2 else parts[0]


def markdown(text):
    """Yields (line number, prose) of each paragraph, cell and heading outside of fenced blocks and generated parts; headings, of columns too, begin with #."""
    text = MADE_PART.sub(lambda match: "\n" * match[0].count("\n"), text)
    fenced, start, parts, lines = False, 0, [], [*text.split("\n"), ""]
    for number, line in enumerate(lines, 1):
        fence, line = line.lstrip().startswith("```"), line.strip()
        begins = re.match(r"#|\||[-*] |\d+\. ", line)
        if parts and (fence or fenced or not line or begins):
            yield start, " ".join(parts)
            parts = []
        fenced ^= fence
        if fence or fenced or not line:
            continue
        if line.startswith("|"):
            mark = "# " if re.match(r"\|[ :]*---", lines[number]) else ""
            yield from ((number, mark + cell.strip()) for cell in re.split(r"(?<!\\)\|", line) if cell.strip())
        else:
            start, parts = (start, parts) if parts else (number, parts)
            parts.append(re.sub(r"^(?:[-*]|\d+\.) ", "", line))


def joined(found, text):
    """Joins comments on successive lines, and literals with nothing but spaces between them; found holds (kind, begin, end, words)."""
    group = None
    for kind, begin, end, words in found:
        gap = text[group[2]:begin] if group else None
        if group and kind == group[0] and not gap.strip() and gap.count("\n") < 2:
            group = (kind, group[1], end, group[3] + ("\n" if kind == "comment" else "") + words)
        else:
            if group:
                yield group
            group = (kind, begin, end, words)
    if group:
        yield group


def c_tokens(text):
    for match in C_TOKENS.finditer(text):
        if match["line"] is not None:
            yield "comment", match.start(), match.end(), match["line"].lstrip("/!< ")
        elif match["block"] is not None:
            yield "comment", match.start(), match.end(), re.sub(r"\n\s*\*", "\n", match["block"].lstrip("*! "))
        elif match["raw"] is not None or match["text"] is not None:
            yield "literal", match.start(), match.end(), match["raw"] or (match["text"] or "").replace("\\n", "\n").replace('\\"', "'")


def python_tokens(text):
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    outer = depth = 0  # of f-strings, which are several tokens since Python 3.12
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        begin, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        if token.type == getattr(tokenize, "FSTRING_START", -1):
            outer, depth = outer if depth else begin, depth + 1
            continue
        if token.type == getattr(tokenize, "FSTRING_END", -1):
            begin, depth = outer, depth - 1
        elif token.type == tokenize.COMMENT:
            yield "comment", begin, end, token.string.lstrip("#!: ")
            continue
        elif token.type != tokenize.STRING:
            continue
        if not depth:
            prefix, _, body = re.fullmatch(r"(\w*)(\"\"\"|'''|\"|')(.*)\2", text[begin:end], re.DOTALL).groups()
            body = re.sub(r"\{[^{}]*\}", "{}", body) if "f" in prefix.lower() else body
            yield "comment" if text[end - 3:end] in ('"""', "'''") else "literal", begin, end, body.replace('\\"', "'")


def json_texts(text):
    """Yields (line number, words) of the values in a JSON file that hold more than one word."""
    for match in re.finditer(r'"(?:\\.|[^"\\])*"', text):
        words = json.loads(match[0])
        if " " in words:
            yield text.count("\n", 0, match.start()) + 1, words


def is_test(name):
    return bool(re.search(r"(?:_test\.\w+|/test_\w+\.py)$", name))


def prose(name, text):
    """Yields (line number, text) of each piece of prose in a file."""
    if name.endswith(".json"):
        if name.startswith("api/"):
            yield from json_texts(text)
        return
    if name == "docs/decisions/README.md" or (GENERATED.search(text[:600]) and not name.startswith("tools/") and not name.endswith(".md")):
        return
    if name.endswith(".md"):
        yield from markdown(text)
        return
    tokens = c_tokens(text) if name.endswith(C_NAMES) else python_tokens(text) if name.endswith(".py") else ()
    for kind, begin, _, words in joined(tokens, text):
        if kind == "comment" or (" " in words.strip() and not is_test(name)):
            yield text.count("\n", 0, begin) + 1, words


def places(name, text):
    """Yields (line number, name of the word or opening, what to write instead) of a file."""
    for number, words in prose(name, text):
        for paragraph in re.split(r"\n\s*\n", re.sub(r"\]\([^)\s]*\)", "]", CODE.sub(lambda match: "`" + "\n" * match[0].count("\n"), words))):
            for sentence in SENTENCE.split(" ".join(paragraph.split())):
                opening = OPENING.match(sentence.lstrip("\"'(*_[- "))
                hits = [OPENINGS[int(opening.lastgroup[1:])]] if opening and not sentence.endswith("?") else []
                hits += [WORDS[int(match.lastgroup[1:])] for match in WORD.finditer(sentence) if not match[0].isupper()]  # capitals are names
                yield from ((number, hit[0], hit[2], sentence) for hit in hits)


def found_in(root):
    """{folder: [(file, line number, word, write instead, sentence)]} of the files that git knows."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True).stdout
    found = collections.defaultdict(list)
    for name in sorted({n for n in listed.split("\n")[:-1] if folder_of(n)}):  # in a merge a name is listed more than once
        try:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                found[folder_of(name)] += ((name, *place) for place in places(name, file.read()))
        except (FileNotFoundError, UnicodeDecodeError):
            continue
    return found


def new_since(root, revision):
    """Yields (file, line number, word, write instead, sentence) of the sentences that a file did not have at a revision."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=root, check=False, capture_output=True, text=True)

    listed = git("diff", "--name-only", "--no-renames", "--diff-filter=d", revision)
    if listed.returncode:
        sys.exit(f"plain_words.py: {revision}: expected a revision of this repository")
    for name in (n for n in listed.stdout.split("\n")[:-1] if folder_of(n)):
        before = collections.Counter((word, sentence) for _, word, _, sentence in places(name, git("show", f"{revision}:{name}").stdout))
        with open(os.path.join(root, name), encoding="utf-8") as file:
            for number, word, instead, sentence in places(name, file.read()):
                before[word, sentence] -= 1
                if before[word, sentence] < 0:
                    yield name, number, word, instead, sentence


def allowances(root):
    """{folder: allowed count} by the table; without a table nothing is allowed."""
    path = os.path.join(root, ALLOWANCES)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        rows = [line.split("\t") for line in file.read().split("\n")[1:] if line]
    return {folder: int(count) for folder, count in rows}


def faults(root=ROOT, found=None):
    """Returns the folders whose count is above or below their allowance, with the places when it is above."""
    found, allowed, wrong = found_in(root) if found is None else found, allowances(root), []
    for folder in sorted({*found, *allowed}):
        hits, limit = found.get(folder, []), allowed.get(folder, 0)
        if len(hits) > limit:
            words = "; ".join(f"{name}:{line}: \"{word}\" (write: {instead})" for name, line, word, instead, _ in hits[:5])
            more = " ...; tools/plain_words.py --new REVISION lists those that a change adds" if len(hits) > 5 else ""
            wrong.append(f"{folder}: {len(hits)} words or openings to avoid, {limit} allowed: {words}{more}")
        elif len(hits) < limit:
            wrong.append(f"{folder}: {len(hits)} words or openings to avoid, {limit} allowed: lower it with tools/plain_words.py --lower")
        elif folder in allowed and not limit:
            wrong.append(f"{folder}: a row of {ALLOWANCES} that allows 0: remove it with tools/plain_words.py --lower")
    return wrong


def lower(root, found):
    """Writes the lower of allowance and count for each row; never adds a row or raises a count."""
    rows = {folder: min(limit, len(found.get(folder, []))) for folder, limit in allowances(root).items()}
    with open(os.path.join(root, ALLOWANCES), "w", encoding="utf-8") as file:
        file.write("folder\tallowed\n" + "".join(f"{folder}\t{count}\n" for folder, count in sorted(rows.items()) if count))


def main():
    found = found_in(ROOT)
    if sys.argv[1:] == ["--lower"]:
        lower(ROOT, found)
    elif len(sys.argv) > 1:
        folder = sys.argv[1].rstrip("/")
        if folder != "--new" and folder not in {*found, *allowances(ROOT)}:
            sys.exit(f"plain_words.py: {folder}: expected --new, --lower or one of {', '.join(sorted(found))}")
        for name, line, word, instead, sentence in new_since(ROOT, [*sys.argv, "HEAD"][2]) if folder == "--new" else found.get(folder, []):
            print(f"{name}:{line}: {word} (write: {instead}): {sentence[:200]}")
        return
    wrong = faults(ROOT, found)
    print("\n".join(wrong) or "plain words: every folder has exactly its allowance")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
