#!/usr/bin/env python3
"""Judges src/grammar with the package jsonschema: documents of random walks under masks must be valid, and documents are
accepted where jsonschema accepts them.

  schema_walks.py GRAMMAR_TEST [--walks 2000] [--suite FOLDER] [--refusals]

FOLDER holds cases of JSON-Schema-Test-Suite, in draft2020-12 and draft4 (tools/fetch_data.sh json: PyPI jsonschema 4.26.0, npm
json-schema-test-suite 0.0.10). Of a schema that Loom accepts every document must be judged as jsonschema does; one that it refuses must be
refused by the name of a keyword or place. --refusals lists the messages.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

SCHEMAS = [
    True,
    {"type": "object"},
    {"type": "array", "items": {"type": ["integer", "null"]}, "minItems": 1, "maxItems": 4},
    {"type": "object", "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 12},
                                      "age": {"type": "integer", "minimum": 0, "maximum": 150},
                                      "tags": {"type": "array", "items": {"enum": ["a", "b", 3, None, {"k": [1]}]}}},
     "required": ["name", "age"], "additionalProperties": False},
    {"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}, "day": {"type": "string", "format": "date"},
                                      "at": {"type": "string", "format": "date-time"}}, "required": ["id", "day", "at"],
     "additionalProperties": {"type": "boolean"}},
    {"type": "string", "pattern": "^(ab?|[0-9]{2,3})+$", "maxLength": 9},
    {"type": "string", "pattern": "ab", "minLength": 3},
    {"$defs": {"node": {"type": "object", "properties": {"value": {"type": "number"},
                                                         "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                        "required": ["value", "next"], "additionalProperties": False}}, "$ref": "#/$defs/node"},
    {"oneOf": [{"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number", "minimum": 0}},
                "required": ["kind", "r"], "additionalProperties": False},
               {"type": "object", "properties": {"kind": {"const": "box"}, "w": {"type": "integer", "exclusiveMinimum": -12}},
                "required": ["kind", "w"], "additionalProperties": False}]},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
               {"properties": {"a": {"minimum": 17, "maximum": 1234}, "b": {"type": "boolean"}}, "required": ["b"]}]},
    {"type": "array", "prefixItems": [{"type": "string", "maxLength": 3}, {"type": "integer", "maximum": -5}],
     "items": {"const": {"x": "\"\\\n"}}, "minItems": 2, "maxItems": 5},
    {"anyOf": [{"minLength": 4}, {"type": "integer"}], "type": ["string", "integer", "boolean"]},
]


def run(program, test, **settings):
    done = subprocess.run([program, f"--gtest_filter=Walks.{test}", "--gtest_brief=1"], env={**os.environ, **settings},
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"schema_walks: {test} failed:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")


def validator(schema):
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def judge_walks(program, folder, walks):
    schemas, out = folder / "schemas.json", folder / "walks.jsonl"
    schemas.write_text(json.dumps(SCHEMAS))
    run(program, "EveryDocumentIsWhole", LOOM_WALK_SCHEMAS=str(schemas), LOOM_WALK_OUT=str(out), LOOM_WALKS=str(walks))
    judges, count = [validator(s) for s in SCHEMAS], 0
    for line in out.read_text().splitlines():
        which, text = json.loads(line)
        errors = [e.message for e in judges[which].iter_errors(json.loads(text))]
        if errors:
            sys.exit(f"schema_walks: {SCHEMAS[which]} gave {text}: {errors[0]}")
        count += 1
    if count != walks:
        sys.exit(f"schema_walks: {count} documents came, expected {walks}")
    print(f"{count} documents are valid")


def in_order(value, schema):
    """The value with properties in the order of the schema, and whole numbers as integers, as Loom writes them."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    if isinstance(value, list):
        return [in_order(v, schema) for v in value]
    if not isinstance(value, dict):
        return value
    names = []

    def collect(part):
        if isinstance(part, dict):
            properties, required = part.get("properties"), part.get("required")
            names.extend(properties if isinstance(properties, dict) else ())
            names.extend(r for r in (required if isinstance(required, list) else ()) if isinstance(r, str))
            constant = part.get("const")
            names.extend(constant if isinstance(constant, dict) else ())
            for inner in part.values():
                collect(inner)
        elif isinstance(part, list):
            for inner in part:
                collect(inner)

    collect(schema)
    rank = {name: i for i, name in reversed(list(enumerate(names)))}
    return {k: in_order(value[k], schema) for k in sorted(value, key=lambda k: rank.get(k, len(names)))}


