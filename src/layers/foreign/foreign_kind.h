#pragma once
// Layer kinds that a host program registers (docs/internals/adding.md, "A layer kind of your own"). A custom kind is a
// description, and callbacks that declare weights and call ops on references to tensors (foreign_pass.h). All networks
// of the process share one list. Built-in kinds come first, so their names keep their meaning.

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"
#include "layers/fields.h"
#include "layers/kind.h"

namespace loom {

class ForeignPass;

// The value of a setting: the member of its type counts.
struct ForeignValue {
  std::size_t whole = 0;  // of a choice: its index
  double number = 0;
  bool flag = false;
  Activation activation = Activation::Linear;
  bool operator==(const ForeignValue&) const = default;
};

struct ForeignSetting {
  enum class Type : std::uint8_t { Integer, Number, Boolean, Choice, Activation } type = Type::Integer;
  std::string key, help;
  SizeRange sizes;      // of an integer
  NumberRange numbers;  // of a number
  std::vector<std::string> choices;
  ForeignValue standard;  // outside the range: the key is required
};

struct ForeignDescription {
  std::string name, help, shapes, width_key;
  std::size_t sample_axes = 0;  // Layer::sample_rank()
  std::vector<ForeignSetting> settings;

  // {"name", "help", "shapes", "width_key", "sample_axes", "settings": [{"key", "type", "default", "min", "max",
  // "choices", "help"}]}. InvalidConfig, UnknownKey, UnknownName with the place inside of the text.
  static Result<ForeignDescription> read(const Json& description);
};

// Functions of the host program. Several threads may call each of them at the same time.
struct ForeignCallbacks {
  using Callback = std::function<Result<void>(ForeignPass& pass)>;
  Callback declare;  // may be empty: no weights
  Callback forward;
  Callback backward;  // may be empty: a kind that only infers
};

struct ForeignKind : LayerKind {
  ForeignKind(ForeignDescription given, ForeignCallbacks calls);
  ForeignKind(const ForeignKind&) = delete;

  const ForeignDescription description;
  const ForeignCallbacks callbacks;
  std::vector<std::vector<std::string_view>> choices;  // by setting
  mutable std::atomic<bool> registered{true};
  mutable std::atomic<std::size_t> layers{0};  // that live; begun by count_layer()
};

// Registers a kind. InvalidArgument for a name or key that does not match [a-z][a-z0-9_]* or that exists already,
// built-in kinds included.
Result<void> add_foreign_kind(ForeignDescription description, ForeignCallbacks callbacks);
// Removes a kind; none of its callbacks is called after that. UnknownName; InvalidState while a layer of the kind
// exists.
Result<void> remove_foreign_kind(std::string_view name);
// Counts a new layer of the kind; false: the kind was removed.
bool count_layer(const ForeignKind& kind);
// Returns the registered kind of that name, ignoring case, '_' and '-'; null: none.
const LayerKind* find_foreign_kind(std::string_view name);
// Returns the kinds that are registered now. A row keeps its address until the process ends.
std::vector<const LayerKind*> foreign_kinds();

}  // namespace loom
