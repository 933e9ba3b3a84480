// Links found, checked and resolved before anything runs (engine V-20..V-26). The graph of share links has cells as
// nodes: cell c has an edge to cell t when something in c, its own link included, shares t. It is walked without
// recursion; what runs inside what is bounded.

#include "network/plan/links.h"

#include <algorithm>
#include <map>

#include "layers/residual/residual.h"
#include "network/merge.h"

namespace loom {
namespace {

constexpr std::size_t kMaxNesting = 64;  // containers, those that links lead into included
// layers that run in one forward pass, each use of a shared one counted
constexpr std::size_t kMaxOperations = std::size_t{1} << 24;
constexpr std::size_t kMaxStates = std::size_t{1} << 20;

std::size_t nesting_of(Layer& layer) {
  std::size_t deepest = 0;
  layer.visit_children([&](const std::string&, Layer& child) { deepest = std::max(deepest, nesting_of(child) + 1); });
  return deepest;
}

// Every layer with its path and the number of containers around it.
void visit_nested(const std::string& path, Layer& layer, std::size_t nesting,
                  const std::function<void(const std::string&, Layer&, std::size_t)>& visit) {
  visit(path, layer, nesting);
  layer.visit_children(
      [&](const std::string& below, Layer& child) { visit_nested(path + "." + below, child, nesting + 1, visit); });
}

// Returns whether a layer or one inside it is a link or adds another cell's output, without a path of it.
bool reads_cells(Layer& layer) {
  if (layer_as<Share>(layer) != nullptr) return true;
  if (const Residual* const residual = layer_as<Residual>(layer); residual != nullptr && residual->reads_cell())
    return true;
  bool found = false;
  layer.visit_children([&](const std::string&, Layer& child) { found = found || reads_cells(child); });
  return found;
}

// One link that shares, at `place` in the cell `from`; links to links are followed already.
struct LinkUse {
  const Share* share = nullptr;
  std::size_t from = 0, to = 0, nesting = 0;
  std::string place;
};

// Finds the links and skips of a network, checks them and fills Links.
class LinkResolver {
 public:
  LinkResolver(const Network& network, PlanKind kind) : network_(network), kind_(kind) {}
  Result<Links> resolve();

 private:
  // Returns whether a link of the grid feeds its cell.
  bool feeds(const Link& link) const {
    return link.feeds() || (kind_ == PlanKind::Steps && link.share.mode() == Share::Mode::Auto);
  }
  const Cell& cell(std::size_t index) const { return network_.cell(index); }
  Result<std::size_t> final_target(const std::string& place, const Share& share,
                                   std::map<std::size_t, std::size_t>& known) const;
  Result<std::size_t> skip_target(const std::string& place, const std::array<std::size_t, 4>& address) const;
  Result<void> check_order(std::size_t source, std::size_t from, const std::string& place);
  Result<void> find_links();
  void number_sources();
  void count_source_uses();
  Result<void> order_uses();
  Result<void> check_shared_skips();
  std::size_t first_state(std::size_t cell) const { return first_state_.empty() ? 0 : first_state_[cell]; }
  void number_states(Layer& layer);
  Result<void> add_states_of_uses();

