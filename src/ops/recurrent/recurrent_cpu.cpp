#include "ops/recurrent/recurrent.h"
#include "simd/math.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void copy_row(const T* from, std::size_t n, T* to) {
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(to + i, lanes.load(from + i)); });
}
template <class T>
void zero_row(std::size_t n, T* to) {
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(to + i, zeros<T>()); });
}

// One step of one sample reads and writes these rows.
template <class T, CellKind C>
struct StepRows {
  static constexpr std::size_t kGates = gates_of(C);
  StepRows(const CellForward& task, std::size_t row, std::size_t b) {
    const CellTrace& trace = task.trace;
    for (std::size_t k = 0; k < kGates; ++k) {
      xw[k] = task.x_products[k].row<T>(row), hw[k] = task.h_products[k].row<T>(b);
      bias[k] = static_cast<const T*>(task.bias[k]);
    }
    if (trace.h_before.data == nullptr) return;
    for (std::size_t k = 0; k < kMaxGates; ++k)
      kept[k] = trace.gates[k].data == nullptr ? nullptr : trace.gates[k].row<T>(row);
    if constexpr (C == CellKind::Lstm) kept_tanh = trace.tanh_c.row<T>(row);
  }
  const T *xw[kGates], *hw[kGates], *bias[kGates];
  T* kept[kMaxGates] = {};
  T* kept_tanh = nullptr;
};

// Sums of snapped values are never subnormal, so only products and what is stored pass snap().
template <class T, CellKind C>
void forward(const CellForward& task, std::size_t t, std::size_t begin, std::size_t end) {
  using V = Lanes<T>;
  const std::size_t n = task.shape.units;
  const CellTrace& trace = task.trace;
  const bool keep = trace.h_before.data != nullptr;
  const V one = splat(T{1});
  for (std::size_t b = begin; b < end; ++b) {
    const std::size_t row = b * task.shape.steps + t;
    T* const h = task.h.row<T>(b);
    T* const c = C == CellKind::Lstm ? task.c.row<T>(b) : nullptr;
    T* const y = task.y == nullptr ? nullptr : static_cast<T*>(task.y) + row * task.y_stride;
    if (keep) {
      copy_row(h, n, trace.h_before.row<T>(row));
      if constexpr (C == CellKind::Lstm) copy_row(c, n, trace.c_before.row<T>(row));
    }
    if (!task.shape.valid(b, t)) {
      if (y != nullptr) zero_row(n, y);
      continue;
    }
    const StepRows<T, C> rows(task, row, b);
    const T *const *const xw = rows.xw, *const *const hw = rows.hw, *const *const bias = rows.bias;
    const T* const bias_hh = static_cast<const T*>(task.bias_hh);
    const bool biased = bias[0] != nullptr;
    for_lanes(n, [&](std::size_t i, auto lanes) {
      const auto sum = [&](std::size_t k) {
        const V s = lanes.load(xw[k] + i) + lanes.load(hw[k] + i);
        return biased ? s + lanes.load(bias[k] + i) : s;
      };
      const auto keeping = [&](std::size_t k, const V& v) {
        if (keep) lanes.store(rows.kept[k] + i, v);
        return v;
      };
      V out;
      if constexpr (C == CellKind::RnnTanh) {
        out = keeping(0, snap(tanh(sum(0))));
      } else if constexpr (C == CellKind::RnnRelu) {
        out = keeping(0, snap(max(sum(0), zeros<T>())));
      } else if constexpr (C == CellKind::Lstm) {
        const V in = keeping(0, snap(sigmoid(sum(0)))), forget = keeping(1, snap(sigmoid(sum(1))));
        const V candidate = keeping(2, snap(tanh(sum(2)))), gate = keeping(3, snap(sigmoid(sum(3))));
        const V cell = snap(forget * lanes.load(c + i) + in * candidate), squashed = snap(tanh(cell));
        lanes.store(c + i, cell);
        if (keep) lanes.store(rows.kept_tanh + i, squashed);
        out = snap(gate * squashed);
      } else {
        const V reset = keeping(0, snap(sigmoid(sum(0)))), update = keeping(1, snap(sigmoid(sum(1))));
        V m = lanes.load(hw[2] + i), x = lanes.load(xw[2] + i);
        if (biased) m = snap(m + lanes.load(bias_hh + i)), x = x + lanes.load(bias[2] + i);
        const V candidate = keeping(2, snap(tanh(x + reset * keeping(3, m))));
        out = snap((one - update) * candidate + update * lanes.load(h + i));
      }
      lanes.store(h + i, out);
      if (y != nullptr) lanes.store(y + i, out);
    });
  }
}

