#pragma once
// Configs and vocabularies as the JSON of an .entity: one list of keys each, for writing and for reading.

#include <string>

#include "core/error.h"
#include "core/json_fwd.h"
#include "text/tokenizer/tokenizer.h"

namespace loom {

Json vocab_to_entity(const text::VocabSpec& vocab);
// Reads the text of a section. CorruptData, UnknownKey with the key.
Result<text::VocabSpec> vocab_from_entity(std::string json);

}  // namespace loom
