#pragma once
// examples/c/own_kind.c as a part of a test, which uses its layer kind.

#include <loom/loom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace own_kind_example {
// In C, what a list of initial values leaves out is zero, as the header asks for.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define main whole_program
#include "../../examples/c/own_kind.c"
#undef main
#pragma GCC diagnostic pop
}  // namespace own_kind_example
