#pragma once
// A folder with one subfolder per class, each full of PNG and JPEG files (.png .jpg .jpeg in any case; others are
// passed over). Classes and files come in the order of their bytes. Samples are [channels, height, width], 0 to 255;
// all images have one size.

#include "data/dataset.h"

namespace loom {

struct ImageFolderOptions {
  std::size_t channels = 0;                   // 1 or 3; 0: as the first image has
  std::vector<std::string> class_names = {};  // given: ids in this order, other subfolders are errors
};

// NotFound, IoError; InvalidConfig for other channels; UnknownName for a subfolder with images that is no given class;
// ShapeMismatch without classes or images. The SHA-256 covers, per image in order: its path below the folder, a zero
// byte, its bytes. Opening decodes only the first image; reading names the file that is bad or has another size.
Result<std::unique_ptr<Dataset>> open_image_folder(const std::string& folder, const ImageFolderOptions& options = {});

}  // namespace loom
