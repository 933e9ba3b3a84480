// Dense layers whose weight is an embedding's table (engine L-102).

#include <map>
#include <optional>

#include "core/nearest.h"
#include "layers/embedding/embedding.h"
#include "network/network.h"

namespace loom {
namespace {

constexpr std::string_view kTable = "table", kWeight = "weight";

Result<void> share_table(Layer& layer, Steps where, Layer* target, const std::string& target_place) {
  Weight* const weight = find_weight(layer, kWeight);
  Weight* const table =
      target == nullptr || layer_as<Embedding>(*target) == nullptr ? nullptr : find_weight(*target, kTable);
  if (target == nullptr)
    return fail_at(std::move(where), Code::NotFound, "there is no layer at \"{}\"", printable(target_place));
  if (table == nullptr || weight == nullptr)
    return fail_at(std::move(where), Code::InvalidConfig, "expected an embedding, got {} of kind {}", target_place,
                   target->kind());
  if (auto tied = weight->tie(*table); !tied) return under(std::move(where), std::move(tied).error());
  return {};
}

}  // namespace

Result<void> Network::resolve_ties() {
  for (Weight* w : ties_) w->untie();
  ties_.clear();
  struct Wish {
    Layer* layer;
    Steps where;
  };
  std::vector<Wish> wishes;
  each_layer([&](std::size_t, const std::string& place, Layer& layer) {
    if (layer.tied_to() != nullptr) wishes.push_back({&layer, steps(place + ".tied_to")});
  });
  if (wishes.empty()) return {};
  std::map<std::string, Layer*> by_path;
  each_layer([&](std::size_t, const std::string& place, Layer& layer) { by_path.emplace(place, &layer); });
  for (const Wish& wish : wishes) {
    const LayerRef& ref = *wish.layer->tied_to();
    Layer* target = nullptr;
    std::string target_place = ref.path.substr(0, 80);
    if (ref.address) {
      const auto& [z, y, x, l] = *ref.address;
      const auto index = index_of({z, y, x, l});
      if (!index) return under(wish.where, index.error());
      target = cells_[*index].front(), target_place = place_text(*index);
      if (target == nullptr) return fail_at(wish.where, Code::LinkToEmpty, "{} is empty", target_place);
    } else if (const auto found = by_path.find(ref.path); found != by_path.end()) {
      target = found->second;
    }
    LOOM_TRY_VOID(share_table(*wish.layer, wish.where, target, target_place));
    ties_.push_back(find_weight(*wish.layer, kWeight));
  }
  return {};
}

}  // namespace loom
