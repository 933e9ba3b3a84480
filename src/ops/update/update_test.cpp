#include "ops/update/update.h"

#include "ops/op_test.h"

namespace loom::op_test::of_update {
namespace {

// Second moments are snapped at 2^-100, in f64 at 2^-960.
template <class T>
T snapped_square(T v) {
  return v < static_cast<T>(sizeof(T) == 8 ? 0x1p-960 : 0x1p-100) ? T{0} : v;
}

struct Case {
  const char* name;
  UpdateRule rule;
};

std::vector<Case> cases() {
  UpdateRule all;
  all.rate = 0.01, all.decay = 0.1, all.beta1 = 0.9, all.beta2 = 0.99, all.alpha = 0.95, all.eps = 1e-6;
  all.dampening = 0.2, all.correct1 = 0.19, all.correct2 = 0.0199;
  std::vector<Case> out;
  const auto add = [&](const char* name, UpdateKind kind, auto change) {
    UpdateRule rule = all;
    rule.kind = kind;
    change(rule);
    out.push_back({name, rule});
  };
  add("sgd", UpdateKind::Sgd, [](UpdateRule&) {});
  add("sgd, momentum", UpdateKind::Sgd, [](UpdateRule& r) { r.momentum = 0.8; });
  add("sgd, nesterov", UpdateKind::Sgd, [](UpdateRule& r) { r.momentum = 0.8, r.nesterov = true; });
  add("sgd, first step", UpdateKind::Sgd, [](UpdateRule& r) { r.momentum = 0.8, r.first = true; });
  add("adam", UpdateKind::Adam, [](UpdateRule&) {});
  add("adam, amsgrad", UpdateKind::Adam, [](UpdateRule& r) { r.amsgrad = true; });
  add("adamw", UpdateKind::AdamW, [](UpdateRule&) {});
  add("rmsprop", UpdateKind::RmsProp, [](UpdateRule&) {});
  add("rmsprop, momentum", UpdateKind::RmsProp, [](UpdateRule& r) { r.momentum = 0.8; });
  add("rmsprop, centered, momentum", UpdateKind::RmsProp, [](UpdateRule& r) { r.momentum = 0.8, r.centered = true; });
  add("adagrad", UpdateKind::Adagrad, [](UpdateRule&) {});
  add("lion", UpdateKind::Lion, [](UpdateRule&) {});
  return out;
}

// One element by the equations of rules/: w and its slots.
template <class T>
void step(const UpdateRule& r, T given, T& w, T* slot) {
  const auto c = [](double x) { return static_cast<T>(x); };
  const T g = r.kind == UpdateKind::AdamW || r.kind == UpdateKind::Lion ? snapped<T>(given)
                                                                        : snapped<T>(given + c(r.decay) * w);
  switch (r.kind) {
    case UpdateKind::Sgd:
      if (r.momentum == 0) {
        w = w - c(r.rate) * g;
      } else {
        slot[0] = r.first ? g : snapped<T>(c(r.momentum) * slot[0] + c(1 - r.dampening) * g);
        w = w - c(r.rate) * (r.nesterov ? snapped<T>(g + c(r.momentum) * slot[0]) : slot[0]);
      }
      break;
    case UpdateKind::Adam:
    case UpdateKind::AdamW: {
      const T kept = r.kind == UpdateKind::AdamW ? snapped<T>(w - c(r.rate * r.decay) * w) : w;
      slot[0] = snapped<T>(c(r.beta1) * slot[0] + c(1 - r.beta1) * g);
      slot[1] = snapped_square<T>(c(r.beta2) * slot[1] + c(1 - r.beta2) * (g * g));
      if (r.amsgrad) slot[2] = std::max(slot[1], slot[2]);
      const T v = r.amsgrad ? slot[2] : slot[1];
      w = kept - c(r.rate) * (slot[0] / c(r.correct1) / (std::sqrt(v / c(r.correct2)) + c(r.eps)));
      break;
    }
    case UpdateKind::RmsProp: {
      slot[0] = snapped_square<T>(c(r.alpha) * slot[0] + c(1 - r.alpha) * (g * g));
      T square = slot[0];
      if (r.centered) {
        slot[1] = snapped<T>(c(r.alpha) * slot[1] + c(1 - r.alpha) * g);
        square = snapped_square<T>(slot[0] - slot[1] * slot[1]);
      }
      T move = g / (std::sqrt(square) + c(r.eps));
      if (T& buffer = slot[r.centered ? 2 : 1]; r.momentum != 0)
        buffer = move = snapped<T>(c(r.momentum) * buffer + move);
      w = w - c(r.rate) * move;
      break;
    }
    case UpdateKind::Adagrad:
      slot[0] = snapped_square<T>(slot[0] + g * g);
      w = w - c(r.rate) * (g / (std::sqrt(slot[0]) + c(r.eps)));
      break;
    case UpdateKind::Lion: {
      const T mixed = c(r.beta1) * slot[0] + c(1 - r.beta1) * g;
      slot[0] = snapped<T>(c(r.beta2) * slot[0] + c(1 - r.beta2) * g);
      w = w - c(r.rate) * (static_cast<T>((mixed > 0) - (mixed < 0)) + c(r.decay) * w);
      break;
    }
  }
  w = snapped<T>(w);
}

template <class T>
struct Weights {
  std::size_t n;
  std::vector<T> w, g, slots[kUpdateSlots];
  explicit Weights(std::size_t count) : n(count), w(values<T>(n, 1)), g(values<T>(n, 2)) {
    for (std::size_t i = 0; i < n; i += 11) g[i] = 0;
    for (std::uint32_t s = 0; s < kUpdateSlots; ++s) {
      slots[s] = values<T>(n, 3 + s);
      for (T& v : slots[s]) v = std::abs(v);
    }
  }
  UpdateState state(const UpdateRule& rule) {
    UpdateState out;
    const UpdateSlots names = update_rows()[static_cast<std::size_t>(rule.kind)].slots(rule);
    for (std::size_t s = 0; s < kUpdateSlots; ++s)
      if (names.name[s] != nullptr) out[s] = tensor(slots[s], 1, n);
    return out;
  }
};

template <class T>
void check_rules() {
  for (const Case& c : cases())
    for (const std::size_t n : {1u, 15u, 17u, 65u, 1003u, 70001u}) {
      Weights<T> wanted(n);
      const UpdateState kept = wanted.state(c.rule);
      for (std::size_t i = 0; i < n; ++i) {
        T slot[kUpdateSlots];
        for (std::size_t s = 0; s < kUpdateSlots; ++s) slot[s] = wanted.slots[s][i];
        step(c.rule, wanted.g[i], wanted.w[i], slot);
        for (std::size_t s = 0; s < kUpdateSlots; ++s)
          if (kept[s].data != nullptr) wanted.slots[s][i] = slot[s];
      }
      for (const bool has_failed : {false, true}) {
        if (has_failed && n == kShared) continue;
        const Weights<T> before(n);
        const Weights<T>& after = has_failed ? before : wanted;
        EXPECT_TRUE(same(everywhere(n == kShared,
                                    [&](const Exec& exec) {
                                      Weights<T> now(n);
                                      float failed = has_failed ? 1 : 0;
                                      update(exec, c.rule, tensor(now.w, 1, n), tensor(now.g, 1, n), now.state(c.rule),
                                             Tensor{&failed, 1, 1, Element::f32});
                                      return joined({now.w, now.slots[0], now.slots[1], now.slots[2]});
                                    }),
                         joined({after.w, after.slots[0], after.slots[1], after.slots[2]})))
            << c.name << ", " << n << (has_failed ? " after a failure" : "");
      }
    }
}
LOOM_OP_TEST(Update, T_20_every_rule_by_its_equation, check_rules)

// A trial reports whether a result would not be finite, changes no weight, and is skipped below the bound.
template <class T>
void check_trial() {
  using L = std::numeric_limits<T>;
  for (const Case& c : cases())
    for (const std::size_t n : {1u, 300u, 70001u})
      for (const T odd : {T{1}, L::infinity(), L::quiet_NaN()})
        for (const T bound : {T{1}, T{3}}) {
          if (n == kShared && (!c.rule.amsgrad || bound < 2)) continue;
          const auto found = everywhere(n == kShared, [&](const Exec& exec) {
            Weights<T> now(n);
            const std::vector<T> before = now.w, limit = {bound};
            now.g[n / 2] = odd;
            std::vector<T> outcome(1, T{5});
            const UpdateTrial trial{
                c.rule, tensor(now.w, 1, n), tensor(now.g, 1, n), now.state(c.rule), tensor(limit, 1, 1), 2};
            try_updates(exec, {&trial, 1}, tensor(outcome, 1, 1));
            EXPECT_EQ(now.w, before);
            EXPECT_EQ(now.slots[0], Weights<T>(n).slots[0]);
            return outcome;
          });
          // The sign of an infinite gradient is a number: lion's momentum is not.
          EXPECT_EQ(found[0], bound > 2 && !std::isfinite(odd) ? L::infinity() : T{0}) << c.name << " with " << odd;
        }
}
LOOM_OP_TEST(Update, T_25_a_trial_sees_what_is_not_finite, check_trial)

}  // namespace
}  // namespace loom::op_test::of_update
