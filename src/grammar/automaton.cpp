#include "grammar/automaton.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>

namespace loom::grammar {
namespace {

struct ByteRange {
  std::uint8_t first, last;
};
using ByteSequence = std::vector<ByteRange>;

// Splits a range of code points into sequences of byte ranges (Thompson's construction for UTF-8, as in RE2).
void utf8_sequences(std::uint32_t first, std::uint32_t last, std::vector<ByteSequence>& out) {
  constexpr std::uint32_t kEnds[] = {0x7F, 0x7FF, 0xFFFF};
  for (const std::uint32_t end : kEnds)
    if (first <= end && last > end) {
      utf8_sequences(first, end, out);
      return utf8_sequences(end + 1, last, out);
    }
  if (last < 0x80) {
    out.push_back({{static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last)}});
    return;
  }
  // Within one length: the ends must fill whole groups of six bits, or share all bits above.
  for (std::uint32_t i = 1; i < 4; ++i) {
    const std::uint32_t mask = (1u << 6 * i) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      utf8_sequences(first, first | mask, out);
      return utf8_sequences((first | mask) + 1, last, out);
    }
    if ((last & mask) != mask) {
      utf8_sequences(first, (last & ~mask) - 1, out);
      return utf8_sequences(last & ~mask, last, out);
    }
  }
  const std::uint32_t count = first < 0x800 ? 2 : first < 0x10000 ? 3 : 4;
  const auto byte = [count](std::uint32_t c, std::uint32_t i) {
    const std::uint32_t bits = c >> 6 * (count - 1 - i);
    if (i > 0) return static_cast<std::uint8_t>(0x80 | (bits & 0x3F));
    return static_cast<std::uint8_t>((count == 2 ? 0xC0u : count == 3 ? 0xE0u : 0xF0u) | bits);
  };
  ByteSequence sequence;
  for (std::uint32_t i = 0; i < count; ++i) sequence.push_back({byte(first, i), byte(last, i)});
  out.push_back(std::move(sequence));
}

}  // namespace

// Writes expressions as nodes, from the end of each rule to its beginning.
class Lowering {
 public:
  Lowering(const Rules& rules, Automaton& out) : rules_(rules), out_(out), starts_(rules.num_rules(), kNone) {}

  Result<std::vector<NodeId>> run(RuleId root) {
    end_ = add({Node::Return});
    dead_ = bytes(Automaton::ByteSet{}, end_);
    want(root);
    while (!queue_.empty()) {
      const RuleId rule = queue_.back();
      queue_.pop_back();
      const ExprId expr = rule < rules_.num_rules() ? rules_.definition(rule) : bodies_[rule - rules_.num_rules()];
      const NodeId start = lower(expr, end_);
      starts_[rule] = start;
      if (full_)
        return fail(Code::LimitExceeded, "the grammar needs more than {} states: use smaller repetitions",
                    Automaton::kMostNodes);
    }
    for (Node& node : out_.nodes_)
      if (node.kind == Node::Call) node.a = starts_[node.a];
    return starts_;
  }

 private:
  static constexpr NodeId kNone = kForever;

  NodeId add(Node node) {
    if (out_.nodes_.size() >= Automaton::kMostNodes) {
      full_ = true;
      return 0;
    }
    out_.nodes_.push_back(node);
    return static_cast<NodeId>(out_.nodes_.size() - 1);
  }

  NodeId bytes(const Automaton::ByteSet& set, NodeId next) {
    const auto [found, is_new] = set_ids_.try_emplace(set, static_cast<std::uint32_t>(out_.sets_.size()));
    if (is_new) out_.sets_.push_back(set);
    return add({Node::Bytes, found->second, next});
  }
  NodeId bytes(ByteRange range, NodeId next) {
    Automaton::ByteSet set{};
    for (unsigned b = range.first; b <= range.last; ++b) set[b >> 6] |= std::uint64_t{1} << (b & 63);
    return bytes(set, next);
  }

