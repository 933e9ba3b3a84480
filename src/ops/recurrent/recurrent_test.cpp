#include "ops/recurrent/recurrent.h"

#include "ops/op_test.h"

namespace loom::op_test::of_recurrent {
namespace {

constexpr CellKind kCells[] = {CellKind::RnnTanh, CellKind::RnnRelu, CellKind::Lstm, CellKind::Gru};

struct Sizes {
  std::size_t batch, steps, units;
  bool shared = false;
};
const Sizes kShapes[] = {{1, 1, 1}, {3, 2, 15}, {2, 3, 65}, {5, 2, 17}, {17, 2, 300, true}};

// All tensors of one cell, filled with numbers that stand for what other ops and steps left; `in` holds what goes in.
template <class T>
struct Cell {
  CellKind kind;
  Sizes s;
  std::size_t gates, sums, wide, flat;  // elements of [B * T, H] and [B, H]
  std::vector<std::size_t> lengths;
  std::vector<T> xw[4], hw[4], bias[4], bias_hh, h, c, y, dy;
  std::vector<T> kept[4], h_before, c_before, tanh_c;
  std::vector<T> dh, dc, dsums[4], dstep, sum[4], width[4], slopes[4];

  Cell(CellKind cell, const Sizes& sizes)
      : kind(cell),
        s(sizes),
        gates(gates_of(cell)),
        sums(cell == CellKind::Gru ? 4 : gates),
        wide(s.batch * s.steps * s.units),
        flat(s.batch * s.units) {
    for (std::size_t b = 0; b < s.batch; ++b) lengths.push_back(s.batch == 1 ? s.steps : b % (s.steps + 1));
    std::uint32_t site = 0;
    const auto fill = [&](std::vector<T>& v, std::size_t n, double size = 1) { v = values<T>(n, ++site, size); };
    for (std::size_t k = 0; k < 4; ++k) {
      fill(xw[k], wide, 2), fill(hw[k], flat), fill(bias[k], s.units), fill(kept[k], wide), fill(dsums[k], wide);
      fill(sum[k], wide, 2);
      fill(slopes[k], wide);
      width[k] = {static_cast<T>(0.1 * static_cast<double>(k + 1))};
    }
    for (std::vector<T>* v : {&y, &dy, &h_before, &c_before, &tanh_c}) fill(*v, wide);
    for (std::vector<T>* v : {&h, &c, &dh, &dc}) fill(*v, flat);
    fill(bias_hh, s.units), fill(dstep, s.batch * gates * s.units);
  }
  CellShape shape() const { return {kind, s.batch, s.steps, s.units, lengths.data()}; }
  Tensor whole(std::vector<T>& v) const { return tensor(v, s.batch * s.steps, s.units); }
  Tensor step(std::vector<T>& v) const { return tensor(v, s.batch, s.units); }
  CellTrace trace() {
    CellTrace t;
    for (std::size_t k = 0; k < sums; ++k) t.gates[k] = whole(kept[k]);
    t.h_before = whole(h_before);
    if (kind == CellKind::Lstm) t.c_before = whole(c_before), t.tanh_c = whole(tanh_c);
    return t;
  }
  CellForward forward() {
    CellForward f;
    f.shape = shape(), f.h = step(h), f.c = step(c), f.trace = trace();
    for (std::size_t k = 0; k < gates; ++k)
      f.x_products[k] = whole(xw[k]), f.h_products[k] = step(hw[k]), f.bias[k] = bias[k].data();
    f.bias_hh = bias_hh.data(), f.y = y.data(), f.y_stride = s.units;
    return f;
  }
  CellBackward backward() {
    CellBackward b;
    b.shape = shape(), b.trace = trace(), b.dy = dy.data(), b.dy_stride = s.units, b.dh = step(dh), b.dc = step(dc);
    for (std::size_t k = 0; k < sums; ++k) b.dsums[k] = whole(dsums[k]);
    b.dstep = tensor(dstep, s.batch, gates * s.units);
    return b;
  }
  GateSlopes slope_task(bool secant) {
    GateSlopes g;
    g.cell = kind, g.rows = s.batch * s.steps, g.units = s.units, g.trace = trace(), g.secant = secant;
    for (std::size_t k = 0; k < gates; ++k)
      g.sums[k] = whole(sum[k]), g.width[k] = tensor(width[k], 1, 1), g.slopes[k] = whole(slopes[k]);
    return g;
  }
  // Everything that an op of a cell may write.
  std::vector<T> all() const {
    std::vector<T> out = joined({h, c, y, h_before, c_before, tanh_c, dh, dc, dstep});
    for (std::size_t k = 0; k < 4; ++k) out = joined({out, kept[k], dsums[k], slopes[k]});
    return out;
  }
};

// f(b, row, unit, element of [B * T, H], element of [B, H]) for the samples of step t.
template <class T, class F>
void each_unit(const Cell<T>& cell, std::size_t t, F f) {
  for (std::size_t b = 0; b < cell.s.batch; ++b)
    for (std::size_t i = 0; i < cell.s.units; ++i)
      f(t < cell.lengths[b], b, i, (b * cell.s.steps + t) * cell.s.units + i, b * cell.s.units + i);
}

template <class T>
void forward_by_definition(Cell<T>& cell, std::size_t t) {
  const auto sg = [](T x) { return snapped<T>(sigmoid_of(x)); };
  const auto th = [](T x) { return snapped<T>(tanh_of(x)); };
  each_unit(cell, t, [&](bool valid, std::size_t, std::size_t i, std::size_t at, std::size_t u) {
    cell.h_before[at] = cell.h[u];
    if (cell.kind == CellKind::Lstm) cell.c_before[at] = cell.c[u];
    if (!valid) {
      cell.y[at] = 0;
      return;
    }
    const auto sum = [&](std::size_t k) { return cell.xw[k][at] + cell.hw[k][u] + cell.bias[k][i]; };
    T& h = cell.h[u];
    if (cell.kind == CellKind::RnnTanh) {
      h = cell.kept[0][at] = th(sum(0));
    } else if (cell.kind == CellKind::RnnRelu) {
      h = cell.kept[0][at] = snapped<T>(sum(0) > 0 ? sum(0) : T{0});
    } else if (cell.kind == CellKind::Lstm) {
      for (const std::size_t k : {0u, 1u, 3u}) cell.kept[k][at] = sg(sum(k));
      cell.kept[2][at] = th(sum(2));
      cell.c[u] = snapped<T>(cell.kept[1][at] * cell.c[u] + cell.kept[0][at] * cell.kept[2][at]);
      cell.tanh_c[at] = th(cell.c[u]);
      h = snapped<T>(cell.kept[3][at] * cell.tanh_c[at]);
    } else {
      const T r = sg(sum(0)), z = sg(sum(1)), m = snapped<T>(cell.hw[2][u] + cell.bias_hh[i]);
      const T n = th(cell.xw[2][at] + cell.bias[2][i] + r * m);
      cell.kept[0][at] = r, cell.kept[1][at] = z, cell.kept[2][at] = n, cell.kept[3][at] = m;
      h = snapped<T>((T{1} - z) * n + z * h);
    }
    cell.y[at] = h;
  });
}

template <class T>
void backward_by_definition(Cell<T>& cell, std::size_t t) {
  const auto times = [](T a, T b) { return snapped<T>(a * b); };
  each_unit(cell, t, [&](bool valid, std::size_t b, std::size_t i, std::size_t at, std::size_t u) {
    T* const step = cell.dstep.data() + b * cell.gates * cell.s.units + i;
    const auto leave = [&](std::size_t k, T d) { cell.dsums[k][at] = d, step[k * cell.s.units] = d; };
    if (!valid) {
      for (std::size_t k = 0; k < cell.gates; ++k) leave(k, 0);
      if (cell.kind == CellKind::Gru) cell.dsums[3][at] = 0;
      return;
    }
    const auto gate = [&](std::size_t k) { return cell.kept[k][at]; };
    const auto slope = [&](T s) { return times(s, T{1} - s); };        // of a sigmoid
    const auto steep = [&](T s) { return snapped<T>(T{1} - s * s); };  // of tanh
    const T d = snapped<T>(cell.dh[u] + cell.dy[at]);
    cell.dh[u] = 0;
    if (cell.kind == CellKind::RnnTanh) {
      leave(0, times(d, steep(gate(0))));
    } else if (cell.kind == CellKind::RnnRelu) {
      leave(0, gate(0) > 0 ? d : T{0});
    } else if (cell.kind == CellKind::Lstm) {
      const T dc = snapped<T>(cell.dc[u] + times(times(d, gate(3)), steep(cell.tanh_c[at])));
      leave(0, times(times(dc, gate(2)), slope(gate(0))));
      leave(1, times(times(dc, cell.c_before[at]), slope(gate(1))));
      leave(2, times(times(dc, gate(0)), steep(gate(2))));
      leave(3, times(times(d, cell.tanh_c[at]), slope(gate(3))));
      cell.dc[u] = times(dc, gate(1));
    } else {
      const T dn = times(times(d, T{1} - gate(1)), steep(gate(2)));
      leave(0, times(times(dn, gate(3)), slope(gate(0))));
      leave(1, times(times(d, snapped<T>(cell.h_before[at] - gate(2))), slope(gate(1))));
      cell.dsums[2][at] = dn, cell.dsums[3][at] = step[2 * cell.s.units] = times(dn, gate(0));
      cell.dh[u] = times(d, gate(1));
    }
  });
}

// The rise of h between sum - width and sum + width, over twice the width.
template <class T>
void slopes_by_definition(Cell<T>& cell, bool secant) {
  const auto sg = [](T x) { return snapped<T>(sigmoid_of(x)); };
  const auto times = [](T a, T b) { return snapped<T>(a * b); };
  const auto sign = [](T x) { return x < 0 ? T{-1} : T{1}; };
  for (std::size_t at = 0; at < cell.wide; ++at) {
    const auto gate = [&](std::size_t k) { return cell.kept[k][at]; };
    const auto rise = [&](std::size_t k, auto f) {
      const T a = cell.sum[k][at], w = cell.width[k][0];
      return snapped<T>(snapped<T>(snapped<T>(f(a + w)) - snapped<T>(f(snapped<T>(a - w)))) / (w + w));
    };
    const auto leave = [&](std::size_t k, T s) { cell.slopes[k][at] = snapped<T>(s); };
    const auto squash = [](T v) { return tanh_of(v); };
    const auto logistic = [](T v) { return sigmoid_of(v); };
    if (cell.kind == CellKind::RnnTanh) {
      leave(0, secant ? rise(0, squash) : T{1});
    } else if (cell.kind == CellKind::RnnRelu) {
      leave(0, secant ? rise(0, [](T v) { return v > 0 ? v : T{0}; }) : T{1});
    } else if (cell.kind == CellKind::Lstm) {
      const T before = cell.c_before[at], kept = times(gate(1), before), added = times(gate(0), gate(2));
      if (!secant) {
        leave(0, sign(gate(2))), leave(1, sign(before)), leave(2, 1), leave(3, sign(cell.tanh_c[at]));
        continue;
      }
      const auto through = [&](auto f) { return [&, f](T v) { return tanh_of(snapped<T>(f(v))); }; };
      leave(0, times(gate(3), rise(0, through([&](T v) { return kept + times(sg(v), gate(2)); }))));
      leave(1, times(gate(3), rise(1, through([&](T v) { return times(sg(v), before) + added; }))));
      leave(2, times(gate(3), rise(2, through([&](T v) { return kept + times(gate(0), snapped<T>(tanh_of(v))); }))));
      leave(3, times(rise(3, logistic), cell.tanh_c[at]));
    } else {
      const T away = snapped<T>(cell.h_before[at] - gate(2)), open = snapped<T>(T{1} - gate(1));
      if (!secant) {
        leave(0, sign(gate(3))), leave(1, sign(away)), leave(2, 1);
        continue;
      }
      const T fixed = snapped<T>(cell.sum[2][at] - times(gate(0), gate(3)));
      leave(0, times(open, rise(0, [&](T v) { return tanh_of(snapped<T>(fixed + times(sg(v), gate(3)))); })));
      leave(1, times(rise(1, logistic), away));
      leave(2, times(open, rise(2, squash)));
    }
  }
}

template <class T>
void gap_by_definition(Cell<T>& cell, bool secant, T carry, std::size_t t) {
  each_unit(cell, t, [&](bool valid, std::size_t b, std::size_t i, std::size_t at, std::size_t u) {
    T* const step = cell.dstep.data() + b * cell.gates * cell.s.units + i;
    for (std::size_t k = 0; k < cell.sums && !valid; ++k) cell.dsums[k][at] = 0;
    for (std::size_t k = 0; k < cell.gates && !valid; ++k) step[k * cell.s.units] = 0;
    if (!valid) return;
    T e = snapped<T>(cell.dh[u] + cell.dy[at]);
    const bool rnn = cell.gates == 1, tanh = cell.kind == CellKind::RnnTanh;
    if (const T h = cell.kept[0][at]; rnn && !secant)
      e = snapped<T>(std::min(std::max(e, snapped<T>((tanh ? T{-1} : T{0}) - h)),
                              snapped<T>((tanh ? T{1} : static_cast<T>(1e30)) - h)));
    for (std::size_t k = 0; k < cell.gates; ++k) {
      T own = snapped<T>(e * cell.slopes[k][at]);
      cell.dsums[k][at] = own;
      if (cell.kind == CellKind::Gru && k == 2)
        cell.dsums[3][at] = own = secant ? snapped<T>(own * cell.kept[0][at]) : own;
      step[k * cell.s.units] = snapped<T>(own * carry);
    }
    cell.dh[u] = 0;
  });
}

// `run` on a cell with every instruction set beside `expect` on another, for every kind and size.
template <class T, class Run, class Expect>
void expect_cells(bool shared, Run run, Expect expect) {
  for (const CellKind kind : kCells)
    for (const Sizes& s : kShapes) {
      Cell<T> wanted(kind, s);
      expect(wanted);
      EXPECT_TRUE(same(everywhere(shared && s.shared,
                                  [&](const Exec& exec) {
                                    Cell<T> cell(kind, s);
                                    run(exec, cell);
                                    return cell.all();
                                  }),
                       wanted.all()))
          << "cell " << static_cast<int>(kind) << ", " << s.batch << " of " << s.units;
    }
}

template <class T>
void check_passes() {
  expect_cells<T>(
      true,
      [](const Exec& exec, Cell<T>& cell) {
        for (std::size_t t = 0; t < cell.s.steps; ++t) cell_forward(exec, cell.forward(), t);
      },
      [](Cell<T>& cell) {
        for (std::size_t t = 0; t < cell.s.steps; ++t) forward_by_definition(cell, t);
      });
  expect_cells<T>(
      true,
      [](const Exec& exec, Cell<T>& cell) {
        for (std::size_t t = cell.s.steps; t-- > 0;) cell_backward(exec, cell.backward(), t);
      },
      [](Cell<T>& cell) {
        for (std::size_t t = cell.s.steps; t-- > 0;) backward_by_definition(cell, t);
      });
}
LOOM_OP_TEST(Recurrent, L_60_L_63_steps_of_cells_and_their_gradients, check_passes)

template <class T>
void check_targets() {
  for (const bool secant : {true, false}) {
    expect_cells<T>(
        true, [=](const Exec& exec, Cell<T>& cell) { gate_slopes(exec, cell.slope_task(secant)); },
        [=](Cell<T>& cell) { slopes_by_definition(cell, secant); });
    expect_cells<T>(
        false,
        [=](const Exec& exec, Cell<T>& cell) {
          for (std::size_t t = cell.s.steps; t-- > 0;) cell_gap(exec, cell.backward(), cell.slope_task(secant), 0.3, t);
        },
        [=](Cell<T>& cell) {
          for (std::size_t t = cell.s.steps; t-- > 0;) gap_by_definition(cell, secant, T(0.3), t);
        });
  }
}
LOOM_OP_TEST(Recurrent, L_64_L_65_slopes_of_gates_and_gaps, check_targets)

}  // namespace
}  // namespace loom::op_test::of_recurrent
