#pragma once
// Rows of a table by number: y[r] = table[ids[r]] * scale, exact decoded rows, snapped after the scale; and what that adds to the gradient
// of the table: dtable[ids[r]] += dy[r] * scale, row after row in ascending order, snapped after every step.

#include <cstdint>
#include <span>

#include "backend/exec.h"
#include "dtypes/matrix.h"

namespace loom {

// What stands for an id whose row is zero (and gets no gradient).
inline constexpr std::int32_t kNoRow = -1;
enum class OutOfTable : std::uint8_t { Error, Zero };

// IndexOutOfRange in exec.status, and no row written, when an id is outside [0, table.rows()); kNoRow is 0 throughout with Zero.
void gather_rows(const Exec& exec, const Matrix& table, std::span<const std::int32_t> ids, double scale, Tensor y,
                 OutOfTable out = OutOfTable::Error);

// The same of a table in the arena or of plain values, y[r] = table[ids[r]], 0 for kNoRow; every id is a row.
void take_rows(const Exec& exec, ConstTensor table, std::span<const std::int32_t> ids, Tensor y);

// The whole matrix as y: its exact decoded values.
void decode_matrix(const Exec& exec, const Matrix& matrix, Tensor y);

// Integral values of x as ids, kNoRow (with Zero) or IndexOutOfRange in exec.status for those that are no row of the table.
void ids_from_values(const Exec& exec, ConstTensor x, std::size_t table_rows, OutOfTable out, std::span<std::int32_t> ids);

// dtable [any, dy.cols] of dy's element type.
void scatter_add_rows(const Exec& exec, std::span<const std::int32_t> ids, double scale, ConstTensor dy, std::size_t table_rows, void* dtable);

}  // namespace loom
