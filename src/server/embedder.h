#pragma once
// The thread that owns a text encoder and answers one request after another.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lm/encoder.h"

namespace loom::server {

class Embedder {
 public:
  // `most_waiting`: requests beside the one that runs.
  Embedder(TextEncoder encoder, std::string name, std::size_t most_waiting);
  // Ends the requests that wait, and the one that runs, with Cancelled.
  ~Embedder();
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  // `on_end` is called once, by the thread of the embedder.
  struct Work {
    std::vector<EncoderInput> inputs;
    std::function<bool()> is_wanted;
    std::function<void(Result<std::vector<TextEmbedding>>)> on_end;
  };
  // Busy when too many wait, Cancelled at the end.
  Result<void> submit(Work work);

  const TextEncoder& encoder() const { return encoder_; }  // what never changes of it
  const std::string& name() const { return name_; }        // for clients
  std::size_t under_way() const;

 private:
  void run();

  TextEncoder encoder_;
  const std::string name_;
  const std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool is_running_ = false;
  std::atomic<bool> is_stopped_ = false;
  std::thread thread_;
};

}  // namespace loom::server
