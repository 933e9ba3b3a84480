#include "pull/pull.h"

#include <algorithm>

#include "core/nearest.h"
#include "pull/choice.h"
#include "pull/fit.h"

namespace loom::pull {
namespace {

constexpr std::uint64_t kFrontBytes = std::uint64_t{256} << 10;  // of a GGUF, where the model's keys stand

class Pull {
 public:
  Pull(const PullOptions& options, HubClient client)
      : options_(options),
        model_(fmt::format("{}/{}", options.org, options.name)),
        client_(std::move(client)),
        cache_(options.cache, options.org, options.name) {}

  Result<Pulled> run() {
    LOOM_TRY(const Repository repository, client_.files(model_, options_.revision));
    LOOM_TRY(const Choice choice, choose(repository));
    for (const RemoteFile& file : choice.files) all_ += file.bytes.value_or(0);
    options_.note(fmt::format("{}: {} ({}{})", model_, choice.words,
                              choice.is_folder ? "" : choice.files[0].path + ", ", size_text(all_)));
    LOOM_TRY_VOID(cache_.create(repository.commit));
    Pulled out;
    out.commit = repository.commit, out.words = choice.words;
    for (const RemoteFile& file : choice.files) {
      LOOM_TRY(const Downloaded done, fetch(repository.commit, file));
      out.files.push_back({file.path, done});
      whole_ += done.bytes;
    }
    for (const PulledFile& file : out.files) LOOM_TRY_VOID(cache_.link(out.commit, file.path, file.download.etag));
    LOOM_TRY_VOID(cache_.set_revision(options_.revision, out.commit));
    out.path = cache_.snapshot(out.commit);
    if (!choice.is_folder) out.path += "/" + choice.files[0].path;
    return out;
  }

 private:
  Result<Downloaded> fetch(const std::string& commit, const RemoteFile& file) {
    DownloadOptions download_options;
    download_options.model = model_, download_options.commit = commit;
    download_options.cancel = options_.cancel, download_options.note = options_.note;
    download_options.progress = [&](std::uint64_t bytes) {
      options_.progress(file.path, whole_ + bytes, std::max(all_, whole_ + bytes));
    };
    return download(client_, cache_, file, download_options);
  }

  Result<Choice> choose(const Repository& repository) {
    if (!options_.fit) return choose_files(repository, model_, options_.wanted);
    const std::vector<RemoteFile> models = models_by_size(repository);
    if (models.empty()) return fail(Code::Unsupported, "{}: --fit chooses among GGUF files, and there is none", model_);
    const auto known = free_memory();
    if (options_.fit_memory == 0 && !known)
      return fail(Code::Unsupported, "this system does not say how much memory is free; --memory gives it");
    const std::uint64_t free = options_.fit_memory != 0 ? options_.fit_memory : *known;
    LOOM_TRY(const CacheShape shape, shape_of(repository.commit, models.back()));
    const std::uint64_t context =
        shape.context == 0 ? options_.fit_context : std::min(shape.context, options_.fit_context);
    const std::uint64_t cache = shape.bytes_per_position() * context;
    const RemoteFile* const found = largest_that_fits(models, cache, free);
    const std::string sum =
        fmt::format("{} for {} positions of context, {} of memory free", size_text(cache), context, size_text(free));
    if (found == nullptr)
      return fail(Code::OutOfMemory, "{}: no GGUF file fits: {} is the smallest with {}, {}", model_,
                  models.back().path, size_text(*models.back().bytes), sum);
    return choose_file(*found, fmt::format("the largest of {} GGUF files that fits, {}", models.size(), sum));
  }

  // Every quantisation of a model has the same layers and heads.
  Result<CacheShape> shape_of(const std::string& commit, const RemoteFile& file) {
    const std::string what = fmt::format("{}/{}", model_, file.path);
    std::string front;
    WebSink sink;
    sink.begin = [&](const WebAnswer&) -> Result<void> {
      front.clear();
      return {};
    };
    sink.data = [&](std::span<const std::byte> bytes) -> Result<void> {
      front.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      // A server without ranges sends the whole file: the request ends after the front.
      if (front.size() > kFrontBytes) return fail(Code::LimitExceeded, "enough");
      return {};
    };
    const std::uint64_t last = std::min(kFrontBytes, *file.bytes) - 1;
    for (int attempt = 1;; ++attempt) {
      const auto answer = client_.get(model_, commit, file.path, fmt::format("0-{}", last), {}, sink);
      if (answer || answer.error().error.code == Code::LimitExceeded) break;
      LOOM_TRY_VOID(client_.wait_after(answer.error(), attempt));
    }
    auto shape = read_cache_shape(std::as_bytes(std::span(front)), *file.bytes);
    if (!shape) return at(what, std::move(shape).error());
    return shape;
  }

  const PullOptions& options_;
  std::string model_;
  HubClient client_;
  HubCache cache_;
  std::uint64_t all_ = 0, whole_ = 0;  // bytes of all files; of those that are done
};

}  // namespace

Result<Pulled> pull_model(const PullOptions& options) {
  if (!is_revision(options.revision))
    return fail(Code::InvalidArgument, "\"{}\" is no revision: expected a branch, tag or commit",
                printable(options.revision));
  LOOM_TRY(HubAddress address, hub_address(options.base_url));
  LOOM_TRY(Web web, Web::open(*options.cancel));
  return Pull(options, HubClient(std::move(web), std::move(address), options.attempts, *options.cancel, options.note))
      .run();
}

}  // namespace loom::pull
