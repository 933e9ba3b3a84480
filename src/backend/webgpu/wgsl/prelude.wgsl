// Arithmetic of floats, with the bits of the CPU kernels.
