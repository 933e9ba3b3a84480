#include "network/auto_morph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "network/session/network_session.h"
#include "simd/math64.h"

namespace loom {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kChunk = 256;  // samples of one forward

enum class MorphLoss : std::uint8_t { Mse, CrossEntropy, RelativeDistance };
constexpr std::array<std::string_view, 3> kMorphLosses = {"mse", "cross_entropy", "relative distance"};

// Measures how far a network's outputs are from targets, or from its own in float32: in f64, sample by sample. Losses
// of training (learning/loss.h) are a floor above, and add in another order.
class Deviation {
 public:
  Deviation(const Network& network, const AutoMorphData& data, const AutoMorphOptions& options)
      : network_(network), data_(data), options_(options) {}

  // Measures the network in float32 and settles which loss it is. Every measurement takes this plan.
  Result<double> begin(std::shared_ptr<const ForwardPlan> plan) {
    plan_ = std::move(plan);
    LOOM_TRY(std::vector<double> y, outputs());
    if (data_.targets.empty()) {
      kind_ = MorphLoss::RelativeDistance, reference_ = std::move(y);
      for (const double v : reference_) scale_ += v * v;
      if (!std::isfinite(scale_)) return fail(Code::NonFinite, "the network's output on this data is not finite");
      return 0.0;
    }
    if (data_.targets.size() == y.size()) {
      kind_ = MorphLoss::Mse;
    } else if (data_.targets.size() * cols_ == y.size()) {
      kind_ = MorphLoss::CrossEntropy;
      for (std::size_t i = 0; i < data_.targets.size(); ++i)
        if (const double t = data_.targets[i]; !(t >= 0 && t < static_cast<double>(cols_)) || t != std::floor(t))
          return fail(Code::IndexOutOfRange, "target {} is {}, expected a class from 0 to {}", i, t, cols_ - 1);
      for (std::size_t i = 0; i < network_.num_cells(); ++i)
        if (network_.cell(i).runs()) probabilities_ = plan_->gives_distribution(i);
    } else {
      return fail(Code::ShapeMismatch,
                  "{} targets beside {} outputs in rows of {}: expected as many, or one class per row",
                  data_.targets.size(), y.size(), cols_);
    }
    const double loss = of(y);
    if (!std::isfinite(loss)) return fail(Code::NonFinite, "the network's loss on this data is not finite");
    return loss;
  }

  // Loss of the network as it is now; infinite when it is NaN.
  Result<double> measure() {
    LOOM_TRY(const std::vector<double> y, outputs());
    const double loss = of(y);
    return std::isnan(loss) ? kInfinity : loss;
  }
  std::string_view name() const { return kMorphLosses[static_cast<std::size_t>(kind_)]; }
  std::size_t measurements() const { return measurements_; }

 private:
  Result<std::vector<double>> outputs() {
    ++measurements_;
    if (!place_) {
      NetworkSessionOptions place{.threads = options_.threads, .isa = options_.isa};
      place.max_bytes = options_.max_session_bytes;
      place.device = options_.device, place.choose_device = options_.choose_device;
      settle_device(network_, plan_, place);
      place_ = std::move(place);
    }
    auto all = outputs_at(*place_);
    if (all || place_->device == nullptr || all.error().code != Code::Unsupported) return all;
    NetworkSessionOptions here = *place_;
    here.device = nullptr;
    return outputs_at(here);
  }

  Result<std::vector<double>> outputs_at(const NetworkSessionOptions& place) {
    LOOM_TRY(const auto session, NetworkSession::create(network_, plan_, place));
    const Shape& whole = data_.input_shape;
    const auto& sample = network_.settings.input_shape;
    // else the first axis may be another thing than samples
    const bool batched = sample && whole.rank() == sample->rank() + 1;
    const std::size_t samples = batched ? whole[0] : 1, size = whole.elements() / samples;
    std::vector<double> all;
    std::vector<float> narrow;
    for (std::size_t first = 0; first < samples; first += kChunk) {
      const std::size_t count = std::min(kChunk, samples - first);
      std::array<std::size_t, Shape::kMaxRank> extents{};
      std::ranges::copy(whole.extents(), extents.begin());
      if (batched) extents[0] = count;
      LOOM_TRY(const Shape part, Shape::create({extents.data(), whole.rank()}));
      ConstView x{data_.inputs.data() + first * size, part, Element::f64};
      if (session->element() == Element::f32) {
        narrow.assign(x.as<double>(), x.as<double>() + count * size);
        x.data = narrow.data(), x.element = Element::f32;
      }
      LOOM_TRY(const ConstView y, session->forward_host(x));
      cols_ = y.shape.cols();
      with_element(y.element, [&]<class T>() { all.insert(all.end(), y.as<T>(), y.as<T>() + y.shape.elements()); });
    }
    return all;
  }

