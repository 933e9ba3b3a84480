#pragma once
// A text as ids for next-token training: windows of `length` ids, and as targets the ids one place on.

#include "data/dataset.h"

namespace loom {

enum class TextUnit { bytes, characters };

struct TextWindowOptions {
  TextUnit unit = TextUnit::bytes;           // bytes: id = byte, 256 classes
  std::size_t length = 64;                   // ids of a sample
  std::size_t stride = 0;                    // from one window to the next; 0: `length`
  std::vector<std::string> vocabulary = {};  // characters, by id; empty: those of the text by code point
};

// Inputs [length] hold ids as f32, targets [length] as classes; class_names is the vocabulary of characters.
// InvalidConfig for a length of 0 or an entry that is no single character or stands twice; CorruptData with the offset
// for bytes that are no UTF-8; UnknownName with line and column for a character outside the vocabulary; ShapeMismatch
// for a text shorter than length + 1.
Result<std::unique_ptr<Dataset>> open_text(const std::string& path, const TextWindowOptions& options = {});

}  // namespace loom
