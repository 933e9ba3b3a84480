
// Rounds rows of x to integers, a row per workgroup of 256 threads. For each block of 32 columns there are 20 words: 8 of
// codes, or of high digits; 8 of low digits; the scale; the sum of the codes, and of each half of them.
// span: columns that share a scale, 0 for all of a row; digits: codes of 16 bits in two digits of base 255.
// f32: least
var<workgroup> sizes: array<u32, 256>;

fn largest_size(base: u32, begin: u32, end: u32, apart: u32) -> u32 {
  var largest = 0u;
  for (var c = begin; c < end; c += apart) { largest = max(largest, bits_x(base + c) & 0x7fffffffu); }
  return largest;
}

fn run(row: u32, thread: u32) {
  let base = row * cols;
  var row_size = 0u;
  if (span == 0u) {
    sizes[thread] = largest_size(base, thread, cols, 256u);
    workgroupBarrier();
    for (var k = 0u; k < 256u; k++) { row_size = max(row_size, sizes[k]); }
  }
  for (var block = thread; block < blocks; block += 256u) {
    var size = row_size;
    if (span != 0u) {
      let begin = block * 32u / span * span;
      size = largest_size(base, begin, min(begin + span, cols), 1u);
    }
    size = select(size, 0x7fc00000u, size > 0x7f800000u);
    var largest = bitcast<f32>(size);
    if (less(largest, least())) { largest = least(); }
    let top = select_f(digits != 0u, 32512.0, 127.0);
    var inverse = 0.0;
    var scale = 0.0;
    if (bitcast<u32>(largest) != 0u) {
      inverse = div(top, largest);
      scale = div(largest, top);
    }
    let at = (row * blocks + block) * 20u;
    var sums = array<i32, 2>();
    for (var q = 0u; q < 8u; q++) {
      var high = 0u;
      var low = 0u;
      for (var k = 0u; k < 4u; k++) {
        let c = block * 32u + 4u * q + k;
        var code = 0;
        if (c < cols) {
          let x = mul(load_x(base + c), inverse);
          if ((bitcast<u32>(x) & 0x7fffffffu) <= 0x7f800000u) { code = round_to_int(max_f(min_f(x, top), neg(top))); }
        }
        sums[q / 4u] += code;
        var digit = code;
        if (digits != 0u) {
          digit = round_to_int(mul(to_float_i(code), 0.003921569));
          low |= (bitcast<u32>(code - 255 * digit) & 0xffu) << (8u * k);
        }
        high |= (bitcast<u32>(digit) & 0xffu) << (8u * k);
      }
      put_inputs(at + q, high);
      put_inputs(at + 8u + q, low);
    }
    put_inputs(at + 16u, bitcast<u32>(select_f(splits_scale != 0u, 1.0, scale)));
    put_inputs(at + 17u, bitcast<u32>(sums[0] + sums[1]));
    put_inputs(at + 18u, bitcast<u32>(sums[0]));
    put_inputs(at + 19u, bitcast<u32>(sums[1]));
    if (splits_scale != 0u && block == 0u) { store_input_scales(row, scale); }
  }
}
