#include "server/known_forms.h"

#include <algorithm>
#include <utility>

namespace loom::server {

std::shared_ptr<const Grammar> KnownForms::of(const Grammar::Source& source) {
  const auto same = [&](const auto& form) { return form->source() == source; };
  const auto found = std::ranges::find_if(forms_, same);
  if (found == forms_.end()) return nullptr;
  std::rotate(found, found + 1, forms_.end());
  return forms_.back();
}

std::shared_ptr<const Grammar> KnownForms::find(std::shared_ptr<const Grammar> made) {
  if (!made) return made;
  if (auto known = of(made->source())) return known;
  forms_.push_back(std::move(made));
  if (forms_.size() > kMost) forms_.erase(forms_.begin());
  return forms_.back();
}

}  // namespace loom::server
