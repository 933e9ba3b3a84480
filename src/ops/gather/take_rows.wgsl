
fn row_bits(row: u32, c: u32) -> u32 { return bits_table(row * cols + c); }
