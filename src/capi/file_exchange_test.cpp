// Files of any kind in loom.h: one call that opens them all, exports, text encoders, adapters per session.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "capi/capi_test.h"
#include "core/file.h"
#include "core/json.h"
#include "core/philox.h"
#include "lm/encoder.h"
#include "lm/language_model.h"
#include "lm/peft.h"
#include "support/files.h"
#include "support/small_model.h"

namespace loom::capi_file_exchange_test {
namespace {

using test::Batch;
using test::sized;
using test::take;
using test::values_of;

const std::string kSpec = R"({"seed":7,"input_shape":[96],"layers":[
  {"type":"dense","input_height":96,"output_height":200,"activation":"tanh","bias":true},
  {"type":"dense","input_height":200,"output_height":10}]})";

loom_network network_of(const std::string& spec = kSpec) {
  loom_network n = 0;
  EXPECT_EQ(loom_network_from_json(spec.data(), spec.size(), nullptr, &n), LOOM_OK) << loom_last_error();
  return n;
}
std::string hash_of(loom_network network) {
  loom_blob blob = 0;
  EXPECT_EQ(loom_network_hash(network, &blob), LOOM_OK) << loom_last_error();
  return take(blob);
}

struct Loaded {
  loom_handle handle = 0;
  loom_kind kind = 0;
  Json report;
};
Loaded loaded(const std::string& path, const loom_file_open_options* options = nullptr) {
  Loaded out;
  loom_blob report = 0;
  EXPECT_EQ(loom_file_open(path.c_str(), options, &out.handle, &report), LOOM_OK) << loom_last_error();
  if (report == 0) return out;
  out.report = parse_json(take(report)).value();
  EXPECT_EQ(loom_kind_of(out.handle, &out.kind), LOOM_OK);
  return out;
}

TEST(CapiLoad, one_call_opens_whatever_a_file_holds) {  // F-50
  const test::TempFolder folder;
  const loom_network network = network_of();
  const std::string entity = folder / "n.entity", json = folder / "n.json", tensors = folder / "n.safetensors",
                    onnx = folder / "n.onnx", gguf = folder / "small.gguf";
  ASSERT_EQ(loom_network_save(network, entity.c_str(), 0), LOOM_OK);
  ASSERT_EQ(loom_network_save(network, json.c_str(), 0), LOOM_OK);
  for (const std::string& path : {tensors, onnx}) {
    loom_blob report = 0;
    ASSERT_EQ(loom_network_export(network, path.c_str(), nullptr, &report), LOOM_OK) << loom_last_error();
    EXPECT_NE(take(report).find("\"sha256\":\""), std::string::npos);
  }
  ASSERT_TRUE(test::write_small_model(gguf));
  for (const std::string& path : {entity, json, tensors}) {
    const Loaded found = loaded(path);
    EXPECT_EQ(found.kind, LOOM_KIND_NETWORK) << path;
    EXPECT_EQ(found.report["kind"], "network");
    EXPECT_EQ(hash_of(found.handle), hash_of(network)) << path;
    EXPECT_EQ(loom_release(found.handle), LOOM_OK);
  }
  const Loaded graph = loaded(onnx), model = loaded(gguf), encoder = loaded(test::data_path("minilm"));
  EXPECT_EQ(graph.kind, LOOM_KIND_GRAPH);
  EXPECT_EQ(graph.report["format"], "onnx");
  EXPECT_EQ(model.kind, LOOM_KIND_MODEL);
  EXPECT_EQ(model.report["format"], "gguf");
  EXPECT_EQ(encoder.kind, LOOM_KIND_ENCODER);
  EXPECT_EQ(encoder.report["kind"], "encoder");
  for (const loom_handle handle : {graph.handle, model.handle, encoder.handle, network})
    EXPECT_EQ(loom_release(handle), LOOM_OK);
}

