// Runs a trial in several ways and names the first thing that differs; makes a failing trial small.

#include <array>
#include <bit>
#include <chrono>
#include <functional>

#include "core/little_endian.h"
#include "verify/card_rules.h"
#include "verify/random_network.h"
#include "verify/trial.h"

namespace loom {

std::string TrialWay::text(const Trial& trial) const {
  std::string out = fmt::format("{}{}, {} thread{}", device != nullptr ? "the device, " : "", name(isa), threads,
                                threads == 1 ? "" : "s");
  if (variant > 0 && variant <= trial.variants.size()) out += ", with " + dump_json(trial.variants[variant - 1]);
  return out;
}

void TrialRecord::show(std::string name, std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  entries.push_back({std::move(name), hash.finish()});
}

void TrialRecord::show(std::string name, double value, bool of_whole_batch) {
  std::array<std::byte, 8> bytes;
  store_le(bytes.data(), std::bit_cast<std::uint64_t>(value));
  show(std::move(name), bytes);
  entries.back().of_whole_batch = of_whole_batch;
}

std::string TrialRecord::digest() const {
  Sha256 hash;
  for (const Entry& e : entries) {
    hash.update(std::as_bytes(std::span(e.name.c_str(), e.name.size() + 1)));
    hash.update(std::as_bytes(std::span(e.digest)));
  }
  return to_hex(hash.finish());
}

std::string TrialRecord::difference(const TrialRecord& other, bool to_the_end) const {
  const bool whole = !in_parts && !other.in_parts, between = !at_the_end && !other.at_the_end;
  std::size_t i = 0, j = 0;
  const auto next = [&](const TrialRecord& record, std::size_t& at) -> const Entry* {
    const auto is_of_one = [&](const TrialRecord::Entry& e) {
      return (e.of_whole_batch && !whole) || (e.between_steps && !between);
    };
    while (at < record.entries.size() && is_of_one(record.entries[at])) ++at;
    return at < record.entries.size() ? &record.entries[at++] : nullptr;
  };
  for (;;) {
    const Entry *a = next(*this, i), *b = next(other, j);
    if (a == nullptr && b == nullptr) return {};
    if (!to_the_end && a != nullptr && a->name.starts_with(code_name(Code::Unsupported))) return {};
    if (a == nullptr || b == nullptr || a->name != b->name)
      return fmt::format("{} in one run, {} in the other", a == nullptr ? "nothing more" : a->name,
                         b == nullptr ? "nothing more" : b->name);
    if (a->digest != b->digest)
      return fmt::format("{}: {} in one run, {} in the other", a->name, to_hex(a->digest).substr(0, 12),
                         to_hex(b->digest).substr(0, 12));
  }
}

std::vector<TrialWay> trial_ways(const Trial& trial, std::size_t turn, bool plenty) {
  constexpr std::array kThreads = {1, 2, 3, 7};
  const std::vector<Isa> isas = usable_isas();
  std::vector<TrialWay> ways{{isas.back(), 1, 0}};
  if (plenty) {
    for (const Isa isa : isas)
      for (const int threads : kThreads)
        for (std::size_t variant = 0; variant <= trial.variants.size(); ++variant)
          ways.push_back({isa, threads, variant});
    return ways;
  }
  // Every other instruction set, every number of threads and every variant stand somewhere.
  const std::size_t count = std::max({isas.size() - 1, std::size_t{3}, trial.variants.size()});
  for (std::size_t i = 0; i < count; ++i) {
    const Isa isa = isas[isas.size() == 1 ? 0 : (i + (i >= isas.size() - 1 ? turn : 0)) % isas.size()];
    ways.push_back({isa, kThreads[1 + (turn + i) % 3], i < trial.variants.size() ? i + 1 : 0});
  }
  return ways;
}

std::vector<TrialWay> device_ways(const Trial& trial, std::size_t turn, Device& device) {
  const int threads = turn % 2 == 0 ? 3 : 1;
  std::vector<TrialWay> ways{{best_isa(), 1, 0, nullptr}, {best_isa(), threads, 0, &device}};
  if (!trial.variants.empty()) ways.push_back({best_isa(), 4 - threads, 1 + turn % trial.variants.size(), &device});
  return ways;
}

namespace {

// Returns whether both ask for something unsupported, though perhaps not for the same thing.
bool both_refuse(const TrialWay& way, const Result<TrialRecord>& got, const TrialRecord& wanted) {
  if (way.device == nullptr || wanted.unsupported.empty()) return false;
  return got ? !got->unsupported.empty() : got.error().code == Code::Unsupported;
}

// Returns the work that the device refuses and the host, which made `wanted`, does.
std::string refused_by(const TrialWay& way, const Result<TrialRecord>& got, const TrialRecord& wanted) {
  if (way.device == nullptr || !wanted.unsupported.empty()) return {};
  if (got) return got->unsupported;
  return got.error().code == Code::Unsupported ? got.error().message : std::string();
}

}  // namespace

TrialVerdict check_trial(const Trial& trial, const std::vector<TrialWay>& ways) {
  TrialVerdict verdict;
  const auto first = run_trial(trial, ways.front());
  if (!first) {
    verdict.difference =
        fmt::format("{}: {}: {}", ways.front().text(trial), code_name(first.error().code), first.error().text());
    return verdict;
  }
  verdict.digest = first->digest();
  for (std::size_t i = 1; i < ways.size(); ++i) {
    const auto next = run_trial(trial, ways[i]);
    if (!next && ways[i].device != nullptr &&
        (next.error().code == Code::DeviceLost || next.error().code == Code::OutOfMemory)) {
      verdict.stopped = next.error();
      return verdict;
    }
    const std::string refused = refused_by(ways[i], next, *first);
    const bool both = both_refuse(ways[i], next, *first);
    if (!refused.empty() && !is_rule_of_cards(refused)) {
      verdict.difference = fmt::format("{}: refused without a rule for it: {}", ways[i].text(trial), refused);
      return verdict;
    }
    if (!refused.empty()) verdict.refused = refused;
    if ((!refused.empty() || both) && !next) continue;
    std::string difference = next ? next->difference(*first, refused.empty() && !both)
                                  : fmt::format("{}: {}", code_name(next.error().code), next.error().text());
    if (difference.empty()) continue;
    verdict.difference = fmt::format("{}; beside {}: {}", ways[i].text(trial), ways.front().text(trial), difference);
    return verdict;
  }
  return verdict;
}

namespace {

using Still = std::function<bool(const Trial&)>;

// Drops members of every list of children, one at a time, deepest first; keeps what still fails.
bool drop_children(Trial& trial, Json& at, const Still& fails) {
  bool changed = false;
  if (!at.is_structured()) return false;
  for (Json& inner : at) changed |= drop_children(trial, inner, fails);
  if (!at.is_object()) return changed;
  for (const char* key : {"layers", "sequential_layers", "parallel_branches", "adapters", "variants"}) {
    if (!at.contains(key) || !at[key].is_array()) continue;
    for (std::size_t i = 0; i < at[key].size();) {
      const Json before = at[key];
      at[key].erase(i);
      if (fails(trial))
        changed = true;
      else
        at[key] = before, ++i;
    }
  }
  return changed;
}

// Removes single settings.
bool drop_keys(Trial& trial, Json& at, const Still& fails) {
  bool changed = false;
  if (!at.is_structured()) return false;
  for (Json& inner : at) changed |= drop_keys(trial, inner, fails);
  if (!at.is_object()) return changed;
  std::vector<std::string> keys;
  for (const auto& [key, value] : at.items())
    if (key != "type" && key != "z" && key != "y" && key != "x" && key != "l" && key != "layers") keys.push_back(key);
  for (const std::string& key : keys) {
    const Json before = at;
    at.erase(key);
    if (fails(trial))
      changed = true;
    else
      at = before;
  }
  return changed;
}

// Containers give way to one of their children.
bool hoist(Trial& trial, Json& at, const Still& fails) {
  bool changed = false;
  if (!at.is_structured()) return false;
  for (Json& inner : at) changed |= hoist(trial, inner, fails);
  if (!at.is_object()) return changed;
  for (const char* key : {"sequential_layers", "parallel_branches", "base_layer", "meta_observed_layer"}) {
    if (!at.contains(key)) continue;
    const Json before = at;
    const std::vector<Json> children =
        at[key].is_array() ? std::vector<Json>(at[key].begin(), at[key].end()) : std::vector<Json>{at[key]};
    for (const Json& child : children) {
      if (!child.is_object()) continue;
      at = child;
      for (const char* place : {"z", "y", "x", "l"})
        if (before.contains(place)) at[place] = before[place];
      if (fails(trial)) return true;
      at = before;
    }
  }
  return changed;
}

bool lower_numbers(Trial& trial, Json& at, const Still& fails) {
  bool changed = false;
  if (at.is_structured()) {
    for (Json& inner : at) changed |= lower_numbers(trial, inner, fails);
    return changed;
  }
  if (!at.is_number_integer()) return false;
  for (int turns = 0; turns < 12; ++turns) {
    const Json before = at;
    const auto n = as_int(at).value_or(0);
    if (n <= 1) break;
    at = n / 2;
    if (fails(trial)) {
      changed = true;
      continue;
    }
    at = n - 1;
    if (fails(trial)) {
      changed = true;
      continue;
    }
    at = before;
    break;
  }
  return changed;
}

// A width of one layer is an input of the next: halves every integer of that value at once.
bool lower_widths(Trial& trial, const Still& fails) {
  std::vector<std::int64_t> seen;
  const std::function<void(const Json&)> collect = [&](const Json& at) {
    if (at.is_structured())
      for (const Json& inner : at) collect(inner);
    else if (const auto n = at.is_number_integer() ? as_int(at) : std::nullopt; n && *n > 1 && *n < 4096)
      seen.push_back(*n);
  };
  collect(trial.network);
  for (const std::size_t e : trial.input) seen.push_back(static_cast<std::int64_t>(e));
  std::ranges::sort(seen, std::greater<>());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  bool changed = false;
  for (const std::int64_t width : seen)
    for (const std::int64_t to : {width / 2, width - 1}) {
      if (to < 1) continue;
      Trial smaller = trial;
      const std::function<void(Json&)> replace = [&](Json& at) {
        if (at.is_structured())
          for (Json& inner : at) replace(inner);
        else if (at.is_number_integer() && as_int(at) == width)
          at = to;
      };
      replace(smaller.network);
      for (std::size_t i = 1; i < smaller.input.size(); ++i)
        if (smaller.input[i] == static_cast<std::size_t>(width)) smaller.input[i] = static_cast<std::size_t>(to);
      if (!fails(smaller)) continue;
      trial = std::move(smaller), changed = true;
      break;
    }
  return changed;
}

bool lower_batch(Trial& trial, const Still& fails) {
  bool changed = false;
  for (std::size_t axis = 0; axis < trial.input.size(); ++axis)
    for (const std::size_t to : {std::size_t{1}, trial.input[axis] / 2, trial.input[axis] - 1}) {
      if (to < 1 || to >= trial.input[axis]) continue;
      Trial smaller = trial;
      smaller.input[axis] = to;
      if (!fails(smaller)) continue;
      trial = std::move(smaller), changed = true;
      break;
    }
  return changed;
}

}  // namespace

Trial shrink_trial(const Trial& trial, const std::function<bool(const Trial&)>& still, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const Still fails = [&](const Trial& t) { return Clock::now() < end && still(t); };
  Trial small = trial;
  for (bool changed = true; changed && Clock::now() < end;) {
    changed = lower_batch(small, fails);
    changed |= drop_children(small, small.network, fails);
    changed |= hoist(small, small.network, fails);
    changed |= drop_keys(small, small.network, fails);
    changed |= drop_keys(small, small.options, fails);
    changed |= lower_widths(small, fails);
    changed |= lower_numbers(small, small.options, fails);
  }
  return small;
}

Trial shrink_trial(const Trial& trial, const std::vector<TrialWay>& ways, double seconds) {
  // The two ways that differ are enough. An error of the first one counts only where it was one to begin with.
  const auto first = run_trial(trial, ways.front());
  Trial small = trial;
  if (!first) {
    small.variants.clear();
    const Code code = first.error().code;
    return shrink_trial(
        small,
        [&](const Trial& t) {
          const auto again = run_trial(t, ways.front());
          return !again && again.error().code == code;
        },
        seconds);
  }
  for (std::size_t i = 1; i < ways.size(); ++i) {
    if (check_trial(trial, {ways.front(), ways[i]}).passed()) continue;
    TrialWay other = ways[i];
    small.variants.clear();
    if (other.variant > 0) small.variants = {trial.variants[other.variant - 1]}, other.variant = 1;
    const std::vector<TrialWay> two{ways.front(), other};
    return shrink_trial(
        small,
        [&](const Trial& t) {
          return t.variants.size() >= other.variant && run_trial(t, two[0]) && !check_trial(t, two).passed();
        },
        seconds);
  }
  return trial;
}

}  // namespace loom
