#include "grammar/runner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "grammar/token_trie.h"

namespace loom::grammar {
namespace {

constexpr std::size_t kFew = 16;  // visited items that are compared one by one

bool is_lead(std::uint8_t byte) {
  return std::ranges::any_of(kUtf8Shapes, [byte](const Utf8Shape& s) { return s.ranges[0].holds(byte); });
}

std::uint64_t key_of(NodeId node, std::uint32_t stack) { return std::uint64_t{node} << 32 | stack; }

}  // namespace

Runner::Runner(const Automaton& automaton) : automaton_(&automaton) {
  std::vector<bool> has_class(automaton.num_classes(), false);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto b = static_cast<std::uint8_t>(byte);
    const std::uint8_t c = automaton.class_of(b);
    if (TokenTrie::is_plain(b) || is_lead(b)) text_begin_[c >> 6] |= std::uint64_t{1} << (c & 63);
    if (!TokenTrie::is_plain(b) || has_class[automaton.class_of(b)]) continue;
    has_class[automaton.class_of(b)] = true;
    plain_.push_back(b);
  }
}

// Goes on while all plain bytes lead to one state: a way that ends at a state which any of them leaves as it is has no
// end. The work does not count for the caller, whose tokens may be shorter, and a grammar that needs much of it is not
// looked ahead in.
std::uint8_t Runner::find_plain_run(StateId state) {
  constexpr std::size_t kMostAhead = kMostWork / 16;
  const std::size_t spent = std::exchange(spent_, 0);
  std::vector<StateId> way;
  std::size_t run = 0;
  for (StateId at = state; way.size() < kMostPlain && spent_ < kMostAhead;) {
    if (const std::int16_t known = states_[static_cast<std::size_t>(at)].plain_run; known >= 0) {
      run = static_cast<std::size_t>(known);
      break;
    }
    const TextStep step = text_step(at);
    StateId to = step.has_exceptions ? kDead : step.to;
    for (std::size_t i = 0; i < plain_.size() && step.to == kUnknown && to != kDead; ++i) {
      const Result<StateId> next = this->next(at, plain_[i]);
      if (to == kUnknown && next) to = *next;
      if (!next || *next != to) to = kDead;
    }
    if (to == kDead) {
      states_[static_cast<std::size_t>(at)].plain_run = 0;
      break;
    }
    way.push_back(at);
    if (to == at) run = kEndless;
    if (to == at) break;
    at = to;
  }
  for (; !way.empty(); way.pop_back()) {
    if (run < kEndless) run = std::min<std::size_t>(run + 1, kEndless - 1u);
    states_[static_cast<std::size_t>(way.back())].plain_run = static_cast<std::int16_t>(run);
  }
  spent_ = spent;
  return static_cast<std::uint8_t>(std::max<int>(states_[static_cast<std::size_t>(state)].plain_run, 0));
}

bool Runner::find_one_character(const std::vector<NodeId>& nodes) const {
  constexpr std::size_t kMostSets = 32;
  using Nodes = std::set<NodeId>;
  std::set<Nodes> sets, following;
  const auto step = [&](const auto& from, std::uint8_t byte) {
    Nodes out;
    for (const NodeId id : from)
      if (const Node& n = automaton_->at(id); n.kind == Node::Bytes && automaton_->takes(n, automaton_->class_of(byte)))
        if (automaton_->is_live(n.b)) out.insert(n.b);
    return out;
  };
  const auto is_end = [this](const Nodes& reached) {
    return reached.size() == 1 && automaton_->at(*reached.begin()).kind == Node::Return;
  };
  for (const std::uint8_t byte : plain_)
    if (!is_end(step(nodes, byte))) return false;
  for (const Utf8Shape& shape : kUtf8Shapes) {
    sets = {Nodes(nodes.begin(), nodes.end())};
    for (std::size_t i = 0; i < shape.size; ++i) {
      following.clear();
      for (const Nodes& from : sets) {
        int last = -1;
        for (unsigned byte = shape.ranges[i].first; byte <= shape.ranges[i].last; ++byte) {
          const std::uint8_t c = automaton_->class_of(static_cast<std::uint8_t>(byte));
          if (c != std::exchange(last, c)) following.insert(step(from, static_cast<std::uint8_t>(byte)));
        }
      }
      // Calls and choices inside of a character are not followed: its nodes take no byte.
      if (following.size() > kMostSets) return false;
      std::swap(sets, following);
    }
    if (!std::ranges::all_of(sets, is_end)) return false;
  }
  return true;
}

