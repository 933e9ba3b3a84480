#pragma once
// A response that is written later, in parts, by any thread; the connection sends them as its client takes them.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace loom {

struct HttpReplyHead {
  int status = 200;
  std::string content_type = "application/json";
};

class HttpReply {
 public:
  // Bytes that may wait for a client that reads slowly.
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

  // The side of the writer. begin() comes first, once. write() and is_open() are false when nobody reads any more: the
  // client has gone, or has left kMostWaiting bytes unread.
  void begin(HttpReplyHead head);
  bool write(std::string_view part);
  void finish();
  bool is_open() const;
  // Begins, writes and finishes.
  void send(HttpReplyHead head, std::string_view body);

  // The side of the connection.
  struct Parts {
    std::optional<HttpReplyHead> head;  // once, with the first parts
    std::string text;
    bool is_last = false;
  };
  Parts take();      // what waits now
  Parts take_all();  // blocks until all is written
  // `wake` is called, by the writer, after each change; a null one ends that. No call is under way when this returns.
  void on_change(std::function<void()> wake);
  // Nobody reads any more.
  void close();

 private:
  void changed(std::unique_lock<std::mutex> lock);

  mutable std::mutex mutex_;
  std::condition_variable finished_;
  std::function<void()> wake_;
  Parts waiting_;
  bool is_closed_ = false;
};

}  // namespace loom
