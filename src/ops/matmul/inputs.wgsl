
// Rounds rows of x to integers, a row per workgroup of 256 threads, four columns per thread and round. For each block of
// 32 columns there are 20 words: 8 of codes, or of high digits; 8 of low digits; the scale; the sum of the codes, and of
// each half of them.
// span: columns that share a scale, a divisor of 1024, or 0 for all of a row; digits: codes of 16 bits in two digits of
// base 255.
// f32: least
var<workgroup> sizes: array<u32, 256>;
var<workgroup> sums: array<i32, 256>;

fn run(row: u32, thread: u32) {
  let base = row * cols;
  var row_size = 0u;
  if (span == 0u) {
    for (var c = thread; c < cols; c += 256u) { row_size = max(row_size, bits_x(base + c) & 0x7fffffffu); }
    sizes[thread] = row_size;
    workgroupBarrier();
    for (var half = 128u; half != 0u; half >>= 1u) {
      if (thread < half) { sizes[thread] = max(sizes[thread], sizes[thread + half]); }
      workgroupBarrier();
    }
    row_size = sizes[0];
    workgroupBarrier();
  }
  let top = select_f(digits != 0u, 32512.0, 127.0);
  for (var first = 0u; first < 8u * blocks; first += 256u) {
    let quad = first + thread;  // columns 4 quad .. 4 quad + 3
    var words = vec4<u32>();
    for (var k = 0u; k < 4u; k++) {
      let c = 4u * quad + k;
      if (c < cols) { words[k] = bits_x(base + c); }
    }
    var size = row_size;
    if (span != 0u) {
      let m = words & vec4<u32>(0x7fffffffu);
      sizes[thread] = max(max(m.x, m.y), max(m.z, m.w));
      workgroupBarrier();
      const quads = max(span / 4u, 1u);
      for (var k = 0u; k < quads; k++) { size = max(size, sizes[thread / quads * quads + k]); }
    }
    size = select(size, 0x7fc00000u, size > 0x7f800000u);
    var largest = bitcast<f32>(size);
    if (less(largest, least())) { largest = least(); }
    var inverse = 0.0;
    var scale = 0.0;
    if (bitcast<u32>(largest) != 0u) {
      inverse = div(top, largest);
      scale = div(largest, top);
    }
    var high = 0u;
    var low = 0u;
    var sum = 0;
    for (var k = 0u; k < 4u; k++) {
      var code = 0;
      let x = mul(bitcast<f32>(words[k]), inverse);
      if ((bitcast<u32>(x) & 0x7fffffffu) <= 0x7f800000u) { code = round_to_int(max_f(min_f(x, top), neg(top))); }
      sum += code;
      var digit = code;
      if (digits != 0u) {
        digit = round_to_int(mul(to_float_i(code), 0.003921569));
        low |= (bitcast<u32>(code - 255 * digit) & 0xffu) << (8u * k);
      }
      high |= (bitcast<u32>(digit) & 0xffu) << (8u * k);
    }
    sums[thread] = sum;
    workgroupBarrier();
    if (quad < 8u * blocks) {
      let at = (row * blocks + quad / 8u) * 20u;
      put_inputs(at + quad % 8u, high);
      put_inputs(at + 8u + quad % 8u, low);
      if (quad % 8u == 0u) {
        let left = sums[thread] + sums[thread + 1u] + sums[thread + 2u] + sums[thread + 3u];
        let right = sums[thread + 4u] + sums[thread + 5u] + sums[thread + 6u] + sums[thread + 7u];
        put_inputs(at + 16u, bitcast<u32>(select_f(splits_scale != 0u, 1.0, scale)));
        put_inputs(at + 17u, bitcast<u32>(left + right));
        put_inputs(at + 18u, bitcast<u32>(left));
        put_inputs(at + 19u, bitcast<u32>(right));
        if (splits_scale != 0u && quad == 0u) { store_input_scales(row, scale); }
      }
    }
    workgroupBarrier();
  }
}
