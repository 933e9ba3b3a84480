#pragma once
// Writes the receipts of answers, one after the other, on a thread of its own: it reads prompt and answer once more as
// one prompt, which gives the same bits as the batches that they were computed in, hashes every layer and token of that
// (lm/trace.h), and compares the hash with that of the answer. The requests that run meanwhile go on.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/receipt.h"

namespace loom::server {

class Notary {
 public:
  using Done = std::function<void(Result<Json>)>;

  Notary();
  // Receipts that wait end with Cancelled.
  ~Notary();
  Notary(const Notary&) = delete;
  Notary& operator=(const Notary&) = delete;

  // Completes and seals the receipt of an answer. The call comes from the thread that owns `like`, the session that
  // gave it; `is_wanted` is asked before the work. Paths become names of files: a client need not know the server's
  // folders. `done` is called once, from the notary's thread, or by this call where no session can be made.
  void submit(Receipt receipt, const Session& like, std::function<bool()> is_wanted, Done done);

 private:
  struct Job {
    Receipt receipt;
    std::function<bool()> is_wanted;
    Done done;
  };
  void run();
  Result<Json> write(Receipt receipt);
  Result<void> name_file(Receipt::File& file);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;                       // under mutex_
  std::unique_ptr<Session> session_;           // made by the first submit(), of the notary's thread then
  std::vector<Digest> weights_;                // of the notary's thread
  std::map<std::string, std::string> hashes_;  // of files by their paths, likewise
  std::atomic<bool> is_stopped_ = false;
  std::thread thread_;
};

}  // namespace loom::server
