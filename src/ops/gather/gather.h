#pragma once
// y[r] = table[ids[r]] * scale: exact decoded rows, snapped after the scale.

#include <cstdint>
#include <span>

#include "backend/exec.h"
#include "dtypes/matrix.h"

namespace loom {

// IndexOutOfRange in exec.status, and no row written, when an id is outside [0, table.rows()).
void gather_rows(const Exec& exec, const Matrix& table, std::span<const std::int32_t> ids, float scale, Tensor y);

}  // namespace loom