  const Network& network_;
  const PlanKind kind_;
  Links out_;
  std::vector<LinkUse> uses_;                                   // of the links that share, by cell
  std::vector<std::size_t> order_;                              // cells that links lead to or from, targets first
  std::vector<std::pair<const Residual*, std::size_t>> skips_;  // with the cell whose output each adds
  std::map<std::size_t, std::size_t> latest_skip_;              // by cell: the last of those whose outputs it adds
  std::vector<std::size_t> first_state_;                        // slot by cell, and of the end; empty without states
};

// The cell that a link stands for: the first one in a chain of links that has no link which shares. `known` remembers
// the chains walked, so that every link is followed once.
Result<std::size_t> LinkResolver::final_target(const std::string& place, const Share& share,
                                               std::map<std::size_t, std::size_t>& known) const {
  constexpr std::size_t kOnTheWay = ~std::size_t{0};
  std::vector<std::size_t> way;
  auto to = network_.target_of(share);
  for (; to; to = network_.target_of(cell(*to).link->share)) {
    if (cell(*to).is_empty())
      return fail_at(network_.steps(place), Code::LinkToEmpty, "the target, {}, is empty", network_.place_text(*to));
    if (const Link* next = cell(*to).link.get(); next == nullptr || feeds(*next)) break;
    const auto [entry, is_new] = known.try_emplace(*to, kOnTheWay);
    if (!is_new && entry->second == kOnTheWay) {
      std::string text;
      for (auto c = std::ranges::find(way, *to); c != way.end(); ++c) text += Network::path(*c) + " -> ";
      return fail_at(network_.steps(place), Code::LinkCycle, "links lead in a circle: {}{}", text, Network::path(*to));
    }
    if (!is_new) {
      to = entry->second;
      break;
    }
    way.push_back(*to);
  }
  if (!to) return under(network_.steps(place), std::move(to).error());
  for (const std::size_t passed : way) known[passed] = *to;
  return to;
}

// Only links follow links: what a skip names is that cell's own output, whatever operation the cell borrows.
Result<std::size_t> LinkResolver::skip_target(const std::string& place, const std::array<std::size_t, 4>& a) const {
  auto target = network_.index_of({a[0], a[1], a[2], a[3]});
  if (!target) return under(network_.steps(place), std::move(target).error());
  if (cell(*target).is_empty())
    return fail_at(network_.steps(place), Code::LinkToEmpty, "the target, {}, is empty", network_.place_text(*target));
  return target;
}

// A forward pass takes outputs of cells that have run; the step mesh those of any cell.
Result<void> LinkResolver::check_order(std::size_t source, std::size_t from, const std::string& place) {
  if (source >= from && kind_ == PlanKind::Forward)
    return fail_at(network_.steps(place), Code::FeedbackLink,
                   "{} does not run before {}; a forward pass takes outputs of earlier cells only, use the step mesh",
                   network_.place_text(source), network_.place_text(from));
  out_.sources.push_back(source);
  return {};
}

// Finds all links and skips, and the states that layers ask for. Sources are listed as often as they are read, and
// `feeds` holds cells, not slots, for now.
Result<void> LinkResolver::find_links() {
  std::map<std::size_t, std::size_t> known;
  const auto shares = [&](const Share& share, std::size_t from, const std::string& place,
                          std::size_t nesting) -> Result<void> {
    LOOM_TRY(const std::size_t to, final_target(place, share, known));
    uses_.push_back({&share, from, to, nesting, place});
    return {};
  };
  const auto fed = [&](const Link& link, std::size_t from, const std::string& place) -> Result<void> {
    LOOM_TRY(const std::size_t source, final_target(place, link.share, known));
    out_.feeds.resize(network_.num_cells(), Links::kNone);
    out_.feeds[from] = source;
    return check_order(source, from, place);
  };
  const auto skips = [&](const Residual& residual, std::size_t from, const std::string& place) -> Result<void> {
    LOOM_TRY(const std::size_t source, skip_target(place, residual.from().cell));
    skips_.emplace_back(&residual, source);
    latest_skip_[from] = std::max(latest_skip_[from], source);
    return check_order(source, from, place);
  };
  Result<void> done;
  for (std::size_t i = 0; i < network_.num_cells() && done; ++i) {
    if (!first_state_.empty()) first_state_.push_back(out_.state_needs.size());
    if (const Link* link = cell(i).link.get())
      done = feeds(*link) ? fed(*link, i, Network::path(i)) : shares(link->share, i, Network::path(i), 0);
    if (!cell(i).layer || !done) continue;
    number_states(*cell(i).layer);
    if (first_state_.empty() && !out_.state_needs.empty()) first_state_.assign(i + 1, 0);
    if (!reads_cells(*cell(i).layer)) continue;
    visit_nested(Network::path(i), *cell(i).layer, 0, [&](const std::string& place, Layer& layer, std::size_t nesting) {
      const Share* const share = done ? layer_as<Share>(layer) : nullptr;
      const Residual* const residual = done ? layer_as<Residual>(layer) : nullptr;
      if (share != nullptr) done = shares(*share, i, place, nesting);
      if (residual != nullptr && residual->reads_cell()) done = skips(*residual, i, place);
    });
  }
  if (!first_state_.empty()) first_state_.push_back(out_.state_needs.size());
  return done;
}

// Cells become slots: positions among the sources.
void LinkResolver::number_sources() {
  std::vector<std::size_t>& sources = out_.sources;
  std::ranges::sort(sources);
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  const auto slot_of = [&](std::size_t source) {
    return static_cast<std::size_t>(std::ranges::lower_bound(sources, source) - sources.begin());
  };
  for (std::size_t& source : out_.feeds)
    if (source != Links::kNone) source = slot_of(source);
  for (const auto& [residual, source] : skips_) out_.wiring.add_source(*residual, slot_of(source));
}

Result<Links> LinkResolver::resolve() {
  LOOM_TRY_VOID(find_links());
  number_sources();
  LOOM_TRY_VOID(order_uses());
  LOOM_TRY_VOID(check_shared_skips());
  for (const LinkUse& use : uses_) out_.wiring.add_target(*use.share, cell(use.to).layer.get());
  out_.wiring.sort();
  count_source_uses();
  LOOM_TRY_VOID(add_states_of_uses());
  return std::move(out_);
}

// A skip counts wherever its layer runs: in its cell, and in each place that shares it.
void LinkResolver::count_source_uses() {
  out_.source_uses.assign(out_.sources.size(), 0);
  if (out_.sources.empty()) return;
  for (std::size_t i = 0; i < network_.num_cells(); ++i) {
    if (!cell(i).runs()) continue;
    const std::size_t slot = out_.slot_of(i);
    if (slot != Links::kNone) ++out_.source_uses[slot];
    Layer* const operation = slot != Links::kNone ? cell(i).layer.get() : cell(i).operation();
    if (operation == nullptr) continue;
    visit_running(out_.wiring, *operation, [&](Layer& layer) {
      const std::size_t read = out_.wiring.source_of(layer);
      if (read != Wiring::kNone) ++out_.source_uses[read];
    });
  }
}

// Cells that links lead to or from, targets before those who use them. Uses are sorted by the cell they stand in.
Result<void> LinkResolver::order_uses() {
  struct Node {
    std::size_t next = 0, end = 0;  // uses in this cell that were not yet followed
    std::size_t operations = 0, nesting = 0;
    enum : std::uint8_t { fresh, open, done } state = fresh;
  };
  std::map<std::size_t, Node> nodes;
  for (std::size_t u = 0; u < uses_.size(); ++u) {
    nodes.try_emplace(uses_[u].to);
    Node& from = nodes[uses_[u].from];
    if (from.end == 0) from.next = u;
    from.end = u + 1;
  }
  std::size_t all = 0;
  for (auto& [root, root_node] : nodes) {
    if (root_node.state != Node::fresh) continue;
    std::vector<std::size_t> way{root};
    root_node.state = Node::open;
    while (!way.empty()) {
      const std::size_t at = way.back();
      Node& node = nodes[at];
      if (node.next < node.end) {
        const LinkUse& use = uses_[node.next];
        Node& target = nodes[use.to];
        if (target.state == Node::open) {
          std::string text;
          const auto begin = std::ranges::find(way, use.to);
          for (auto c = begin; c != way.end(); ++c) text += fmt::format("{} -> ", uses_[nodes[*c].next].place);
          return fail_at(network_.steps(use.place), Code::LinkCycle, "links lead in a circle: {}{}", text,
                         Network::path(use.to));
        }
        if (target.state == Node::fresh) {
          target.state = Node::open;
          way.push_back(use.to);
          continue;
        }
        node.operations += target.operations;
        node.nesting = std::max(node.nesting, use.nesting + target.nesting);
        if (node.nesting > kMaxNesting)
          return fail_at(network_.steps(use.place), Code::NestingTooDeep,
                         "containers nest deeper than {}, counted through links", kMaxNesting);
        ++node.next;
      } else {
        node.operations += cell(at).link != nullptr;
        if (Layer* const layer = cell(at).layer.get()) {
          visit_layers("", *layer, [&](const std::string&, Layer&) { ++node.operations; });
          node.nesting = std::max(node.nesting, nesting_of(*layer));
        }
        all += node.operations;
        if (all > kMaxOperations)
          return fail_at(network_.steps(at), Code::LimitExceeded, "links make more than 2^24 layers run");
        node.state = Node::done;
        order_.push_back(at);
        way.pop_back();
      }
    }
  }
  return {};
}

// A link runs its target where the link stands: what the target adds must have been computed by then.
Result<void> LinkResolver::check_shared_skips() {
  if (latest_skip_.empty()) return {};
  for (const std::size_t at : order_) {
    for (auto use = std::ranges::lower_bound(uses_, at, {}, &LinkUse::from); use != uses_.end() && use->from == at;
         ++use) {
      const auto skip = latest_skip_.find(use->to);
      if (skip == latest_skip_.end()) continue;
      if (skip->second >= at && kind_ == PlanKind::Forward)
        return fail_at(network_.steps(use->place), Code::FeedbackLink,
                       "{} adds the output of {}, which does not run before {}; use the step mesh",
                       network_.place_text(use->to), network_.place_text(skip->second), network_.place_text(at));
      std::size_t& latest = latest_skip_[at];
      latest = std::max(latest, skip->second);
    }
  }
  return {};
}

// Gives every layer that asks for state the next slot, a container before what is inside it.
void LinkResolver::number_states(Layer& layer) {
  if (auto needs = layer.state_needs()) {
    needs->slot = out_.state_needs.size();
    out_.wiring.add_state(layer, needs->slot);
    out_.state_needs.push_back(*std::move(needs));
  }
  layer.visit_children([&](const std::string&, Layer& child) { number_states(child); });
}

// Every use of a shared target has states of its own, as many slots after the target's as its link says.
Result<void> LinkResolver::add_states_of_uses() {
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  std::map<std::size_t, Range> states;
  for (const std::size_t at : order_) states[at] = {first_state(at), first_state(at + 1)};
  std::size_t next = out_.state_needs.size();
  for (const std::size_t at : order_) {
    auto use = std::ranges::lower_bound(uses_, at, {}, &LinkUse::from);
    for (; use != uses_.end() && use->from == at; ++use) {
      const Range target = states[use->to];
      const std::size_t count = target.end - target.begin;
      if (count == 0) continue;
      if (next + count > kMaxStates)
        return fail_at(network_.steps(use->place), Code::LimitExceeded, "more than 2^20 session states");
      const std::size_t shift = next - target.begin;
      for (std::size_t s = target.begin; s < target.end; ++s) {
        out_.state_needs.push_back(StateNeeds(out_.state_needs[s]));
        out_.state_needs.back().slot += shift;
      }
      out_.wiring.shift_states(*use->share, shift);
      Range& mine = states[at];
      if (mine.begin == mine.end) mine = {next, next};
      next += count;
      mine.end = next;  // what lies between belongs to others, and is copied along
    }
  }
  return {};
}

}  // namespace

Result<Links> Links::resolve(const Network& network, PlanKind kind) {
  if (!network.is_settled())
    return fail(Code::InvalidState, "the network was edited and not settled since: call settle()");
  return LinkResolver(network, kind).resolve();
}

Result<Shape> fed_shape(const Cell& cell, const Wiring& wiring, const Shape& input, const Shape& fed) {
  LOOM_TRY(const Shape merged, merged_shape(cell.link->share.merge(), input, fed));
  return cell.layer ? cell.layer->wired_shape(&wiring, merged) : Result<Shape>(merged);
}

}  // namespace loom
