#pragma once
// The trial of a device when it is opened: the arithmetic of the prelude, function by function, on numbers that show
// every error that compilers and hardware are known for.

#include "backend/webgpu/gpu_device.h"

namespace loom::gpu {

// Unsupported, with the first function whose bits are not those of this computer.
Result<void> prove_arithmetic(GpuDevice& device);

// InvalidArgument where a form of dots does not compile or gives wrong sums.
Result<void> check_dots(GpuDevice& device, Dots dots);

// Returns whether the units of a card whose library offers them (AdapterInfo::has_matrix_units) multiply and add bytes
// as rows_units.wgsl asks them to: libraries differ in how they count words of bytes.
Result<bool> are_units_right(GpuDevice& device);

// Returns the form of dots that takes the least time in a loop like that of products, among those that give the right
// sums; the first of these where times show nothing (has_times()), Packed where none is right. Takes less than 20 ms
// and the compilation of three small shaders.
Result<Dots> find_fastest_dots(GpuDevice& device);
// A page waits for reads as long as its browser likes: times are those of native libraries, whose files are known.
bool has_times(const AdapterInfo& adapter);

}  // namespace loom::gpu