template <class T, CellKind C>
void backward(const CellBackward& task, std::size_t t, std::size_t begin, std::size_t end) {
  using V = Lanes<T>;
  constexpr std::size_t kGates = gates_of(C), kSums = C == CellKind::Gru ? 4 : kGates;
  const std::size_t n = task.shape.units;
  const CellTrace& trace = task.trace;
  const V one = splat(T{1});
  for (std::size_t b = begin; b < end; ++b) {
    const std::size_t row = b * task.shape.steps + t;
    T* const dstep = task.dstep.row<T>(b);
    T* dsum[kSums];
    for (std::size_t k = 0; k < kSums; ++k) dsum[k] = task.dsums[k].row<T>(row);
    if (!task.shape.valid(b, t)) {  // dh and dc pass by
      for (T* d : dsum) zero_row(n, d);
      zero_row(n * kGates, dstep);
      continue;
    }
    const T* gates[kSums];
    for (std::size_t k = 0; k < kSums; ++k) gates[k] = trace.gates[k].row<T>(row);
    const T* const dy = task.dy == nullptr ? nullptr : static_cast<const T*>(task.dy) + row * task.dy_stride;
    T* const dh = task.dh.row<T>(b);
    const T* const h_before = C == CellKind::Gru ? trace.h_before.row<T>(row) : nullptr;
    const T* const c_before = C == CellKind::Lstm ? trace.c_before.row<T>(row) : nullptr;
    const T* const tanh_c = C == CellKind::Lstm ? trace.tanh_c.row<T>(row) : nullptr;
    T* const dc = C == CellKind::Lstm ? task.dc.row<T>(b) : nullptr;
    for_lanes(n, [&](std::size_t i, auto lanes) {
      const auto gate = [&](std::size_t k) { return lanes.load(gates[k] + i); };
      const auto times = [&](const V& p, const V& q) { return snap(p * q); };
      const auto sigmoid_slope = [&](const V& s) { return times(s, one - s); };
      const auto tanh_slope = [&](const V& s) { return snap(one - s * s); };
      // Into the gate's sum, and side by side for the product with W_hh.
      const auto leave = [&](std::size_t k, const V& d) {
        lanes.store(dsum[k] + i, d), lanes.store(dstep + k * n + i, d);
      };
      const V d = dy == nullptr ? lanes.load(dh + i) : snap(lanes.load(dh + i) + lanes.load(dy + i));
      V direct = zeros<T>();
      if constexpr (C == CellKind::RnnTanh) {
        leave(0, times(d, tanh_slope(gate(0))));
      } else if constexpr (C == CellKind::RnnRelu) {
        leave(0, select(gate(0) > zeros<T>(), d, zeros<T>()));
      } else if constexpr (C == CellKind::Lstm) {
        const V in = gate(0), forget = gate(1), candidate = gate(2), out = gate(3), squashed = lanes.load(tanh_c + i);
        const V dcell = snap(lanes.load(dc + i) + times(times(d, out), tanh_slope(squashed)));
        leave(0, times(times(dcell, candidate), sigmoid_slope(in)));
        leave(1, times(times(dcell, lanes.load(c_before + i)), sigmoid_slope(forget)));
        leave(2, times(times(dcell, in), tanh_slope(candidate)));
        leave(3, times(times(d, squashed), sigmoid_slope(out)));
        lanes.store(dc + i, times(dcell, forget));
      } else {
        const V reset = gate(0), update = gate(1), candidate = gate(2);
        const V dcandidate = times(times(d, one - update), tanh_slope(candidate));
        leave(0, times(times(dcandidate, gate(3)), sigmoid_slope(reset)));
        leave(1, times(times(d, snap(lanes.load(h_before + i) - candidate)), sigmoid_slope(update)));
        const V dm = times(dcandidate, reset);
        lanes.store(dsum[2] + i, dcandidate);
        lanes.store(dsum[3] + i, dm);
        lanes.store(dstep + 2 * n + i, dm);
        direct = times(d, update);
      }
      lanes.store(dh + i, direct);
    });
  }
}

