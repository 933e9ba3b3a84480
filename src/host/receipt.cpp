#include "host/receipt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include "core/config_reader.h"
#include "core/config_writer.h"
#include "core/file.h"
#include "core/numerics_version.h"
#include "host/conversation.h"
#include "host/device.h"
#include "lm/peft.h"
#include "text/unicode/utf8.h"

namespace loom {
namespace {

constexpr std::uint64_t kReceiptVersion = 1;
constexpr std::array<std::string_view, 4> kCommands = {"generate", "logits", "embed", "run"};
constexpr std::array<std::string_view, 3> kKvTypes = {"float32", "bfloat16", "int8"};
constexpr std::uint64_t kMostContext = std::uint64_t{1} << 24;

std::string hash_of_text(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return to_hex(hash.finish());
}

// Visits a float as the shortest number that reads back as the same one.
void visit_float(ConfigVisitor& visit, Key key, float& value) {
  double wide = std::strtod(fmt::format("{}", value).c_str(), nullptr);
  const double before = wide;
  visit(key, wide, NumberRange{-3.4e38, 3.4e38});
  if (wide != before) value = static_cast<float>(wide);
}

// Ids are 31-bit numbers; others become -1, which no vocabulary has.
void visit_ids(ConfigVisitor& visit, Key key, std::vector<std::int32_t>& ids) {
  std::vector<std::int64_t> wide(ids.begin(), ids.end());
  visit(key, wide);
  ids.clear();
  for (const std::int64_t id : wide) ids.push_back(id < 0 || id > 0x7fffffff ? -1 : static_cast<std::int32_t>(id));
}

// A seed has 64 bits, more than numbers of JSON hold: it is a text of digits.
void visit_seed(ConfigVisitor& visit, Key key, std::uint64_t& seed) {
  std::string digits = fmt::format("{}", seed);
  visit(key, digits);
  seed = std::strtoull(digits.c_str(), nullptr, 10);
}
bool is_seed(const Json* value) {
  const std::string* const text = value == nullptr ? nullptr : as_string(*value);
  return value == nullptr || (text != nullptr && fmt::format("{}", std::strtoull(text->c_str(), nullptr, 10)) == *text);
}

// One of a list of names, kept as its text.
void visit_name(ConfigVisitor& visit, Key key, std::string& value, std::span<const std::string_view> names) {
  auto index = static_cast<std::size_t>(std::ranges::find(names, value) - names.begin());
  visit.choice(key, index, names);
  value = names[index];
}

void sampling_fields(ConfigVisitor& visit, SamplingOptions& s) {
  visit_float(visit, {"temperature", "0: the best token"}, s.temperature);
  auto top_k = static_cast<std::uint32_t>(s.top_k);
  visit({"top_k", "0: off"}, top_k);
  s.top_k = static_cast<int>(top_k);
  visit_float(visit, {"top_p"}, s.top_p);
  visit_float(visit, {"min_p"}, s.min_p);
  visit_float(visit, {"typical_p"}, s.typical_p);
  visit_float(visit, {"repetition_penalty"}, s.repetition_penalty);
  std::optional<std::int64_t> window = s.repetition_window;
  visit({"repetition_window", "Tokens that penalties look back on; -1: all"}, window);
  s.repetition_window = static_cast<int>(std::clamp<std::int64_t>(window.value_or(64), -2, 0x7fffffff));
  visit_float(visit, {"frequency_penalty"}, s.frequency_penalty);
  visit_float(visit, {"presence_penalty"}, s.presence_penalty);
  std::vector<std::int32_t> biased;
  std::vector<double> biases;
  for (const auto& [id, bias] : s.logit_bias)
    biased.push_back(id), biases.push_back(std::strtod(fmt::format("{}", bias).c_str(), nullptr));
  visit_ids(visit, {"biased_ids", "Tokens with a bias"}, biased);
  visit({"biases", "Of these tokens"}, biases);
  biases.resize(biased.size());
  s.logit_bias.clear();
  for (std::size_t i = 0; i < biased.size(); ++i) s.logit_bias.emplace_back(biased[i], static_cast<float>(biases[i]));
  visit_ids(visit, {"banned_ids"}, s.banned);
  visit_seed(visit, {"seed", "Digits"}, s.seed);
}

void generation_fields(ConfigVisitor& visit, GenerationOptions& g) {
  visit({"max_tokens"}, g.max_tokens, kAnySize);
  visit({"min_tokens"}, g.min_tokens, kAnySize);
  sampling_fields(visit, g.sampling);
  visit({"stop", "Texts that end the answer"}, g.stop);
  visit_ids(visit, {"stop_ids", "Tokens that end it, beside the model's own"}, g.stop_ids);
  visit({"ignore_eos"}, g.ignore_eos);
  if (visit.describes() || !g.visible_ids.empty())
    visit_ids(visit, {"visible_ids", "Control tokens that the text shows, as marks of calls; absent: none"},
              g.visible_ids);
  visit({"sampling_session"}, g.sampling_session, SizeRange{0, 0xffffffff});
}

void session_fields(ConfigVisitor& visit, Receipt::Settings& s) {
  visit({"dtype", "That weights were turned into on load; empty: as stored"}, s.dtype);
  visit.choice({"activations"}, s.activations, kActivationTypes);
  visit_name(visit, {"kv_dtype"}, s.kv_dtype, kKvTypes);
  visit({"context", "In tokens"}, s.context, SizeRange{1, kMostContext});
  visit({"adapters", "Names of those that count"}, s.adapters);
}

void prompt_fields(ConfigVisitor& visit, Receipt::Prompt& p) {
  visit({"text"}, p.text);
  visit({"is_exact",
         "The text gives the ids; else ids were given, the text was no UTF-8, or parts of it were read as plain text"},
        p.is_exact);
  visit({"adds_special_tokens"}, p.adds_special_tokens);
  visit_ids(visit, {"ids"}, p.ids);
  visit({"template_sha256", "SHA-256 of the chat template that wrote the text"}, p.template_sha256);
}

void input_fields(ConfigVisitor& visit, Receipt::NetworkInput& i) {
  visit.objects({"files", "Tensors; none: drawn from the seed"}, i.files);
  visit_seed(visit, {"seed", "Digits"}, i.seed);
  visit({"batch"}, i.batch, SizeRange{1, 65536});
  visit.object({"hints"}, [&](ConfigVisitor& inner) { i.hints.fields(inner); });
  visit({"lenient"}, i.lenient);
  visit.objects({"others", "Files that the network's file names"}, i.others);
}

void form_fields(ConfigVisitor& visit, Grammar::Source& form) {
  visit_name(visit, {"kind"}, form.kind, Grammar::kKinds);
  visit({"texts", "The schema, the grammar, the pattern or the choices"}, form.texts);
}

void trace_fields(ConfigVisitor& visit, Receipt::LayerHashes& t) {
  visit({"root", "Merkle tree hash of weights, layers and tokens"}, t.root);
  visit({"weights", "Hashes of the weights, by layer"}, t.weights);
  visit({"layers", "Hashes of what each layer gave for all tokens"}, t.layers);
  visit({"tokens", "Hashes of what all layers gave for each token"}, t.tokens);
}

void machine_fields(ConfigVisitor& visit, Receipt::Machine& m) {
  visit({"device"}, m.device);
  visit({"precision"}, m.precision);
  visit({"isa"}, m.isa);
  visit({"threads"}, m.threads, kAnySize);
  visit({"speculation"}, m.speculation);
}

void outcome_fields(ConfigVisitor& visit, Receipt::Command command, Receipt::Outcome& o) {
  if (visit.describes() || command == Receipt::Command::generate) {
    visit_ids(visit, {"ids", "Drawn tokens"}, o.ids);
    visit({"text"}, o.text);
    visit({"stop_reason", "eos, stop, length or context"}, o.stop_reason);
  }
  if (visit.describes() || command == Receipt::Command::embed || command == Receipt::Command::run)
    visit({"shape"}, o.shape, kAnySize);
  visit({"hash", "Hash of the ids and the last logits, the logits, the vectors or the output"}, o.hash);
}

std::string digest_of(Json receipt) {
  if (receipt.is_object()) receipt.erase("digest");
  const auto text = dump_canonical(receipt);
  return text ? hash_of_text(*text) : std::string();
}

Receipt started(Receipt::Command command, const std::string& path) {
  Receipt out;
  out.command = command, out.version = LOOM_VERSION, out.numerics_version = kNumericsVersion;
  out.model.path = path;
  return out;
}

Result<void> check_precision(Precision precision) {
  if (precision == Precision::Strict) return {};
  return fail(Code::Unsupported, "a result of precision fast has the bits of no other device: no receipt can prove it");
}

Result<Receipt> receipt_of_model(Receipt::Command command, const LanguageModel& model, const Session& session,
                                 Receipt::Prompt prompt) {
  LOOM_TRY_VOID(check_precision(session.precision()));
  Receipt out = started(command, model.path);
  for (const auto& [name, folder] : model.adapter_folders) out.adapters.push_back({name, folder, {}});
  Receipt::Settings& s = out.session;
  s.dtype = model.dtype, s.activations = session.activations();
  s.kv_dtype = name(session.kv_dtype()), s.context = session.context_tokens();
  for (const PeftInfo& info : list_peft(session.model())) {
    const auto& chosen = session.adapters();
    if (chosen ? std::ranges::find(*chosen, info.name) != chosen->end() : info.enabled) s.adapters.push_back(info.name);
  }
  out.machine = {device_title(session.device()), std::string(name(session.precision())),
                 std::string(name(session.isa())), static_cast<std::uint64_t>(session.threads())};
  out.prompt = std::move(prompt);
  return out;
}

// Files that are neither the model nor an input.
std::vector<Receipt::File> others_of(const Receipt& receipt, const std::vector<std::string>& read) {
  std::vector<Receipt::File> out;
  for (const std::string& path : read) {
    const bool is_input =
        std::ranges::find(receipt.input.files, path, &Receipt::File::path) != receipt.input.files.end();
    if (path != receipt.model.path && path != receipt.input.hints.path && !is_input) out.push_back({{}, path, {}});
  }
  return out;
}

Receipt receipt_of_run(const std::string& network, Receipt::NetworkInput input, const std::vector<std::string>& read,
                       Receipt::Machine machine, const Digest& hash) {
  Receipt out = started(Receipt::Command::run, network);
  out.input = std::move(input);
  out.input.others = others_of(out, read);
  out.machine = std::move(machine), out.result.hash = to_hex(hash);
  return out;
}

// Describes the machine of a NetworkOutput or a GraphRunResult.
template <class Result>
Receipt::Machine machine_of(const Result& result) {
  return {result.device, std::string(name(result.precision)), std::string(name(result.isa)),
          static_cast<std::uint64_t>(result.threads)};
}

}  // namespace

void Receipt::File::fields(ConfigVisitor& visit) {
  visit({"name"}, name);
  visit({"path"}, path);
  visit({"sha256"}, sha256);
}

void Receipt::fields(ConfigVisitor& visit) {
  const auto is = [&](auto... commands) { return visit.describes() || ((command == commands) || ...); };
  std::uint64_t format = kReceiptVersion;
  visit({"loom_receipt", "Version of the format"}, format, SizeRange{kReceiptVersion, kReceiptVersion});
  visit.choice({"command"}, command, kCommands);
  visit.object({"program"}, [&](ConfigVisitor& inner) {
    inner({"version"}, version);
    inner({"numerics_version"}, numerics_version, kAnySize);
  });
  visit.object({"model"}, [&](ConfigVisitor& inner) { model.fields(inner); });
  if (is(Command::generate, Command::logits)) {
    visit.objects({"adapters"}, adapters);
    if (visit.describes() || command == Command::generate)
      visit.objects({"kv", "The file of keys and values that the prompt went on from (--kv); none: it was read whole"},
                    kv);
    visit.object({"prompt"}, [&](ConfigVisitor& inner) { prompt_fields(inner, prompt); });
    visit.object({"session"}, [&](ConfigVisitor& inner) { session_fields(inner, session); });
  }
  if (is(Command::generate))
    visit.object({"generation"}, [&](ConfigVisitor& inner) { generation_fields(inner, generation); });
  if (is(Command::embed)) {
    visit({"texts"}, texts);
    visit({"text_prompt", "Put before each of them"}, text_prompt);
    visit({"dtype", "Type of the weights; empty: float32"}, session.dtype);
  }
  if (is(Command::run)) visit.object({"input"}, [&](ConfigVisitor& inner) { input_fields(inner, input); });
  if (visit.describes() || (form && command == Command::generate)) {
    Grammar::Source none{std::string(Grammar::kKinds[0]), {}};
    visit.object({"form", "Absent: any text"}, [&](ConfigVisitor& inner) { form_fields(inner, form ? *form : none); });
  }
  if (visit.describes() || (trace && command == Command::generate)) {
    LayerHashes none;
    visit.object({"trace"}, [&](ConfigVisitor& inner) { trace_fields(inner, trace ? *trace : none); });
  }
  visit.object({"machine", "No bit depends on it"}, [&](ConfigVisitor& inner) { machine_fields(inner, machine); });
  visit.object({"result"}, [&](ConfigVisitor& inner) { outcome_fields(inner, command, result); });
}

Receipt::Prompt prompt_of_text(std::string_view text, bool adds_special_tokens, std::string_view template_source) {
  Receipt::Prompt out;
  out.text = text::to_valid_utf8(text), out.is_exact = is_utf8(text);
  out.adds_special_tokens = adds_special_tokens;
  if (!template_source.empty()) out.template_sha256 = hash_of_text(template_source);
  return out;
}

namespace {

// A bias of -infinity, which JSON cannot hold, and a ban leave the same logit.
void ban_never_drawn(SamplingOptions& sampling) {
  for (const auto& [id, bias] : sampling.logit_bias)
    if (bias == -INFINITY) sampling.banned.push_back(id);
  std::erase_if(sampling.logit_bias, [](const auto& each) { return each.second == -INFINITY; });
}

}  // namespace

Result<Receipt> receipt_of(const LanguageModel& model, const Session& session, const GenerationOptions& options,
                           const Generation& g, Receipt::Prompt prompt) {
  if (g.stop_reason == StopReason::NotYet || g.stop_reason == StopReason::Cancelled)
    return fail(Code::InvalidState, "the answer {}: only a complete one has a receipt",
                g.stop_reason == StopReason::NotYet ? "is not complete" : "was stopped");
  prompt.ids = g.prompt_ids;
  LOOM_TRY(Receipt out, receipt_of_model(Receipt::Command::generate, model, session, std::move(prompt)));
  out.generation = options;
  out.machine.speculation = options.drafter != nullptr;
  if (options.grammar != nullptr) out.form = options.grammar->source();
  out.generation.drafter.reset();
  out.generation.grammar.reset();
  out.generation.logprobs = 0;
  ban_never_drawn(out.generation.sampling);
  out.result = {g.ids, text::to_valid_utf8(g.text), std::string(name(g.stop_reason)), {}, to_hex(g.hash)};
  return out;
}

Result<Receipt> receipt_of_logits(const LanguageModel& model, const Session& session, const Digest& hash,
                                  Receipt::Prompt prompt) {
  LOOM_TRY(Receipt out, receipt_of_model(Receipt::Command::logits, model, session, std::move(prompt)));
  out.result.hash = to_hex(hash);
  return out;
}

Digest hash_of(const std::vector<TextEmbedding>& vectors) {
  Sha256 hash;
  for (const TextEmbedding& each : vectors) hash.update_floats(each.values);
  return hash.finish();
}

Result<Receipt> receipt_of(const std::string& folder, const TextEncoder& encoder, const EncoderOptions& options,
                           std::vector<std::string> texts, const std::vector<TextEmbedding>& vectors) {
  LOOM_TRY_VOID(check_precision(precision_of(encoder.device())));
  Receipt out = started(Receipt::Command::embed, folder);
  for (const std::string& text : texts)
    if (!is_utf8(text)) return fail(Code::Unsupported, "a text is no UTF-8: no receipt can hold it");
  out.texts = std::move(texts), out.text_prompt = encoder.prompt().value_or("");
  if (options.dtype) out.session.dtype = name(*options.dtype);
  out.machine = {device_title(encoder.device()), std::string(name(precision_of(encoder.device()))),
                 std::string(name(options.session.isa.value_or(best_isa()))),
                 static_cast<std::uint64_t>(encoder.threads())};
  out.result.shape = {vectors.size(), encoder.dimensions()};
  out.result.hash = to_hex(hash_of(vectors));
  return out;
}

Result<Receipt> receipt_of(const std::string& network, Receipt::NetworkInput input, const NetworkOutput& output,
                           const std::vector<std::string>& read) {
  LOOM_TRY_VOID(check_precision(output.precision));
  Receipt out = receipt_of_run(network, std::move(input), read, machine_of(output), output.hash);
  const auto extents = output.shape.extents();
  out.result.shape.assign(extents.begin(), extents.end());
  return out;
}

Result<Receipt> receipt_of(const std::string& graph, Receipt::NetworkInput input, const GraphRunResult& result,
                           const std::vector<std::string>& read) {
  LOOM_TRY_VOID(check_precision(result.precision));
  return receipt_of_run(graph, std::move(input), read, machine_of(result), result.digest);
}

namespace {

std::vector<std::string> hex_of(const std::vector<Digest>& list) {
  std::vector<std::string> out;
  out.reserve(list.size());
  for (const Digest& digest : list) out.push_back(to_hex(digest));
  return out;
}

}  // namespace

Result<std::pair<Trace, Digest>> trace_again(const Receipt& receipt, Session& session,
                                             const std::atomic<bool>* cancel) {
  const Receipt::Outcome& result = receipt.result;
  const bool ended_by_token = result.stop_reason == name(StopReason::Eos);
  const std::vector<std::int32_t> ids = fed_ids(receipt.prompt.ids, result.ids, ended_by_token);
  std::vector<float> logits;
  LOOM_TRY(Trace trace, trace_tokens(session, ids, receipt.prompt.ids.size(), logits, cancel));
  return std::pair(std::move(trace), generation_hash(result.ids, logits));
}

Result<void> add_trace(Receipt& receipt, Session& session, const std::vector<Digest>& weights,
                       const std::atomic<bool>* cancel) {
  LOOM_TRY(auto again, trace_again(receipt, session, cancel));
  if (to_hex(again.second) != receipt.result.hash)
    return fail(Code::InvalidState,
                "the answer has hash {}, computed again it has {}: check the memory and the processor of this machine",
                receipt.result.hash, to_hex(again.second));
  Trace& trace = again.first;
  trace.weights = weights;
  seal_trace(trace);
  receipt.trace = {to_hex(trace.root), hex_of(trace.weights), hex_of(trace.layers), hex_of(trace.tokens)};
  return {};
}

Result<void> add_trace(Receipt& receipt, const Session& like, const std::atomic<bool>* cancel) {
  LOOM_TRY(const auto session, trace_session(like));
  const auto& adapters = like.adapters();
  return add_trace(receipt, *session, weight_digests(like.model(), adapters ? &*adapters : nullptr, *like.pool()),
                   cancel);
}

Result<Json> seal(Receipt receipt, const std::atomic<bool>* cancel) {
  std::vector<Receipt::File*> files = {&receipt.model};
  for (auto* const list : {&receipt.adapters, &receipt.kv, &receipt.input.files, &receipt.input.others})
    for (Receipt::File& file : *list) files.push_back(&file);
  if (!receipt.input.hints.path.empty()) files.push_back(&receipt.input.hints);
  for (Receipt::File* const file : files) {
    if (file->sha256.empty()) {
      LOOM_TRY(const Digest digest, content_hash(file->path, HashCache::use, cancel));
      file->sha256 = to_hex(digest);
    }
    if (!is_utf8(file->path))
      return fail(Code::Unsupported, "the path {} is no UTF-8", text::to_valid_utf8(file->path));
  }
  Json out = written_config([&](ConfigVisitor& visit) { receipt.fields(visit); });
  std::string digest = digest_of(out);
  if (digest.empty()) return fail(Code::Unsupported, "a text of the options is no UTF-8: no receipt can hold it");
  out["digest"] = std::move(digest);
  return out;
}

Result<void> check_receipt_place(const std::string& path) {
  if (is_directory(path)) return fail(Code::InvalidArgument, "{}: a folder, expected a file to write", path);
  if (!is_file(path)) return AtomicFile::create(path).map([](const AtomicFile&) {});  // which leaves nothing
  if (is_receipt_file(path)) return {};
  LOOM_TRY(const auto there, MappedFile::open(path));
  if (there->bytes().empty()) return {};
  return fail(Code::InvalidArgument, "{}: exists and holds no receipt; not overwritten", path);
}

Result<void> write_receipt(const std::string& path, const Json& sealed) {
  LOOM_TRY_VOID(check_receipt_place(path));
  const std::string text = dump_json(sealed, 1) + "\n";
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

Result<Receipt> receipt_from_json(const Json& json) {
  if (find(json, "loom_receipt") == nullptr)
    return fail(Code::CorruptData, "no receipt: expected an object with the key loom_receipt");
  if (const Json* digest = find(json, "digest"); digest == nullptr || as_string(*digest) == nullptr)
    return fail_at({"digest"}, Code::CorruptData, "expected the SHA-256 of the rest, got {}",
                   digest == nullptr ? std::string("none") : shown(*digest));
  const Json *const options = find(json, "generation"),
                    *const biased = options ? find(*options, "biased_ids") : nullptr,
                    *const biases = options ? find(*options, "biases") : nullptr;
  if ((biased ? biased->size() : 0) != (biases ? biases->size() : 0))
    return fail_at({"generation", "biases"}, Code::CorruptData, "expected as many numbers as biased_ids has");
  for (const char* const part : {"generation", "input"})
    if (const Json* const object = find(json, part); object != nullptr && !is_seed(find(*object, "seed")))
      return fail_at({part, "seed"}, Code::CorruptData, "{}",
                     expected("a text of digits below 2^64", *find(*object, "seed")));
  Json fields = json;
  fields.erase("digest");
  Receipt out;
  if (find(json, "trace") != nullptr) out.trace.emplace();
  if (options && find(*options, "visible_ids") != nullptr) out.generation.visible_ids = {-1};  // so that it is read
  if (find(json, "form") != nullptr) out.form = {std::string(Grammar::kKinds[0]), {}};
  LOOM_TRY_VOID(read_config(fields, [&](ConfigVisitor& visit) { out.fields(visit); }));
  if (const Json* command = find(json, "command"); command == nullptr || as_string(*command) == nullptr)
    return fail_at({"command"}, Code::CorruptData, "expected the name of a command, got {}",
                   command == nullptr ? std::string("none") : shown(*command));
  return out;
}

bool is_intact(const Json& receipt) {
  const Json* const digest = find(receipt, "digest");
  const std::string* const text = digest == nullptr ? nullptr : as_string(*digest);
  return text != nullptr && !text->empty() && *text == digest_of(receipt);
}

namespace {

// Whether a file begins with these texts, with blanks around them.
bool begins_with(const std::string& path, std::initializer_list<std::string_view> parts) {
  if (!is_file(path)) return false;
  const auto file = MappedFile::open(path);
  if (!file) return false;
  const std::span<const std::byte> bytes = (*file)->bytes();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4096));
  for (const std::string_view part : parts) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with(part)) return false;
    text.remove_prefix(part.size());
  }
  return true;
}

}  // namespace

