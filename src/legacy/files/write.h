#pragma once
// .entity of version 1 as Loom 0.8x reads it (engine F-20 to F-24).

#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "legacy/files/loom08.h"

namespace loom::loom08 {

struct WriteOptions {
  bool allow_loss = false;  // write a file also where the report is not empty
};

struct WrittenEntity {
  std::vector<std::byte> bytes;
  // One line for each loss: settings and biases that 0.8x ignores, weights whose values
  // differ, and by how much at most. Empty: Loom reads the same values from the file. Layers whose weights have no
  // single scale are written as floats, with which 0.8x computes; where Loom would make other codes of them, the file
  // holds these too (header key "ext").
  std::vector<std::string> losses;
};

// Equal networks give equal bytes. Unsupported with the place for kinds and settings that 0.8x does not have; LossySave
// with the report unless it is allowed.
Result<WrittenEntity> write_entity(const Network& network, const WriteOptions& options = {});

// network_to_json() with the keys of 0.8x; settings that it ignores without harm to other inputs go to `losses`.
// Unsupported with the place.
Result<Json> keys_of_network(const Json& network, std::vector<std::string>& losses);

}  // namespace loom::loom08
