// Language models and tokenizers of Loom 0.8x. Each is a model of loom.h, one session and the conversation so far.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "legacy/names/own_objects.h"

namespace welvet {
namespace {

// The object of LoomCreateLLM(). A call that finds it in use by another thread is refused, as loom.h does.
struct LanguageModel {
  std::mutex mutex;
  loom_model model = 0;
  loom_session session = 0;
  bool greedy = false;
  double ram_mb = 0;
  Json history = Json::array();
  loom_generator generator = 0;  // of LoomLLMStartGenerate()
  bool told_end = true;

  LanguageModel() = default;
  LanguageModel(const LanguageModel&) = delete;
  ~LanguageModel() {
    for (const loom_handle each : {generator, session, model}) loom_release(each);
  }
};

using Models = OwnObjects<LanguageModel, 0x70>;

// Calls body(model) for the model of a handle that nobody else uses.
template <class F>
char* with_model(int64_t given, F&& body) {
  return Models::with(given, "a language model", body);
}

int64_t open_model(const char* path, int precision, bool greedy) {
  auto made = std::make_shared<LanguageModel>();
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_model_options>();
  options.compute = &compute;
  compute.threads = shared_threads();
  if (precision != 32) options.dtype = precision == 8 ? "int8" : "int4";
  if (loom_model_open(path, &options, &made->model) != LOOM_OK) return no_handle_of_call();
  auto session_compute = sized<loom_compute_options>();
  auto session = sized<loom_session_options>();
  session.compute = &session_compute;
  session_compute.threads = shared_threads();
  if (loom_session_create(made->model, &session, &made->session) != LOOM_OK) return no_handle_of_call();
  loom_blob info = 0;
  if (loom_model_info(made->model, &info) == LOOM_OK) {
    const Json facts = Json::parse(take(info), nullptr, false);
    if (facts.is_object()) made->ram_mb = facts.value("resident_bytes", 0.0) / 1e6;
  }
  made->greedy = greedy;
  return Models::add(std::move(made));
}

struct Asked {
  std::string_view system, user;
  float temperature = 0;
  int top_k = 0, max_tokens = 0;
};

// The ids of the whole talk with the new question, as the model's template writes it.
loom_status ids_of(const LanguageModel& m, const Asked& asked, std::vector<std::int32_t>& ids) {
  Json messages = Json::array();
  if (!asked.system.empty()) messages.push_back({{"role", "system"}, {"content", asked.system}});
  for (const Json& said : m.history) messages.push_back(said);
  messages.push_back({{"role", "user"}, {"content", asked.user}});
  const std::string document = messages.dump(-1, ' ', false, Json::error_handler_t::replace);
  loom_blob rendered = 0, encoded = 0;
  Held tokenizer;
  loom_status status = loom_model_tokenizer(m.model, tokenizer.out());
  if (status == LOOM_OK) status = loom_model_render_chat(m.model, document.data(), document.size(), 1, &rendered);
  bool raw = false;
  if (status == LOOM_NO_TEMPLATE) raw = true, status = LOOM_OK;  // a base model continues the question
  if (status != LOOM_OK) return status;
  const std::string text = raw ? std::string(asked.user) : take(rendered);
  status = loom_tokenizer_encode(tokenizer.get(), text.data(), text.size(), raw ? 1 : 0, 1, &encoded);
  if (status != LOOM_OK) return status;
  const std::string bytes = take(encoded);
  ids.resize(bytes.size() / sizeof ids[0]);
  std::copy_n(bytes.data(), ids.size() * sizeof ids[0], reinterpret_cast<char*>(ids.data()));
  return LOOM_OK;
}

// Begins an answer after the part of the conversation that the session already holds.
loom_status begin(LanguageModel& m, const Asked& asked) {
  std::vector<std::int32_t> ids;
  if (const loom_status status = ids_of(m, asked, ids); status != LOOM_OK) return status;
  const std::int32_t* held = nullptr;
  std::size_t count = 0;
  if (const loom_status status = loom_session_tokens(m.session, 0, &held, &count); status != LOOM_OK) return status;
  std::size_t same = 0;
  while (same < count && same + 1 < ids.size() && held[same] == ids[same]) ++same;
  if (const loom_status status = loom_session_rewind(m.session, 0, same); status != LOOM_OK) return status;
  auto options = sized<loom_generation_options>();
  options.max_tokens = asked.max_tokens > 0 ? static_cast<std::uint64_t>(asked.max_tokens) : 128;
  if (!m.greedy) {
    options.temperature = asked.temperature;
    options.top_k = asked.top_k > 0 ? asked.top_k : 40;
    options.repetition_penalty = 1.1f;
  }
  loom_release(m.generator);
  m.generator = 0, m.told_end = false;
  const loom_status status =
      loom_generator_create(m.session, ids.data() + same, ids.size() - same, &options, &m.generator);
  if (status == LOOM_OK) m.history.push_back({{"role", "user"}, {"content", asked.user}});
  return status;
}

// The figures of an answer that has ended, which joins the talk.
char* finish(LanguageModel& m, Json out) {
  auto whole = sized<loom_generation>();
  if (loom_generator_result(m.generator, &whole) != LOOM_OK) return failed_call();
  const std::string said(whole.text, whole.text_size);
  m.history.push_back({{"role", "assistant"}, {"content", said}});
  const auto rate = [](double count, double seconds) { return seconds > 0 ? count / seconds : 0.0; };
  const auto prompt = static_cast<double>(whole.prompt_tokens), drawn = static_cast<double>(whole.ids_count);
  out["response"] = said;
  out["prefill_tps"] = rate(prompt, whole.prefill_seconds);
  out["decode_tps"] = rate(drawn, whole.decode_seconds);
  out["total_tps"] = rate(prompt + drawn, whole.prefill_seconds + whole.decode_seconds);
  out["ram_mb"] = m.ram_mb, out["vram_mb"] = 0;
  loom_release(m.generator);
  m.generator = 0, m.told_end = true;
  return json_text(out);
}

char* generate(LanguageModel& m, const Asked& asked) {
  if (begin(m, asked) != LOOM_OK) return failed_call();
  for (auto step = sized<loom_step>(); step.stop == LOOM_STOP_NOT_YET;)
    if (loom_generator_next(m.generator, 0, &step) != LOOM_OK) return failed_call();
  return finish(m, Json::object());
}

// {"s": 0, "t": text}, {"s": 2} where there is none so far, {"s": 1, ...} once at the end.
char* poll(LanguageModel& m) {
  if (m.generator == 0) return m.told_end ? json_text(Json{{"s", 2}}) : failed("no generation was started");
  auto step = sized<loom_step>();
  if (loom_generator_next(m.generator, 0, &step) != LOOM_OK) return failed_call();
  if (step.text_size > 0) return json_text(Json{{"s", 0}, {"t", std::string(step.text, step.text_size)}});
  return step.stop == LOOM_STOP_NOT_YET ? json_text(Json{{"s", 2}}) : finish(m, Json{{"s", 1}});
}

char* list_models(std::string_view folder) {
  Json out = Json::array();
  std::error_code ignored;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder), ignored)) {
    const std::string name = entry.path().filename().string();
    const std::size_t between = name.find("--", 8);
    if (name.rfind("models--", 0) == 0 && between != name.npos)
      names.push_back(name.substr(8, between - 8) + "/" + name.substr(between + 2));
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) out.push_back(name);
  return json_text(out);
}

