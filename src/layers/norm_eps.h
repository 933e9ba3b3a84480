#pragma once
// Allowed range of eps in norms, as in configurations of language models; below 0 the root may be undefined, and a
// great eps leaves zeros.

#include "core/error.h"

namespace loom {

inline Result<void> check_eps(std::string_view kind, std::string_view key, double eps) {
  if (eps >= 0 && eps <= 1) return {};
  return fail(Code::InvalidConfig, "{}: {} {}, 0 to 1 expected", kind, key, eps);
}

}  // namespace loom
