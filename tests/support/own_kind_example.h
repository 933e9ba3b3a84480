#pragma once
// examples/c/own_kind.c as a part of a test, which uses its layer kind.

#include <loom/loom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace own_kind_example {
#define main whole_program
#include "../../examples/c/own_kind.c"
#undef main
}  // namespace own_kind_example
