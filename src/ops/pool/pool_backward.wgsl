
// dx[i] = the sum by chain64, over the mirrored taps of the windows that cover element i, of what each hands back: of a
// maximum dy where i won, of an average its share of dy, or with `divides` 0 all of it. A thread per element.
struct Covering {
  first: u32,  // windows
  last: u32,
  position: u32,  // from the start of the padding
}
fn covering(axis: WindowAxis, i: u32) -> Covering {
  let position = i + axis.padding;
  let reach = axis.dilation * (axis.taps - 1u);
  var first = 0u;
  if (position > reach) { first = (position - reach + axis.stride - 1u) / axis.stride; }
  return Covering(first, min(position / axis.stride + 1u, axis.out), position);
}
fn is_in_hole(axis: WindowAxis, c: Covering, o: u32) -> bool {
  return (c.position - o * axis.stride) % axis.dilation != 0u;
}
// Taps behind the one of window o that lies here.
fn taps_after(axis: WindowAxis, c: Covering, o: u32) -> u32 {
  return axis.taps - 1u - (c.position - o * axis.stride) / axis.dilation;
}

fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let z = window_axis(0u);
  let y = window_axis(1u);
  let x = window_axis(2u);
  let plane = z.extent * y.extent * x.extent;
  let at = i % plane;
  let base = i / plane * z.out * y.out * x.out;
  let cz = covering(z, at / (y.extent * x.extent));
  let cy = covering(y, at / x.extent % y.extent);
  let cx = covering(x, at % x.extent);

  var total = 0.0;
  var block = 0.0;
  var block_index = 0u;
  for (var oz = cz.first; oz < cz.last; oz++) {
    if (is_in_hole(z, cz, oz)) { continue; }
    for (var oy = cy.first; oy < cy.last; oy++) {
      if (is_in_hole(y, cy, oy)) { continue; }
      for (var ox = cx.first; ox < cx.last; ox++) {
        if (is_in_hole(x, cx, ox)) { continue; }
        let tap = (taps_after(z, cz, oz) * y.taps + taps_after(y, cy, oy)) * x.taps + taps_after(x, cx, ox);
        if (tap / 64u != block_index) {
          total = add_plain(total, block);
          block = 0.0;
          block_index = tap / 64u;
        }
        let o = base + (oz * y.out + oy) * x.out + ox;
        var share = load_dy(o);
        if (divides != 0u) {
          share = snap(div(share, to_float_u(counted(z, oz) * counted(y, oy) * counted(x, ox))));
        } else if (averages == 0u) {
          share = select_f(bits_winners(o) == at, share, 0.0);
        }
        block = add_plain(block, share);
      }
    }
  }
  store_dx(i, snap(add_plain(total, block)));
}