  double of(const std::vector<double>& y) const {
    if (kind_ == MorphLoss::CrossEntropy) return cross_entropy(y);
    const std::vector<double>& wanted = reference_.empty() ? data_.targets : reference_;
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += (y[i] - wanted[i]) * (y[i] - wanted[i]);
    if (!reference_.empty()) return std::sqrt(scale_ > 0 ? sum / scale_ : sum);
    return sum / static_cast<double>(y.size());
  }

  double cross_entropy(const std::vector<double>& y) const {
    constexpr double kLeast = 1e-300;  // of a probability
    double sum = 0;
    for (std::size_t r = 0; r < data_.targets.size(); ++r) {
      const double* row = y.data() + r * cols_;
      const double at_target = row[static_cast<std::size_t>(data_.targets[r])];
      if (probabilities_) {
        sum -= log64(at_target > kLeast ? at_target : kLeast);
        continue;
      }
      double largest = row[0], total = 0;
      for (std::size_t c = 1; c < cols_; ++c) largest = row[c] > largest ? row[c] : largest;
      for (std::size_t c = 0; c < cols_; ++c) total += exp64(row[c] - largest);
      sum += log64(total) - (at_target - largest);
    }
    return sum / static_cast<double>(data_.targets.size());
  }

  const Network& network_;
  std::shared_ptr<const ForwardPlan> plan_;
  const AutoMorphData& data_;
  const AutoMorphOptions& options_;
  MorphLoss kind_ = MorphLoss::Mse;
  std::vector<double> reference_;
  double scale_ = 0;
  std::size_t cols_ = 1, measurements_ = 0;
  std::optional<NetworkSessionOptions> place_;  // where passes run
  bool probabilities_ = false;
};

// A layer whose type is chosen.
struct Unit {
  std::string path;
  Layer* layer;
  std::array<std::size_t, kNumTypes> bytes{};
  std::array<double, kNumTypes> increase{};  // infinite: not to be chosen
  DType now = DType::float32;

