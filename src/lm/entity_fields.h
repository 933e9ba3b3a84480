#pragma once
// Configs and vocabularies as the JSON of an .entity: one list of keys each, for writing and for reading.

#include "core/error.h"
#include "core/json_fwd.h"
#include "text/tokenizer/tokenizer.h"

namespace loom {

Json vocab_to_entity(const text::VocabSpec& vocab);
// CorruptData, UnknownKey with the key.
Result<text::VocabSpec> vocab_from_entity(const Json& json);

}  // namespace loom
