
// Dots of bytes by the units of a subgroup that multiply matrices: 16 x 32 by 32 x 16 bytes, exact in 32 bits.
const dots_pitch = 40u;  // of a row of a subgroup's dots, lest rows lie in the same banks
struct Codes { left: subgroup_matrix_right<i8, 16, 32>, right: subgroup_matrix_right<i8, 16, 32> }
struct Dots { left: subgroup_matrix_result<i32, 16, 16>, right: subgroup_matrix_result<i32, 16, 16> }

fn digits_of(row: u32, word: u32) -> subgroup_matrix_left<i8, 32, 16> {
  return subgroupMatrixLoad<subgroup_matrix_left<i8, 32, 16>, row_major>(&tile_x, row * x_pitch + word, x_pitch);
}
fn codes_of_16(output: u32) -> subgroup_matrix_right<i8, 16, 32> {
  return subgroupMatrixLoad<subgroup_matrix_right<i8, 16, 32>, col_major>(&tile_w, output * w_pitch, w_pitch);
}

// The codes of 32 outputs.
fn codes_of_outputs(output: u32) -> Codes { return Codes(codes_of_16(output), codes_of_16(output + 16u)); }
// Their dots with 16 rows.
fn multiply(row: u32, w: Codes, thread: u32) -> Dots {
  let high = digits_of(row, 0u);
  var left = subgroupMatrixMultiply<i32>(high, w.left);
  var right = subgroupMatrixMultiply<i32>(high, w.right);
  if (digits != 0u) {
    let low = digits_of(row, 8u);
    left = subgroupMatrixMultiplyAccumulate(low, w.left, subgroupMatrixScalarMultiply(left, 255i));
    right = subgroupMatrixMultiplyAccumulate(low, w.right, subgroupMatrixScalarMultiply(right, 255i));
  }
  return Dots(left, right);
}
// Leaves them in tile_dots, from `at` on.
fn put_dots(d: Dots, at: u32, thread: u32) {
  subgroupMatrixStore<row_major>(&tile_dots, at, d.left, dots_pitch);
  subgroupMatrixStore<row_major>(&tile_dots, at + 16u, d.right, dots_pitch);
}