  std::size_t bytes_now() const { return bytes[index(now)]; }
  double cost(DType t) const { return std::max(increase[index(t)], 0.0); }
};

Result<void> set_type(Unit& unit, DType dtype) {
  Encoding encoding = unit.layer->common.encoding;
  encoding.dtype = dtype;
  std::optional<Error> error;
  unit.layer->visit_weights([&](Weight& w) {
    if (w.is_tied() || error) return;
    if (auto done = w.morph(encoding); !done) error = std::move(done.error().in_source(unit.path));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  unit.layer->common.encoding.dtype = dtype;
  unit.now = dtype;
  return {};
}

void trim(Unit& unit) {
  unit.layer->visit_weights([](Weight& w) { w.trim_versions(); });
}

// Bytes of a weight in memory without its master and other versions.
std::size_t packed_bytes_of(const Weight& w) {
  return w.resident_bytes() - w.master().size_bytes() - w.master64().size_bytes();
}

class Search {
 public:
  Search(Network& network, const AutoMorphData& data, const AutoMorphOptions& options)
      : network_(network),
        options_(options),
        loss_(network, data, options),
        input_(data.input_shape),
        types_(options.types) {
    if (types_.empty())
      for (std::size_t t = 0; t < kNumTypes; ++t) types_.push_back(static_cast<DType>(t));
    std::sort(types_.begin(), types_.end());
    types_.erase(std::unique(types_.begin(), types_.end()), types_.end());
    std::erase(types_, DType::float32);
  }

  Result<AutoMorphReport> run() {
    LOOM_TRY_VOID(begin());
    LOOM_TRY_VOID(measure_types());
    LOOM_TRY_VOID(options_.max_bytes ? reach_bytes() : reach_least_under_loss());
    AutoMorphReport report;
    LOOM_TRY(report.loss, loss_.measure());
    report.loss_name = loss_.name(), report.loss_before = loss_before_, report.bytes_before = bytes_before_,
    report.bytes = bytes();
    report.measurements = loss_.measurements();
    for (const Unit& u : units_)
      report.rows.push_back({u.path, std::string(u.layer->kind()), u.now, u.bytes_now(), u.increase[index(u.now)]});
    return report;
  }

 private:
  Result<void> begin() {
    std::optional<Error> error;
    network_.visit_weights([&](const std::string& path, Weight& w, Layer&) {
      if (error) return;
      if (auto done = w.ensure_master(); !done) error = std::move(done.error().in_source(path));
    });
    if (error) return tl::make_unexpected(*std::move(error));
    LOOM_TRY_VOID(network_.morph_all(DType::float32));
    network_.visit_weights([](const std::string&, Weight& w, Layer&) { w.trim_versions(); });
    network_.visit_weights([&](const std::string&, const Weight& w, const Layer&) { fixed_ += packed_bytes_of(w); });
    network_.each_layer([&](std::size_t, const std::string& path, Layer& layer) {
      bool typed = false;
      layer.visit_weights([&](Weight& w) {
        typed = typed || (!w.is_tied() && (w.role() == WeightRole::Matrix || w.role() == WeightRole::TypedVector));
      });
      if (typed) units_.push_back({path, &layer});
    });
    if (units_.empty()) return fail(Code::InvalidArgument, "the network holds no weights that take a type");
    for (Unit& u : units_) {
      u.increase.fill(kInfinity);
      for (const DType t : types_) {
        LOOM_TRY_VOID(set_type(u, t));
        u.bytes[index(t)] = own_bytes(u);
      }
      LOOM_TRY_VOID(set_type(u, DType::float32));
      trim(u);
      u.bytes[index(DType::float32)] = own_bytes(u), u.increase[index(DType::float32)] = 0;
      fixed_ -= u.bytes_now();
    }
    bytes_before_ = bytes();
    if (options_.max_bytes) LOOM_TRY_VOID(check_reachable());
    LOOM_TRY(auto plan, ForwardPlan::create(network_, input_));
    LOOM_TRY(loss_before_, loss_.begin(std::move(plan)));
    if (options_.max_loss && !(loss_before_ <= *options_.max_loss))
      return fail(Code::InvalidArgument, "a loss of at most {} cannot be reached: the network in float32 has {}",
                  *options_.max_loss, loss_before_);
    return {};
  }

  static std::size_t own_bytes(const Unit& u) {
    std::size_t n = 0;
    u.layer->visit_weights([&](Weight& w) {
      if (w.is_tied()) return;
      w.trim_versions();
      n += packed_bytes_of(w);
    });
    return n;
  }

  std::size_t bytes() const {
    std::size_t n = fixed_;
    for (const Unit& u : units_) n += u.bytes_now();
    return n;
  }

  // Checks that max_bytes can be reached with the types that may be chosen; `measured`: with those whose measured
  // increase is finite.
  Result<void> check_reachable(bool measured = false) const {
    std::size_t least = fixed_;
    for (const Unit& u : units_) {
      std::size_t smallest = u.bytes[index(DType::float32)];
      for (const DType t : types_)
        if (!measured || u.increase[index(t)] < kInfinity) smallest = std::min(smallest, u.bytes[index(t)]);
      least += smallest;
    }
    if (least <= *options_.max_bytes) return {};
    return fail(Code::InvalidArgument, "{} bytes cannot be reached: the smallest this network can be is {} bytes",
                *options_.max_bytes, least);
  }

  Result<void> tell() {
    const std::size_t foreseen = units_.size() * types_.size() * (options_.max_loss ? 2 : 1) + 2;
    if (!options_.progress || options_.progress(std::min(loss_.measurements(), foreseen), foreseen)) return {};
    return fail(Code::Cancelled, "interrupted; nothing was written");
  }

  Result<void> measure_types() {
    for (Unit& u : units_) {
      for (const DType t : types_) {
        if (u.bytes[index(t)] >= u.bytes[index(DType::float32)]) continue;  // nothing to gain
        LOOM_TRY_VOID(tell());
        LOOM_TRY_VOID(set_type(u, t));
        LOOM_TRY(const double loss, loss_.measure());
        u.increase[index(t)] = loss - loss_before_;
      }
      LOOM_TRY_VOID(set_type(u, DType::float32));
      trim(u);
    }
    return {};
  }

  struct Step {
    Unit* unit = nullptr;
    DType to = DType::float32;
    double rate = kInfinity;
  };

  // The smaller type that costs least per byte saved.
  Step cheapest_saving() {
    Step best;
    std::size_t best_saved = 0;
    for (Unit& u : units_)
      for (const DType t : types_) {
        if (u.bytes[index(t)] >= u.bytes_now() || !(u.increase[index(t)] < kInfinity)) continue;
        const std::size_t saved = u.bytes_now() - u.bytes[index(t)];
        const double rate = (u.cost(t) - u.cost(u.now)) / static_cast<double>(saved);
        if (best.unit == nullptr || rate < best.rate || (rate == best.rate && saved > best_saved))
          best = {&u, t, rate}, best_saved = saved;
      }
    return best;
  }

  // The other type that gains most loss per byte and still fits.
  Step best_spending(std::size_t room) {
    Step best;
    for (Unit& u : units_)
      for (const DType t : all_types()) {
        const std::size_t size = u.bytes[index(t)];
        if (size > u.bytes_now() + room || !(u.cost(t) < u.cost(u.now))) continue;
        const double more = size > u.bytes_now() ? static_cast<double>(size - u.bytes_now()) : 1.0;
        const double rate = (u.cost(t) - u.cost(u.now)) / more;
        if (best.unit == nullptr || rate < best.rate) best = {&u, t, rate};
      }
    return best;
  }

  std::vector<DType> all_types() const {
    std::vector<DType> all = types_;
    all.push_back(DType::float32);
    return all;
  }

  Result<void> reach_bytes() {
    LOOM_TRY_VOID(check_reachable(true));
    while (bytes() > *options_.max_bytes) {
      const Step step = cheapest_saving();
      LOOM_ASSERT(step.unit != nullptr);
      step.unit->now = step.to;
    }
    // The last step may have saved more than was asked for.
    for (Step step = best_spending(*options_.max_bytes - bytes()); step.unit != nullptr;
         step = best_spending(*options_.max_bytes - bytes()))
      step.unit->now = step.to;
    for (Unit& u : units_) LOOM_TRY_VOID(set_type(u, u.now));
    return tell();
  }

  // Losses of layers do not simply add, so each step is measured; one that goes too far is taken back and not tried
  // again.
  Result<void> reach_least_under_loss() {
    for (Step step = cheapest_saving(); step.unit != nullptr; step = cheapest_saving()) {
      LOOM_TRY_VOID(tell());
      const DType before = step.unit->now;
      bool accepted = loss_before_ + step.unit->increase[index(step.to)] <= *options_.max_loss;
      if (accepted) {
        LOOM_TRY_VOID(set_type(*step.unit, step.to));
        LOOM_TRY(const double loss, loss_.measure());
        accepted = loss <= *options_.max_loss;
      }
      if (accepted) {
        trim(*step.unit);
        continue;
      }
      LOOM_TRY_VOID(set_type(*step.unit, before));
      step.unit->increase[index(step.to)] = kInfinity;
    }
    return {};
  }

  Network& network_;
  const AutoMorphOptions& options_;
  Deviation loss_;
  const Shape input_;
  std::vector<DType> types_;
  std::vector<Unit> units_;
  std::size_t fixed_ = 0, bytes_before_ = 0;
  double loss_before_ = 0;
};

}  // namespace

Result<AutoMorphReport> auto_morph(Network& network, const AutoMorphData& data, const AutoMorphOptions& options) {
  if (options.max_bytes.has_value() == options.max_loss.has_value())
    return fail(Code::InvalidArgument, "expected either a number of bytes or a loss");
  if (data.inputs.size() != data.input_shape.elements())
    return fail(Code::ShapeMismatch, "{} numbers given for inputs of {}", data.inputs.size(), data.input_shape.text());
  for (const DType t : options.types)
    if (index(t) >= kNumTypes)
      return fail(Code::InvalidArgument, "type {} is none of the {} that networks can be morphed to", name(t),
                  kNumTypes);
  LOOM_TRY_VOID(check_input(data.inputs, data.input_shape, network.settings.activations));
  return Search(network, data, options).run();
}

}  // namespace loom