  void want(RuleId rule) {
    if (rule >= wanted_.size()) wanted_.resize(rule + 1, false);
    if (rule >= starts_.size()) starts_.resize(rule + 1, kNone);
    if (wanted_[rule]) return;
    wanted_[rule] = true;
    queue_.push_back(rule);
  }
  NodeId call(RuleId rule, NodeId next) {
    want(rule);
    return add({Node::Call, rule, next});
  }

  NodeId any_of(const std::vector<NodeId>& entries) {
    if (entries.empty()) return dead_;
    NodeId node = entries.back();
    for (std::size_t i = entries.size() - 1; i-- > 0;) node = add({Node::Split, entries[i], node});
    return node;
  }

  NodeId lower(ExprId id, NodeId next) {
    if (full_) return 0;
    const Expr e = rules_.at(id);
    switch (e.kind) {
      case Expr::Empty: return next;
      case Expr::Never: return dead_;
      case Expr::Text: {
        const std::string& text = rules_.text_of(e);
        for (std::size_t i = text.size(); i-- > 0 && !full_;) {
          const auto byte = static_cast<std::uint8_t>(text[i]);
          next = bytes(ByteRange{byte, byte}, next);
        }
        return next;
      }
      case Expr::Chars: return lower_chars(rules_.set_of(e), next);
      case Expr::Sequence: {
        const std::vector<ExprId>& parts = rules_.list_of(e);
        for (std::size_t i = parts.size(); i-- > 0;) next = lower(parts[i], next);
        return next;
      }
      case Expr::Choice: {
        std::vector<NodeId> entries;
        for (const ExprId part : rules_.list_of(e)) entries.push_back(lower(part, next));
        return any_of(entries);
      }
      case Expr::Repeat: return lower_repeat(e, next);
      case Expr::Rule: return call(e.index, next);
      case Expr::States: return lower_machine(rules_.machine_of(e), next);
    }
    return dead_;
  }

  NodeId lower_chars(const CharSet& set, NodeId next) {
    std::vector<ByteSequence> sequences;
    for (const CharRange r : set) utf8_sequences(r.first, r.last, sequences);
    std::map<std::string, NodeId> tails;
    return lower_sequences(sequences, 0, next, tails);
  }

  // Nodes of the sequences from byte `at` on, whose first ranges are disjoint or equal. Equal ends are one node,
  // so a set of many ranges is followed by few nodes at once.
  NodeId lower_sequences(std::span<const ByteSequence> sequences, std::size_t at, NodeId next,
                         std::map<std::string, NodeId>& tails) {
    std::string key;
    for (const ByteSequence& sequence : sequences)
      for (std::size_t i = at; i < sequence.size(); ++i)
        key += {static_cast<char>(sequence[i].first), static_cast<char>(sequence[i].last)};
    key += static_cast<char>(sequences.empty() ? 0 : sequences[0].size() - at);
    if (const auto found = tails.find(key); found != tails.end()) return found->second;
    std::vector<std::pair<NodeId, Automaton::ByteSet>> ways;
    for (std::size_t i = 0, end = 0; i < sequences.size() && !full_; i = end) {
      const ByteRange range = sequences[i][at];
      while (end < sequences.size() && sequences[end][at].first == range.first) ++end;
      const NodeId to =
          sequences[i].size() == at + 1 ? next : lower_sequences(sequences.subspan(i, end - i), at + 1, next, tails);
      auto way = std::ranges::find(ways, to, [](const auto& w) { return w.first; });
      if (way == ways.end()) way = ways.insert(ways.end(), {to, {}});
      for (unsigned b = range.first; b <= range.last; ++b) way->second[b >> 6] |= std::uint64_t{1} << (b & 63);
    }
    std::vector<NodeId> entries;
    entries.reserve(ways.size());
    for (const auto& [to, bytes_to] : ways) entries.push_back(bytes(bytes_to, to));
    return tails[key] = any_of(entries);
  }

  // One byte stands in the copies of a repetition; anything longer becomes a rule that these call.
  bool is_short(ExprId id) const {
    const Expr& e = rules_.at(id);
    if (e.kind == Expr::Text) return rules_.text_of(e).size() == 1;
    return e.kind == Expr::Rule || (e.kind == Expr::Chars && rules_.set_of(e).back().last < 0x80);
  }

