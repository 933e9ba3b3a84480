#include "network/session/state_frame.h"

#include <algorithm>

#include "core/little_endian.h"
#include "core/numerics_version.h"

namespace loom {
namespace {

constexpr std::string_view kMagic = "LOOMSTAT";
constexpr std::size_t kHeader = kMagic.size() + 4 + 4 + sizeof(Digest);
constexpr std::uint32_t kOlderStepMesh = 2;

std::string_view text_of(StateKind kind) { return kind == StateKind::Sequence ? "session" : "step mesh"; }

Digest digest_of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

void append(std::vector<std::byte>& out, const Digest& digest) {
  const auto bytes = std::as_bytes(std::span(digest));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

bool equal(const Digest& digest, std::span<const std::byte> bytes) {
  return std::ranges::equal(std::as_bytes(std::span(digest)), bytes);
}

}  // namespace

std::vector<std::byte> frame_state(StateKind kind, const Digest& owner, std::span<const std::byte> body) {
  std::vector<std::byte> out(kHeader - sizeof(Digest));
  std::ranges::copy(std::as_bytes(std::span(kMagic)), out.begin());
  store_le(out.data() + kMagic.size(), kNumericsVersion);
  store_le(out.data() + kMagic.size() + 4, static_cast<std::uint32_t>(kind));
  out.reserve(kHeader + body.size() + sizeof(Digest));
  append(out, owner);
  out.insert(out.end(), body.begin(), body.end());
  append(out, digest_of(out));
  return out;
}

Result<std::span<const std::byte>> unframe_state(StateKind kind, const Digest& owner,
                                                 std::span<const std::byte> bytes) {
  const std::string_view what = text_of(kind);
  const bool is_saved = bytes.size() >= kHeader + sizeof(Digest) &&
                        std::ranges::equal(std::as_bytes(std::span(kMagic)), bytes.first(kMagic.size()));
  const auto found = is_saved ? load_le<std::uint32_t>(bytes.data() + kMagic.size() + 4) : 0;
  if (kind == StateKind::StepMesh && found == kOlderStepMesh)
    return fail(Code::Unsupported, "the {} was saved by an older Loom, without the losses of gates", what);
  if (found != static_cast<std::uint32_t>(kind))
    return fail(Code::CorruptData, "{} bytes are no saved Loom {}", bytes.size(), what);
  const auto whole = bytes.first(bytes.size() - sizeof(Digest));
  if (!equal(digest_of(whole), bytes.last(sizeof(Digest))))
    return fail(Code::CorruptData, "the saved {} is damaged: its SHA-256 does not match", what);
  if (const auto version = load_le<std::uint32_t>(bytes.data() + kMagic.size()); version != kNumericsVersion)
    return fail(Code::Unsupported, "the {} was saved with numerics version {}, this is {}", what, version,
                kNumericsVersion);
  if (!equal(owner, whole.subspan(kHeader - sizeof(Digest), sizeof(Digest))))
    return fail(Code::ShapeMismatch, "the saved {} belongs to another {}, or to other options", what,
                kind == StateKind::Sequence ? "model" : "network");
  return whole.subspan(kHeader);
}

}  // namespace loom