TEST(CapiLoad, TheContentDecidesUnderEveryName) {
  const test::TempFolder folder;
  const loom_network network = network_of();
  ASSERT_EQ(loom_network_save(network, (folder / "n.entity").c_str(), 0), LOOM_OK);
  ASSERT_EQ(loom_network_save(network, (folder / "n.json").c_str(), 0), LOOM_OK);
  for (const char* name : {"n.safetensors", "n.onnx"}) {
    loom_blob report = 0;
    ASSERT_EQ(loom_network_export(network, (folder / name).c_str(), nullptr, &report), LOOM_OK) << loom_last_error();
    take(report);
  }
  ASSERT_TRUE(test::write_small_model(folder / "n.gguf"));
  const std::pair<const char*, loom_kind> kinds[] = {{"n.entity", LOOM_KIND_NETWORK},
                                                     {"n.json", LOOM_KIND_NETWORK},
                                                     {"n.safetensors", LOOM_KIND_NETWORK},
                                                     {"n.onnx", LOOM_KIND_GRAPH},
                                                     {"n.gguf", LOOM_KIND_MODEL}};
  for (const auto& [right, kind] : kinds) {
    const std::string bytes = test::read_all(folder / right);
    const Loaded original = loaded(folder / right);
    EXPECT_EQ(loom_release(original.handle), LOOM_OK);
    for (const char* name : {"noending", "x.bin", "x.onnx", "x.gguf", "x.npz", "x.safetensors", "x.json", "x.entity"}) {
      test::write_all(folder / name, bytes);
      const Loaded found = loaded(folder / name);
      EXPECT_EQ(found.kind, kind) << right << " as " << name;
      EXPECT_EQ(found.report, original.report) << right << " as " << name;
      if (kind == LOOM_KIND_NETWORK) {
        EXPECT_EQ(hash_of(found.handle), hash_of(network)) << right << " as " << name;
      }
      EXPECT_EQ(loom_release(found.handle), LOOM_OK);
    }
    if (kind != LOOM_KIND_GRAPH) continue;
    loom_graph graph = 0;  // the function for graphs alone goes by the content too
    EXPECT_EQ(loom_graph_open((folder / "noending").c_str(), nullptr, &graph), LOOM_OK) << loom_last_error();
    EXPECT_EQ(loom_release(graph), LOOM_OK);
  }
  EXPECT_EQ(loom_release(network), LOOM_OK);
}

TEST(CapiSave, AFileOfAnotherKindIsNotReplacedAndEndingsAreKept) {
  const test::TempFolder folder;
  const loom_network network = network_of();
  const auto refused = [](loom_status status, const std::string& said) {
    EXPECT_EQ(status, LOOM_INVALID_ARGUMENT) << said;
    EXPECT_NE(std::string(loom_last_error()).find(said), std::string::npos) << loom_last_error();
  };
  refused(loom_network_save(network, (folder / "n.onnx").c_str(), 0),
          "n.onnx: a file that ends in .onnx is no network");
  EXPECT_FALSE(is_file(folder / "n.onnx"));
  for (const char* name : {"n.entity", "n.json", "n.onnx", "out.gguf", "out.entity"})
    test::write_all(folder / name, "Dear Sir");
  for (const char* name : {"n.entity", "n.json"})
    refused(loom_network_save(network, (folder / name).c_str(), 0), "exists and is no network; not overwritten");
  auto options = sized<loom_file_export_options>();
  loom_blob report = 0;
  refused(loom_network_export(network, (folder / "n.onnx").c_str(), &options, &report),
          "exists and is no ONNX model; not overwritten without overwrite");
  options.overwrite = 1;
  ASSERT_EQ(loom_network_export(network, (folder / "n.onnx").c_str(), &options, &report), LOOM_OK) << loom_last_error();
  take(report);
  EXPECT_EQ(loom_release(network), LOOM_OK);

  ASSERT_TRUE(test::write_small_model(folder / "m.gguf"));
  const std::string model = folder / "m.gguf", gguf = folder / "out.gguf", entity = folder / "out.entity";
  auto how = sized<loom_file_convert_options>();
  refused(loom_file_quantize(model.c_str(), gguf.c_str(), "q4_0", &how, &report), "exists and is no GGUF file");
  refused(loom_file_convert(model.c_str(), entity.c_str(), &how, &report), "exists and is no language model");
  refused(loom_file_convert(model.c_str(), (folder / "o.gguf").c_str(), &how, &report), "expected .entity");
  how.overwrite = 1;
  ASSERT_EQ(loom_file_quantize(model.c_str(), gguf.c_str(), "q4_0", &how, &report), LOOM_OK) << loom_last_error();
  take(report);
  ASSERT_EQ(loom_file_convert(model.c_str(), entity.c_str(), &how, &report), LOOM_OK) << loom_last_error();
  take(report);
}

