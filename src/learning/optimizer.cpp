#include "learning/optimizer.h"

#include <cmath>

#include "core/checked.h"
#include "learning/names.h"
#include "ops/for_rows.h"
#include "ops/scalar_sums.h"

namespace loom {

struct Optimizer::Spec {
  std::string_view name;
  double beta1, beta2, eps, decay;  // defaults
  bool has_betas, has_eps, has_momentum, has_amsgrad;
};

// In the order of Kind.
const std::array<Optimizer::Spec, 6>& Optimizer::specs() {
  static constexpr std::array<Spec, 6> table = {{
      {"sgd", 0, 0, 0, 0, false, false, true, false},
      {"adam", 0.9, 0.999, 1e-8, 0, true, true, false, true},
      {"adamw", 0.9, 0.999, 1e-8, 0.01, true, true, false, true},
      {"rmsprop", 0, 0, 1e-8, 0, false, true, true, false},
      {"adagrad", 0, 0, 1e-10, 0, false, true, false, false},
      {"lion", 0.9, 0.99, 0, 0, true, false, false, false},
  }};
  return table;
}

// One run of elements of one weight, its state and the numbers of this step in its type.
template <class T>
struct Optimizer::Elements {
  T* w;
  const T* g;
  std::array<T*, kMaxSlots> slot;  // null: this optimiser has fewer
  std::size_t count;
  T rate, decay, shrink;           // shrink: lr d, adamw's decay
  T correct1, correct2;            // 1 - b1^t, 1 - b2^t
};

namespace {

// A second moment is a square of a snapped value, or 0: below this it cannot matter beside eps and must not become subnormal.
float snap_square(float v) { return v < 0x1p-100f ? 0.0f : v; }
double snap_square(double v) { return v < 0x1p-960 ? 0.0 : v; }

// Products of (1 - b) with a square of 2^-102 stay normal in f32.
constexpr double kLeastShare = 0x1p-24;

Result<void> check_share(std::string_view where, std::string_view key, double b) {
  if (b == 0) return {};
  return check_range(where, key, b, kLeastShare, 1 - kLeastShare);
}

}  // namespace

Result<Optimizer> Optimizer::create(const OptimizerConfig& config) {
  std::vector<std::string_view> names;
  for (const Spec& spec : specs()) names.push_back(spec.name);
  LOOM_TRY(const std::size_t index, find_name("optimizer", config.name, names));
  const Spec& spec = specs()[index];
  Optimizer o;
  o.kind_ = static_cast<Kind>(index);
  o.config_ = config;
  o.config_.name = spec.name;
  o.beta1_ = config.beta1.value_or(spec.beta1);
  o.beta2_ = config.beta2.value_or(spec.beta2);
  o.alpha_ = config.alpha.value_or(0.99);
  o.eps_ = config.eps.value_or(spec.eps);
  o.decay_ = config.weight_decay.value_or(spec.decay);
  LOOM_TRY_VOID(o.check());
  return o;
}

Result<void> Optimizer::check() const {
  const OptimizerConfig& c = config_;
  const Spec& spec = specs()[static_cast<std::size_t>(kind_)];
  const auto refuse = [&](std::string_view key) { return fail(Code::InvalidConfig, "{} has no {}", spec.name, key); };
  if (!spec.has_betas && (c.beta1 || c.beta2)) return refuse("beta1, beta2");
  if (!spec.has_eps && c.eps) return refuse("eps");
  if (!spec.has_momentum && c.momentum != 0) return refuse("momentum");
  if (!spec.has_amsgrad && c.amsgrad) return refuse("amsgrad");
  if (kind_ != Kind::Sgd && (c.nesterov || c.dampening != 0)) return refuse("nesterov, dampening");
  if (kind_ != Kind::RmsProp && (c.alpha || c.centered)) return refuse("alpha, centered");
  LOOM_TRY_VOID(check_share(spec.name, "momentum", c.momentum));
  LOOM_TRY_VOID(check_range(spec.name, "dampening", c.dampening, 0, 1));
  LOOM_TRY_VOID(check_share(spec.name, "beta1", beta1_));
  LOOM_TRY_VOID(check_share(spec.name, "beta2", beta2_));
  LOOM_TRY_VOID(check_share(spec.name, "alpha", alpha_));
  LOOM_TRY_VOID(check_range(spec.name, "weight_decay", decay_, 0, 1e6));
  // A second moment may be 0 where the first is not: the quotient must stay finite.
  if (spec.has_eps) LOOM_TRY_VOID(check_range(spec.name, "eps", eps_, 1e-15, 1));
  if (c.nesterov && (c.momentum == 0 || c.dampening != 0))
    return fail(Code::InvalidConfig, "sgd: nesterov asks for momentum above 0 and dampening 0; given {} and {}", c.momentum, c.dampening);
  return {};
}

std::vector<std::string_view> Optimizer::slot_names() const {
  std::vector<std::string_view> names;
  switch (kind_) {
    case Kind::Sgd:
      if (config_.momentum != 0) names = {"momentum"};
      break;
    case Kind::Adam:
    case Kind::AdamW:
      names = {"m", "v"};
      if (config_.amsgrad) names.push_back("v_max");
      break;
    case Kind::RmsProp:
      names = {"square"};
      if (config_.centered) names.push_back("mean");
      if (config_.momentum != 0) names.push_back("momentum");
      break;
    case Kind::Adagrad: names = {"square"}; break;
    case Kind::Lion: names = {"m"}; break;
  }
  return names;
}

Result<void> Optimizer::prepare(std::vector<Parameter> parameters) {
  std::vector<std::array<Buffer, kMaxSlots>> state(parameters.size());
  const std::size_t count = slot_names().size();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const Parameter& parameter = parameters[p];
    if (parameter.elements == 0) return fail(Code::EmptyTensor, "optimizer: weight {} has no elements", parameter.path);
    LOOM_TRY_VOID(check_range(parameter.path, "learning_rate_scale", parameter.rate_scale, 0, 1e12));
    LOOM_TRY(const std::size_t bytes, checked_mul(parameter.elements, bytes_of(parameter.element)));
    for (std::size_t s = 0; s < count; ++s) {
      LOOM_TRY(state[p][s], Buffer::create(bytes));
    }
  }
  parameters_ = std::move(parameters);
  state_ = std::move(state);
  steps_ = 0;
  return {};
}

