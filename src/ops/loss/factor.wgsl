
// A factor of gradients: a subnormal one is 0.
fn flush_factor(x: f32) -> f32 { return select_f(magnitude_of(x) < 0x800000u, 0.0, x); }
