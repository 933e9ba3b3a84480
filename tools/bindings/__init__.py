"""Outputs of tools/gen_bindings.py besides the header: one module for each language."""

from bindings import calls, csharp, go, hpp, java, layout, rust, typescript, welvet

LANGUAGES = (calls, csharp, go, hpp, java, layout, rust, typescript, welvet)


def outputs(api):
    """{name of a file: its text} of all languages."""
    return {name: text for language in LANGUAGES for name, text in language.outputs(api).items()}
