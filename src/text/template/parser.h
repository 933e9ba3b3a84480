#pragma once
// Tokens to nodes (parse), then variables to slots (resolve_names).

#include <string>

#include "core/error.h"
#include "text/template/ast.h"

namespace loom::jinja {

Result<ProgramData> parse_template(std::string source);

// Gives every variable a slot in a frame, by the scope rules of jinja2's compiler (a name that a scope assigns anywhere
// belongs to it from its start), and checks that filters and tests exist where jinja2 checks it.
Result<void> resolve_names(ProgramData& program);

}  // namespace loom::jinja
