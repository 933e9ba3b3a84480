#pragma once
// Forms of scan.h on graphics cards: each records the kernels of the function of its name.

#include "ops/scan/scan.h"

namespace loom::gpu {

void scan_rates(const Exec& exec, const void* a_log, const ScanShape& shape, void* a);
void selective_scan(const Exec& exec, const Scan& scan, Tensor h, Tensor before, Tensor y);
void selective_scan_backward(const Exec& exec, const Scan& scan, ConstTensor before, ConstTensor dy,
                             const ScanGradients& to);
void selective_scan_gap(const Exec& exec, const Scan& scan, ConstTensor e, Tensor d, Tensor reads, Tensor dskip);

}  // namespace loom::gpu
