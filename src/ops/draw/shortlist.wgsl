
// The best candidates of every 1024 columns of each row, after biases, penalties and bans: kept() pairs of key and
// column. In `sums` the best key and the units of all weights beside it, two words, where a row draws from all ids.
// draw_gpu.cpp lays out `rows`.
fn finite_bits(bits: u32) -> u32 {
  if (bits == 0x7f800000u) { return 0x7f7fffffu; }
  return select(bits, 0xff800000u, (bits & 0x7fffffffu) > 0x7f800000u);
}

// -inf stays what it is.
fn with_biases(bits: u32, first: u32, end: u32) -> u32 {
  var logit = bits;
  for (var b = first; b < end; b++) {
    logit = finite_bits(float_bits_of(add_wide(wide_of(logit), wide_of(bits_rows(b)))));
  }
  return logit;
}

fn penalised(bits: u32, row: u32, count: u32) -> u32 {
  if (bits == 0xff800000u || count == 0u) { return bits; }
  let penalty = wide_of(bits_rows(row + 4u));
  var logit = wide_of(bits);
  if (logit.kind != 0u && logit.sign == 0u) {
    logit = divide_by_float(logit, penalty);
  } else {
    logit = multiply_wide(logit, penalty);
  }
  logit = wide_of(finite_bits(float_bits_of(logit)));
  let times = rounded_wide(0u, 55, vec2<u32>(0u, count));
  let frequency = wide_of(float_bits_of(multiply_wide(wide_of(bits_rows(row + 5u)), times)));
  let sum = wide_of(float_bits_of(add_wide(frequency, wide_of(bits_rows(row + 6u)))));
  return finite_bits(float_bits_of(add_wide(logit, negated(sum))));
}

// How often the ids that this card has drawn last have the column.
fn recent_count(row: u32, id: u32) -> u32 {
  var count = 0u;
  for (var k = 0u; k < bits_rows(row + 13u); k++) {
    count += select(0u, 1u, bits_recent(bits_rows(row + 14u + k)) == id);
  }
  return count;
}

// A logit that is not finite is +inf in `key`, and no change reaches it.
fn change_logits(row: u32, begin: u32, count: u32, thread: u32) {
  let first = bits_rows(row + 11u);
  let end = first + 4u * bits_rows(row + 12u);
  for (var at = first + 4u * thread; at < end; at += 1024u) {
    let id = bits_rows(at);
    let place = id - begin;
    if (place < count) {
      column[place] = 1u;
      if (key[place] != 0x7f800000u) {
        let of_id = bits_rows(at + 1u);
        var logit = with_biases(key[place], bits_rows(at + 2u), bits_rows(at + 3u));
        logit = penalised(logit, row, (of_id & 0x7fffffffu) + recent_count(row, id));
        key[place] = select(logit, 0xff800000u, (of_id >> 31u) != 0u);
      }
    }
  }
  workgroupBarrier();
  if (thread == 0u) {
    for (var k = 0u; k < bits_rows(row + 13u); k++) {
      let id = bits_recent(bits_rows(row + 14u + k));
      let place = id - begin;
      if (place < count && column[min(place, most - 1u)] == 0u) {
        column[place] = 1u;
        if (key[place] != 0x7f800000u) { key[place] = penalised(key[place], row, recent_count(row, id)); }
      }
    }
  }
  workgroupBarrier();
}

fn key_of(bits: u32) -> u32 {
  let magnitude = bits & 0x7fffffffu;
  if (bits == 0xff800000u) { return 0u; }
  if (magnitude >= 0x7f800000u) { return 0xffffffffu; }
  return select(0x80000000u + magnitude, 0x80000000u - magnitude, (bits & 0x80000000u) != 0u);
}

fn run(group: u32, thread: u32) {
  let row = group / parts();
  let begin = most * (group % parts());
  let count = min(most, cols() - begin);
  for (var i = thread; i < most; i += 256u) {
    var bits = 0xff800000u;
    if (i < count) { bits = bits_x(row * cols() + begin + i); }
    if (i < count && (bits & 0x7fffffffu) >= 0x7f800000u) { bits = 0x7f800000u; }
    key[i] = bits;
    column[i] = 0u;
  }
  workgroupBarrier();
  change_logits(row_words * row, begin, count, thread);
  for (var i = thread; i < most; i += 256u) {
    key[i] = key_of(key[i]);
    column[i] = begin + i;
  }
  workgroupBarrier();
  sort_candidates(thread);
  for (var i = thread; i < kept(); i += 256u) {
    put_shortlist(2u * (kept() * group + i), key[i]);
    put_shortlist(2u * (kept() * group + i) + 1u, column[i]);
  }

  var units = vec2<u32>();
  if (bits_rows(row_words * row) == 0u && key[0] != 0xffffffffu) {
    let temperature = bits_rows(row_words * row + 1u);
    for (var i = thread; i < most && key[i] != 0u; i += 256u) {
      var weight = weight_beside(key[0], key[i], temperature);
      weight.exponent += 31;
      units = added(units, units_of(weight));
    }
  }
  units = sum_units(units, thread);
  if (thread == 0u) {
    put_sums(3u * group, key[0]);
    put_sums(3u * group + 1u, units.x);
    put_sums(3u * group + 2u, units.y);
  }
}