  NodeId lower_repeat(const Expr& e, NodeId next) {
    const bool direct = is_short(e.index) || (e.max <= 1) || (e.max == kForever && e.min <= 1);
    RuleId rule = 0;
    if (!direct) {
      const auto [found, is_new] =
          body_rules_.try_emplace(e.index, static_cast<RuleId>(rules_.num_rules() + bodies_.size()));
      if (is_new) bodies_.push_back(e.index);
      rule = found->second;
    }
    const auto copy = [&](NodeId to) { return direct ? lower(e.index, to) : call(rule, to); };
    NodeId node = next;
    if (e.max == kForever) {
      node = add({Node::Split, dead_, next});
      const NodeId body = copy(node);
      if (!full_) out_.nodes_[node].a = body;
    } else {
      for (std::uint32_t i = e.min; i < e.max && !full_; ++i) {
        const NodeId body = copy(node);
        node = add({Node::Split, body, next});
      }
    }
    for (std::uint32_t i = 0; i < e.min && !full_; ++i) node = copy(node);
    return node;
  }

  NodeId lower_machine(const Machine& machine, NodeId next) {
    std::vector<NodeId> entries;
    entries.reserve(machine.states.size());
    for (std::size_t i = 0; i < machine.states.size(); ++i) entries.push_back(add({Node::Split, dead_, dead_}));
    for (std::size_t i = 0; i < machine.states.size() && !full_; ++i) {
      std::vector<NodeId> ways;
      for (const Machine::Edge& edge : machine.states[i].edges) ways.push_back(lower(edge.expr, entries[edge.to]));
      if (machine.states[i].accepts) ways.push_back(next);
      if (full_ || ways.empty()) continue;
      const NodeId first = ways.back();
      ways.pop_back();
      const NodeId others = ways.empty() ? first : any_of(ways);
      if (!full_) out_.nodes_[entries[i]] = {Node::Split, first, others};
    }
    return entries[0];
  }

  const Rules& rules_;
  Automaton& out_;
  std::vector<NodeId> starts_;
  std::vector<bool> wanted_;
  std::vector<RuleId> queue_;
  std::vector<ExprId> bodies_;  // rules beyond those of rules_
  std::map<ExprId, RuleId> body_rules_;
  std::map<Automaton::ByteSet, std::uint32_t> set_ids_;
  NodeId end_ = 0, dead_ = 0;
  bool full_ = false;
};

// The least solution of "a node holds where rule(node, holds) says so", which never changes back.
template <class Rule>
std::vector<bool> Automaton::fixed_point(Rule rule) const {
  std::vector<std::uint32_t> first(nodes_.size() + 1, 0), users;
  const auto for_each_use = [&](auto&& f) {
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      const Node& n = nodes_[id];
      if (n.kind == Node::Split || n.kind == Node::Call) f(n.a, id);
      if (n.kind != Node::Return) f(n.b, id);
    }
  };
  for_each_use([&](NodeId used, NodeId) { ++first[used + 1]; });
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  users.resize(first.back());
  std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
  for_each_use([&](NodeId used, NodeId user) { users[at[used]++] = user; });

  std::vector<bool> holds(nodes_.size(), false);
  std::vector<NodeId> work;
  for (NodeId id = 0; id < nodes_.size(); ++id)
    if (rule(nodes_[id], holds)) {
      holds[id] = true;
      work.push_back(id);
    }
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    for (std::uint32_t u = first[id]; u < first[id + 1]; ++u) {
      const NodeId user = users[u];
      if (holds[user] || !rule(nodes_[user], holds)) continue;
      holds[user] = true;
      work.push_back(user);
    }
  }
  return holds;
}

