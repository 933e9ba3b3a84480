#pragma once
// The members of a tokenizer.json that are read, and those without effect.

#include <span>
#include <string_view>

#include "core/error.h"
#include "core/json_fwd.h"

namespace loom::text {

struct ComponentMembers {
  // Top-level key that the component stands under; empty: the file itself.
  std::string_view part;
  std::string_view type;                        // empty: an object without a type
  std::span<const std::string_view> read;       // change ids or texts
  std::span<const std::string_view> no_effect;  // move offsets, or concern calls that Loom does not make
};
std::span<const ComponentMembers> component_members();

// UnknownKey for a member that no table names. Types that are not known are left to whoever reads them.
Result<void> check_members(const Json& tokenizer);

}  // namespace loom::text