bool Runner::is_one_character(const std::vector<NodeId>& nodes) {
  const auto [found, is_new] = one_character_.try_emplace(nodes, false);
  if (is_new) found->second = find_one_character(nodes);
  return found->second;
}

// By the states of all characters.
Runner::TextStep Runner::follow_text(StateId state) {
  constexpr std::size_t kMostPlaces = 16;
  TextStep step;
  std::vector<StateId> places, following;
  for (const Utf8Shape& shape : kUtf8Shapes) {
    places = {state};
    for (std::size_t i = 0; i < shape.size; ++i) {
      following.clear();
      for (const StateId from : places) {
        int last = -1;
        for (unsigned byte = shape.ranges[i].first; byte <= shape.ranges[i].last; ++byte) {
          const std::uint8_t c = automaton_->class_of(static_cast<std::uint8_t>(byte));
          if (c == std::exchange(last, c)) continue;
          const Result<StateId> to = next(from, static_cast<std::uint8_t>(byte));
          if (!to || *to == kDead) return {};
          if (std::ranges::find(following, *to) == following.end()) following.push_back(*to);
        }
      }
      if (following.size() > kMostPlaces) return {};
      std::swap(places, following);
    }
    for (const StateId to : places) {
      if (step.to != kUnknown && step.to != to) return {};
      step.to = to;
    }
  }
  for (const std::uint8_t byte : plain_) {
    const Result<StateId> to = next(state, byte);
    if (!to) return {};
    step.has_exceptions = *to != step.to;
    if (step.has_exceptions) break;
  }
  return step;
}

// Most characters of a text are one rule whose states differ in the stack alone. The work does not count for the
// caller, who may not need it.
Runner::TextStep Runner::find_text_step(StateId state) {
  const std::size_t spent = std::exchange(spent_, 0);
  TextStep step;
  std::vector<NodeId> nodes;
  bool is_one_stack = true;
  FrameId stack = 0;
  for (const Item& item : states_[static_cast<std::size_t>(state)].items) {
    if (!automaton_->takes_any(automaton_->at(item.node), text_begin_)) continue;
    if (nodes.empty()) stack = item.stack;
    is_one_stack = is_one_stack && item.stack == stack;
    nodes.push_back(item.node);
  }
  if (nodes.empty()) {
    step.to = kDead;
  } else if (!plain_.empty() && is_one_stack && is_one_character(nodes)) {
    if (const Result<StateId> to = next(state, plain_[0])) {
      for (const std::uint8_t byte : plain_) next_[slot(state, automaton_->class_of(byte))] = *to;
      step.to = *to;
    }
  } else {
    step = follow_text(state);
  }
  spent_ = spent;
  State& known = states_[static_cast<std::size_t>(state)];
  known.is_text_known = true;
  known.text = step;
  return step;
}

Result<StateId> Runner::start() {
  forget_seen();
  visit(automaton_->start(), 0);
  return close();
}

void Runner::forget_seen() {
  work_.clear(), seen_.clear();
  num_seen_ = 0;
  if (++round_ == 0) seen_many_.clear(), round_ = 1;
}

bool Runner::add_seen(std::uint64_t key) {
  constexpr std::size_t kFirstSize = 64;
  if (num_seen_ * 2 >= seen_many_.size()) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> old(std::max(kFirstSize, seen_many_.size() * 2));
    std::swap(old, seen_many_);
    num_seen_ = 0;
    for (const auto& [known, round] : old)
      if (round == round_) add_seen(known);
  }
  const std::size_t mask = seen_many_.size() - 1;
  std::size_t at = static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> 32) & mask;
  for (; seen_many_[at].second == round_; at = (at + 1) & mask)
    if (seen_many_[at].first == key) return false;
  seen_many_[at] = {key, round_};
  ++num_seen_;
  return true;
}

