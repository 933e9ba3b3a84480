// Any bytes as what a hub answers: a list of files, lines of a head, a range, the front of a GGUF file.

#include <cstdint>

#include "pull/choice.h"
#include "pull/fit.h"
#include "pull/repository.h"
#include "pull/web.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  using namespace loom::pull;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 0) {
    const auto repository = read_repository(text);
    if (!repository) return 0;
    LOOM_ASSERT(is_hex(repository->commit, 40));
    for (const char* const wanted : {"", "Q4_0", "a.gguf"})
      if (const auto choice = choose_files(*repository, "o/n", wanted)) {
        LOOM_ASSERT(!choice->files.empty());
        for (const RemoteFile& file : choice->files) LOOM_ASSERT(is_safe_path(file.path));
      }
    for (const RemoteFile& file : models_by_size(*repository)) LOOM_ASSERT(file.bytes.has_value());
  } else if (data[0] % 3 == 1) {
    WebAnswer answer;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      read_header_line(text.substr(at, end - at), answer);
      at = end;
    }
    LOOM_ASSERT(answer.status >= 0 && answer.status <= 999);
    if (const auto head = read_file_head(answer))
      LOOM_ASSERT(is_safe_path(head->etag) && head->etag.find('/') == std::string::npos);
    if (const auto range = read_content_range(answer.header("content-range")))
      LOOM_ASSERT(range->first <= range->last && range->last < range->all);
    const std::string origin = origin_of(answer.header("location"));
    LOOM_ASSERT(origin.empty() || origin.starts_with("http"));
    static_cast<void>(is_private_origin(origin));
  } else if (const auto shape = read_cache_shape(std::as_bytes(std::span(text)), std::uint64_t{1} << 40)) {
    LOOM_ASSERT(shape->bytes_per_position() <= std::uint64_t{1} << 36);
  }
  return 0;
}