TEST(CapiLoad, AnOptionThatTheKindDoesNotUseIsRefusedByName) {
  const test::TempFolder folder;
  const loom_network network = network_of();
  ASSERT_EQ(loom_network_save(network, (folder / "n.entity").c_str(), 0), LOOM_OK);
  for (const char* name : {"n.safetensors", "n.onnx"}) {
    loom_blob report = 0;
    ASSERT_EQ(loom_network_export(network, (folder / name).c_str(), nullptr, &report), LOOM_OK) << loom_last_error();
    take(report);
  }
  EXPECT_EQ(loom_release(network), LOOM_OK);
  ASSERT_TRUE(test::write_small_model(folder / "n.gguf"));
  const std::string encoder = test::data_path("minilm");
  auto compute = sized<loom_compute_options>();
  compute.thread_count = 2;
  auto dtype = sized<loom_file_open_options>(), threads = dtype, lenient = dtype;
  dtype.dtype = "int8";
  threads.compute = &compute;
  lenient.lenient = 1;
  const auto refused = [](const std::string& path, const loom_file_open_options& options, const std::string& option) {
    loom_handle handle = 0;
    loom_blob report = 0;
    EXPECT_EQ(loom_file_open(path.c_str(), &options, &handle, &report), LOOM_INVALID_ARGUMENT) << path << option;
    EXPECT_NE(std::string(loom_last_error()).find(": " + option + " "), std::string::npos) << loom_last_error();
    EXPECT_EQ(handle, 0u);
  };
  for (const char* name : {"n.entity", "n.safetensors"}) {
    refused(folder / name, dtype, "dtype");
    refused(folder / name, threads, "threads");
    EXPECT_EQ(loom_release(loaded(folder / name, &lenient).handle), LOOM_OK);
  }
  refused(folder / "n.onnx", dtype, "dtype");
  for (const std::string& path : {folder / "n.onnx", folder / "n.gguf", encoder}) {
    refused(path, lenient, "lenient");
    EXPECT_EQ(loom_release(loaded(path, &threads).handle), LOOM_OK) << path;
  }
  for (const std::string& path : {folder / "n.gguf", encoder})
    EXPECT_EQ(loom_release(loaded(path, &dtype).handle), LOOM_OK) << path;
}

TEST(CapiLoad, hints_tell_what_shapes_do_not_and_the_report_where_each_tensor_went) {  // F-51
  auto options = sized<loom_file_open_options>();
  const std::string hints = test::source_path("examples/hints/g2p_encoder.json"),
                    file = test::data_path("rnn/g2p_en_gru.npz");
  options.hints = hints.c_str();
  loom_handle handle = 0;
  loom_blob report = 0;
  const Loaded guessed = loaded(file), found = loaded(file, &options);
  EXPECT_EQ(found.kind, LOOM_KIND_NETWORK);
  EXPECT_NE(hash_of(guessed.handle), hash_of(found.handle));
  EXPECT_EQ(loom_release(guessed.handle), LOOM_OK);
  EXPECT_GT(found.report["tensors"].size(), 4u) << dump_json(found.report);
  EXPECT_EQ(loom_release(found.handle), LOOM_OK);
  EXPECT_EQ(loom_file_open(test::smollm2().c_str(), &options, &handle, &report), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_file_open("nowhere", nullptr, &handle, &report), LOOM_NOT_FOUND);
  options.dtype = "no such";
  EXPECT_EQ(loom_file_open(file.c_str(), &options, &handle, &report), LOOM_UNKNOWN_NAME);
  EXPECT_EQ(handle, 0u);
}

