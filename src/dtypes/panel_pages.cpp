#include "dtypes/panel_pages.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/checked.h"
#include "core/system.h"

namespace loom {
namespace {

// Four sums side by side. Every step maps different sums or different words to different sums, so that bytes that
// differ in one word alone never have the same result.
std::uint64_t sum_of(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::uint64_t sums[4] = {1, 2, 3, 4};
  const auto add = [](std::uint64_t& sum, std::uint64_t word) { sum = std::rotl((sum ^ word) * kSpread, 29); };
  std::size_t at = 0;
  for (; at + sizeof(sums) <= bytes.size(); at += sizeof(sums)) {
    std::uint64_t words[4];
    std::memcpy(words, bytes.data() + at, sizeof(words));
    for (std::size_t i = 0; i < 4; ++i) add(sums[i], words[i]);
  }
  for (; at < bytes.size(); at += kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(kWord, bytes.size() - at));
    add(sums[0], word);
  }
  std::uint64_t all = bytes.size();
  for (const std::uint64_t sum : sums) add(all, sum);
  return all;
}

std::size_t whole_pages(std::size_t bytes) { return round_up(bytes, os::page_bytes()); }

}  // namespace

// A reader counts itself before it looks at is_on_host_, leave() changes is_on_host_ before it looks at the count: one
// of them sees the other.
Result<void> PanelPages::hold() {
  readers_.fetch_add(1);
  if (!was_held_.load(std::memory_order_relaxed)) was_held_.store(true, std::memory_order_relaxed);
  if (is_on_host_.load()) return {};
  const Mutex::Guard lock(mutex_);
  if (is_on_host_.load()) return {};
  if (auto made = make_again(); !made) {
    drop();
    return at(name_, std::move(made).error());
  }
  is_on_host_.store(true);
  ++times_made_;
  return {};
}

Result<void> PanelPages::make_again() {
  if (!os::fill_addresses(panels_.data(), whole_pages(panels_.size())))
    return fail(Code::OutOfMemory, "no memory for {} bytes of weights that only the device holds", panels_.size());
  auto made = remake_(panels_);
  if (made && sum_of(panels_) != sum_)
    made = fail(Code::CorruptData, "the file has changed since the model was loaded; load the model again");
  if (!made) os::empty_addresses(panels_.data(), whole_pages(panels_.size()));
  return made;
}

bool PanelPages::may_leave() {
  return is_on_host_.load(std::memory_order_relaxed) && readers_.load(std::memory_order_relaxed) == 0 &&
         !was_held_.exchange(false, std::memory_order_relaxed);
}

void PanelPages::leave() {
  const Mutex::Guard lock(mutex_);
  if (!is_on_host_.load() || readers_.load() != 0 || times_made_ == kMostTimes) return;
  if (kept_.empty()) {
    sum_ = sum_of(panels_);
    const auto kept = panels_.first(std::min(kKept, panels_.size()));
    kept_.assign(kept.begin(), kept.end());
  }
  is_on_host_.store(false);
  if (readers_.load() != 0) {
    is_on_host_.store(true);
    return;
  }
  os::empty_addresses(panels_.data(), whole_pages(panels_.size()));
}

std::vector<std::byte> PanelPages::beginning(std::size_t bytes) {
  const Mutex::Guard lock(mutex_);
  const std::span<const std::byte> from = is_on_host_.load() ? panels_ : std::span<std::byte>(kept_);
  return {from.begin(), from.begin() + static_cast<std::ptrdiff_t>(std::min({bytes, from.size(), kKept}))};
}

}  // namespace loom
