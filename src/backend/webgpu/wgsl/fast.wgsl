// What stands in place of functions of prelude.wgsl where a device need not be exact (precision fast): the operators themselves, which a
// compiler may fuse, reassociate and estimate as WGSL allows. All else is as it is there: bits, integers, codes, random numbers, snap().
fn keep(x: f32) -> f32 { return x; }
fn mul(a: f32, b: f32) -> f32 { return a * b; }
fn product(a: f32, b: f32) -> f32 { return a * b; }
fn add(a: f32, b: f32) -> f32 { return a + b; }
fn sub(a: f32, b: f32) -> f32 { return a - b; }
fn div(a: f32, b: f32) -> f32 { return a / b; }
fn root(a: f32) -> f32 { return sqrt(a); }
fn neg(x: f32) -> f32 { return -x; }
fn abs_f(x: f32) -> f32 { return abs(x); }
fn less(a: f32, b: f32) -> bool { return a < b; }
fn less_equal(a: f32, b: f32) -> bool { return a <= b; }
fn greater(a: f32, b: f32) -> bool { return a > b; }
fn greater_equal(a: f32, b: f32) -> bool { return a >= b; }
fn equal(a: f32, b: f32) -> bool { return a == b; }
fn not_equal(a: f32, b: f32) -> bool { return a != b; }
fn select_f(m: bool, a: f32, b: f32) -> f32 { return select(b, a, m); }
fn to_float_i(x: i32) -> f32 { return f32(x); }
fn to_float_u(x: u32) -> f32 { return f32(x); }

// Of prelude.h, with_rounding_kept().
fn add_kept(a: f32, b: f32) -> f32 { return bitcast<f32>(bitcast<u32>(a + b) ^ opaque_zero); }
fn sub_kept(a: f32, b: f32) -> f32 { return bitcast<f32>(bitcast<u32>(a - b) ^ opaque_zero); }