char* detokenize(int64_t tokenizer, std::string_view json) {
  const Json list = Json::parse(json, nullptr, false);
  if (!list.is_array()) return failed("expected a JSON list of ids");
  std::vector<std::int32_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer()) return failed("expected a JSON list of ids");
    ids.push_back(id.get<std::int32_t>());
  }
  loom_blob out = 0;
  return loom_tokenizer_decode(handle(tokenizer), ids.data(), ids.size(), 1, &out) == LOOM_OK ? text(take(out))
                                                                                              : failed_call();
}

char* tokenize(int64_t tokenizer, std::string_view given) {
  loom_blob out = 0;
  if (loom_tokenizer_encode(handle(tokenizer), given.data(), given.size(), 0, 1, &out) != LOOM_OK) return failed_call();
  const std::string bytes = take(out);
  std::vector<std::int32_t> ids(bytes.size() / sizeof(std::int32_t));
  std::copy_n(bytes.data(), ids.size() * sizeof ids[0], reinterpret_cast<char*>(ids.data()));
  return json_text(Json(ids));
}

}  // namespace

bool free_language_model(int64_t handle) { return Models::erase(handle); }

}  // namespace welvet

using namespace welvet;

int64_t LoomCreateLLM(const char* snapshotDir, int, int precisionInt, int, int deterministicInt) {
  return make([&] { return open_model(snapshotDir, precisionInt, deterministicInt != 0); });
}
int64_t LoomLoadModel(const char* path) {
  return make([&] { return open_model(path, 32, true); });
}
void LoomFreeLLM(int64_t given) {
  make([&]() -> int64_t { return Models::erase(given) ? 0 : -1; });
}

