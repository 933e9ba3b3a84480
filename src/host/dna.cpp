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

Json to_json(const DnaDrift& drift, const std::vector<std::string>& networks) {
  return Json{{"networks", networks},
              {"layers", drift.keys},
              {"from_first", drift.from_first},
              {"from_previous", drift.from_previous}};
}

namespace {

Json shifts_json(const std::vector<std::vector<LogicShift>>& by_epoch) {
  Json out = Json::array();
  for (std::size_t e = 0; e < by_epoch.size(); ++e)
    for (const LogicShift& s : by_epoch[e]) {
      out.push_back({{"epoch", e}});
      out.back().update(shift_json(s));
    }
  return out;
}

}  // namespace

Json to_json(const DriftRecord& record, const std::string& run) {
  const DnaDrift& drift = record.drift;
  return Json{{"run", run},
              {"epochs", drift.from_first.size() - 1},
              {"layers", drift.keys},
              {"kinds", record.kinds},
              {"from_first", drift.from_first},
              {"from_previous", drift.from_previous},
              {"shifts_since_first", shifts_json(record.since_first)},
              {"shifts_since_previous", shifts_json(record.since_previous)}};
}

}  // namespace loom
