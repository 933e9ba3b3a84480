// Level 2: sums are kept too, for compilers that reassociate.
fn add_plain(a: f32, b: f32) -> f32 { return add(a, b); }
