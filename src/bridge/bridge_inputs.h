#pragma once
// Samples for a streamed network: from the request, or from a fixture file as numpy writes it.

#include <string>
#include <vector>

#include "bridge/payload_network.h"

namespace loom {

struct BridgeSamples {
  std::size_t count = 0;
  std::vector<double> rows;      // [count, sample], finite in the network's elements
  std::vector<double> external;  // of the second tensor, likewise; empty: there is none
};

// Rows of numbers in a JSON list, nested or flat, each of `width` numbers.
struct JsonRows {
  std::size_t count = 0, width = 0;
  std::vector<double> values;
};
// ShapeMismatch for rows of different lengths, InvalidConfig for what is no number. `place` names the list.
Result<JsonRows> rows_from_json(const Json& list, const Steps& place);

// Whether the request brings its own samples.
bool has_inputs(const Json& request);
// `inputs`, and what else the network asks for. ShapeMismatch with both lengths; NonFinite.
Result<BridgeSamples> samples_of_request(const BridgeNetwork& network, const Json& request);
// Samples of folder/<version>.npz or `folder/<bedrock>/<version>.npz`: the first ones of every axis, as many as the
// network has. NotFound names both places; InvalidArgument for a version that is no plain file name.
Result<BridgeSamples> samples_of_fixture(const BridgeNetwork& network, const std::string& folder,
                                         const std::string& version);

// An id from outside as a part of a file's name: letters, digits, '.', '-', '_' and '+', blanks as '_', at most 128 of
// them, the first one no '.'. InvalidArgument with `what` for everything else, paths above all.
Result<std::string> safe_file_name(std::string_view id, std::string_view what);

}  // namespace loom
