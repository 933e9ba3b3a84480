#include "pull/fit.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "io/byte_reader.h"

namespace loom::pull {
namespace {

constexpr std::uint64_t kMostKeys = 4096, kLongestKey = 1024;
// More is damage; products of these with a context stay below 2^64.
constexpr std::uint64_t kMost = std::uint64_t{1} << 20, kMostOfEach = 1 << 16;
constexpr std::uint64_t kMostPerPosition = std::uint64_t{1} << 36;

// Types of values in a GGUF: bytes of each, 0 for a text and an array.
constexpr std::uint8_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::uint32_t kU32 = 4, kI32 = 5, kText = 8, kArray = 9, kU64 = 10;

// The digits after the first `name` of a text, with blanks before them and a blank or line break after them.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + name.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return read_count(text.substr(0, text.find_first_of(" \n")));
}

class Keys {
 public:
  Keys(std::span<const std::byte> front, std::uint64_t size) : in_(front, size) {}

  // Reads keys up to the tokenizer's, which are long. OutOfRange where the front ends before them.
  Result<void> read() {
    LOOM_TRY(const auto magic, in_.take(4, "the magic"));
    if (as_text(magic) != "GGUF") return fail(Code::CorruptData, "no GGUF file");
    LOOM_TRY(const auto version, in_.number<std::uint32_t>("the version"));
    if (version != 2 && version != 3) return fail(Code::Unsupported, "GGUF version {}; 2 and 3 are read", version);
    LOOM_TRY_VOID(in_.take(8, "the tensor count"));
    LOOM_TRY(const auto count, in_.number<std::uint64_t>("the key count"));
    for (std::uint64_t i = 0; i < std::min(count, kMostKeys); ++i) {
      LOOM_TRY(const bool has_more, entry());
      if (!has_more) break;
    }
    return {};
  }
  std::optional<std::uint64_t> number(const std::string& key) const {
    const auto at = numbers_.find(architecture_ + "." + key);
    return at == numbers_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  Result<std::string_view> text() {
    LOOM_TRY(const auto n, in_.number<std::uint64_t>("a length"));
    LOOM_TRY(const auto bytes, in_.take(n, "a text"));
    return as_text(bytes);
  }

  // False where the keys of the model are over.
  Result<bool> entry() {
    LOOM_TRY(const std::string_view key, text());
    if (key.size() > kLongestKey || key.starts_with("tokenizer.")) return false;
    LOOM_TRY(const auto type, in_.number<std::uint32_t>("a type"));
    if (type == kText) {
      LOOM_TRY(const std::string_view value, text());
      if (key == "general.architecture") architecture_ = value;
      return true;
    }
    if (type == kArray) return array();
    if (type >= std::size(kBytes)) return fail(Code::CorruptData, "value type {}, expected 0 to 12", type);
    LOOM_TRY(const auto bytes, in_.take(kBytes[type], "a value"));
    if (type == kU32 || type == kI32) numbers_[std::string(key)] = load_le<std::uint32_t>(bytes.data());
    if (type == kU64) numbers_[std::string(key)] = load_le<std::uint64_t>(bytes.data());
    return true;
  }

  Result<bool> array() {
    LOOM_TRY(const auto element, in_.number<std::uint32_t>("a type"));
    LOOM_TRY(const auto count, in_.number<std::uint64_t>("a count"));
    if (element == kText) {
      for (std::uint64_t i = 0; i < count; ++i) LOOM_TRY_VOID(text());
      return true;
    }
    if (element >= std::size(kBytes) || element == kArray) return false;
    if (count > in_.left() / kBytes[element]) return fail(Code::CorruptData, "an array of {} values", count);
    LOOM_TRY_VOID(in_.take(count * kBytes[element], "an array"));
    return true;
  }

  ByteReader in_;
  std::string architecture_;
  std::map<std::string, std::uint64_t> numbers_;
};

}  // namespace

Result<CacheShape> read_cache_shape(std::span<const std::byte> front, std::uint64_t size) {
  Keys keys(front, size);
  LOOM_TRY_VOID(keys.read());
  const auto layers = keys.number("block_count"), heads = keys.number("attention.head_count"),
             width = keys.number("embedding_length");
  if (!layers || !heads || !width || *layers == 0 || *heads == 0 || *width == 0 || *layers > kMost || *heads > kMost ||
      *width > kMost)
    return fail(Code::Unsupported, "the number of layers and heads does not stand in its first {} bytes", front.size());
  CacheShape out;
  out.layers = *layers;
  out.kv_heads = keys.number("attention.head_count_kv").value_or(*heads);
  out.key_length = keys.number("attention.key_length").value_or(*width / *heads);
  out.value_length = keys.number("attention.value_length").value_or(out.key_length);
  out.context = keys.number("context_length").value_or(0);
  const bool is_small = std::max({out.layers, out.kv_heads, out.key_length, out.value_length}) <= kMostOfEach;
  if (!is_small || out.bytes_per_position() > kMostPerPosition)
    return fail(Code::CorruptData, "{} layers of {} heads of {} values", out.layers, out.kv_heads, out.key_length);
  return out;
}

std::optional<std::uint64_t> read_available(std::string_view meminfo) {
  const auto kilobytes = number_after(meminfo, "MemAvailable:");
  return kilobytes ? std::optional(*kilobytes * 1024) : std::nullopt;
}

std::optional<std::uint64_t> read_group(std::string_view max, std::string_view current, std::string_view stat) {
  const auto limit = number_after(max, ""), used = number_after(current, "");
  if (!limit || !used) return std::nullopt;
  const std::uint64_t cached = number_after(stat, "inactive_file ").value_or(0);
  const std::uint64_t kept = *used - std::min(*used, cached);
  return *limit - std::min(*limit, kept);
}

std::optional<std::uint64_t> free_memory() {
  const auto text_of = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  const auto available = read_available(text_of("/proc/meminfo"));
  const std::string group = "/sys/fs/cgroup/memory.";  // of the container
  const auto left = read_group(text_of(group + "max"), text_of(group + "current"), text_of(group + "stat"));
  return available && left ? std::min(available, left) : available;
}

const RemoteFile* largest_that_fits(const std::vector<RemoteFile>& models, std::uint64_t cache_bytes,
                                    std::uint64_t free_bytes) {
  for (const RemoteFile& file : models)
    if (file.bytes && cache_bytes <= free_bytes && *file.bytes <= free_bytes - cache_bytes) return &file;
  return nullptr;
}

}  // namespace loom::pull
