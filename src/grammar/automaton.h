#pragma once
// A pushdown automaton over bytes: nodes of all rules in one array. Immutable, so any number of threads may run it.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "grammar/rules.h"

namespace loom::grammar {

using NodeId = std::uint32_t;

struct Node {
  enum Kind : std::uint8_t {
    Bytes,   // a byte of set a, then b
    Split,   // a or b
    Call,    // rule that begins at a, then b
    Return,  // the rule ends
  };
  Kind kind = Return;
  NodeId a = 0, b = 0;
};

class Automaton {
 public:
  static constexpr std::size_t kMostNodes = std::size_t{1} << 18;

  // InvalidArgument for a rule that begins with itself and for rules that no finite text satisfies; LimitExceeded
  // beyond kMostNodes.
  static Result<Automaton> create(const Rules& rules, RuleId root);

  NodeId start() const { return start_; }
  const Node& at(NodeId id) const { return nodes_[id]; }
  std::size_t num_nodes() const { return nodes_.size(); }
  // Whether a finite text leads from the node to the end of its rule. Others are never entered.
  bool is_live(NodeId id) const { return live_[id]; }
  // Bytes that are in the same sets are one class.
  std::size_t num_classes() const { return num_classes_; }
  std::uint8_t class_of(std::uint8_t byte) const { return classes_[byte]; }
  using ByteSet = std::array<std::uint64_t, 4>;
  // Whether a node of kind Bytes takes a byte of one of these classes.
  bool takes_any(const Node& node, const ByteSet& of_classes) const {
    bool any = false;
    for (std::size_t i = 0; i < of_classes.size(); ++i) any = any || (sets_[node.a][i] & of_classes[i]) != 0;
    return any;
  }
  // Whether a node of kind Bytes takes a byte of this class.
  bool takes(const Node& node, std::uint8_t byte_class) const {
    return (sets_[node.a][byte_class >> 6] >> (byte_class & 63) & 1u) != 0;
  }

 private:
  friend class Lowering;
  Automaton() = default;
  void find_classes();
  template <class Rule>
  std::vector<bool> fixed_point(Rule rule) const;
  Result<void> check_left_recursion(const Rules& rules, const std::vector<NodeId>& starts) const;

  std::vector<Node> nodes_;
  std::vector<bool> live_;
  std::vector<ByteSet> sets_;  // of classes, once these are found
  std::array<std::uint8_t, 256> classes_{};
  std::size_t num_classes_ = 0;
  NodeId start_ = 0;
};

}  // namespace loom::grammar
