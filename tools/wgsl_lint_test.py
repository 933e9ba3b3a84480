#!/usr/bin/env python3
"""What wgsl_lint.py finds and what it lets pass."""
import unittest

import wgsl_lint

HEAD = """struct Sizes { rows: u32, factor: f32, point: vec2<f32>, table: array<vec4<u32>, 4>, }
@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<uniform> sizes: Sizes;
var<workgroup> tile: array<array<f32, 16>, 4>;
override kRows: u32 = 8u;
fn load_0(i: u32) -> f32 { return bitcast<f32>(words[i]); }
fn store_1(i: u32, v: f32) { }
"""
GOOD = [
    "let a = (i >> 8u) & 0xffu; let b = i + 2u * i < i >> 3u && i != 1u && !(i == 2u || i == 3u); let c = i ^ i ^ ~(i & 1u & 2u);",
    "let a = add(load_0(i), mul(load_0(i + 1u), sizes.factor));",
    "let k = (i >> 4u) * sizes.rows + i % kRows; let w = words[k] & 0xffu; if k < arrayLength(&words) && w != 3u { return; }",
    "var s = 0.0f; for (var k = 0u; k < kRows; k += 1u) { s = add_plain(s, mul(tile[k][i], -0x1.8p+1f)); } tile[0][i] = s;",
    "let q = vec4<u32>(words[0], words[1], 0u, 0u); let t = q.xy * 2u; let m = min(q.x, t.y) + sizes.table[1].z;",
    "let m = less(load_0(i), 1.0f) && !is_nan(load_0(i)); let y = select_f(m, load_0(i), -1.0f); store_1(i, snap(y));",
    "let n = bitcast<i32>(load_0(i)) + 0x3f800000; let y = bitcast<f32>(n << 23); let z = to_float_i(n - -5);",
    "switch words[0] { case 0u, 1u: { return; } default { } } loop { if i > 3u { break; } continuing { break if i == 2u; } }",
    "let p = &tile[1]; (*p)[0] = 1.0; let v = (*p)[1]; let x = f32(2);",
    "let sum = dot4I8Packed(words[0], words[1]) + 3; let c = select(1u, 2u, sum < 4); tile[c & 3u][0] = 0.5;",
    "let exact = f32(words[0] & 15u) * 2.0;  // exact: an integer below 2^24 times a power of two",
    "{ let a = 1u; { let b = a + 1u; _ = b; } } var total = i32(0); total += 3 * total; total++;",
]
BAD = [
    ("let a = load_0(i) * 2.0f;", "* of floats"),
    ("let a = 1.0 + load_0(i);", "+ of floats"),
    ("let a = -load_0(i);", "- of a float"),
    ("if load_0(i) < 0.0 { }", "< of floats"),
    ("let m = load_0(i) == load_0(i);", "== of floats"),
    ("var s = 0.0; s += 1.0;", "+ of floats"),
    ("tile[0][1] -= tile[1][0];", "- of floats"),
    ("let p = &tile[1]; let v = (*p)[1] * (*p)[2];", "* of floats"),
    ("let a = sizes.point * 2.0;", "* of floats"),
    ("let a = sizes.point.x / sizes.factor;", "/ of floats"),
    ("let v = vec2f(1.0, 2.0); let w = v + v;", "+ of floats"),
    ("let a = max(load_0(i), 0.0);", "max() of floats"),
    ("let a = fma(load_0(i), 2.0, 1.0);", "fma() of floats"),
    ("let a = select(load_0(i), 0.0, i == 0u);", "select() of floats"),
    ("let a = f32(words[0]);", "f32()"),
    ("let a = vec2<f32>(words[0], words[1]);", "vec2 of floats from what is none"),
    ("let a = u32(load_0(i));", "u32() of a float"),
    ("let a = mystery * riddle;", "types are not known"),
    ("for (var k = 0.0; k < 1.0; k += 0.5) { }", "< of floats"),
    ("let a = words[u32(load_0(i) + 0.5)];", "+ of floats"),
    ("let a = load_0(i) * 2.0;  // exact:", "* of floats"),
    ("let a = ;", "where a value should stand"),
    ("var chain: array<f32, 4>;", "a variable without a value"),
    ("let a = bitcast<i32>(i); let b = a % 3;", "% of signed numbers"),
    ("let a = i >> 8u & 0xffu;", ">> beside &"),
    ("let a = i & 3u | 4u;", "& beside |"),
    ("let a = i + 1u << 2u;", "+ beside <<"),
    ("let a = i << 2u + i;", "+ beside <<"),
    ("let a = i & 1u == 1u;", "== beside &"),
    ("let a = i < 3u && i > 1u || i == 7u;", "&& beside ||"),
    ("let a = i < 3u == true;", "< beside =="),
]


class Lint(unittest.TestCase):
    def setUp(self):
        self.functions = wgsl_lint.prelude_functions()

    def check(self, body):
        in_function = wgsl_lint.check(HEAD + "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n let i = id.x;\n"
                                      + body + "\n}\n", self.functions)
        return in_function

    def test_good(self):
        for body in GOOD:
            self.assertEqual(self.check(body), [], body)

    def test_bad(self):
        for body, message in BAD:
            faults = self.check(body)
            self.assertTrue(any(message in said for _, said in faults), f"{body}: {faults}")
            self.assertEqual({line for line, _ in faults}, {HEAD.count("\n") + 3}, body)

    def test_statements_alone(self):
        self.assertEqual(wgsl_lint.check("let x0 = load_0(i);\nstore_1(i, mul(x0, param(0)));\n", self.functions), [])
        self.assertEqual(wgsl_lint.check("let x0 = load_0(i);\nstore_1(i, x0 * param(0));\n", self.functions), [(2, "* of floats")])

    def test_use_before_declaration(self):
        text = "fn f() -> f32 { return g() * late; }\nfn g() -> u32 { return 1u; }\nvar<private> late: u32;\n"
        self.assertEqual(wgsl_lint.check(text, {}), [])

    def test_the_prelude_is_full_of_them(self):
        text = (wgsl_lint.PRELUDE / "prelude.wgsl").read_text(encoding="utf-8")
        said = {message for _, message in wgsl_lint.check(text, {})}
        self.assertTrue({"* of floats", "/ of floats", "+ of floats", "- of floats", "sqrt() of floats", "floor() of floats"} <= said)


if __name__ == "__main__":
    unittest.main()
