#include <fmt/format.h>

#include <array>

#include "bridge/stream.h"
#include "core/json.h"
#include "report/markup.h"
#include "core/numerics_version.h"

namespace loom {
namespace {

Json hash_text(const std::optional<Digest>& digest) { return digest ? Json(to_hex(*digest)) : Json(); }

std::string cell_text(const Json* value) {
  if (value == nullptr || value->is_null()) return "not given";
  if (const std::string* text = as_string(*value)) return html_text(*text);
  return html_text(dump_json(*value));
}

std::string row(const std::string& name, const Json* value) {
  return fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, cell_text(value));
}

constexpr std::string_view kHead =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Certificate</title>\n<style>\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;"
    "background:#fff}\nh1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}\n"
    "table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid #d5dae0;padding:.35rem .6rem;"
    "text-align:left;vertical-align:top}\ntd{font-family:ui-monospace,monospace;overflow-wrap:anywhere}\n"
    "@media(prefers-color-scheme:dark){body{background:#14171b;color:#e6e8eb}th,td{border-color:#363c44}}\n"
    "</style></head><body>\n";

}  // namespace

Json to_json(const StreamCertificate& certificate) {
  Json out{{"bedrock", certificate.bedrock},
           {"planet", certificate.planet},
           {"model_id", certificate.model_id},
           {"samples", certificate.samples},
           {"source_sha256", hash_text(certificate.source)},
           {"loom_sha256", to_hex(certificate.loom)},
           {"entity_sha256", to_hex(certificate.entity)},
           {"numerics_version", kNumericsVersion},
           {"reload_equal", certificate.reload_equal}};
  if (certificate.difference) {
    out["max_abs_diff"] = certificate.difference->largest, out["mean_abs_diff"] = certificate.difference->mean;
    out["label"] = difference_label(*certificate.difference);
  }
  Json layers = Json::array();
  for (const LayerCertificate& layer : certificate.layers) {
    Json one{{"kind", layer.kind}, {"shape", layer.shape.extents()}, {"max_abs_error_float64", layer.rounding}};
    if (layer.source) one["max_abs_error_source"] = *layer.source;
    layers.push_back(std::move(one));
  }
  out["layers"] = std::move(layers);
  return out;
}

std::string certificate_page(const Json& certificate) {
  std::string page(kHead);
  const auto member = [&](const char* key) { return find(certificate, key); };
  page += fmt::format("<h1>{} {} from {}</h1>\n<table>\n", cell_text(member("bedrock")), cell_text(member("model_id")),
                      cell_text(member("planet")));
  constexpr std::array<std::array<const char*, 2>, 9> kRows = {
      {{"Samples", "samples"},
       {"SHA-256 of the source's outputs, as float32", "source_sha256"},
       {"SHA-256 of Loom's outputs, as float32", "loom_sha256"},
       {"Root hash of the .entity", "entity_sha256"},
       {"Largest difference", "max_abs_diff"},
       {"Mean difference", "mean_abs_diff"},
       {"Verdict", "label"},
       {"The file gives the same bits when loaded", "reload_equal"},
       {"Numerics version", "numerics_version"}}};
  for (const auto& [name, key] : kRows) page += row(name, member(key));
  page +=
      "</table>\n<h2>Layers</h2>\n<table><tr><th>Layer</th><th>Kind</th><th>Output of a sample</th>"
      "<th>Largest error to float64</th><th>Largest error to the source</th></tr>\n";
  const Json* layers = member("layers");
  for (std::size_t i = 0; layers != nullptr && layers->is_array() && i < layers->size(); ++i) {
    const Json& layer = (*layers)[i];
    page +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", i,
                    cell_text(find(layer, "kind")), cell_text(find(layer, "shape")),
                    cell_text(find(layer, "max_abs_error_float64")), cell_text(find(layer, "max_abs_error_source")));
  }
  return page + "</table>\n</body></html>\n";
}

Json to_json(const StreamResult& result) {
  Json outputs = Json::array();
  const JsonRows& rows = result.outputs;
  for (std::size_t i = 0; i < rows.count; ++i) {
    Json one = Json::array();
    for (std::size_t k = 0; k < rows.width; ++k) one.push_back(rows.values[i * rows.width + k]);
    outputs.push_back(std::move(one));
  }
  Json out{{"status", "ok"},
           {"bedrock", result.bedrock},
           {"entity_path", result.entity_path},
           {"layer_count", result.layer_count},
           {"weight_bytes", result.weight_bytes},
           {"output_dim", rows.width},
           {"sample_count", rows.count},
           {"outputs", std::move(outputs)}};
  if (result.difference) {
    out["max_abs_diff"] = result.difference->largest, out["mean_abs_diff"] = result.difference->mean;
    out["exact_match"] = result.difference->exact;
  }
  out["message"] = fmt::format("{} layers, {} samples", result.layer_count, rows.count);
  if (result.certificate) out["certificate"] = to_json(*result.certificate);
  return out;
}

Json stream_error(const Error& error) {
  return {{"status", "error"}, {"code", code_name(error.code)}, {"message", error.text()}};
}

}  // namespace loom