bool is_receipt_file(const std::string& path) { return begins_with(path, {"{", "\"loom_receipt\""}); }
bool may_hold_receipts(const std::string& path) {
  if (is_receipt_file(path) || begins_with(path, {"{", "\"loom_chat\""}) || begins_with(path, {"data:", "{"}))
    return true;
  // A response of loom serve: clients may save its members in any order.
  if (!begins_with(path, {"{"})) return false;
  const auto text = read_text_file(path, kReceiptLimits.max_bytes);
  const auto json = text ? parse_json(*text, kReceiptLimits) : Result<Json>(Json());
  return json && json->is_object() && find(*json, "choices") != nullptr;
}

namespace {

// Adds the receipts of the choices of a response, or of one of its events.
void add_receipts(const Json& response, std::vector<Json>& to) {
  const Json* const choices = find(response, "choices");
  if (choices == nullptr || !choices->is_array()) return;
  for (const Json& choice : *choices) {
    const Json *const loom = find(choice, "loom"), *const receipt = loom ? find(*loom, "receipt") : nullptr;
    if (receipt != nullptr && !receipt->is_null()) to.push_back(*receipt);
  }
}

Result<std::vector<Json>> receipts_of_events(const std::string& path, std::string_view text) {
  std::vector<Json> out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view data = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (data.ends_with('\r')) data.remove_suffix(1);
    if (!data.starts_with("data:") || data.ends_with("[DONE]")) continue;
    auto json = parse_json(data.substr(std::string_view("data:").size()), kReceiptLimits);
    if (!json) return at(fmt::format("{}: line {}", path, line), std::move(json).error());
    add_receipts(*json, out);
  }
  return out;
}

}  // namespace

