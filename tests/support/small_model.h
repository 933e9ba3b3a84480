#pragma once
// SmolLM2's tokenizer, chat template and first block as a GGUF file of its own: every path of a published model in
// milliseconds.

#include "files.h"
#include "io/gguf/gguf.h"
#include "io/gguf/gguf_writer.h"

namespace loom::test {

// without_template: a base model, which continues text.
inline Result<void> write_small_model(const std::string& path, bool without_template = false) {
  LOOM_TRY(const GgufFile file, GgufFile::open(smollm2()));
  GgufWriter writer;
  for (const GgufValue& value : file.metadata())
    if (!without_template || value.key != "tokenizer.chat_template") writer.copy(value);
  writer.set("llama.block_count", std::uint32_t{1});
  for (const GgufTensor& t : file.tensors())
    if (t.name.substr(0, 4) != "blk." || t.name.substr(0, 6) == "blk.0.") {
      LOOM_TRY_VOID(writer.add_tensor(t.name, t.dtype, t.shape(), t.bytes));
    }
  return writer.write(path);
}

}  // namespace loom::test
