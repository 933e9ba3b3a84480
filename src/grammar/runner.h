#pragma once
// Runs an automaton: sets of (node, stack) become numbered states, whose followers are found once and kept. Stacks
// share their frames. Internal to grammar/.

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "grammar/automaton.h"

namespace loom::grammar {

using StateId = std::int32_t;

class Runner {
 public:
  static constexpr StateId kDead = -1;  // no text goes on
  // Bounds on what one grammar may ask for; beyond them is LimitExceeded.
  static constexpr std::size_t kMostItems = std::size_t{1} << 13;  // visited for one state
  static constexpr std::size_t kMostStates = std::size_t{1} << 15;
  static constexpr std::size_t kMostTotal = std::size_t{1} << 21;  // items and frames that are kept
  static constexpr std::size_t kMostWork = std::size_t{1} << 24;   // visited between two begin_work()
  // Frames of a stack; deeper ways are left out, as if the grammar had none.
  static constexpr std::uint32_t kMostDepth = 1000;

  explicit Runner(const Automaton& automaton);

  Result<StateId> start();
  // The state after a byte. `state` is not kDead.
  Result<StateId> next(StateId state, std::uint8_t byte) {
    const std::uint8_t c = automaton_->class_of(byte);
    const StateId known = next_[slot(state, c)];
    return known != kUnknown ? Result<StateId>(known) : find_next(state, c);
  }
  // Like next() for loops: kUnknown where next() has not been asked yet.
  StateId known_next(StateId state, std::uint8_t byte_class) const { return next_[slot(state, byte_class)]; }
  static constexpr StateId kUnknown = -2;
  // The state that each text character (TokenTrie::Characters) leads to, whichever it is. kUnknown where they lead to
  // several ones. With exceptions: the state that all lead to but some plain bytes, which next() answers.
  struct TextStep {
    StateId to = kUnknown;
    bool has_exceptions = false;
  };
  TextStep text_step(StateId state) {
    const State& known = states_[static_cast<std::size_t>(state)];
    return known.is_text_known ? known.text : find_text_step(state);
  }
  // How many plain bytes (TokenTrie::is_plain) may follow, whichever they are, or fewer; kEndless where any number may.
  std::uint8_t plain_run(StateId state) {
    const std::int16_t known = states_[static_cast<std::size_t>(state)].plain_run;
    return known >= 0 ? static_cast<std::uint8_t>(known) : find_plain_run(state);
  }
  static constexpr std::uint8_t kEndless = 255;
  static constexpr std::size_t kMostPlain = 64;  // bytes that are looked ahead
  // Whether the text so far is a whole one.
  bool accepts(StateId state) const { return states_[static_cast<std::size_t>(state)].accepts; }
  // Whether a byte can follow.
  bool goes_on(StateId state) const { return !states_[static_cast<std::size_t>(state)].items.empty(); }
  std::size_t num_states() const { return states_.size(); }
  std::size_t total() const { return total_; }
  // A quarter of its bounds: a walk over the vocabulary begins with room for what it may add.
  bool is_nearly_full() const { return num_states() > kMostStates / 4 || total() > kMostTotal / 4; }
  // Bounds the work of what follows, up to the next call.
  void begin_work() { spent_ = 0; }
  // Forgets all states but one, whose new number it returns.
  StateId clear(StateId keep);

 private:
  using FrameId = std::uint32_t;  // 0: the empty stack
  struct Item {
    NodeId node;
    FrameId stack;
    auto operator<=>(const Item&) const = default;
  };
  struct Frame {
    NodeId node;  // where the caller goes on
    FrameId below;
    std::uint32_t depth;
    bool operator==(const Frame&) const = default;
  };
  struct FrameHash {
    std::size_t operator()(const Frame& f) const {
      return static_cast<std::size_t>((std::uint64_t{f.node} << 32 | f.below) * 0x9E3779B97F4A7C15u >> 16);
    }
  };
  struct State {
    std::vector<Item> items;  // of nodes that read a byte, sorted
    bool accepts = false;
    bool is_text_known = false;
    std::int16_t plain_run = -1;  // -1: not known
    TextStep text{};
  };

  std::size_t slot(StateId state, std::uint8_t byte_class) const {
    return static_cast<std::size_t>(state) * automaton_->num_classes() + byte_class;
  }
  std::uint8_t find_plain_run(StateId state);
  TextStep find_text_step(StateId state);
  TextStep follow_text(StateId state);
  // Whether each text character leads from these nodes to the end of their rule, and nowhere else.
  bool is_one_character(const std::vector<NodeId>& nodes);
  bool find_one_character(const std::vector<NodeId>& nodes) const;
  Result<StateId> find_next(StateId state, std::uint8_t byte_class);
  // Follows what reads no byte from `work_`, and returns the state of what is reached.
  Result<StateId> close();
  void forget_seen();
  bool add_seen(std::uint64_t key);  // false where it is in the table
  bool visit(NodeId node, FrameId stack);
  FrameId push(NodeId node, FrameId below);
  StateId intern(State state);

  const Automaton* automaton_;
  std::vector<std::uint8_t> plain_;  // a byte of each class that plain bytes are in
  Automaton::ByteSet text_begin_{};  // classes of plain bytes and of first bytes of characters outside of ASCII
  std::map<std::vector<NodeId>, bool> one_character_;  // what is_one_character() found
  std::vector<State> states_;
  std::vector<StateId> next_;  // by state and class
  std::unordered_multimap<std::uint64_t, StateId> ids_;
  std::vector<Frame> frames_{Frame{0, 0, 0}};
  std::unordered_map<Frame, FrameId, FrameHash> frame_ids_;
  std::vector<Item> work_, seen_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>>
      seen_many_;  // open addressing: keys, and the round that they are of
  std::uint32_t round_ = 0;
  std::size_t num_seen_ = 0;
  std::size_t total_ = 0, spent_ = 0;
};

}  // namespace loom::grammar
