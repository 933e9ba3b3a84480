// Level 1: a sum of products that are kept is left to the compiler, which has nothing to fuse.
fn add_plain(a: f32, b: f32) -> f32 { return a + b; }