// A rule that can call itself before a byte is read would push frames without end.
Result<void> Automaton::check_left_recursion(const Rules& rules, const std::vector<NodeId>& starts) const {
  const std::vector<bool> can_be_empty = fixed_point([](const Node& n, const std::vector<bool>& holds) {
    if (n.kind == Node::Return) return true;
    if (n.kind == Node::Split) return holds[n.a] || holds[n.b];
    return n.kind == Node::Call && holds[n.a] && holds[n.b];
  });
  // Depth first over nodes that are reached without a byte: a way back to an open node that passes a call recurses. A
  // loop of splits alone repeats something empty and is harmless, so calls alone are the vertices.
  std::map<NodeId, std::vector<NodeId>> calls;  // start of a rule -> starts of the rules at its left edge
  for (const NodeId start : starts) {
    if (start == kForever || calls.contains(start)) continue;
    std::vector<NodeId>& found = calls[start];
    std::vector<NodeId> work{start};
    std::map<NodeId, bool> seen{{start, true}};
    const auto visit = [&](NodeId id) {
      if (live_[id] && seen.emplace(id, true).second) work.push_back(id);
    };
    while (!work.empty()) {
      const Node n = nodes_[work.back()];
      work.pop_back();
      if (n.kind == Node::Split) visit(n.a), visit(n.b);
      if (n.kind != Node::Call) continue;
      found.push_back(n.a);
      if (can_be_empty[n.a]) visit(n.b);
    }
  }
  enum Mark : std::uint8_t { New, Open, Done };
  std::map<NodeId, Mark> marks;
  for (const auto& [root, unused] : calls) {
    std::vector<std::pair<NodeId, std::size_t>> path;
    if (marks[root] == New) {
      path.emplace_back(root, 0);
      marks[root] = Open;
    }
    while (!path.empty()) {
      auto& [at, next] = path.back();
      const std::vector<NodeId>& out = calls[at];
      if (next == out.size()) {
        marks[at] = Done;
        path.pop_back();
        continue;
      }
      const NodeId to = out[next++];
      if (marks[to] == Open) {
        std::string name = "a repetition";
        for (RuleId r = 0; r < rules.num_rules(); ++r)
          if (starts[r] == to) name = rules.name(r);
        return fail(Code::InvalidArgument,
                    "{} begins with itself (left recursion), expected a rule that reads a "
                    "character first",
                    name);
      }
      if (marks[to] == New) {
        marks[to] = Open;
        path.emplace_back(to, 0);
      }
    }
  }
  return {};
}

void Automaton::find_classes() {
  num_classes_ = 1;
  for (const ByteSet& set : sets_) {
    std::map<std::pair<std::uint8_t, bool>, std::uint8_t> ids;
    std::array<std::uint8_t, 256> refined{};
    for (std::size_t b = 0; b < 256; ++b) {
      const bool in = (set[b >> 6] >> (b & 63) & 1u) != 0;
      refined[b] = ids.try_emplace({classes_[b], in}, static_cast<std::uint8_t>(ids.size())).first->second;
    }
    classes_ = refined;
    num_classes_ = ids.size();
    if (num_classes_ == 256) break;
  }
  for (ByteSet& set : sets_) {
    ByteSet of_classes{};
    for (std::size_t b = 0; b < 256; ++b)
      if ((set[b >> 6] >> (b & 63) & 1u) != 0) of_classes[classes_[b] >> 6] |= std::uint64_t{1} << (classes_[b] & 63);
    set = of_classes;
  }
}

Result<Automaton> Automaton::create(const Rules& rules, RuleId root) {
  if (rules.is_full())
    return fail(Code::LimitExceeded, "the grammar has more than {} parts: make it smaller", Rules::kMostExprs);
  Automaton out;
  Lowering lowering(rules, out);
  LOOM_TRY(const std::vector<NodeId> starts, lowering.run(root));
  out.start_ = starts[root];
  out.live_ = out.fixed_point([&out](const Node& n, const std::vector<bool>& holds) {
    switch (n.kind) {
      case Node::Return: return true;
      case Node::Split: return holds[n.a] || holds[n.b];
      case Node::Call: return holds[n.a] && holds[n.b];
      case Node::Bytes: return out.sets_[n.a] != ByteSet{} && holds[n.b];
    }
    return false;
  });
  if (!out.live_[out.start_]) return fail(Code::InvalidArgument, "no text satisfies it: its parts exclude one another");
  LOOM_TRY_VOID(out.check_left_recursion(rules, starts));
  out.find_classes();
  return out;
}

}  // namespace loom::grammar
