#pragma once
// The receipts of a conversation's answers, each with the number of its message.

#include <optional>
#include <vector>

#include "host/receipt.h"

namespace loom {

class ChatReceipts {
 public:
  // Adds the receipt of the answer that is message number `message`.
  void add(std::size_t message, Receipt receipt);
  // Forgets the receipts of the messages from number `count` on.
  void keep(std::size_t count);
  // Takes over the receipts of a conversation's file, as it has them; none where it has none.
  void load(const std::string& path);
  // The receipt of the last answer that has one: InvalidState without.
  Result<Json> last();
  // A list of {"message", "receipt"}. Errors of seal().
  Result<Json> sealed();

 private:
  struct Entry {
    std::size_t message = 0;
    std::optional<Receipt> open;  // until it is sealed
    Json json{};
  };
  static Result<void> seal_entry(Entry& entry);
  std::vector<Entry> entries_;
};

}  // namespace loom
