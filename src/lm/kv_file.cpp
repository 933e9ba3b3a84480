#include "lm/kv_file.h"

#include <algorithm>

#include "io/entity/entity.h"
#include "io/identify.h"

namespace loom {

Result<Digest> save_kv(Session& session, const std::string& path, std::size_t sequence) {
  if (sequence >= session.sequences())
    return fail(Code::OutOfRange, "sequence {} is saved, the session holds {}", sequence, session.sequences());
  if (session.precision() != Precision::Strict)
    return fail(Code::Unsupported, "{}: keys and values of precision {} are no others' and are not kept", path,
                name(session.precision()));
  EntityWriter writer;
  std::optional<EntityReader> model;
  if (const auto file = identify(path); file && file->kind == FileKind::ModelEntity) {
    LOOM_TRY(model, EntityReader::parse(file->source));
    LOOM_TRY_VOID(writer.add_all(*model));
    writer.remove("kvcache");
  }
  LOOM_TRY(const std::vector<std::byte> saved, session.snapshot(sequence));
  LOOM_TRY_VOID(writer.add("kvcache", 0, 0, saved));
  return writer.write(path);
}

Result<void> load_kv(Session& session, const std::string& path, std::size_t sequence) {
  LOOM_TRY(const EntityReader file, EntityReader::open(path));
  LOOM_TRY(const auto saved, file.section("kvcache"));
  if (auto restored = session.restore(saved, sequence); !restored) return at(path, std::move(restored).error());
  return {};
}

Result<std::size_t> keep_common(Session& session, std::span<const std::int32_t> prompt, std::size_t sequence) {
  if (sequence >= session.sequences())
    return fail(Code::OutOfRange, "sequence {} is fed, the session holds {}", sequence, session.sequences());
  const auto held = session.tokens(sequence);
  auto same = static_cast<std::size_t>(std::ranges::mismatch(prompt, held).in1 - prompt.begin());
  if (same == prompt.size() && same > 0) --same;
  if (session.rewind(same, sequence)) return same;
  LOOM_TRY_VOID(session.rewind(0, sequence));  // a sliding window has moved on
  return std::size_t{0};
}

}  // namespace loom
