#include "ops/draw/draw.h"

#include <array>
#include <cmath>
#include <limits>

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

std::int32_t drawn_of(std::span<const Candidate> best, const Drawing& d) {
  std::array<double, kMostDrawn> weights{}, sums{};
  double total = 0;
  std::size_t count = best.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double less = static_cast<double>(best[i].logit) - static_cast<double>(best[0].logit);
    weights[i] = exp64(less / static_cast<double>(d.temperature));
    total += weights[i];
    sums[i] = total;
  }
  std::size_t kept = 1;
  if (d.top_p < 1) {
    while (kept < count && sums[kept - 1] < static_cast<double>(d.top_p) * total) ++kept;
    count = kept;
  }
  for (kept = 1; kept < count && weights[kept] >= static_cast<double>(d.min_p) * weights[0];) ++kept;
  count = kept;
  const RandomStream stream{d.seed, RandomDomain::Sample, d.position, d.session};
  const double threshold = static_cast<double>(stream.uniform(0)) * sums[count - 1];
  std::size_t i = 0;
  while (i + 1 < count && !(sums[i] > threshold)) ++i;
  return best[i].id;
}

std::int32_t drawn(std::span<const float> row, const Drawing& drawing, std::span<const std::int32_t> recent) {
  for (const float logit : row)
    if (!std::isfinite(logit)) return kNoChoice;
  Logits logits(row, drawing, recent);
  Shortlist list(drawing.top_k);
  for (std::size_t i = 0; i < row.size(); ++i)
    if (const float logit = logits.next(); logit != -INFINITY) list.add({logit, static_cast<std::int32_t>(i)});
  return list.best().empty() ? kNoChoice : drawn_of(list.best(), drawing);
}

}  // namespace

void draw(const Exec& exec, ConstTensor x, std::span<const Drawing> drawings, std::span<const std::int32_t> recent,
          std::span<std::int32_t> ids) {
  LOOM_ASSERT(drawings.size() == x.rows && ids.size() == x.rows && x.element == Element::f32);
  for (const Drawing& d : drawings)
    LOOM_ASSERT(d.top_k > 0 && d.top_k <= kMostDrawn && d.temperature > 0 && d.recent.size() <= kMostRecent);
  for (const Exec& host : dispatch(exec, [&] { gpu::draw(exec, x, drawings, recent, ids); }))
    for_rows(host, x.rows, x.cols,
             [&](std::size_t r) { ids[r] = drawn({x.row<float>(r), x.cols}, drawings[r], recent); });
}

}  // namespace loom