Result<std::vector<Json>> read_receipts(const std::string& path) {
  LOOM_TRY(const std::string text, read_text_file(path, kReceiptLimits.max_bytes));
  std::vector<Json> out;
  if (begins_with(path, {"data:"})) {
    LOOM_TRY(out, receipts_of_events(path, text));
    if (out.empty()) return fail(Code::NotFound, "{}: the response holds no receipts", path);
    return out;
  }
  auto json = parse_json(text, kReceiptLimits);
  if (!json) return at(path, std::move(json).error());
  if (find(*json, "choices") != nullptr && find(*json, "loom_receipt") == nullptr) {
    add_receipts(*json, out);
    if (out.empty()) return fail(Code::NotFound, "{}: the response holds no receipts", path);
    return out;
  }
  if (find(*json, "loom_chat") == nullptr) return std::vector<Json>{std::move(*json)};
  const Json* const list = find(*json, "receipts");
  if (list == nullptr || !list->is_array() || list->empty())
    return fail(Code::NotFound, "{}: the conversation holds no receipts", path);
  for (const Json& entry : *list) {
    const Json* const receipt = find(entry, "receipt");
    if (receipt == nullptr) return fail(Code::CorruptData, "{}: /receipts/{} has no receipt", path, out.size());
    out.push_back(*receipt);
  }
  return out;
}

}  // namespace loom
