
// The largest number that threads of a workgroup of 256 hold, NaN apart.
var<workgroup> largest_of: array<u32, 256>;

// Bits of floats in the order of their values. 0 is below every number, 1 stands for a NaN.
fn ordered(x: u32) -> u32 { return select(x | 0x80000000u, ~x, (x & 0x80000000u) != 0u); }
fn unordered(x: u32) -> u32 { return select(~x, x & 0x7fffffffu, (x & 0x80000000u) != 0u); }

fn larger_of(largest: u32, x: f32) -> u32 { return max(largest, select(ordered(bitcast<u32>(x)), 1u, is_nan(x))); }

// Of the threads' largest ones; 0 where none of them saw a number.
fn largest_of_threads(largest: u32, thread: u32) -> u32 {
  workgroupBarrier();
  largest_of[thread] = largest;
  workgroupBarrier();
  if (thread < 16u) {
    var of_column = 0u;
    for (var k = 0u; k < 16u; k++) { of_column = max(of_column, largest_of[16u * k + thread]); }
    largest_of[thread] = of_column;
  }
  workgroupBarrier();
  var top = 0u;
  for (var k = 0u; k < 16u; k++) { top = max(top, largest_of[k]); }
  return top;
}
