#include "server/openapi.h"

#include "core/config_writer.h"
#include "server/api.h"

namespace loom::server {
namespace {

// Schemas of members that other code than the table's visitor reads, by path and name, or by name alone.
struct Detail {
  std::string_view path, member, schema;
};
constexpr std::string_view kSeed =
    R"({"anyOf":[{"type":"integer","minimum":-9223372036854775808,"maximum":18446744073709551615},{"type":"string","pattern":"^[0-9]{1,19}$"}]})";
constexpr std::string_view kTexts =
    R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2048}]})";
constexpr std::string_view kList = R"({"type":"array","items":{"type":"object"}})";
constexpr Detail kDetails[] = {
    {"/v1/responses", "input",
     R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"object"},"minItems":1}]})"},
    {"/v1/embeddings", "input",
     R"({"anyOf":[{"type":"string","minLength":1},{"type":"array","items":{"type":"string","minLength":1},"minItems":1,"maxItems":2048},{"type":"array","items":{"type":"integer","minimum":0},"minItems":1},{"type":"array","items":{"type":"array","items":{"type":"integer","minimum":0},"minItems":1},"minItems":1,"maxItems":2048}]})"},
    {"/api/embed", "input", kTexts},
    {"/v1/completions", "prompt",
     R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer","minimum":0},"minItems":1},{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":128},{"type":"array","items":{"type":"array","items":{"type":"integer","minimum":0},"minItems":1},"minItems":1,"maxItems":128}]})"},
    {"/v1/rerank", "documents",
     R"({"type":"array","minItems":1,"maxItems":2048,"items":{"anyOf":[{"type":"string"},{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}]}})"},
    {"", "messages",
     R"({"type":"array","items":{"type":"object","required":["role"],"properties":{"role":{"enum":["system","developer","user","assistant","tool"]}}}})"},
    {"", "prompt", R"({"type":"string"})"},
    {"", "content", R"({"type":"string"})"},
    {"", "stop",
     R"({"anyOf":[{"type":"string","minLength":1},{"type":"array","maxItems":16,"items":{"type":"string","minLength":1}}]})"},
    {"", "seed", kSeed},
    {"", "num_predict", R"({"type":"integer","minimum":-2})"},
    {"", "repeat_last_n", R"({"type":"integer","minimum":-1})"},
    {"", "logit_bias", R"({"type":"object","additionalProperties":{"type":"number","minimum":-100,"maximum":100}})"},
    {"", "stream_options",
     R"({"type":"object","properties":{"include_usage":{"type":"boolean"}},"additionalProperties":false})"},
    {"", "structured_outputs",
     R"({"type":"object","properties":{"json":{},"choice":{"type":"array","items":{"type":"string"},"minItems":1},"regex":{"type":"string","minLength":1},"grammar":{"type":"string","minLength":1}},"minProperties":1,"additionalProperties":false})"},
    {"", "guided_json", R"({"type":["object","boolean","string"]})"},
    {"", "guided_regex", R"({"type":"string","minLength":1})"},
    {"", "guided_grammar", R"({"type":"string","minLength":1})"},
    {"", "guided_choice", R"({"type":"array","items":{"type":"string"},"minItems":1})"},
    {"", "response_format",
     R"({"type":"object","required":["type"],"properties":{"type":{"enum":["text","json_object","json_schema"]},"json_schema":{"type":"object","required":["schema"]},"schema":{"type":["object","boolean","string","null"]}}})"},
    {"", "text",
     R"({"type":"object","properties":{"format":{"type":"object"},"verbosity":{"const":"medium"}},"additionalProperties":false})"},
    {"", "tools", kList},
    {"", "tool_choice",
     R"({"anyOf":[{"enum":["none","auto","required"]},{"type":"object","required":["type"],"properties":{"type":{"const":"function"}}}]})"},
    {"", "format", R"({"anyOf":[{"enum":["","json"]},{"type":"object"}]})"},
    {"", "think", R"({"type":"boolean"})"},
    {"", "chat_template_kwargs", R"({"type":"object"})"},
    {"", "keep_alive", R"({"type":["string","number"]})"},
};

Json detail_of(std::string_view path, std::string_view member) {
  for (const Detail& detail : kDetails)
    if (detail.member == member && (detail.path.empty() || detail.path == path))
      return parse_json(detail.schema).value();
  return Json::object();
}

// Members may be null, which is as if they were absent.
Json or_null(Json schema) {
  if (schema.empty()) return schema;
  return Json{{"anyOf", Json::array({std::move(schema), Json{{"type", "null"}}})}};
}

Json properties_of(std::string_view path, const RequestTable& table) {
  Json schema = object_schema(table.visit);
  Json out = Json::object();
  for (auto& [member, given] : schema["properties"].items()) {
    Json made = given.empty() || (given.size() == 1 && given.contains("title")) ? detail_of(path, member) : given;
    made.erase("title");
    out[member] = or_null(std::move(made));
  }
  for (const std::string_view member : table.without_effect)
    out[std::string(member)] = Json{{"description", "has no effect on the answer"}};
  return out;
}

Json body_of(const Route& route) {
  const RequestTable table = route.body();
  Json schema{{"type", "object"}, {"properties", properties_of(route.path, table)}};
  if (find(schema["properties"], "options") != nullptr && route.path != "/api/show" && route.path != "/api/embed" &&
      route.path != "/api/embeddings") {
    const RequestTable options = table_of<OllamaChatFields>();
    schema["properties"]["options"] =
        Json{{"type", Json::array({"object", "null"})},
             {"properties", properties_of(route.path, {[](ConfigVisitor& v) { OllamaOptions().visit(v); },
                                                       options.required, OllamaOptions::kWithoutEffect})},
             {"additionalProperties", false}};
  }
  Json required = Json::array();
  for (const std::string_view member : table.required)  // one that has an alias may have either name
    if (find(schema["properties"], "name") == nullptr || member != "model") required.push_back(member);
  schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

Json operation_of(const Route& route) {
  Json operation{{"summary", route.summary}};
  if (route.path.find('{') != route.path.npos)
    operation["parameters"] =
        Json::array({{{"name", "model"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}});
  if (route.body != nullptr)
    operation["requestBody"] =
        Json{{"required", true}, {"content", {{"application/json", {{"schema", body_of(route)}}}}}};
  Json responses = Json::object();
  responses["200"] = Json{{"description", "the answer"}};
  responses["default"] = Json{{"description", "an error of the interface, with the reason"}};
  operation["responses"] = std::move(responses);
  return operation;
}

}  // namespace

Json openapi_json() {
  Json paths = Json::object();
  for (const Route& route : routes())
    paths[std::string(route.path)][route.method == "GET" ? "get" : "post"] = operation_of(route);
  return Json{{"openapi", "3.1.0"},
              {"info", {{"title", "loom serve"}, {"version", LOOM_VERSION}}},
              {"components", {{"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
              {"paths", std::move(paths)}};
}

}  // namespace loom::server
