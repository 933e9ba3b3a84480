
// What units.wgsl computes, by dots of words: for tests, where no card has the units. A thread has an output.
const dots_pitch = 36u;
struct Codes { output: u32 }
struct Dots { rows: array<i32, 16> }

fn codes_of_outputs(output: u32) -> Codes { return Codes(output); }
fn multiply(row: u32, w: Codes, thread: u32) -> Dots {
  var d = Dots();
  let codes = (w.output + thread % 32u) * w_pitch;
  for (var i = 0u; i < 16u; i++) {
    let x = (row + i) * x_pitch;
    var high = 0;
    var low = 0;
    for (var q = 0u; q < 8u; q++) {
      high += dot_bytes(u32(tile_w[codes + q]), u32(tile_x[x + q]));
      if (digits != 0u) { low += dot_bytes(u32(tile_w[codes + q]), u32(tile_x[x + 8u + q])); }
    }
    d.rows[i] = select(high, 255 * high + low, digits != 0u);
  }
  return d;
}
fn put_dots(d: Dots, at: u32, thread: u32) {
  var rows = d.rows;
  for (var i = 0u; i < 16u; i++) { tile_dots[at + i * dots_pitch + thread % 32u] = rows[i]; }
}