std::vector<OptimizerSlot> Optimizer::slots(std::size_t parameter) const {
  const std::vector<std::string_view> names = slot_names();
  const Parameter& p = parameters_[parameter];
  std::vector<OptimizerSlot> out;
  for (std::size_t s = 0; s < names.size(); ++s)
    out.push_back({names[s], {const_cast<std::byte*>(state_[parameter][s].data()), 1, p.elements, p.element}});
  return out;
}

Result<void> Optimizer::step(const Exec& exec, std::span<const Tensor> weights, std::span<const ConstTensor> gradients, double learning_rate) {
  if (!(learning_rate >= 0 && learning_rate <= 1e12)) return fail(Code::InvalidArgument, "learning rate is {}, expected 0 to 1e12", learning_rate);
  if (weights.size() != parameters_.size() || gradients.size() != parameters_.size())
    return fail(Code::ShapeMismatch, "optimizer: {} weights and {} gradients, {} were prepared", weights.size(), gradients.size(),
                parameters_.size());
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const Parameter& want = parameters_[p];
    const std::size_t w = weights[p].rows * weights[p].cols, g = gradients[p].rows * gradients[p].cols;
    if (weights[p].data == nullptr || gradients[p].data == nullptr) continue;
    if (w != want.elements || g != want.elements || weights[p].element != want.element || gradients[p].element != want.element)
      return fail(Code::ShapeMismatch, "optimizer: weight {} has {} elements and its gradient {}, {} were prepared", want.path, w, g, want.elements);
  }
  if (exec.rehearsal()) return {};
  ++steps_;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (weights[p].data == nullptr || gradients[p].data == nullptr) continue;
    const Parameter& parameter = parameters_[p];
    const double rate = learning_rate * parameter.rate_scale, decay = parameter.vector && !config_.decay_vectors ? 0 : decay_;
    with_element(parameter.element, [&]<class T>() {
      for_elements(exec, parameter.elements, [&](std::size_t first, std::size_t count) {
        Elements<T> e{weights[p].as<T>() + first,
                      gradients[p].as<T>() + first,
                      {},
                      count,
                      static_cast<T>(rate),
                      static_cast<T>(decay),
                      static_cast<T>(rate * decay),
                      static_cast<T>(1 - whole_power(beta1_, steps_)),
                      static_cast<T>(1 - whole_power(beta2_, steps_))};
        for (std::size_t s = 0; s < kMaxSlots; ++s)
          if (state_[p][s].size() != 0) e.slot[s] = reinterpret_cast<T*>(const_cast<std::byte*>(state_[p][s].data())) + first;
        update(e);
      });
    });
  }
  return {};
}

