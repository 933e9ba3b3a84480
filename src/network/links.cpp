// Links found, checked and resolved before anything runs (engine V-20..V-26). The graph of share links has cells as
// nodes: cell c has an edge to cell t when something in c, its own link included, shares t. It is walked without
// recursion; what runs inside what is bounded.

#include <algorithm>
#include <map>
#include <optional>

#include "layers/residual/residual.h"
#include "network/network.h"

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

}  // namespace

// One link that shares, at `place` in the cell `from`; links to links are followed already.
struct Network::LinkUse {
  Share* share = nullptr;
  std::size_t from = 0, to = 0, nesting = 0;
  std::string place;
};

bool Network::feeds(const Link& link) const {
  return link.feeds() || (sweep_ == Sweep::Steps && link.share.mode() == Share::Mode::Auto);
}

// The cell that a link stands for: the first one in a chain of links that has no link which shares. `known` remembers
// the chains walked, so that every link is followed once.
Result<std::size_t> Network::final_target(const std::string& place, const Share& share,
                                          std::map<std::size_t, std::size_t>& known) const {
  constexpr std::size_t kOnTheWay = ~std::size_t{0};
  std::vector<std::size_t> way;
  auto to = target_of(share);
  for (; to; to = target_of(cells_[*to].link->share)) {
    if (cells_[*to].is_empty())
      return fail_at(steps(place), Code::LinkToEmpty, "the target, {}, is empty", place_text(*to));
    if (const Link* next = cells_[*to].link.get(); next == nullptr || feeds(*next)) break;
    const auto [entry, is_new] = known.try_emplace(*to, kOnTheWay);
    if (!is_new && entry->second == kOnTheWay) {
      std::string text;
      for (auto c = std::ranges::find(way, *to); c != way.end(); ++c) text += path(*c) + " -> ";
      return fail_at(steps(place), Code::LinkCycle, "links lead in a circle: {}{}", text, path(*to));
    }
    if (!is_new) {
      to = entry->second;
      break;
    }
    way.push_back(*to);
  }
  if (!to) return under(steps(place), std::move(to).error());
  for (const std::size_t cell : way) known[cell] = *to;
  return to;
}

// Only links follow links: what a skip names is that cell's own output, whatever operation the cell borrows.
Result<std::size_t> Network::skip_target(const std::string& place, const std::array<std::size_t, 4>& a) const {
  auto cell = index_of({a[0], a[1], a[2], a[3]});
  if (!cell) return under(steps(place), std::move(cell).error());
  if (cells_[*cell].is_empty())
    return fail_at(steps(place), Code::LinkToEmpty, "the target, {}, is empty", place_text(*cell));
  return cell;
}

// The plain sweep takes outputs of cells that have run; the step mesh those of any cell.
Result<void> Network::check_order(std::size_t source, std::size_t from, const std::string& place) {
  if (source >= from && sweep_ == Sweep::Plain)
    return fail_at(steps(place), Code::FeedbackLink,
                   "{} does not run before {}; the plain sweep takes outputs of earlier cells only, use the step mesh",
                   place_text(source), place_text(from));
  only_steps_ |= source >= from;
  sources_.push_back(source);
  return {};
}

// All links and skips: `uses` are those of the links that share, by cell; sources_ the cells whose outputs others read,
// each as often as it is read. The slots hold the cells for now.
Result<void> Network::find_links(std::vector<LinkUse>& uses, std::map<std::size_t, std::size_t>& latest_skip) {
  std::map<std::size_t, std::size_t> known;
  const auto shares = [&](Share& share, std::size_t from, const std::string& place,
                          std::size_t nesting) -> Result<void> {
    LOOM_TRY(const std::size_t to, final_target(place, share, known));
    shares_.push_back(&share), uses.push_back({&share, from, to, nesting, place});
    return {};
  };
  const auto fed = [&](Link& link, std::size_t from, const std::string& place) -> Result<void> {
    LOOM_TRY(link.slot, final_target(place, link.share, known));
    fed_.push_back(&link);
    only_steps_ |= !link.feeds();
    return check_order(link.slot, from, place);
  };
  const auto skips = [&](CellSource& source, std::size_t from, const std::string& place) -> Result<void> {
    LOOM_TRY(source.slot, skip_target(place, source.address));
    source.prepared = false, skips_.push_back(&source);
    latest_skip[from] = std::max(latest_skip[from], source.slot);
    return check_order(source.slot, from, place);
  };
  Result<void> done;
  for (std::size_t i = 0; i < cells_.size() && done; ++i) {
    if (Link* link = cells_[i].link.get()) {
      // for hooks, which see the link under the cell's name
      if (cells_[i].layer) link->share.common = cells_[i].layer->common;
      done = feeds(*link) ? fed(*link, i, path(i)) : shares(link->share, i, path(i), 0);
    }
    if (!cells_[i].layer || !done) continue;
    visit_nested(path(i), *cells_[i].layer, 0, [&](const std::string& place, Layer& layer, std::size_t nesting) {
      Share* const share = done ? layer_as<Share>(layer) : nullptr;
      Residual* const residual = done ? layer_as<Residual>(layer) : nullptr;
      if (share != nullptr) done = shares(*share, i, place, nesting);
      if (residual != nullptr && residual->cell() != nullptr) done = skips(*residual->cell(), i, place);
    });
  }
  return done;
}

