#include "ops/draw/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/philox.h"
#include "ops/choice/choice.h"
#include "ops/dispatch.h"
#include "ops/draw/draw_gpu.h"
#include "ops/for_rows.h"
#include "simd/math64.h"

namespace loom {
namespace {

struct Candidate {
  float logit = 0;
  std::int32_t id = 0;
};

// +inf is clamped to FLT_MAX; NaN (of two infinities) bans as -inf does.
float finite(float logit) {
  if (logit == INFINITY) return std::numeric_limits<float>::max();
  return std::isnan(logit) ? -INFINITY : logit;
}

float changed(float logit, const Drawing& d, const LogitChange& change, std::uint32_t count) {
  if (change.is_banned) return -INFINITY;
  for (const float bias : change.biases) logit = finite(logit + bias);
  if (count == 0) return logit;
  logit = finite(logit > 0 ? logit / d.repetition_penalty : logit * d.repetition_penalty);
  return finite(logit - (d.frequency_penalty * static_cast<float>(count) + d.presence_penalty));
}

// The changed logits of a row, id after id.
class Logits {
 public:
  Logits(std::span<const float> row, const Drawing& drawing, std::span<const std::int32_t> recent)
      : row_(row), drawing_(drawing) {
    for (const std::uint32_t place : drawing.recent) {  // ascending
      std::size_t at = num_ids_++;
      for (; at > 0 && ids_[at - 1] > recent[place]; --at) ids_[at] = ids_[at - 1];
      ids_[at] = recent[place];
    }
  }
  float next() {
    const auto id = static_cast<std::int32_t>(id_);
    const float logit = row_[id_++];
    std::uint32_t count = 0;
    for (; next_id_ < num_ids_ && ids_[next_id_] <= id; ++next_id_) count += ids_[next_id_] == id;
    const auto changes = drawing_.changes;
    while (next_change_ < changes.size() && changes[next_change_].id < id) ++next_change_;
    if (next_change_ < changes.size() && changes[next_change_].id == id) {
      const LogitChange& change = changes[next_change_++];
      return changed(logit, drawing_, change, change.count + count);
    }
    return count == 0 ? logit : changed(logit, drawing_, {}, count);
  }

 private:
  std::span<const float> row_;
  const Drawing& drawing_;
  std::array<std::int32_t, kMostRecent> ids_{};
  std::size_t num_ids_ = 0, next_id_ = 0, next_change_ = 0, id_ = 0;
};

// The best ones, in the order of the draw; ids come ascending.
class Shortlist {
 public:
  explicit Shortlist(std::size_t top_k) : top_k_(top_k) {}
  void add(const Candidate& c) {
    if (count_ == top_k_ && !(c.logit > best_[count_ - 1].logit)) return;
    if (count_ < top_k_) ++count_;
    std::size_t at = count_ - 1;
    for (; at > 0 && c.logit > best_[at - 1].logit; --at) best_[at] = best_[at - 1];
    best_[at] = c;
  }
  std::span<const Candidate> best() const { return std::span(best_).first(count_); }

 private:
  std::size_t top_k_, count_ = 0;
  std::array<Candidate, kMostDrawn> best_{};
};

double weight_of(float logit, float best, const Drawing& d) {
  return exp64((static_cast<double>(logit) - static_cast<double>(best)) / static_cast<double>(d.temperature));
}

// The whole part of x; its last bit is set where anything is lost, so it is less than 1 from x.
std::uint64_t units_of(double x) {
  const auto whole = static_cast<std::uint64_t>(x);
  return static_cast<double>(whole) == x ? whole : whole | 1;
}

// About the sum of all weights beside the best logit of a row. The weights of a part have units of 2^-31 beside its own
// best logit: at most 2^10 units are lost of at least 2^31. Parts are added in units of 2^-38 of the row's best weight:
// at most 2^15 are lost of at least 2^38. Other roundings are far smaller, those of the sampler's sum (2^25 of 2^-53)
// too: the sampler's sum is less than 2^-20 of its size away.
class SumOfAll {
 public:
  explicit SumOfAll(const Drawing& drawing) : drawing_(drawing) {}
  void add_part(std::span<const float> logits) {
    Part part{*std::ranges::max_element(logits)};
    if (part.best == -INFINITY) return;
    for (const float logit : logits)
      if (logit != -INFINITY) part.units += units_of(weight_of(logit, part.best, drawing_) * 0x1p31);
    parts_.push_back(part);
  }
  double beside(float best) const {
    std::uint64_t units = 0;
    for (const Part& part : parts_)
      units += units_of(weight_of(part.best, best, drawing_) * static_cast<double>(part.units) * 0x1p7);
    return static_cast<double>(units) * 0x1p-38;
  }
  static constexpr double kLess = 1 - 0x1p-20, kMore = 1 + 0x1p-20;

