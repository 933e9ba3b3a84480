#pragma once
// Computes what a receipt names again, on this machine, and compares.

#include "host/receipt.h"

namespace loom {

struct ReceiptReplayOptions {
  std::string model{};   // in place of the path in the receipt; files beside the old one are then looked for beside it
  std::string folder{};  // where relative paths of the receipt start; empty: the working folder
  int threads = 0;       // 0: one per physical core
  std::optional<Isa> isa{};                                             // absent: the receipt's, where it is usable
  std::string device{};                                                 // not one of precision fast; empty: likewise
  std::uint64_t max_bytes = std::uint64_t{4} << 30;                     // of a network's weights and of its session
  const std::atomic<bool>* cancel = nullptr;                            // the call ends with Cancelled
  std::function<void(std::size_t done, std::size_t total)> progress{};  // tokens of a generation
};

struct ReceiptReplay {
  std::string command, model;
  std::string difference;   // the first one, in one line; empty: everything is equal
  std::string hash;         // of the computed result; empty where a difference came before it
  std::string isa, device;  // that were asked to compute it: device is a name as of device_from_name()
};

// Compares in this order: the receipt's digest, the numerics version, the hashes of the files, the prompt's ids, each
// token, the reason of the end, the text, the hash of the result. A file that is missing is an error: NotFound.
// InvalidConfig, CorruptData... for what no program has written.
Result<ReceiptReplay> replay_receipt(const Json& receipt, const ReceiptReplayOptions& options);
Json to_json(const ReceiptReplay& replay);

}  // namespace loom
