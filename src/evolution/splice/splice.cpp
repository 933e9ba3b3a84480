#include "evolution/splice/splice.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/nearest.h"
#include "evolution/sums.h"
#include "evolution/weight_values.h"
#include "network/spec/clone.h"

namespace loom {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"blend", "point", "uniform"};

// Both at least 0.
std::pair<double, double> shifted(double a, double b) {
  const bool has_a = std::isfinite(a), has_b = std::isfinite(b);
  if (!has_a) a = has_b ? b : 0;
  if (!has_b) b = has_a ? a : 0;
  // so that their distance and their sum are numbers too
  if (std::max(std::abs(a), std::abs(b)) > 0x1p1020) a *= 0.25, b *= 0.25;
  const double least = a < b ? a : b;
  if (least < 0) a -= least, b -= least;
  if (has_a && !has_b) b = 0;  // the lower one
  if (has_b && !has_a) a = 0;
  return {a, b};
}

std::vector<Weight*> own_weights(Layer& layer) {
  std::vector<Weight*> out;
  layer.visit_weights([&](Weight& w) { out.push_back(&w); });
  return out;
}

bool alike(std::span<Weight* const> a, std::span<Weight* const> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i]->elements() != b[i]->elements() || !a[i]->has_value() || !b[i]->has_value()) return false;
  return !a.empty();
}

std::vector<double> flat(std::span<Weight* const> weights) {
  std::vector<double> out;
  for (const Weight* w : weights) {
    const std::vector<double> values = values_of(*w);
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

Result<void> mix_layers(const Mixer& mixer, const std::string& path, Layer& child, Layer& other, SpliceReport* report) {
  const std::vector<Weight*> mine = own_weights(child), theirs = own_weights(other);
  std::vector<double> a = flat(mine);
  const std::vector<double> b = flat(theirs);
  if (report != nullptr) report->layers.push_back({path, cosine_similarity(a, b)});
  mixer.mix(random_site(path), a, b);
  std::size_t offset = 0;
  for (Weight* w : mine) {
    const auto values = std::span<const double>(a).subspan(offset, w->elements());
    offset += w->elements();
    if (w->is_tied()) continue;  // its owner is mixed where it stands
    if (auto set = w->set(values); !set) return at(path, std::move(set).error());
  }
  return {};
}

}  // namespace

Mixer::Mixer(const SpliceConfig& config) : config_(config) {
  const auto [fa, fb] = shifted(config.fitness_a, config.fitness_b);
  total_ = fa + fb;
  share_a_ = total_ > 0 ? fa / total_ : 0.5;
}

void Mixer::mix(std::uint32_t site, std::span<double> a, std::span<const double> b) const {
  using Mode = SpliceConfig::Mode;
  const std::size_t n = a.size();
  if (config_.mode == Mode::Point) {
    const double split = std::floor(static_cast<double>(n) * config_.split_ratio);
    for (std::size_t i = split < 0 ? 0 : static_cast<std::size_t>(std::min(split, static_cast<double>(n))); i < n; ++i)
      a[i] = b[i];
  } else if (config_.mode == Mode::Uniform) {
    const RandomStream stream{config_.seed, RandomDomain::Splice, config_.step, site};
    for (std::size_t i = 0; i < n; i += 4) {
      const PhiloxBlock words = stream.block(i / 4);
      for (std::size_t j = i; j < std::min(i + 4, n); ++j)
        if (!(static_cast<double>(uniform_of(words[j % 4])) < share_a_)) a[j] = b[j];
    }
  } else {
    const double alpha = total_ > 0 ? (1 - share_a_) * (0.5 + 0.5 * cosine_similarity(a, b)) : config_.blend_alpha;
    for (std::size_t i = 0; i < n; ++i) a[i] = (1 - alpha) * a[i] + alpha * b[i];
  }
}

Result<SpliceConfig::Mode> splice_mode_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kModes.size(); ++i)
    if (kModes[i] == name) return static_cast<SpliceConfig::Mode>(i);
  return fail(Code::UnknownName, "splice mode \"{}\" is unknown; nearest: {}", name.substr(0, 40),
              nearest_names(name, kModes));
}

Result<Network> splice(const Network& a, const Network& b, const SpliceConfig& config, SpliceReport* report) {
  LOOM_TRY(Network child, clone_network(a));
  LOOM_TRY_VOID(child.resolve_ties());
  std::map<std::string, Layer*> others;
  // A link hides its target.
  b.each_layer([&](std::size_t, const std::string& path, Layer& l) { others.emplace(path, &l); });
  const Mixer mixer(config);
  Result<void> done;
  child.each_layer([&](std::size_t, const std::string& path, Layer& layer) {
    const auto other = others.find(path);
    if (!done || other == others.end() || &other->second->kind_row() != &layer.kind_row() ||
        !alike(own_weights(layer), own_weights(*other->second)))
      return;
    done = mix_layers(mixer, path, layer, *other->second, report);
  });
  if (!done) return tl::make_unexpected(std::move(done).error());
  if (report != nullptr) {
    LOOM_TRY(report->parent_a, extract_dna(a));
    LOOM_TRY(report->parent_b, extract_dna(b));
    LOOM_TRY(report->child, extract_dna(child));
    for (const auto& layer : compare_dna(report->parent_a, report->parent_b).layers)
      report->blended_count += layer.overlap > 0;
  }
  return child;
}

}  // namespace loom
