// Any text as a journal, a record of timings or a lineage: lines that come back as they were written, or an Error;
// resuming never keeps more than whole lines. An input may hold several journals, with the byte 0xFF, which no UTF-8
// has, between two: so a few files reach every edge (tools/join_corpus.py).

#include <unistd.h>

#include <algorithm>

#include "core/file.h"
#include "core/journal.h"
#include "core/json.h"

namespace loom {
namespace {

void read_and_resume(std::span<const std::byte> text) {
  static const std::string path = fmt::format("/tmp/loom_journal_fuzz_{}.jsonl", ::getpid());
  const std::size_t size = text.size();
  const auto put = [&] { LOOM_ASSERT(write_file_atomically(path, text).has_value()); };
  put();
  auto reader = JournalReader::open(path);
  LOOM_ASSERT(reader.has_value());
  std::uint64_t lines = 0;
  for (;; ++lines) {
    const auto line = reader->next();
    if (!line || !*line) break;
    LOOM_ASSERT((*line)->is_object());
  }
  LOOM_ASSERT(reader->lines() == lines && reader->bytes() <= size);
  static_cast<void>(read_journal_start(path));
  if (auto proof = JournalProof::open(path)) {
    const Json start = proof->start();
    LOOM_ASSERT(proof->compare(start).has_value() == (proof->compared() == 1));
    static_cast<void>(proof->compare({{"event", "end"}}));
    static_cast<void>(proof->finish());
  }
  if (auto resumed = Journal::resume(path, size % 100)) {
    LOOM_ASSERT(resumed->write({{"event", "steps"}, {"step", 1}}).has_value());
  }
  put();
  const std::size_t kept = text.empty() ? 0 : std::to_integer<std::size_t>(text[0]) % (size + 1);
  Sha256 hash;
  hash.update(text.first(kept));
  LOOM_ASSERT(Journal::resume(path, JournalMark{kept, to_hex(hash.finish())}).has_value());
  LOOM_ASSERT(read_text_file(path, size).value().size() == kept);
  LOOM_ASSERT(!Journal::resume(path, JournalMark{kept + 1, {}}).has_value());
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace loom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span all(reinterpret_cast<const std::byte*>(data), size);
  for (auto begin = all.begin();;) {
    const auto end = std::find(begin, all.end(), std::byte{0xFF});
    loom::read_and_resume({begin, end});
    if (end == all.end()) return 0;
    begin = end + 1;
  }
}
