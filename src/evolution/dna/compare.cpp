#include <algorithm>
#include <map>

#include "evolution/dna/dna.h"
#include "evolution/sums.h"

namespace loom {
namespace {

constexpr double kShiftOverlap = 0.8;

std::vector<const Signature*> listed(const Dna& dna, bool nested) {
  std::vector<const Signature*> out;
  for (const Signature& s : dna.signatures)
    if (s.is_cell || nested) out.push_back(&s);
  return out;
}

std::map<std::string, const Signature*> by_key(std::span<const Signature* const> list) {
  std::map<std::string, const Signature*> out;
  for (const Signature* s : list) out.emplace(s->key(), s);
  return out;
}

}  // namespace

DnaComparison compare_dna(const Dna& a, const Dna& b, bool nested) {
  DnaComparison out;
  const auto mine = listed(a, nested), others = listed(b, nested);
  const auto in_a = by_key(mine), in_b = by_key(others);
  for (const Signature* s : mine) {
    const std::string key = s->key();
    const auto other = in_b.find(key);
    if (other == in_b.end())
      out.unmatched.push_back(key);
    else
      out.layers.push_back({key, similarity(*s, *other->second)});
  }
  for (const Signature* s : others)
    if (const std::string key = s->key(); !in_a.contains(key)) out.unmatched.push_back(key);
  const double sum = lanes16(out.layers.size(), [&](std::size_t i) { return out.layers[i].overlap; });
  if (!out.layers.empty()) out.overall = sum / static_cast<double>(out.layers.size());
  const std::size_t either = out.layers.size() + out.unmatched.size();
  if (either != 0) out.structural = sum / static_cast<double>(either);

  // Only what has the same type and length can be similar.
  std::map<std::pair<std::string, std::size_t>, std::vector<const Signature*>> alike;
  for (const Signature* s : others) alike[{s->type, s->weights.size()}].push_back(s);
  for (const Signature* s : mine) {
    if (!s->has_weights || s->weights.size() < 2) continue;
    const auto found = alike.find({s->type, s->weights.size()});
    if (found == alike.end()) continue;
    const std::string key = s->key();
    const auto own = in_b.find(key);
    const double at_home = own == in_b.end() ? -2 : similarity(*s, *own->second);
    const Signature* best = nullptr;
    double most = kShiftOverlap;
    for (const Signature* other : found->second)
      if (const double now = similarity(*s, *other); now > most) most = now, best = other;
    if (best != nullptr && most > at_home && best->key() != key) out.shifts.push_back({key, best->key(), most});
  }
  return out;
}

DnaDrift drift_of(std::span<const Dna> sequence, bool nested) {
  DnaDrift out;
  std::vector<std::map<std::string, const Signature*>> keyed;
  for (const Dna& dna : sequence) {
    const auto list = listed(dna, nested);
    keyed.push_back(by_key(list));
    for (const Signature* s : list)
      if (std::ranges::find(out.keys, s->key()) == out.keys.end()) out.keys.push_back(s->key());
  }
  for (std::size_t n = 0; n < keyed.size(); ++n) {
    const auto distances = [&](std::size_t from) {
      std::vector<double> row;
      for (const std::string& key : out.keys) {
        const auto here = keyed[n].find(key), there = keyed[from].find(key);
        row.push_back(here == keyed[n].end() || there == keyed[from].end() ? 1
                      : from == n                                          ? 0
                                  : 1 - similarity(*here->second, *there->second));
      }
      return row;
    };
    out.from_first.push_back(distances(0));
    out.from_previous.push_back(distances(n == 0 ? 0 : n - 1));
  }
  return out;
}

}  // namespace loom
