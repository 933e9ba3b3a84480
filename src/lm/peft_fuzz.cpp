// Any bytes as a section "adapter" of an .entity, and as the two files of an adapter's folder, adapter_config.json
// after its length in the first two bytes, then adapter_model.safetensors: pairs of matrices of one rank that can be
// added to weights, or an Error. A section is written again as it was read.

#include <unistd.h>

#include "core/file.h"
#include "core/folder.h"
#include "lm/peft.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  if (size < 2) return 0;
  static const std::string folder = fmt::format("/tmp/loom_peft_fuzz_{}", ::getpid());
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  const std::size_t config_bytes = std::min<std::size_t>(data[0] + 256u * data[1], bytes.size());
  LOOM_ASSERT(create_folders(folder).has_value());
  const std::string config = folder + "/adapter_config.json", tensors = folder + "/adapter_model.safetensors";
  LOOM_ASSERT(write_file_atomically(config, bytes.first(config_bytes)).has_value());
  LOOM_ASSERT(write_file_atomically(tensors, bytes.subspan(config_bytes)).has_value());
  ModelConfig model;
  model.architecture = "llama";
  model.hidden_size = 8, model.intermediate_size = 8, model.num_hidden_layers = 2;
  model.num_attention_heads = 2, model.num_key_value_heads = 2, model.head_dim = 4;
  if (const auto section = PeftDelta::parse(bytes, model)) {
    const auto written = section->to_bytes();
    LOOM_ASSERT(written && PeftDelta::parse(*written, model)->to_bytes() == *written);
  }
  if (const auto delta = PeftDelta::read(folder, model)) {
    for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer)
      for (const TensorRole role : {TensorRole::Q, TensorRole::Down}) {
        const PeftDelta::Pair* const pair = delta->find({role, layer});
        if (pair == nullptr || pair->rows > 64 || pair->cols > 64) continue;
        std::vector<float> w(pair->rows * pair->cols);
        LOOM_ASSERT(delta->add_to({role, layer}, pair->rows, pair->cols, w).has_value());
        LOOM_ASSERT(!delta->add_to({role, layer}, pair->rows + 1, pair->cols, w).has_value());
      }
  }
  ::unlink(config.c_str()), ::unlink(tensors.c_str()), ::rmdir(folder.c_str());
  return 0;
}
