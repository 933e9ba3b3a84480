#pragma once
// Prompts that are read once: the tokens, keys and values of a sequence in section "kvcache" of an .entity, in a file
// of their own or beside the model. A session that goes on from there has the bits of one that reads the prompt.

#include <string>

#include "lm/session.h"

namespace loom {

// Writes the sequence (Session::snapshot). The .entity of a language model keeps all its other sections, any other file
// is overwritten. Atomic. Returns the file's root hash; errors of EntityReader and EntityWriter. Unsupported for a
// session that is not exact (Precision::Fast): a session that goes on from the file would not show it.
Result<Digest> save_kv(Session& session, const std::string& path, std::size_t sequence = 0);
// NotFound for a file without such a section; errors of EntityReader and Session::restore(), after which the sequence
// is as it was.
Result<void> load_kv(Session& session, const std::string& path, std::size_t sequence = 0);
// Drops of a sequence what is not the beginning of a prompt, and the prompt's last token, which has to be fed for its
// logits. Returns how many tokens stay. OutOfRange.
Result<std::size_t> keep_common(Session& session, std::span<const std::int32_t> prompt, std::size_t sequence = 0);

}  // namespace loom