std::vector<float> forward(loom_network network, const std::vector<float>& x, std::uint64_t rows) {
  loom_network_session session = 0;
  EXPECT_EQ(loom_network_session_create(network, nullptr, &session), LOOM_OK) << loom_last_error();
  loom_tensor y;
  EXPECT_EQ(test::forward(session, x, {rows, x.size() / rows}, y), LOOM_OK) << loom_last_error();
  const std::vector<float> out = test::values_of(y);
  EXPECT_EQ(loom_release(session), LOOM_OK);
  return out;
}

// An export of a network that learns: its present weights, and the training goes on.
TEST(CapiExport, a_network_is_exported_as_it_stands_while_it_learns) {  // F-43
  const test::TempFolder folder;
  const loom_network network = network_of();
  const std::string config = R"({"loss":"mse","optimizer":"adam","learning_rate":0.01})", onnx = folder / "n.onnx";
  const std::uint64_t shape[] = {300, 96};
  std::vector<float> x(300 * 96), t(300 * 10, 0.25f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 201) / 100.0f - 1;
  loom_trainer trainer = 0;
  ASSERT_EQ(loom_trainer_create(network, config.data(), config.size(), shape, 2, nullptr, &trainer), LOOM_OK)
      << loom_last_error();
  const Batch batch(x, shape, t);
  auto step = sized<loom_training_step>();
  ASSERT_EQ(loom_trainer_step(trainer, batch.get(), 0, &step), LOOM_OK) << loom_last_error();
  loom_blob report = 0;
  ASSERT_EQ(loom_network_export(network, onnx.c_str(), nullptr, &report), LOOM_OK) << loom_last_error();
  EXPECT_GT(parse_json(take(report)).value()["nodes"].get<int>(), 2);
  const std::vector<float> expected = forward(network, x, 300);
  ASSERT_EQ(loom_trainer_step(trainer, batch.get(), 0, &step), LOOM_OK) << loom_last_error();

  loom_graph graph = 0;
  ASSERT_EQ(loom_graph_open(onnx.c_str(), nullptr, &graph), LOOM_OK) << loom_last_error();
  loom_graph_session session = 0;
  ASSERT_EQ(loom_graph_session_create(graph, nullptr, &session), LOOM_OK);
  const loom_tensor given = test::tensor_of(x.data(), x.size(), shape, 2);
  ASSERT_EQ(loom_graph_session_bind(session, nullptr, &given), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_graph_session_run(session, 0), LOOM_OK) << loom_last_error();
  std::vector<float> y(expected.size());
  ASSERT_EQ(loom_graph_session_copy_output(session, nullptr, reinterpret_cast<std::uint8_t*>(y.data()), y.size() * 4),
            LOOM_OK)
      << loom_last_error();
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 1e-5) << i;  // the same sums, by other ops
  for (const loom_handle handle : {session, graph, trainer, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

TEST(CapiExport, files_become_others_or_say_what_they_cannot_be) {  // F-43
  const test::TempFolder folder;
  const std::string small = folder / "small.gguf", again = folder / "again.gguf", huggingface = folder / "model",
                    nowhere = folder / "n.gguf", picture = folder / "n.png";
  ASSERT_TRUE(test::write_small_model(small));
  loom_blob report = 0;
  ASSERT_EQ(loom_file_export(small.c_str(), again.c_str(), nullptr, &report), LOOM_OK) << loom_last_error();
  EXPECT_EQ(parse_json(take(report)).value()["format"], "gguf");
  auto options = sized<loom_file_export_options>();
  options.dtype = "float32";
  ASSERT_EQ(loom_file_export(small.c_str(), huggingface.c_str(), &options, &report), LOOM_OK) << loom_last_error();
  EXPECT_EQ(parse_json(take(report)).value()["format"], "huggingface");
  std::vector<std::string> answers;
  for (const std::string& path : {small, again}) {
    loom_model model = 0;
    ASSERT_EQ(loom_model_open(path.c_str(), nullptr, &model), LOOM_OK) << loom_last_error();
    loom_session session = 0;
    ASSERT_EQ(loom_session_create(model, nullptr, &session), LOOM_OK);
    const std::int32_t ids[] = {3, 4, 5};
    const float* logits = nullptr;
    std::size_t count = 0;
    ASSERT_EQ(loom_session_feed(session, 0, ids, 3, 0, &logits, &count), LOOM_OK);
    answers.emplace_back(reinterpret_cast<const char*>(logits), count * sizeof(float));
    for (const loom_handle handle : {session, model}) EXPECT_EQ(loom_release(handle), LOOM_OK);
  }
  EXPECT_EQ(answers[0], answers[1]);

  const loom_network network = network_of();
  EXPECT_EQ(loom_network_export(network, nowhere.c_str(), nullptr, &report), LOOM_UNSUPPORTED);
  EXPECT_EQ(loom_network_export(network, picture.c_str(), nullptr, &report), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(loom_network_export(network, again.c_str(), &options, &report), LOOM_INVALID_ARGUMENT);
  options = sized<loom_file_export_options>();
  const std::uint64_t shape[] = {95};
  options.input_shape = shape, options.input_shape_count = 1;
  EXPECT_EQ(loom_network_export(network, (folder / "n.onnx").c_str(), &options, &report), LOOM_SHAPE_MISMATCH);
  EXPECT_EQ(loom_file_export("nowhere", again.c_str(), nullptr, &report), LOOM_NOT_FOUND);
  loom_cancel cancel = 0;
  ASSERT_EQ(loom_cancel_create(&cancel), LOOM_OK);
  ASSERT_EQ(loom_cancel_set(cancel, 1), LOOM_OK);
  options = sized<loom_file_export_options>();
  options.cancel = cancel, options.dtype = "q8_0";
  EXPECT_EQ(loom_file_export(small.c_str(), nowhere.c_str(), &options, &report), LOOM_CANCELLED) << loom_last_error();
  for (const loom_handle handle : {cancel, network}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

// ---- encoders ----

TEST(CapiEncoder, vectors_are_those_of_the_engine_whoever_lends_the_threads) {  // F-55
  const std::vector<std::string> texts = {"The weather is lovely today.", "It's so sunny outside!",
                                          "He drove to the stadium.", ""};
  auto engine = TextEncoder::load(test::data_path("minilm"), {.session = {.threads = 1}});
  ASSERT_TRUE(engine) << engine.error().text();
  const auto expected = engine->embed(texts).value();
  loom_threads shared = 0;
  ASSERT_EQ(loom_threads_create(2, &shared), LOOM_OK);
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_encoder_options>();
  options.compute = &compute;
  compute.threads = shared;
  loom_encoder encoder = 0;
  ASSERT_EQ(loom_encoder_open(test::data_path("minilm").c_str(), &options, &encoder), LOOM_OK) << loom_last_error();
  std::vector<const char*> given;
  for (const std::string& text : texts) given.push_back(text.c_str());
  auto vectors = sized<loom_tensor>();
  const std::uint64_t* tokens = nullptr;
  std::size_t texts_count = 0;
  const auto embed = [&](std::size_t n, loom_cancel cancel) {
    return loom_encoder_embed(encoder, given.data(), n, cancel, &vectors, &tokens, &texts_count);
  };
  ASSERT_EQ(embed(given.size(), 0), LOOM_OK) << loom_last_error();
  ASSERT_EQ(std::vector<std::uint64_t>(vectors.shape, vectors.shape + vectors.shape_count),
            (std::vector<std::uint64_t>{4, 384}));
  const std::vector<float> all = values_of(vectors);
  ASSERT_EQ(all.size(), 4u * 384);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i * 384);
    EXPECT_EQ(std::vector<float>(first, first + 384), expected[i].values) << texts[i];
    EXPECT_EQ(tokens[i], expected[i].tokens);
  }
  loom_tokenizer tokenizer = 0;
  ASSERT_EQ(loom_encoder_tokenizer(encoder, &tokenizer), LOOM_OK);
  loom_blob ids = 0, info = 0;
  ASSERT_EQ(loom_tokenizer_encode(tokenizer, texts[0].data(), texts[0].size(), 1, 1, &ids), LOOM_OK);
  EXPECT_EQ(take(ids).size() / 4, expected[0].tokens);
  ASSERT_EQ(loom_encoder_info(encoder, &info), LOOM_OK);
  const Json facts = parse_json(take(info)).value();
  EXPECT_EQ(facts["dimensions"], 384);
  EXPECT_EQ(facts["pooling"], "mean");
  EXPECT_EQ(facts["threads"], 2);

  EXPECT_EQ(embed(0, 0), LOOM_INVALID_ARGUMENT);
  loom_cancel cancel = 0;
  ASSERT_EQ(loom_cancel_create(&cancel), LOOM_OK);
  ASSERT_EQ(loom_cancel_set(cancel, 1), LOOM_OK);
  EXPECT_EQ(embed(2, cancel), LOOM_CANCELLED);
  given[1] = nullptr;
  EXPECT_EQ(embed(2, 0), LOOM_INVALID_ARGUMENT);
  ASSERT_EQ(embed(1, 0), LOOM_OK);
  EXPECT_EQ(values_of(vectors), expected[0].values);
  loom_encoder none = 0;
  EXPECT_EQ(loom_encoder_open("nowhere", nullptr, &none), LOOM_NOT_FOUND);
  options.dtype = "q4_0";
  EXPECT_NE(loom_encoder_open(test::data_path("minilm").c_str(), &options, &none), LOOM_OK);
  for (const loom_handle handle : {cancel, tokenizer, encoder, shared}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

// As the command chooses: a prompt by its text, by its name, or the folder's default one.
TEST(CapiEncoder, APromptIsChosenByTextOrByName) {
  const std::string folder = test::source_path("tests/golden/encoders/prompts");
  const auto vector = [&](const char* prompt, const char* name, const char* text) {
    auto options = sized<loom_encoder_options>();
    options.prompt = prompt, options.prompt_name = name;
    loom_encoder encoder = 0;
    EXPECT_EQ(loom_encoder_open(folder.c_str(), &options, &encoder), LOOM_OK) << loom_last_error();
    auto vectors = sized<loom_tensor>();
    const std::uint64_t* tokens = nullptr;
    std::size_t texts = 0;
    EXPECT_EQ(loom_encoder_embed(encoder, &text, 1, 0, &vectors, &tokens, &texts), LOOM_OK);
    std::vector<float> out = values_of(vectors);
    EXPECT_EQ(loom_release(encoder), LOOM_OK);
    return out;
  };
  const auto query = vector("", nullptr, "query: hello"), plain = vector("", nullptr, "hello");
  EXPECT_NE(query, plain);
  EXPECT_EQ(vector(nullptr, nullptr, "hello"), query) << "the folder's default prompt";
  EXPECT_EQ(vector(nullptr, "query", "hello"), query);
  EXPECT_EQ(vector(nullptr, "document", "hello"), plain);
  EXPECT_EQ(vector("query: ", nullptr, "hello"), query);
  const auto refused = [&](const char* prompt, const char* name) {
    auto options = sized<loom_encoder_options>();
    options.prompt = prompt, options.prompt_name = name;
    loom_encoder encoder = 0;
    return loom_encoder_open(folder.c_str(), &options, &encoder);
  };
  EXPECT_EQ(refused(nullptr, "passage"), LOOM_UNKNOWN_NAME);
  EXPECT_EQ(refused(nullptr, ""), LOOM_INVALID_ARGUMENT);
  EXPECT_EQ(refused("query: ", "query"), LOOM_INVALID_ARGUMENT);
}

// ---- adapters ----

// Two folders of adapters that change the answers of the small model.
std::vector<std::string> adapter_folders(const test::TempFolder& folder, const std::string& base) {
  std::vector<std::string> out;
  for (const std::uint64_t seed : {1u, 2u}) {
    auto loaded_model = load_language_model(base).value();
    auto model = std::const_pointer_cast<DecoderModel>(loaded_model.decoder);
    PeftConfig config;
    config.rank = 2;
    EXPECT_TRUE(add_peft(*model, config, seed));
    model->network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
      if (w.role() != WeightRole::Adapter || !path.ends_with(".b")) return;
      std::vector<double> values(w.elements());
      const RandomStream stream{seed, RandomDomain::Noise, 0, random_site(path)};
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(stream.uniform(i)) - 0.5;
      EXPECT_TRUE(w.set(std::span<const double>(values)));
    });
    out.push_back(folder / ("adapter" + std::to_string(seed)));
    const auto saved = save_peft(*model, config, out.back());
    EXPECT_TRUE(saved) << saved.error().text();
  }
  return out;
}

TEST(CapiAdapters, each_session_chooses_the_adapters_that_count_in_it) {  // L-141
  const test::TempFolder folder;
  const std::string base = test::source_path("tests/golden/models/llama2_untied");
  const std::vector<std::string> folders = adapter_folders(folder, base);
  // The logits that a session of a model with these adapters alone gives, and what one that chooses gives.
  const std::vector<std::int32_t> ids = {3, 1, 4, 15, 9};
  const auto logits_of = [&](loom_session session) {
    const float* logits = nullptr;
    std::size_t count = 0;
    EXPECT_EQ(loom_session_feed(session, 0, ids.data(), ids.size(), 0, &logits, &count), LOOM_OK) << loom_last_error();
    return std::vector<float>(logits, logits + count);
  };
  const auto opened = [&](const std::vector<std::string>& given) {
    std::vector<const char*> names;
    for (const std::string& each : given) names.push_back(each.c_str());
    auto options = sized<loom_model_options>();
    options.adapters = names.data(), options.adapters_count = names.size();
    loom_model model = 0;
    EXPECT_EQ(loom_model_open(base.c_str(), &options, &model), LOOM_OK) << loom_last_error();
    return model;
  };
  const auto made = [&](loom_model model) {
    loom_session session = 0;
    EXPECT_EQ(loom_session_create(model, nullptr, &session), LOOM_OK) << loom_last_error();
    return session;
  };
  const loom_model both = opened(folders);
  loom_blob list = 0;
  ASSERT_EQ(loom_model_adapters(both, &list), LOOM_OK);
  const Json named = parse_json(take(list)).value();
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[1]["name"], "1");
  EXPECT_EQ(named[0]["rank"], 2);
  const loom_session session = made(both);
  const std::vector<float> with_both = logits_of(session);
  struct Choice {
    std::vector<const char*> names;
    std::vector<std::string> folders;
  };
  for (const Choice& choice : {Choice{{}, {}}, Choice{{"0"}, {folders[0]}}, Choice{{"1"}, {folders[1]}}}) {
    const loom_model alone = opened(choice.folders);
    const loom_session expected = made(alone);
    ASSERT_EQ(loom_session_choose_adapters(session, choice.names.data(), choice.names.size(), 0), LOOM_OK)
        << loom_last_error();
    const std::vector<float> got = logits_of(session);
    EXPECT_EQ(got, logits_of(expected));
    EXPECT_NE(got, with_both);
    for (const loom_handle handle : {expected, alone}) EXPECT_EQ(loom_release(handle), LOOM_OK);
  }
  loom_blob info = 0;
  ASSERT_EQ(loom_session_info(session, &info), LOOM_OK);
  EXPECT_NE(take(info).find(R"("adapters":["1"])"), std::string::npos);
  const char* const unknown[] = {"2"};
  EXPECT_EQ(loom_session_choose_adapters(session, unknown, 1, 0), LOOM_NOT_FOUND);
  const char* const none[] = {nullptr};
  EXPECT_EQ(loom_session_choose_adapters(session, none, 1, 0), LOOM_INVALID_ARGUMENT);
  ASSERT_EQ(loom_session_choose_adapters(session, nullptr, 0, 1), LOOM_OK);
  EXPECT_EQ(logits_of(session), with_both);
  for (const loom_handle handle : {session, both}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

}  // namespace
}  // namespace loom::capi_file_exchange_test
