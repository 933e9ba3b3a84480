// Any bytes as an .entity with a language model, their hashes made right: contents whose config, tensors and vocabulary
// can be built from, or an Error. A config that was read is written and read again unchanged.

#include <cstdint>

#include "core/json.h"
#include "io/entity/entity_reseal.h"
#include "lm/model_entity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> sealed(bytes, bytes + size);
  reseal(sealed);
  const auto file = EntityReader::parse(sealed);
  if (!file) return 0;
  const auto model = parse_model_entity(*file);
  if (!model) return 0;
  const Json config = config_to_entity(model->source.config);
  const auto again = config_from_entity(config);
  LOOM_ASSERT(again && config_to_entity(*again) == config);
  for (const SourceTensor& t : model->source.tensors) (void)source_matrix(t);
  if (model->vocab) (void)text::Tokenizer::from_vocab(*model->vocab);
  return 0;
}
