// Language models of loom.h: loading, what is known of one, chat templates.

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "host/prompt.h"
#include "lm/host_weights.h"

namespace loom::capi {
namespace {

Result<ModelOptions> options_of(const loom_model_options& given, const std::atomic<bool>* cancel) {
  ModelOptions out;
  LOOM_TRY_VOID(read_compute(given.compute, out));
  if (given.dtype != nullptr) {
    LOOM_TRY(out.decoder.dtype, dtype_from_name(given.dtype));
  }
  LOOM_TRY(const auto adapters, need_array(given.adapters, given.adapters_count, "adapters"));
  for (const char* const folder : adapters) {
    LOOM_TRY(const std::string_view text, need_text(folder, "a folder of adapters"));
    out.adapters.emplace_back(text);
  }
  out.decoder.progress = progress_of(given);
  out.decoder.cancel = cancel;
  return out;
}

Json info_of(const LanguageModel& model) {
  const ModelConfig& c = model.decoder->config;
  Json out{{"path", model.path},
           {"format", name(model.format)},
           {"layers", c.num_hidden_layers},
           {"hidden_size", c.hidden_size},
           {"intermediate_size", c.intermediate_size},
           {"attention_heads", c.num_attention_heads},
           {"key_value_heads", c.num_key_value_heads},
           {"head_dim", c.head_dim},
           {"vocab_size", c.vocab_size},
           {"max_context", c.max_position_embeddings},
           {"resident_bytes", bytes_on_host(model.decoder->network)},
           {"load_ms", model.load_ms},
           {"has_tokenizer", model.tokenizer != nullptr},
           {"has_chat_template", model.chat_template.has_value()},
           {"stop_ids", model.stop_ids}};
  if (model.tokenizer_error) out["tokenizer_error"] = model.tokenizer_error->text();
  if (model.template_error) out["template_error"] = model.template_error->text();
  return out;
}

// Files that follow each other in `bytes`; the i-th ends at ends[i].
Result<FileSet> files_of(std::span<const char* const> names, std::span<const std::byte> bytes,
                         std::span<const std::uint64_t> ends) {
  if (names.size() != ends.size())
    return fail(Code::ShapeMismatch, "{} names and {} ends: expected as many", names.size(), ends.size());
  std::map<std::string, std::shared_ptr<const ByteSource>> files;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    LOOM_TRY(const std::string_view name, need_text(names[i], "a name of a file"));
    if (ends[i] < begin || ends[i] > bytes.size())
      return fail(Code::OutOfRange, "{} ends at {}: expected {} to {}", name, ends[i], begin, bytes.size());
    const auto part = bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(ends[i] - begin));
    if (!files.emplace(name, ByteSource::memory(fmt::format("memory/{}", name), part)).second)
      return fail(Code::InvalidArgument, "{} is named twice", name);
    begin = ends[i];
  }
  if (begin != bytes.size())
    return fail(Code::ShapeMismatch, "the last file ends at {}, data has {} bytes", begin, bytes.size());
  return FileSet::memory("memory", std::move(files));
}

// load(options) -> Result<LanguageModel>
template <class F>
Result<void> load_model(const loom_model_options* options, loom_model* model, F&& load) {
  LOOM_TRY(const loom_model_options given, read_struct(options));
  LOOM_TRY(const CancelOf cancel, CancelOf::handle(given.cancel));
  LOOM_TRY(const ModelOptions wanted, options_of(given, cancel.flag()));
  LOOM_TRY(LanguageModel loaded, load(wanted));
  LOOM_TRY_VOID(need_answers());
  LOOM_TRY(*model, make_handle<ModelObject>(std::move(loaded)));
  return {};
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_model_open(const char* path, const loom_model_options* options, loom_model* model) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(model));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    return load_model(options, model,
                      [&](const ModelOptions& wanted) { return load_language_model(std::string(name), wanted); });
  });
}

