#include "host/chat_receipts.h"

#include "core/file.h"

namespace loom {

void ChatReceipts::add(std::size_t message, Receipt receipt) { entries_.push_back({message, std::move(receipt)}); }

void ChatReceipts::keep(std::size_t count) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.message >= count; });
}

void ChatReceipts::load(const std::string& path) {
  entries_.clear();
  const auto text = read_text_file(path, kReceiptLimits.max_bytes);
  const auto file = text ? parse_json(*text, kReceiptLimits) : Result<Json>(Json());
  const Json* const list = file ? find(*file, "receipts") : nullptr;
  if (list == nullptr || !list->is_array()) return;
  for (const Json& entry : *list) {
    const Json *const message = find(entry, "message"), *const receipt = find(entry, "receipt");
    if (message == nullptr || receipt == nullptr || as_int(*message).value_or(-1) < 0) continue;
    entries_.push_back({static_cast<std::size_t>(*as_int(*message)), std::nullopt, *receipt});
  }
}

Result<void> ChatReceipts::seal_entry(Entry& entry) {
  if (!entry.open) return {};
  LOOM_TRY(entry.json, seal(*entry.open));
  entry.open.reset();
  return {};
}

Result<Json> ChatReceipts::last() {
  if (entries_.empty()) return fail(Code::InvalidState, "no answer with a receipt so far");
  LOOM_TRY_VOID(seal_entry(entries_.back()));
  return entries_.back().json;
}

Result<Json> ChatReceipts::sealed() {
  Json out = Json::array();
  for (Entry& entry : entries_) {
    LOOM_TRY_VOID(seal_entry(entry));
    out.push_back(Json{{"message", entry.message}, {"receipt", entry.json}});
  }
  return out;
}

}  // namespace loom