bool Runner::visit(NodeId node, FrameId stack) {
  if (!automaton_->is_live(node)) return false;
  const Item item{node, stack};
  if (seen_.size() <= kFew) {
    if (std::ranges::find(seen_, item) != seen_.end()) return false;
    seen_.push_back(item);
    if (seen_.size() > kFew)
      for (const Item& i : seen_) add_seen(key_of(i.node, i.stack));
  } else if (!add_seen(key_of(node, stack))) {
    return false;
  }
  work_.push_back(item);
  return true;
}

Runner::FrameId Runner::push(NodeId node, FrameId below) {
  const Frame frame{node, below, frames_[below].depth + 1};
  const auto [found, is_new] = frame_ids_.try_emplace(frame, static_cast<FrameId>(frames_.size()));
  if (is_new) {
    frames_.push_back(frame);
    ++total_;
  }
  return found->second;
}

Result<StateId> Runner::close() {
  State state;
  std::size_t visited = 0;
  while (!work_.empty()) {
    const Item item = work_.back();
    work_.pop_back();
    if (++visited > kMostItems || ++spent_ > kMostWork || total_ > kMostTotal)
      return fail(Code::LimitExceeded, "the grammar is too ambiguous: more than {} ways fit the text so far",
                  visited > kMostItems ? kMostItems : kMostWork);
    const Node& node = automaton_->at(item.node);
    switch (node.kind) {
      case Node::Bytes: state.items.push_back(item); break;
      case Node::Split:
        visit(node.a, item.stack);
        visit(node.b, item.stack);
        break;
      case Node::Call:
        // A call at the end of a rule needs no frame.
        if (automaton_->at(node.b).kind == Node::Return)
          visit(node.a, item.stack);
        else if (frames_[item.stack].depth < kMostDepth && automaton_->is_live(node.b))
          visit(node.a, push(node.b, item.stack));
        break;
      case Node::Return: {
        if (item.stack == 0) {
          state.accepts = true;
          break;
        }
        const Frame frame = frames_[item.stack];
        visit(frame.node, frame.below);
        break;
      }
    }
  }
  if (state.items.empty() && !state.accepts) return kDead;
  std::ranges::sort(state.items);
  if (states_.size() >= kMostStates)
    return fail(Code::LimitExceeded, "the grammar has more than {} states for one token", kMostStates);
  return intern(std::move(state));
}

StateId Runner::intern(State state) {
  std::uint64_t hash = state.accepts ? 1 : 0;
  for (const Item& item : state.items) {
    hash = (hash ^ key_of(item.node, item.stack)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  const auto [begin, end] = ids_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const State& other = states_[static_cast<std::size_t>(it->second)];
    if (other.accepts == state.accepts && other.items == state.items) return it->second;
  }
  const auto id = static_cast<StateId>(states_.size());
  total_ += state.items.size();
  state.is_text_known = false;
  next_.resize(next_.size() + automaton_->num_classes(), kUnknown);
  states_.push_back(std::move(state));
  ids_.emplace(hash, id);
  return id;
}

Result<StateId> Runner::find_next(StateId state, std::uint8_t byte_class) {
  forget_seen();
  // `visit` appends to work_ alone, so the items stay where they are.
  for (const Item& item : states_[static_cast<std::size_t>(state)].items) {
    const Node& node = automaton_->at(item.node);
    if (automaton_->takes(node, byte_class)) visit(node.b, item.stack);
  }
  LOOM_TRY(const StateId to, close());
  next_[slot(state, byte_class)] = to;
  return to;
}

StateId Runner::clear(StateId keep) {
  State kept = std::move(states_[static_cast<std::size_t>(keep)]);
  // Frames of the stacks that are kept move to the new table, the lowest first.
  const std::vector<Frame> old = std::exchange(frames_, {Frame{0, 0, 0}});
  frame_ids_.clear(), states_.clear(), next_.clear(), ids_.clear();
  total_ = 0, spent_ = 0;
  std::unordered_map<FrameId, FrameId> moved{{0, 0}};
  for (Item& item : kept.items) {
    std::vector<FrameId> path;
    FrameId frame = item.stack;
    for (; !moved.contains(frame); frame = old[frame].below) path.push_back(frame);
    FrameId to = moved[frame];
    for (std::size_t i = path.size(); i-- > 0;) moved[path[i]] = to = push(old[path[i]].node, to);
    item.stack = to;
  }
  std::ranges::sort(kept.items);
  return intern(std::move(kept));
}

}  // namespace loom::grammar
