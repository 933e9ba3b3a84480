#pragma once
// Forms of answers that were asked for lately, so that masks that one answer has found serve the next ones.

#include <cstddef>
#include <memory>
#include <vector>

#include "grammar/grammar.h"

namespace loom::server {

class KnownForms {
 public:
  static constexpr std::size_t kMost = 4;  // a form keeps some 8 MiB of masks for each answer that ran at once

  // The form that was compiled from the same source before, else `made`.
  std::shared_ptr<const Grammar> find(std::shared_ptr<const Grammar> made);
  // The form that was compiled from the source; null: none.
  std::shared_ptr<const Grammar> of(const Grammar::Source& source);

 private:
  std::vector<std::shared_ptr<const Grammar>> forms_;  // by their last use
};

}  // namespace loom::server
