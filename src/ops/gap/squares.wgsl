
fn term(s: u32, i: u32) -> f32 { return mul(load_x(i), load_x(i)); }
