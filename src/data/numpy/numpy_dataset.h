#pragma once
// Data sets in NumPy's files: two .npy files, or two arrays of one .npz.

#include "data/array_dataset.h"

namespace loom {

// Elements stay in the mapped files (an array in Fortran order is copied). Errors of parse_npy() and dataset_of(), with
// the file.
Result<std::unique_ptr<Dataset>> open_npy(const std::string& inputs, const std::string& targets,
                                          const ArrayOptions& options = {});

// UnknownName for an array that the archive lacks; errors of parse_npz() and dataset_of(), with the file.
Result<std::unique_ptr<Dataset>> open_npz(const std::string& path, const std::string& inputs,
                                          const std::string& targets, const ArrayOptions& options = {});

}  // namespace loom
