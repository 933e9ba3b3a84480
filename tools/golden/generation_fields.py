#!/usr/bin/env python3
"""Writes tests/golden/generation_fields.json: the fields of transformers' GenerationConfig, which a test compares with
the tables in src/lm/config_json.cpp. Needs transformers; run it from the root of the repository.
"""

import json
import pathlib

from transformers import GenerationConfig

fields = sorted(GenerationConfig().to_dict())
pathlib.Path("tests/golden/generation_fields.json").write_text(json.dumps(fields, indent=1) + "\n")
