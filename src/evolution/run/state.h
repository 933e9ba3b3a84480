#pragma once
// state.json of a run's folder: a population between two generations, what it belongs to, and the lineage that it
// counts on. Its last member is the SHA-256 of all text before it, so that nothing in it is believed that the run did
// not write.

#include <string>

#include "core/journal.h"
#include "core/json.h"

namespace loom {

struct EvolutionState {
  // the config but for what may change, and hashes of the files it names: of a run that goes on, the same
  Json identity;
  JournalMark lineage;  // lineage.jsonl begins with these bytes
  std::string hash;     // of all generations
  Json islands;         // Islands::state()
};

std::string evolution_state_text(const EvolutionState& state);
// CorruptData, also where the text is not what was written.
Result<EvolutionState> parse_evolution_state(std::string_view text);

}  // namespace loom
