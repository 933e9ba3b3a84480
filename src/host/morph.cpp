#include "host/morph.h"

#include "core/json.h"

namespace loom {

Json to_json(const MorphResult& r) {
  return {{"output", r.output},
          {"dtype", name(r.dtype)},
          {"resident_bytes", r.resident_bytes},
          {"resident_bytes_before", r.resident_bytes_before},
          {"root_hash", to_hex(r.root)}};
}

Json to_json(const AutoMorphReport& r, const std::string& output, const Digest& root) {
  Json rows = Json::array();
  for (const AutoMorphRow& row : r.rows)
    rows.push_back(Json{{"path", row.path},
                        {"kind", row.kind},
                        {"dtype", name(row.dtype)},
                        {"bytes", row.bytes},
                        {"loss_increase", row.loss_increase}});
  return {{"output", output},         {"root_hash", to_hex(root)},
          {"loss_name", r.loss_name}, {"loss_float32", r.loss_before},
          {"loss", r.loss},           {"bytes_float32", r.bytes_before},
          {"bytes", r.bytes},         {"measurements", r.measurements},
          {"layers", std::move(rows)}};
}

}  // namespace loom
