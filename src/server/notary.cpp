#include "server/notary.h"

#include <filesystem>
#include <utility>

#include "core/path.h"

namespace loom::server {

Notary::Notary() : thread_([this] { run(); }) {}

Notary::~Notary() {
  is_stopped_ = true;
  {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
  }
  thread_.join();
}

void Notary::submit(Receipt receipt, const Session& like, std::function<bool()> is_wanted, Done done) {
  const std::scoped_lock lock(mutex_);
  if (session_ == nullptr) {
    auto session = trace_session(like);
    if (!session) return done(tl::make_unexpected(std::move(session).error()));
    session_ = *std::move(session);
  }
  jobs_.push_back({std::move(receipt), std::move(is_wanted), std::move(done)});
  changed_.notify_all();
}

void Notary::run() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_stopped_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    if (is_stopped_)
      job.done(fail(Code::Cancelled, "the server ends"));
    else if (job.is_wanted && !job.is_wanted())
      job.done(fail(Code::Cancelled, "the client has left"));
    else
      job.done(write(std::move(job.receipt)));
  }
}

Result<Json> Notary::write(Receipt receipt) {
  if (weights_.empty()) {
    const auto& adapters = session_->adapters();
    weights_ = weight_digests(session_->model(), adapters ? &*adapters : nullptr, *session_->pool());
  }
  LOOM_TRY_VOID(add_trace(receipt, *session_, weights_, &is_stopped_));
  LOOM_TRY_VOID(name_file(receipt.model));
  for (Receipt::File& adapter : receipt.adapters) LOOM_TRY_VOID(name_file(adapter));
  return seal(std::move(receipt), &is_stopped_);
}

Result<void> Notary::name_file(Receipt::File& file) {
  const auto [known, is_new] = hashes_.try_emplace(file.path);
  if (known->second.empty()) {
    auto digest = content_hash(file.path, HashCache::use, &is_stopped_);
    if (!digest) return tl::make_unexpected(std::move(digest).error());
    known->second = to_hex(*digest);
  }
  std::filesystem::path path = path_of(file.path);
  if (!path.has_filename()) path = path.parent_path();  // a folder with a slash at its end
  file.sha256 = known->second, file.path = text_of(path.filename());
  return {};
}

}  // namespace loom::server
