#pragma once
// Forms of gather.h on graphics cards: each records the kernels of the function of its name.

#include "ops/gather/gather.h"

namespace loom::gpu {

void gather_rows(const Exec& exec, const Matrix& table, std::span<const std::int32_t> ids, double scale, Tensor y);
void take_rows(const Exec& exec, ConstTensor table, std::span<const std::int32_t> ids, Tensor y);
void decode_matrix(const Exec& exec, const Matrix& matrix, Tensor y);
void ids_from_values(const Exec& exec, ConstTensor x, std::size_t table_rows, OutOfTable out,
                     std::span<std::int32_t> ids);
void scatter_add_rows(const Exec& exec, std::span<const std::int32_t> ids, double scale, ConstTensor dy, void* dtable);
bool are_on_device(const Exec& exec, std::span<const std::int32_t> ids);

}  // namespace loom::gpu
