// New paths through other cells' operations, and their end (engine E-23).

#include "core/json.h"
#include "evolution/mutation/editor.h"
#include "layers/parallel/parallel.h"
#include "layers/sequential/sequential.h"
#include "network/plan/forward_plan.h"
#include "network/spec/clone.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

constexpr int kTries = 8;

Result<LayerPtr> dense_between(std::size_t in, std::size_t out, const MutationConfig& config, std::uint64_t seed) {
  if (in > config.max_adapter_weights / out) return fail(Code::LimitExceeded, "an adapter of {} x {} weights", out, in);
  LOOM_TRY(LayerPtr layer, layer_from_json(Json{{"type", "dense"}, {"input_height", in}, {"output_height", out}}));
  LOOM_TRY_VOID(initialise_weights("adapter", *layer, seed));
  return layer;
}

// sequential[ Dense where the target reads another width, share, Dense where it gives another width ]
Result<LayerPtr> branch_to(const Editor& editor, std::size_t from, std::size_t to, const MutationConfig& config,
                           std::uint64_t seed) {
  const Network& network = editor.network();
  const Wiring& wiring = editor.plan()->wiring();
  const Shape in = editor.before(from), out = editor.plan()->shape_after(from);
  if (network.cell(to).is_fed()) return fail(Code::Unsupported, "{} reads another cell", network.place_text(to));
  const Layer& target = *network.cell(to).operation();
  // The input shape of the target itself: `in` where its operation accepts it as it stands, else the shape it reads in
  // the forward pass.
  const Shape reads = target.wired_shape(&wiring, in) ? in : editor.before(to);
  std::vector<LayerPtr> children;
  LOOM_TRY(const Shape fitted, in.with_cols(reads.cols()));
  if (in.cols() != reads.cols()) {
    LOOM_TRY(LayerPtr adapter, dense_between(in.cols(), reads.cols(), config, seed));
    children.push_back(std::move(adapter));
  }
  LOOM_TRY(const Shape gives, target.wired_shape(&wiring, fitted));
  const Address a = network.address_of(to);
  children.push_back(std::make_unique<Share>(std::array{a.z, a.y, a.x, a.l}));
  if (gives.cols() != out.cols()) {
    LOOM_TRY(LayerPtr adapter, dense_between(gives.cols(), out.cols(), config, seed + 1));
    children.push_back(std::move(adapter));
  }
  auto sequence = std::make_unique<Sequential>(std::move(children), false);
  LOOM_TRY_VOID(sequence->build());
  return sequence;
}

bool adds(const Layer& layer) {
  const Parallel* parallel = layer_as<Parallel>(layer);
  return parallel != nullptr && parallel->config().combine_mode == ParallelConfig::Combine::Add;
}

bool is_sharing(Layer& branch) {
  bool found = layer_as<Share>(branch) != nullptr;
  if (branch.kind_row().inside == Inside::Chain)
    branch.visit_children(
        [&](const std::string&, Layer& child) { found = found || layer_as<Share>(child) != nullptr; });
  return found;
}

}  // namespace

bool add_connection(Editor& editor, const MutationConfig& config, Draws& draws) {
  const Network& network = editor.network();
  std::vector<std::size_t> running, filled;
  for (std::size_t i = 0; i < network.num_cells(); ++i) {
    if (!network.cell(i).is_empty()) filled.push_back(i);
    if (network.cell(i).runs() && network.cell(i).link == nullptr) running.push_back(i);
  }
  if (running.empty() || filled.size() < 2) return false;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::size_t from = running[draws.below(running.size())], to = filled[draws.below(filled.size())];
    const std::uint64_t seed = draws.seed();
    if (from == to) continue;
    auto branch = branch_to(editor, from, to, config, seed);
    if (!branch) continue;
    Layer& here = *network.cell(from).layer;
    if (adds(here)) {
      if (editor.append(here, *child_list(here, "parallel_branches"), std::move(*branch))) return true;
      continue;
    }
    ParallelConfig add;
    add.combine_mode = ParallelConfig::Combine::Add;
    std::vector<LayerPtr> branches(2);
    branches[1] = std::move(*branch);
    if (editor.wrap(from, std::make_unique<Parallel>(add, std::move(branches)))) return true;
  }
  return false;
}

bool drop_connection(Editor& editor, Draws& draws) {
  const Network& network = editor.network();
  struct Found {
    LayerPlace place;
    std::size_t branch;
  };
  std::vector<Found> found;
  const std::function<void(const LayerPlace&)> look = [&](const LayerPlace& place) {
    Layer& layer = *editor.at(place);
    if (adds(layer) && !place.is_adapted) {
      const std::vector<LayerPtr>& branches = *child_list(layer, "parallel_branches");
      for (std::size_t i = 0; i < branches.size(); ++i)
        if (branches.size() > 1 && is_sharing(*branches[i])) found.push_back({place, i});
    }
    visit_child_places(layer, [&](const std::string& below, LayerPtr& slot) { look(place.child(below, layer, slot)); });
  };
  for (std::size_t i = 0; i < network.num_cells(); ++i)
    if (!network.cell(i).is_empty()) look({i, Network::path(i)});
  if (found.empty()) return false;
  const Found& pick = found[draws.below(found.size())];
  Layer& parallel = *editor.at(pick.place);
  std::vector<LayerPtr>& branches = *child_list(parallel, "parallel_branches");
  if (!editor.remove(parallel, branches, pick.branch)) return false;
  if (branches.size() == 1 && !is_sharing(*branches[0])) editor.unwrap(pick.place, branches);
  return true;
}

}  // namespace loom
