#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "core/little_endian.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "io/entity/entity.h"
#include "io/entity/entity_layout.h"

namespace loom {
namespace {

Result<void> write_zeros(const EntityWriter::Sink& out, std::uint64_t n) {
  constexpr std::byte kZeros[4096] = {};
  for (; n > 0; n -= std::min<std::uint64_t>(n, sizeof kZeros))
    LOOM_TRY_VOID(out(std::span(kZeros).first(static_cast<std::size_t>(std::min<std::uint64_t>(n, sizeof kZeros)))));
  return {};
}

bool before(const EntitySection& a, std::string_view kind, std::uint32_t index) {
  return a.kind != kind ? a.kind < kind : a.index < index;
}

void put_entry(std::byte* to, const EntitySection& s) {
  std::memcpy(to, s.kind.data(), s.kind.size());
  store_le(to + 8, s.index);
  store_le(to + 12, s.flags);
  store_le(to + 16, s.offset);
  store_le(to + 24, s.length);
  std::memcpy(to + kEntityHashInEntry, s.sha256.data(), s.sha256.size());
}

}  // namespace

Result<void> EntityWriter::add(std::string_view kind, std::uint32_t index, std::uint32_t flags, std::uint64_t length,
                               Producer produce) {
  const bool clean = std::all_of(kind.begin(), kind.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (kind.empty() || kind.size() > kEntityKindBytes || !clean)
    return fail(Code::InvalidArgument, "\"{}\" is no kind of section: 1 to {} printable characters", printable(kind),
                kEntityKindBytes);
  const auto place =
      std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return !before(p.section, kind, index); });
  if (place != parts_.end() && place->section.kind == kind && place->section.index == index)
    return fail(Code::InvalidArgument, "section \"{}\" {} was added before", kind, index);
  parts_.insert(place, Part{{std::string(kind), index, flags, 0, length, {}}, std::move(produce)});
  return {};
}

Result<void> EntityWriter::add(std::string_view kind, std::uint32_t index, std::uint32_t flags,
                               std::span<const std::byte> bytes) {
  return add(kind, index, flags, bytes.size(), [bytes](const Sink& out) { return out(bytes); });
}

Result<void> EntityWriter::add_text(std::string_view kind, std::uint32_t index, std::uint32_t flags, std::string text) {
  const std::size_t length = text.size();
  return add(kind, index, flags, length,
             [text = std::move(text)](const Sink& out) { return out(std::as_bytes(std::span(text))); });
}

Result<void> EntityWriter::add_all(const EntityReader& from) {
  for (const EntitySection& s : from.sections()) {
    const auto bytes = from.contents(s);
    LOOM_TRY_VOID(
        add(s.kind, s.index, s.flags, s.length, [bytes, source = from.source(), s](const Sink& out) -> Result<void> {
          Sha256 hash;
          hash.update(bytes);
          if (hash.finish() != s.sha256)
            return fail(Code::CorruptData, "offset {}: section \"{}\" {}: its {} bytes are damaged: SHA-256 differs",
                        s.offset, s.kind, s.index, s.length);
          return out(bytes);
        }));
  }
  numerics_version_ = from.numerics_version();
  return {};
}

bool EntityWriter::remove(std::string_view kind, std::uint32_t index) {
  return std::erase_if(parts_, [&](const Part& p) { return p.section.kind == kind && p.section.index == index; }) != 0;
}

// Offsets, and the length of the file.
Result<std::uint64_t> EntityWriter::lay_out(std::vector<EntitySection>& sections) const {
  std::uint64_t end = kEntityHeaderBytes + parts_.size() * kEntityEntryBytes;
  for (const Part& part : parts_) {
    EntitySection s = part.section;
    const std::uint64_t alignment = section_alignment(s.kind);
    s.offset = (end + alignment - 1) / alignment * alignment;
    if (s.length > std::uint64_t{1} << 60 || s.offset > std::uint64_t{1} << 60)
      return fail(Code::SizeOverflow, "section \"{}\" {} of {} bytes", s.kind, s.index, s.length);
    end = s.offset + s.length;
    sections.push_back(std::move(s));
  }
  return end;
}

// Gives everything after the directory to `out`; returns header and directory.
Result<std::vector<std::byte>> EntityWriter::write_sections(std::vector<EntitySection>& sections, std::uint64_t length,
                                                            const Sink& out, Digest& root) const {
  std::vector<std::byte> front(kEntityHeaderBytes + sections.size() * kEntityEntryBytes);
  std::uint64_t end = front.size();
  std::uint16_t flags = 0;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    EntitySection& s = sections[i];
    flags = static_cast<std::uint16_t>(flags | (s.kind == "signatur" ? kEntitySigned : 0) |
                                       (s.kind == "optim" ? kEntityOptimiserState : 0));
    LOOM_TRY_VOID(write_zeros(out, s.offset - end));
    Sha256 hash;
    std::uint64_t given = 0;
    LOOM_TRY_VOID(parts_[i].produce([&](std::span<const std::byte> bytes) -> Result<void> {
      given += bytes.size();
      hash.update(bytes);
      return out(bytes);
    }));
    if (given != s.length)
      return fail(Code::InvalidArgument, "section \"{}\" {} was given {} bytes, {} were announced", s.kind, s.index,
                  given, s.length);
    s.sha256 = hash.finish();
    end = s.offset + s.length;
    put_entry(front.data() + kEntityHeaderBytes + i * kEntityEntryBytes, s);
  }
  std::memcpy(front.data(), kEntityMagic.data(), kEntityMagic.size());
  store_le(front.data() + 8, kEntityVersion);
  store_le(front.data() + 10, flags);
  store_le(front.data() + 12, numerics_version_);
  store_le(front.data() + 16, length);
  store_le(front.data() + 24, static_cast<std::uint32_t>(sections.size()));
  root = entity_root_hash(front, std::span(front).subspan(kEntityHeaderBytes));
  std::memcpy(front.data() + 32, root.data(), root.size());
  return front;
}

Result<Digest> EntityWriter::write(const std::string& path) const {
  std::vector<EntitySection> sections;
  LOOM_TRY(const std::uint64_t length, lay_out(sections));
  LOOM_TRY(auto file, AtomicFile::create(path));
  const Sink out = [&](std::span<const std::byte> bytes) { return file.write(bytes); };
  LOOM_TRY_VOID(write_zeros(out, kEntityHeaderBytes + sections.size() * kEntityEntryBytes));
  Digest root;
  LOOM_TRY(const auto front, write_sections(sections, length, out, root));
  LOOM_TRY_VOID(file.write_at(0, front));
  LOOM_TRY_VOID(file.commit());
  return root;
}

Result<std::vector<std::byte>> EntityWriter::to_bytes() const {
  std::vector<EntitySection> sections;
  LOOM_TRY(const std::uint64_t length, lay_out(sections));
  std::vector<std::byte> file(kEntityHeaderBytes + sections.size() * kEntityEntryBytes);
  Digest root;
  LOOM_TRY(const auto front, write_sections(
                                 sections, length,
                                 [&](std::span<const std::byte> bytes) -> Result<void> {
                                   file.insert(file.end(), bytes.begin(), bytes.end());
                                   return {};
                                 },
                                 root));
  std::copy(front.begin(), front.end(), file.begin());
  return file;
}

}  // namespace loom