# Draft 4 is judged by its own rules: where a schema means something else in 2020-12, Loom has to refuse it.
DRAFTS = {"draft2020-12": jsonschema.Draft202012Validator, "draft4": jsonschema.Draft4Validator}
FORMATS = ("date", "date-time", "email", "ipv4", "time", "uuid")
# What docs/guide/structured.md says: schemas accepted and refused, documents judged, and among them valid texts of
# formats that Loom does not write.
EXPECTED = {"draft2020-12": (129, 226, 600, 14), "draft4": (39, 34, 140, 0)}


def judge_draft(program, folder, suite, draft, shows_refusals):
    cases, groups = [], []
    paths = [path for path in sorted((suite / draft).glob("*.json")) if path.name != "format.json"]
    # Formats are assertions in Loom: their cases are in a folder of their own, which says what is valid.
    paths += [path for f in FORMATS if (path := suite / draft / "optional/format" / f"{f}.json").exists()]
    for path in paths:
        for group in json.loads(path.read_text(encoding="utf-8")):
            groups.append((path.name, group))
            cases.append([group["schema"], [json.dumps(in_order(t["data"], group["schema"]), ensure_ascii=False)
                                            for t in group["tests"]]])
    if not cases:
        sys.exit(f"schema_walks: {suite / draft} holds no cases: tools/fetch_data.sh json fetches them")
    given, out = folder / "cases.json", folder / "found.json"
    given.write_text(json.dumps(cases))
    run(program, "DocumentsAreJudged", LOOM_MATCH_CASES=str(given), LOOM_MATCH_OUT=str(out))
    accepted = refused = judged = narrower = 0
    wrong = []
    for (name, group), found in zip(groups, json.loads(out.read_text())):
        title = f"{draft}/{name}: {group['description']}"
        if isinstance(found, str):
            refused += 1
            if not found.startswith("the schema: "):
                wrong.append(f"{title}: refused without a place: {found}")
            if shows_refusals:
                print(f"{title}: {found}")
            continue
        accepted += 1
        judge = DRAFTS[draft](group["schema"])
        for test, ours in zip(group["tests"], found):
            judged += 1
            is_format = name.removesuffix(".json") in FORMATS
            if is_format and test["valid"] and not ours:
                narrower += 1  # a generated text of the format is right, and some right ones are never written
            elif ours != (test["valid"] if is_format else judge.is_valid(test["data"])):
                wrong.append(f"{title}: {test['description']}: {json.dumps(group['schema'])}: {test['data']!r} is "
                             f"{'accepted' if ours else 'refused'}")
    print(f"{draft}: {accepted} schemas accepted, {refused} refused by name; {judged - len(wrong) - narrower} of {judged} documents "
          f"as jsonschema judges; {narrower} valid texts of formats are not written")
    if wrong:
        sys.exit("\n".join(wrong))
    counts = (accepted, refused, judged, narrower)
    if counts != EXPECTED[draft]:
        sys.exit(f"schema_walks: {draft}: {counts} is not {EXPECTED[draft]}: change both that and docs/guide/structured.md")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--walks", type=int, default=2000)
    parser.add_argument("--suite", type=pathlib.Path)
    parser.add_argument("--refusals", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        judge_walks(args.program, folder, args.walks)
        for draft in DRAFTS if args.suite else ():
            judge_draft(args.program, folder, args.suite, draft, args.refusals)


if __name__ == "__main__":
    main()