loom_status loom_model_open_part(const char* path, uint64_t offset, uint64_t size, const loom_model_options* options,
                                 loom_model* model) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(model));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(auto source,
             ByteSource::part_of_file(std::string(name), offset, size == 0 ? ByteSource::kToTheEnd : size));
    return load_model(options, model,
                      [&](const ModelOptions& wanted) { return load_language_model(std::move(source), wanted); });
  });
}

loom_status loom_model_from_memory(const void* data, size_t data_size, const loom_model_options* options,
                                   loom_model* model) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(model));
    LOOM_TRY(const std::string_view bytes, need_bytes(data, data_size, "data"));
    return load_model(options, model, [&](const ModelOptions& wanted) {
      return load_language_model(ByteSource::memory("memory", std::as_bytes(std::span(bytes))), wanted);
    });
  });
}

loom_status loom_model_from_files(const char* const* names, size_t names_count, const void* data, size_t data_size,
                                  const uint64_t* ends, size_t ends_count, const loom_model_options* options,
                                  loom_model* model) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(model));
    LOOM_TRY(const auto files, need_array(names, names_count, "names"));
    LOOM_TRY(const std::string_view bytes, need_bytes(data, data_size, "data"));
    LOOM_TRY(const auto borders, need_array(ends, ends_count, "ends"));
    LOOM_TRY(const FileSet set, files_of(files, std::as_bytes(std::span(bytes)), borders));
    return load_model(options, model, [&](const ModelOptions& wanted) { return load_language_model(set, wanted); });
  });
}

loom_status loom_model_from_callback(uint64_t size, loom_read_at read, void* user, const loom_model_options* options,
                                     loom_model* model) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(model));
    if (read == nullptr) return fail(Code::InvalidArgument, "read is NULL");
    const ReadAt from_host = [read, user](std::uint64_t offset, std::span<std::byte> to) -> Result<std::size_t> {
      const std::int64_t got = read(user, offset, to.data(), to.size());
      if (got < 0) return fail(Code::IoError, "the callback could not read {} bytes at {}", to.size(), offset);
      if (static_cast<std::uint64_t>(got) > to.size())
        return fail(Code::InvalidArgument, "the callback read_at returned {} bytes at {}: expected {} at most", got,
                    offset, to.size());
      return static_cast<std::size_t>(got);
    };
    auto source = ByteSource::on_demand("callback", size, from_host);
    return load_model(options, model,
                      [&](const ModelOptions& wanted) { return load_language_model(std::move(source), wanted); });
  });
}

loom_status loom_model_info(loom_model model, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto use, Use<ModelObject>::of(model));
    LOOM_TRY(*info, make_blob(info_of(use->model)));
    return {};
  });
}

loom_status loom_model_tokenizer(loom_model model, loom_tokenizer* tokenizer) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(tokenizer));
    LOOM_TRY(const auto use, Use<ModelObject>::of(model));
    LOOM_TRY_VOID(use->model.need_tokenizer());
    LOOM_TRY(*tokenizer, make_handle<TokenizerObject>(use->model.tokenizer));
    return {};
  });
}

loom_status loom_model_render_chat(loom_model model, const void* messages, size_t messages_size,
                                   int32_t add_generation_prompt, loom_blob* text) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(text));
    LOOM_TRY(const std::string_view json, need_bytes(messages, messages_size, "messages"));
    LOOM_TRY(const auto use, Use<ModelObject>::of(model));
    LOOM_TRY(const Json list, messages_of(json));
    PromptRequest request{.messages = list, .form = PromptForm::Chat};
    request.add_generation_prompt = add_generation_prompt != 0;
    LOOM_TRY_VOID(choose_template(use->model, request));
    LOOM_TRY(std::string rendered, render_prompt(use->model, std::move(request)));
    LOOM_TRY(*text, make_blob(std::move(rendered)));
    return {};
  });
}