template <class T, CellKind C>
void slopes(const GateSlopes& task, std::size_t begin, std::size_t end) {
  using V = Lanes<T>;
  constexpr std::size_t kGates = gates_of(C);
  const std::size_t first = begin * task.units, n = (end - begin) * task.units;
  const auto at = [&](const Tensor& t) { return t.as<T>() + first; };
  const bool secant = task.secant;
  const V one = splat(T{1});
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const auto gate = [&](std::size_t k) { return lanes.load(at(task.trace.gates[k]) + i); };
    const auto leave = [&](std::size_t k, const V& v) { lanes.store(at(task.slopes[k]) + i, snap(v)); };
    const auto sign = [&](const V& v) { return select(v < zeros<T>(), splat(T{-1}), one); };
    // (f(a + w) - f(a - w)) / 2 w at the sum of gate k
    const auto rise = [&](std::size_t k, auto&& f) {
      const V a = lanes.load(at(task.sums[k]) + i), w = splat(*task.width[k].template as<T>());
      return snap(snap(snap(f(a + w)) - snap(f(snap(a - w)))) / (w + w));
    };
    const auto logistic = [](const V& v) { return sigmoid(v); };
    const auto squash = [](const V& v) { return tanh(v); };
    const auto times = [](const V& p, const V& q) { return snap(p * q); };
    if constexpr (C == CellKind::RnnTanh) {
      leave(0, secant ? rise(0, squash) : one);
    } else if constexpr (C == CellKind::RnnRelu) {
      leave(0, secant ? rise(0, [](const V& v) { return max(v, zeros<T>()); }) : one);
    } else if constexpr (C == CellKind::Lstm) {
      const V in = gate(0), forget = gate(1), candidate = gate(2), out = gate(3);
      const V before = lanes.load(at(task.trace.c_before) + i), squashed = lanes.load(at(task.trace.tanh_c) + i);
      if (!secant) {
        leave(0, sign(candidate)), leave(1, sign(before)), leave(2, one), leave(3, sign(squashed));
      } else {
        const V kept = times(forget, before), added = times(in, candidate);
        leave(0,
              times(out, rise(0, [&](const V& v) { return tanh(snap(kept + times(snap(sigmoid(v)), candidate))); })));
        leave(1, times(out, rise(1, [&](const V& v) { return tanh(snap(times(snap(sigmoid(v)), before) + added)); })));
        leave(2, times(out, rise(2, [&](const V& v) { return tanh(snap(kept + times(in, snap(tanh(v))))); })));
        leave(3, times(rise(3, logistic), squashed));
      }
    } else {
      const V reset = gate(0), update = gate(1), candidate = gate(2), inner = gate(3);
      const V away = snap(lanes.load(at(task.trace.h_before) + i) - candidate);
      if (!secant) {
        leave(0, sign(inner)), leave(1, sign(away)), leave(2, one);
      } else {
        const V fixed = snap(lanes.load(at(task.sums[2]) + i) - times(reset, inner)), open = snap(one - update);
        leave(0, times(open, rise(0, [&](const V& v) { return tanh(snap(fixed + times(snap(sigmoid(v)), inner))); })));
        leave(1, times(rise(1, logistic), away));
        leave(2, times(open, rise(2, squash)));
      }
    }
  });
  static_assert(kGates <= kMaxGates);
}

template <class T, CellKind C>
void gap(const CellBackward& task, const GateSlopes& slopes, double carry, std::size_t t, std::size_t begin,
         std::size_t end) {
  using V = Lanes<T>;
  constexpr std::size_t kGates = gates_of(C), kSums = C == CellKind::Gru ? 4 : kGates;
  const std::size_t n = task.shape.units;
  const bool secant = slopes.secant;
  const V factor = splat(static_cast<T>(carry));
  for (std::size_t b = begin; b < end; ++b) {
    const std::size_t row = b * task.shape.steps + t;
    T* const dstep = task.dstep.row<T>(b);
    if (!task.shape.valid(b, t)) {
      for (std::size_t k = 0; k < kSums; ++k) zero_row(n, task.dsums[k].row<T>(row));
      zero_row(n * kGates, dstep);
      continue;
    }
    const T* const dy = task.dy == nullptr ? nullptr : static_cast<const T*>(task.dy) + row * task.dy_stride;
    T* const dh = task.dh.row<T>(b);
    for_lanes(n, [&](std::size_t i, auto lanes) {
      V e = lanes.load(dh + i);
      if (dy != nullptr) e = snap(e + lanes.load(dy + i));
      if constexpr (kGates == 1) {
        const V h = lanes.load(task.trace.gates[0].row<T>(row) + i);
        const V low = splat(C == CellKind::RnnTanh ? T{-1} : T{0}),
                high = C == CellKind::RnnTanh ? splat(T{1}) : splat(static_cast<T>(1e30));
        if (!secant) e = snap(min(max(e, snap(low - h)), snap(high - h)));
      }
      for (std::size_t k = 0; k < kGates; ++k) {
        const V own = snap(e * lanes.load(slopes.slopes[k].row<T>(row) + i));
        V inner = own;
        if constexpr (C == CellKind::Gru)
          if (k == 2) {
            if (secant) inner = snap(own * lanes.load(task.trace.gates[0].row<T>(row) + i));
            lanes.store(task.dsums[3].row<T>(row) + i, inner);
          }
        lanes.store(task.dsums[k].row<T>(row) + i, own);
        lanes.store(dstep + k * n + i, snap(inner * factor));
      }
      lanes.store(dh + i, zeros<T>());
    });
  }
}

template <class T>
constexpr CellKernels<T> kKernels = [] {
  CellKernels<T> table{};
  const auto add = [&]<CellKind kCell>() {
    constexpr auto i = static_cast<std::size_t>(kCell);
    table.forward[i] = forward<T, kCell>;
    table.backward[i] = backward<T, kCell>;
    table.slopes[i] = slopes<T, kCell>;
    table.gap[i] = gap<T, kCell>;
  };
  add.template operator()<CellKind::RnnTanh>();
  add.template operator()<CellKind::RnnRelu>();
  add.template operator()<CellKind::Lstm>();
  add.template operator()<CellKind::Gru>();
  return table;
}();

}  // namespace

extern const PerElement<CellKernels> cell_kernels;
const PerElement<CellKernels> cell_kernels = per_element<PerElement<CellKernels>>([]<class T> { return kKernels<T>; });

}  // namespace loom::inline LOOM_TARGET
