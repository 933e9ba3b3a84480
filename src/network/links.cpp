// Links found, checked and resolved before anything runs (engine V-20..V-26). The graph of share links has cells as nodes: cell c has an
// edge to cell t when something in c, c itself included, shares t. It is walked without recursion; what runs inside what is bounded.

#include <algorithm>
#include <map>
#include <optional>

#include "layers/link/link.h"
#include "layers/residual/residual.h"
#include "network/network.h"

namespace loom {
namespace {

constexpr std::size_t kMaxNesting = 64;                    // containers, those that links lead into included
constexpr std::size_t kMaxOperations = std::size_t{1} << 24;  // layers that run in one forward pass, each use of a shared one counted
constexpr std::size_t kMaxStates = std::size_t{1} << 20;

std::size_t nesting_of(Layer& layer) {
  std::size_t deepest = 0;
  layer.visit_children([&](const std::string& place, Layer& child) { deepest = std::max(deepest, nesting_of(child) + !place.empty()); });
  return deepest;
}

}  // namespace

// One link that shares, at `place` in the cell `from`; links to links are followed already.
struct Network::LinkUse {
  Link* link = nullptr;
  std::size_t from = 0, to = 0, nesting = 0;
  std::string place;
};

bool Network::feeds(const Link& link) const { return link.feeds() || (sweep_ == Sweep::Steps && link.mode() == Link::Mode::Auto); }

// The cell that an address stands for: the first one in a chain of links that is no link which shares. `known` remembers the chains
// walked, so that every link is followed once.
Result<std::size_t> Network::final_target(const std::string& place, const std::array<std::size_t, 4>& address,
                                          std::map<std::size_t, std::size_t>& known) const {
  constexpr std::size_t kOnTheWay = ~std::size_t{0};
  const auto at_address = [&](const std::array<std::size_t, 4>& a) { return index_of({a[0], a[1], a[2], a[3]}); };
  std::vector<std::size_t> way;
  auto to = at_address(address);
  for (; to; to = at_address(layer_as<Link>(*cells_[*to].layer)->address())) {
    const Layer* layer = cells_[*to].layer.get();
    if (layer == nullptr) return fail(Code::LinkToEmpty, "{}: the target, {}, is empty", place, place_text(*to));
    const Link* next = layer_as<Link>(*layer);
    if (next == nullptr || feeds(*next)) break;
    const auto [entry, is_new] = known.try_emplace(*to, kOnTheWay);
    if (!is_new && entry->second == kOnTheWay) {
      std::string text;
      for (auto c = std::ranges::find(way, *to); c != way.end(); ++c) text += path(*c) + " -> ";
      return fail(Code::LinkCycle, "{}: links lead in a circle: {}{}", place, text, path(*to));
    }
    if (!is_new) {
      to = entry->second;
      break;
    }
    way.push_back(*to);
  }
  if (!to) return at(place, std::move(to).error());
  for (const std::size_t cell : way) known[cell] = *to;
  return to;
}

// Only links follow links: what a skip names is that cell's own output, whatever operation the cell borrows.
Result<std::size_t> Network::skip_target(const std::string& place, const std::array<std::size_t, 4>& a) const {
  auto cell = index_of({a[0], a[1], a[2], a[3]});
  if (!cell) return at(place, std::move(cell).error());
  if (!cells_[*cell].layer) return fail(Code::LinkToEmpty, "{}: the target, {}, is empty", place, place_text(*cell));
  return cell;
}

Result<std::size_t> Network::source_cell(const Layer& layer, const CellSource& source, std::size_t from, const std::string& place,
                                         std::map<std::size_t, std::size_t>& known) const {
  LOOM_TRY(const std::size_t cell, layer_as<Link>(layer) != nullptr ? final_target(place, source.address, known) : skip_target(place, source.address));
  if (cell >= from && sweep_ == Sweep::Plain)
    return fail(Code::FeedbackLink, "{}: {} does not run before {}; the plain sweep takes outputs of earlier cells only, use the step mesh", place,
                place_text(cell), place_text(from));
  return cell;
}

Result<void> Network::resolve_links() {
  links_.clear(), sources_.clear(), skips_.clear(), state_needs_.clear();
  only_steps_ = false;
  std::vector<LinkUse> uses;
  std::map<std::size_t, std::size_t> known;
  std::vector<std::pair<CellSource*, std::size_t>> wanted;
  std::map<std::size_t, std::size_t> latest_skip;  // by cell: the last of those whose outputs it adds
  std::optional<Error> error;
  for (std::size_t i = 0; i < cells_.size() && !error; ++i) {
    if (!cells_[i].layer) continue;
    visit_layers(path(i), *cells_[i].layer, [&](const std::string& place, Layer& layer) {
      if (error) return;
      Link* link = layer_as<Link>(layer);
      const bool is_cell = link != nullptr && cells_[i].layer.get() == link;
      CellSource* source = link != nullptr && (is_cell ? feeds(*link) : link->feeds()) ? &link->source() : nullptr;
      if (Residual* residual = layer_as<Residual>(layer)) source = residual->cell();
      if (link != nullptr) links_.push_back(link);
      if (source != nullptr) {
        if (link != nullptr && !is_cell) {
          error = Error{Code::InvalidConfig, place + ": a feed link stands in a cell of the grid, not inside a container"};
          return;
        }
        auto cell = source_cell(layer, *source, i, place, known);
        if (!cell) return void(error = std::move(cell).error());
        only_steps_ |= *cell >= i || (link != nullptr && !link->feeds());
        wanted.emplace_back(source, *cell), sources_.push_back(*cell);
        if (link == nullptr) {
          skips_.push_back(source);
          std::size_t& latest = latest_skip[i];
          latest = std::max(latest, *cell);
        }
      } else if (link != nullptr) {
        auto to = final_target(place, link->address(), known);
        if (!to) return void(error = std::move(to).error());
        const auto nesting = static_cast<std::size_t>(std::ranges::count(place, '.')) / 2;  // layers.N, then two parts a level (the gate: one)
        uses.push_back({link, i, *to, nesting, place});
      }
    });
  }
  if (error) return tl::make_unexpected(*std::move(error));
  std::ranges::sort(sources_);
  sources_.erase(std::unique(sources_.begin(), sources_.end()), sources_.end());
  for (const auto& [source, cell] : wanted) {
    source->slot = static_cast<std::size_t>(std::ranges::lower_bound(sources_, cell) - sources_.begin()), source->prepared = true;
  }
  std::ranges::sort(skips_, {}, &CellSource::slot);
  std::vector<std::size_t> order;
  LOOM_TRY_VOID(order_uses(uses, order));
  LOOM_TRY_VOID(check_shared_skips(uses, order, latest_skip));
  for (const LinkUse& use : uses) {
    Layer* operation = cells_[use.to].layer.get();
    const Link* feed = layer_as<Link>(*operation);
    use.link->resolve(feed != nullptr ? feed->own() : operation);
  }
  count_source_uses();
  return assign_slots(uses, order);
}

// A skip counts wherever its layer runs: in its cell, and in each place that shares it.
void Network::count_source_uses() {
  source_uses_.assign(sources_.size(), 0);
  if (sources_.empty()) return;
  for (const Cell& cell : cells_) {
    if (!cell.runs()) continue;
    visit_running(*cell.layer, [&](Layer& layer) {
      const CellSource* source = layer_as<Residual>(layer) != nullptr ? layer_as<Residual>(layer)->cell() : nullptr;
      if (const Link* link = layer_as<Link>(layer); link != nullptr && link->source().prepared) source = &link->source();
      if (source != nullptr) ++source_uses_[source->slot];
    });
  }
}

// Cells that links lead to or from, targets before those who use them. Uses are sorted by the cell they stand in.
Result<void> Network::order_uses(std::vector<LinkUse>& uses, std::vector<std::size_t>& order) const {
  struct Node {
    std::size_t next = 0, end = 0;  // uses in this cell that were not yet followed
    std::size_t operations = 0, nesting = 0;
    enum : std::uint8_t { fresh, open, done } state = fresh;
  };
  std::map<std::size_t, Node> nodes;
  for (std::size_t u = 0; u < uses.size(); ++u) {
    nodes.try_emplace(uses[u].to);
    Node& from = nodes[uses[u].from];
    if (from.end == 0) from.next = u;
    from.end = u + 1;
  }
  std::size_t all = 0;
  for (auto& [root, root_node] : nodes) {
    if (root_node.state != Node::fresh) continue;
    std::vector<std::size_t> way{root};
    root_node.state = Node::open;
    while (!way.empty()) {
      const std::size_t cell = way.back();
      Node& node = nodes[cell];
      if (node.next < node.end) {
        const LinkUse& use = uses[node.next];
        Node& target = nodes[use.to];
        if (target.state == Node::open) {
          std::string text;
          const auto begin = std::ranges::find(way, use.to);
          for (auto c = begin; c != way.end(); ++c) text += fmt::format("{} -> ", uses[nodes[*c].next].place);
          return fail(Code::LinkCycle, "{}: links lead in a circle: {}{}", use.place, text, path(use.to));
        }
        if (target.state == Node::fresh) {
          target.state = Node::open;
          way.push_back(use.to);
          continue;
        }
        node.operations += target.operations;
        node.nesting = std::max(node.nesting, use.nesting + target.nesting);
        if (node.nesting > kMaxNesting)
          return fail(Code::NestingTooDeep, "{}: containers nest deeper than {}, counted through links", use.place, kMaxNesting);
        ++node.next;
      } else {
        visit_layers("", *cells_[cell].layer, [&](const std::string&, Layer&) { ++node.operations; });
        node.nesting = std::max(node.nesting, nesting_of(*cells_[cell].layer));
        all += node.operations;
        if (all > kMaxOperations) return fail(Code::LimitExceeded, "{}: links make more than 2^24 layers run", path(cell));
        node.state = Node::done;
        order.push_back(cell);
        way.pop_back();
      }
    }
  }
  return {};
}

// A link runs its target where the link stands: what the target adds must have been computed by then.
Result<void> Network::check_shared_skips(const std::vector<LinkUse>& uses, const std::vector<std::size_t>& order,
                                         std::map<std::size_t, std::size_t>& latest_skip) {
  if (latest_skip.empty()) return {};
  for (const std::size_t cell : order) {
    for (auto use = std::ranges::lower_bound(uses, cell, {}, &LinkUse::from); use != uses.end() && use->from == cell; ++use) {
      const auto skip = latest_skip.find(use->to);
      if (skip == latest_skip.end()) continue;
      if (skip->second >= cell && sweep_ == Sweep::Plain)
        return fail(Code::FeedbackLink, "{}: {} adds the output of {}, which does not run before {}; use the step mesh", use->place,
                    place_text(use->to), place_text(skip->second), place_text(cell));
      only_steps_ |= skip->second >= cell;
      std::size_t& latest = latest_skip[cell];
      latest = std::max(latest, skip->second);
    }
  }
  return {};
}

// Weights get the slots of their gradients and layers those of their session states. Every use of a shared target has states of its own,
// as many slots behind the target's as the link says.
Result<void> Network::assign_slots(const std::vector<LinkUse>& uses, const std::vector<std::size_t>& order) {
  std::size_t next_state = 0, next_weight = 0;
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  std::map<std::size_t, Range> states;
  for (const std::size_t cell : order) states[cell] = {};
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!cells_[i].layer) continue;
    const std::size_t begin = next_state;
    visit_layers(path(i), *cells_[i].layer, [&](const std::string& place, Layer& layer) {
      layer.site = random_site(place);
      layer.assign_state(next_state, state_needs_);
      layer.visit_all_weights([&](Weight& w) {
        if (!w.is_tied()) w.set_slot(next_weight++);
      });
    });
    if (const auto found = states.find(i); found != states.end()) found->second = {begin, next_state};
  }
  for (const std::size_t cell : order) {
    auto use = std::ranges::lower_bound(uses, cell, {}, &LinkUse::from);
    for (; use != uses.end() && use->from == cell; ++use) {
      const Range target = states[use->to];
      const std::size_t count = target.end - target.begin;
      if (count == 0) continue;
      if (next_state + count > kMaxStates) return fail(Code::LimitExceeded, "{}: more than 2^20 session states", use->place);
      const std::size_t shift = next_state - target.begin;
      for (std::size_t s = target.begin; s < target.end; ++s) {
        state_needs_.push_back(StateNeeds(state_needs_[s]));
        state_needs_.back().slot += shift;
      }
      use->link->set_state_shift(shift);
      Range& mine = states[cell];
      if (mine.begin == mine.end) mine = {next_state, next_state};
      next_state += count;
      mine.end = next_state;  // what lies between belongs to others, and is copied along
    }
  }
  return {};
}

}  // namespace loom
