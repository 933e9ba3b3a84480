#pragma once
// A client of a server's engine, for tests of several requests at once.

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine.h"

namespace loom::test {

// One request and what comes of it.
class Client {
 public:
  // Leaves after so many pieces of text.
  explicit Client(std::size_t pieces = ~std::size_t{0}) : most_pieces_(pieces) {}

  server::Request request(std::vector<std::int32_t> prompt, const GenerationOptions& options) {
    return {.prompt = std::move(prompt),
            .options = options,
            .on_text =
                [this](std::string_view text) {
                  text_ += text;
                  if (on_piece) on_piece();
                  return ++pieces_ < most_pieces_;
                },
            .is_wanted = [this] { return pieces_ < most_pieces_; },
            .on_end =
                [this](Result<server::Answer> answer) {
                  if (on_finish) on_finish();
                  end_.set_value(std::move(answer));
                }};
  }
  Result<server::Answer> wait() {
    auto end = end_.get_future();
    if (end.wait_for(std::chrono::minutes(5)) != std::future_status::ready)
      return fail(Code::Busy, "no answer within five minutes");
    return end.get();
  }
  std::size_t pieces() const { return pieces_; }
  void leave() { most_pieces_ = 0; }                 // from any thread
  const std::string& text() const { return text_; }  // after wait()

  std::function<void()> on_piece, on_finish;  // on the engine's thread

 private:
  std::atomic<std::size_t> most_pieces_;
  std::atomic<std::size_t> pieces_ = 0;
  std::string text_;
  std::promise<Result<server::Answer>> end_;
};

}  // namespace loom::test
