#include "host/dna.h"

#include "core/json.h"
#include "host/dna_recorder.h"

namespace loom {

Json to_json(const Dna& dna) {
  Json out = Json::array();
  for (const Signature& s : dna.signatures)
    out.push_back(
        Json{{"key", s.key()}, {"path", s.path}, {"type", s.type}, {"dtype", name(s.dtype)}, {"weights", s.weights}});
  return out;
}

Json to_json(const DnaComparison& c) {
  Json layers = Json::array(), shifts = Json::array();
  for (const auto& layer : c.layers) layers.push_back(Json{{"layer", layer.key}, {"overlap", layer.overlap}});
  for (const LogicShift& s : c.shifts) shifts.push_back(shift_json(s));
  return Json{{"overall_overlap", c.overall},
              {"structural_overlap", c.structural},
              {"layers", std::move(layers)},
              {"logic_shifts", std::move(shifts)},
              {"unmatched", c.unmatched}};
}

}  // namespace loom