 private:
  struct Part {
    float best = 0;
    std::uint64_t units = 0;
  };
  const Drawing& drawing_;
  std::vector<Part> parts_;
};

// `sum_of_all` is absent if the candidates are all that the sampler weighs, or are too many to add.
std::int32_t drawn_of(std::span<const Candidate> best, const Drawing& d, std::optional<double> sum_of_all) {
  std::array<double, kMostDrawn> weights{}, all_sums{};
  const std::size_t count = best.size();
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] = weight_of(best[i].logit, best[0].logit, d);
    total += weights[i];
    all_sums[i] = total;
  }
  const auto sums = std::span<const double>(all_sums).first(count);
  // Bounds of the sum of the weights that are kept. No weight of the others exceeds `next`: exp64 errs by 2^-51.
  const double next = weights[count - 1] * (1 + 0x1p-40);
  double low = total, high = total;
  if (d.top_k == 0 && count == kMostDrawn && total + next != total) {
    if (!sum_of_all) return kNoChoice;
    low = std::max(total, *sum_of_all * SumOfAll::kLess), high = *sum_of_all * SumOfAll::kMore;
  }
  if (d.top_p < 1) {
    const double enough = static_cast<double>(d.top_p) * low, most = static_cast<double>(d.top_p) * high;
    const auto first = std::ranges::lower_bound(sums, enough), last = std::ranges::lower_bound(sums, most);
    low = first != sums.end() ? *first : enough;
    high = last != sums.end() ? *last : std::min(most + next, high);
  }
  std::size_t likely = 1;
  while (likely < count && weights[likely] >= static_cast<double>(d.min_p) * weights[0]) ++likely;
  // Where all of these are likely enough, min_p may still cut the others.
  if (d.min_p > 0) low = std::min(low, sums[likely - 1]);
  if (likely < count) high = std::min(high, sums[likely - 1]);
  const RandomStream stream{d.seed, RandomDomain::Sample, d.position, d.session};
  const auto u = static_cast<double>(stream.uniform(0));
  const auto drawn = std::ranges::upper_bound(sums, u * low);
  if (drawn == sums.end() || drawn != std::ranges::upper_bound(sums, u * high)) return kNoChoice;
  return best[static_cast<std::size_t>(drawn - sums.begin())].id;
}

std::int32_t drawn(std::span<const float> row, const Drawing& drawing, std::span<const std::int32_t> recent) {
  for (const float logit : row)
    if (!std::isfinite(logit)) return kNoChoice;
  Logits logits(row, drawing, recent);
  Shortlist list(drawing.top_k == 0 ? kMostDrawn : drawing.top_k);
  const bool adds = drawing.top_k == 0 && row.size() <= kMostDrawColumns;
  SumOfAll sum(drawing);
  std::array<float, kDrawPart> part{};
  for (std::size_t begin = 0; begin < row.size(); begin += kDrawPart) {
    const auto changed = std::span(part).first(std::min(kDrawPart, row.size() - begin));
    for (std::size_t i = 0; i < changed.size(); ++i) {
      changed[i] = logits.next();
      if (changed[i] != -INFINITY) list.add({changed[i], static_cast<std::int32_t>(begin + i)});
    }
    if (adds) sum.add_part(changed);
  }
  if (list.best().empty()) return kNoChoice;
  return drawn_of(list.best(), drawing, adds ? std::optional(sum.beside(list.best()[0].logit)) : std::nullopt);
}

}  // namespace

void draw(const Exec& exec, ConstTensor x, std::span<const Drawing> drawings, std::span<const std::int32_t> recent,
          std::span<std::int32_t> ids) {
  LOOM_ASSERT(drawings.size() == x.rows && ids.size() == x.rows && x.element == Element::f32);
  for (const Drawing& d : drawings)
    LOOM_ASSERT(d.top_k <= kMostDrawn && d.temperature > 0 && d.recent.size() <= kMostRecent);
  for (const Exec& host : dispatch(exec, [&] { gpu::draw(exec, x, drawings, recent, ids); }))
    for_rows(host, x.rows, x.cols,
             [&](std::size_t r) { ids[r] = drawn({x.row<float>(r), x.cols}, drawings[r], recent); });
}

}  // namespace loom
