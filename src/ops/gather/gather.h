#pragma once
// Takes rows of a table by number: y[r] = table[ids[r]] * scale, exact decoded rows, snapped after the scale. The
// gradient of the table: dtable[ids[r]] += dy[r] * scale, row after row in ascending order, snapped after every step.

#include <cstdint>
#include <span>

#include "backend/exec.h"
#include "dtypes/matrix.h"

namespace loom {

// This id stands for a row of zeros, which gets no gradient.
inline constexpr std::int32_t kNoRow = -1;
enum class OutOfTable : std::uint8_t { Error, Zero };

// Ids are on the host, or on the device that the pass runs on (ids_from_values).

// IndexOutOfRange in exec.status, and no row written, when an id is outside [0, table.rows()); kNoRow is 0 throughout
// with Zero.
void gather_rows(const Exec& exec, const Matrix& table, std::span<const std::int32_t> ids, double scale, Tensor y,
                 OutOfTable out = OutOfTable::Error);

// Like gather(), for a table in the arena or of plain values: y[r] = table[ids[r]], 0 for kNoRow; every id is a row.
void take_rows(const Exec& exec, ConstTensor table, std::span<const std::int32_t> ids, Tensor y);

// Writes the exact decoded values of the whole matrix into y.
void decode_matrix(const Exec& exec, const Matrix& matrix, Tensor y);

// Reads integral values of x as ids: kNoRow (with Zero) or IndexOutOfRange in exec.status for those that are no row of
// the table.
void ids_from_values(const Exec& exec, ConstTensor x, std::size_t table_rows, OutOfTable out,
                     std::span<std::int32_t> ids);

// The error of a value that is no id.
Error no_id(double value, std::size_t row, std::size_t table_rows);

// dtable [any, dy.cols] of dy's element type.
void scatter_add_rows(const Exec& exec, std::span<const std::int32_t> ids, double scale, ConstTensor dy,
                      std::size_t table_rows, void* dtable);

template <class T>
struct GatherKernels {
  // ids of n values, kNoRow for those that are no row of the table; the first of these, n if there is none.
  std::size_t (*ids)(const T* x, std::size_t n, std::size_t table_rows, std::int32_t* ids);
};

}  // namespace loom