Result<void> Network::resolve_links() {
  for (Share* share : shares_) share->unresolve();
  for (Link* link : fed_) link->slot = Link::kNone;
  shares_.clear(), fed_.clear(), sources_.clear(), skips_.clear(), state_needs_.clear();
  only_steps_ = false;
  std::vector<LinkUse> uses;
  std::map<std::size_t, std::size_t> latest_skip;  // by cell: the last of those whose outputs it adds
  if (auto found = find_links(uses, latest_skip); !found) {
    for (Link* link : fed_) link->slot = Link::kNone;
    return found;
  }
  std::ranges::sort(sources_);
  sources_.erase(std::unique(sources_.begin(), sources_.end()), sources_.end());
  const auto number = [&](std::size_t& slot) {
    slot = static_cast<std::size_t>(std::ranges::lower_bound(sources_, slot) - sources_.begin());
  };
  for (Link* link : fed_) number(link->slot);
  for (CellSource* skip : skips_) number(skip->slot), skip->prepared = true;
  std::ranges::sort(skips_, {}, &CellSource::slot);
  std::vector<std::size_t> order;
  LOOM_TRY_VOID(order_uses(uses, order));
  LOOM_TRY_VOID(check_shared_skips(uses, order, latest_skip));
  for (const LinkUse& use : uses) use.share->resolve(cells_[use.to].layer.get());
  count_source_uses();
  return assign_slots(uses, order);
}

// A skip counts wherever its layer runs: in its cell, and in each place that shares it.
void Network::count_source_uses() {
  source_uses_.assign(sources_.size(), 0);
  if (sources_.empty()) return;
  for (const Cell& cell : cells_) {
    if (!cell.runs()) continue;
    const bool is_fed = cell.link != nullptr && feeds(*cell.link);
    if (is_fed) ++source_uses_[cell.link->slot];
    Layer* const operation = is_fed ? cell.layer.get() : cell.operation();
    if (operation == nullptr) continue;
    visit_running(*operation, [&](Layer& layer) {
      if (const CellSource* source = layer_as<Residual>(layer) != nullptr ? layer_as<Residual>(layer)->cell() : nullptr)
        ++source_uses_[source->slot];
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
          return fail_at(steps(use.place), Code::LinkCycle, "links lead in a circle: {}{}", text, path(use.to));
        }
        if (target.state == Node::fresh) {
          target.state = Node::open;
          way.push_back(use.to);
          continue;
        }
        node.operations += target.operations;
        node.nesting = std::max(node.nesting, use.nesting + target.nesting);
        if (node.nesting > kMaxNesting)
          return fail_at(steps(use.place), Code::NestingTooDeep,
                         "containers nest deeper than {}, counted through links", kMaxNesting);
        ++node.next;
      } else {
        node.operations += cells_[cell].link != nullptr;
        if (Layer* const layer = cells_[cell].layer.get()) {
          visit_layers("", *layer, [&](const std::string&, Layer&) { ++node.operations; });
          node.nesting = std::max(node.nesting, nesting_of(*layer));
        }
        all += node.operations;
        if (all > kMaxOperations)
          return fail_at(steps(cell), Code::LimitExceeded, "links make more than 2^24 layers run");
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
    for (auto use = std::ranges::lower_bound(uses, cell, {}, &LinkUse::from); use != uses.end() && use->from == cell;
         ++use) {
      const auto skip = latest_skip.find(use->to);
      if (skip == latest_skip.end()) continue;
      if (skip->second >= cell && sweep_ == Sweep::Plain)
        return fail_at(steps(use->place), Code::FeedbackLink,
                       "{} adds the output of {}, which does not run before {}; use the step mesh", place_text(use->to),
                       place_text(skip->second), place_text(cell));
      only_steps_ |= skip->second >= cell;
      std::size_t& latest = latest_skip[cell];
      latest = std::max(latest, skip->second);
    }
  }
  return {};
}

// Weights get the slots of their gradients and layers those of their session states. Every use of a shared target has
// states of its own, as many slots behind the target's as the link says.
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
      if (next_state + count > kMaxStates)
        return fail_at(steps(use->place), Code::LimitExceeded, "more than 2^20 session states");
      const std::size_t shift = next_state - target.begin;
      for (std::size_t s = target.begin; s < target.end; ++s) {
        state_needs_.push_back(StateNeeds(state_needs_[s]));
        state_needs_.back().slot += shift;
      }
      use->share->set_state_shift(shift);
      Range& mine = states[cell];
      if (mine.begin == mine.end) mine = {next_state, next_state};
      next_state += count;
      mine.end = next_state;  // what lies between belongs to others, and is copied along
    }
  }
  return {};
}

}  // namespace loom
