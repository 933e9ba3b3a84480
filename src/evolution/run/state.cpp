#include "evolution/run/state.h"

#include "core/json.h"

namespace loom {
namespace {

constexpr std::string_view kSealed = ",\"sha256\":\"";

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return to_hex(hash.finish());
}

}  // namespace

std::string evolution_state_text(const EvolutionState& s) {
  std::string text = dump_json(
      Json{{"identity", s.identity}, {"lineage", to_json(s.lineage)}, {"hash", s.hash}, {"islands", s.islands}});
  text.pop_back();
  return fmt::format("{}{}{}\"}}", text, kSealed, hash_of(text));
}

Result<EvolutionState> parse_evolution_state(std::string_view text) {
  constexpr std::size_t kMost = std::size_t{1} << 31;
  const std::size_t end = kSealed.size() + 64 + 2;
  const std::string_view sealed = text.size() < end ? std::string_view() : text.substr(0, text.size() - end);
  if (sealed.empty() || text.substr(sealed.size()) != fmt::format("{}{}\"}}", kSealed, hash_of(sealed)))
    return fail(Code::CorruptData, "its SHA-256 differs: not as a run wrote it");
  LOOM_TRY(Json json, parse_json(text, {kMost, 256}));
  const Json *hash = find(json, "hash"), *identity = find(json, "identity");
  const auto islands = json.find("islands");
  if (identity == nullptr || !identity->is_object() || islands == json.end() || hash == nullptr ||
      as_string(*hash) == nullptr)
    return fail(Code::CorruptData, "identity, hash or islands are missing");
  EvolutionState out{*identity, {}, *as_string(*hash), std::move(*islands)};
  LOOM_TRY(out.lineage, journal_mark_from(find(json, "lineage")));
  return out;
}

}  // namespace loom