// Plain loops without a branch on values: compilers turn them into lanes, and each operation is rounded on its own (-ffp-contract=off).
template <class T>
void Optimizer::update(Elements<T> e) const {
  const T b1 = static_cast<T>(beta1_), b2 = static_cast<T>(beta2_), c1 = static_cast<T>(1 - beta1_), c2 = static_cast<T>(1 - beta2_);
  const T a = static_cast<T>(alpha_), c = static_cast<T>(1 - alpha_), eps = static_cast<T>(eps_), u = static_cast<T>(config_.momentum);
  const T undamped = static_cast<T>(1 - config_.dampening);
  T *const w = e.w, *const s0 = e.slot[0], *const s1 = e.slot[1], *const s2 = e.slot[2];
  const auto decayed = [&](std::size_t i) { return snap_one(e.g[i] + e.decay * w[i]); };
  switch (kind_) {
    case Kind::Sgd:
      for (std::size_t i = 0; i < e.count; ++i) {
        T g = decayed(i);
        if (s0 != nullptr) {
          s0[i] = steps_ == 1 ? g : snap_one(u * s0[i] + undamped * g);
          g = config_.nesterov ? snap_one(g + u * s0[i]) : s0[i];
        }
        w[i] = snap_one(w[i] - e.rate * g);
      }
      break;
    case Kind::Adam:
    case Kind::AdamW:
      for (std::size_t i = 0; i < e.count; ++i) {
        const T g = kind_ == Kind::Adam ? decayed(i) : snap_one(e.g[i]);
        const T kept = kind_ == Kind::Adam ? w[i] : snap_one(w[i] - e.shrink * w[i]);
        s0[i] = snap_one(b1 * s0[i] + c1 * g);
        s1[i] = snap_square(b2 * s1[i] + c2 * (g * g));
        T v = s1[i];
        if (s2 != nullptr) v = s2[i] = v > s2[i] ? v : s2[i];
        w[i] = snap_one(kept - e.rate * ((s0[i] / e.correct1) / (std::sqrt(v / e.correct2) + eps)));
      }
      break;
    case Kind::RmsProp:
      for (std::size_t i = 0; i < e.count; ++i) {
        const T g = decayed(i);
        s0[i] = snap_square(a * s0[i] + c * (g * g));
        T square = s0[i];
        if (config_.centered) {
          s1[i] = snap_one(a * s1[i] + c * g);
          square = snap_square(square - s1[i] * s1[i]);  // rounding may leave it below 0
        }
        T move = g / (std::sqrt(square) + eps);
        if (T* const buffer = config_.centered ? s2 : s1; config_.momentum != 0) move = buffer[i] = snap_one(u * buffer[i] + move);
        w[i] = snap_one(w[i] - e.rate * move);
      }
      break;
    case Kind::Adagrad:
      for (std::size_t i = 0; i < e.count; ++i) {
        const T g = decayed(i);
        s0[i] = snap_square(s0[i] + g * g);
        w[i] = snap_one(w[i] - e.rate * (g / (std::sqrt(s0[i]) + eps)));
      }
      break;
    case Kind::Lion:
      for (std::size_t i = 0; i < e.count; ++i) {
        const T g = snap_one(e.g[i]), mixed = b1 * s0[i] + c1 * g;
        const T sign = mixed > 0 ? T(1) : mixed < 0 ? T(-1) : mixed;  // a NaN shows
        w[i] = snap_one(w[i] - e.rate * (sign + e.decay * w[i]));
        s0[i] = snap_one(b2 * s0[i] + c2 * g);
      }
      break;
  }
}

}  // namespace loom