char* LoomLLMGenerate(int64_t given, const char* systemPrompt, const char* userMsg, float temperatureF, int topKI,
                      int maxTokensI) {
  return with_model(given, [&](LanguageModel& m) {
    return generate(m, {words(systemPrompt), words(userMsg), temperatureF, topKI, maxTokensI});
  });
}
void LoomLLMStartGenerate(int64_t given, const char* systemPrompt, const char* userMsg, float temperatureF, int topKI,
                          int maxTokensI) {
  FreeLoomString(with_model(given, [&](LanguageModel& m) {
    const Asked asked{words(systemPrompt), words(userMsg), temperatureF, topKI, maxTokensI};
    return begin(m, asked) == LOOM_OK ? done() : failed_call();
  }));
}
char* LoomLLMPollToken(int64_t given) {
  return with_model(given, [](LanguageModel& m) { return poll(m); });
}
void LoomLLMResetHistory(int64_t given) {
  FreeLoomString(with_model(given, [](LanguageModel& m) {
    m.history = Json::array();
    return done();
  }));
}

// The answer alone, without a talk.
char* LoomGenerate(int64_t given, const char* prompt, int maxTokens) {
  return with_model(given, [&](LanguageModel& m) {
    m.history = Json::array();
    char* const told = generate(m, {{}, words(prompt), 0, 0, maxTokens});
    const Json json = Json::parse(words(told), nullptr, false);
    if (!json.is_object() || !json.contains("response")) return told;
    FreeLoomString(told);
    return text(json["response"].get<std::string>());
  });
}

char* LoomLLMListModels(const char* hubDir) {
  return answer([&] { return list_models(words(hubDir)); });
}

int64_t LoomLoadTokenizer(const char* path) {
  return make([&]() -> int64_t {
    loom_tokenizer made = 0;
    return loom_tokenizer_open(path, &made) == LOOM_OK ? static_cast<int64_t>(made) : no_handle_of_call();
  });
}
int64_t LoomNewTokenizerFromJSON(const char* buffer, int length) {
  return make([&]() -> int64_t {
    loom_tokenizer made = 0;
    if (length < 0) {
      failed("the length is negative");
      return -1;
    }
    return loom_tokenizer_from_json(buffer, static_cast<std::size_t>(length), &made) == LOOM_OK
               ? static_cast<int64_t>(made)
               : no_handle_of_call();
  });
}
char* LoomTokenize(int64_t given, const char* given_text) {
  return answer([&] { return tokenize(given, words(given_text)); });
}
char* LoomDetokenize(int64_t given, const char* tokensJSON) {
  return answer([&] { return detokenize(given, words(tokensJSON)); });
}
void LoomFreeTokenizer(int64_t given) {
  make([&]() -> int64_t {
    loom_kind kind = LOOM_KIND_NONE;
    if (loom_kind_of(handle(given), &kind) != LOOM_OK || kind != LOOM_KIND_TOKENIZER) return 0;
    return loom_release(handle(given)) == LOOM_OK ? 0 : no_handle_of_call();
  });
}
