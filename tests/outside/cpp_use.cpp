// What docs/guide/languages.md says of C++: models, chats, encoders, networks, training; threads, cancels, errors,
// memory.
//
//   cpp_use MODEL ENCODER
#include <atomic>
#include <chrono>
#include <cstdio>
#include <loom/loom.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

int failures = 0;
#define EXPECT(...) ((__VA_ARGS__) ? void(0) : void((std::printf("line %d: %s\n", __LINE__, #__VA_ARGS__), ++failures)))

const char* const kQuestion = "What is the capital of France?";
const char* const kAnswer = "The capital of France is Paris.";
const char* const kSpec = R"({"seed": 3, "layers": [
  {"type": "dense", "input_height": 6, "output_height": 16, "activation": "tanh"},
  {"type": "dense", "input_height": 16, "output_height": 3}]})";

template <class Call>
loom_status refused(Call&& call) {
  try {
    call();
  } catch (const loom::Error& error) {
    return *error.what() != 0 ? error.code() : LOOM_OK;
  }
  return LOOM_OK;
}

template <class Answer>
std::string whole(const Answer& answer, const loom::Cancel& cancel = {}) {
  std::string text;
  for (auto step = loom::sized<loom_step>(); step.stop == LOOM_STOP_NOT_YET;) {
    step = answer.next(cancel);
    text.append(step.text, step.text_size);
  }
  return text;
}

struct Numbers {
  std::vector<float> values;
  std::vector<uint64_t> shape;

  Numbers(std::vector<uint64_t> extents, uint32_t seed) : shape(std::move(extents)) {
    std::size_t count = 1;
    for (const uint64_t extent : shape) count *= extent;
    for (std::size_t i = 0; i < count; ++i) {
      seed = seed * 1664525 + 1013904223;
      values.push_back(static_cast<float>(seed >> 8) / (1 << 23) - 1);
    }
  }
  loom_tensor tensor() const { return loom::tensor_of(values.data(), values.size(), shape.data(), shape.size()); }
};

loom_batch batch_of(const loom_tensor& x, const loom_tensor& y) {
  auto out = loom::sized<loom_batch>();
  out.inputs = &x, out.targets = &y;
  return out;
}

void answers(const loom::Model& model) {
  const auto generator = loom::Generator::from_text(loom::Session::create(model), kQuestion, LOOM_PROMPT_AUTO);
  EXPECT(whole(generator) == kAnswer);
  EXPECT(generator.result().hash[0] == 0x99 && generator.result().hash[1] == 0x55);
  const auto chat = loom::Chat::create(loom::Session::create(model));
  chat.say(kQuestion);
  EXPECT(whole(chat) == kAnswer);
  EXPECT(chat.messages().text().find("Paris") != std::string::npos);
}

void ends_at_any_moment(const loom::Model& model) {
  for (const int milliseconds : {0, 1, 5, 20, 60, 150}) {
    auto options = loom::sized<loom_generation_options>();
    options.max_tokens = 100000, options.ignore_eos = 1;
    const auto generator =
        loom::Generator::from_text(loom::Session::create(model), kQuestion, LOOM_PROMPT_AUTO, options);
    const auto cancel = loom::Cancel::create();
    std::thread other([&] { whole(generator, cancel); });
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    cancel.set(true);
    other.join();
    EXPECT(generator.result().stop == LOOM_STOP_CANCELLED);
  }
}

void embeds(const char* path) {
  const auto encoder = loom::Encoder::open(path);
  const auto [vectors, tokens] = encoder.embed({"It rains.", "The sun shines."});
  EXPECT(vectors.shape_count == 2 && vectors.shape[0] == 2 && vectors.shape[1] == 384 && tokens.size() == 2);
  EXPECT(vectors.element == LOOM_ELEMENT_FLOAT32 && vectors.data_size == 768 * sizeof(float));
}

void learns() {
  const auto net = loom::Network::from_json(kSpec);
  Numbers x({8, 6}, 1), y({8, 3}, 7);
  const auto session = loom::NetworkSession::create(net);
  const loom_tensor output = session.forward(x.tensor());
  EXPECT(output.shape_count == 2 && output.shape[0] == 8 && output.shape[1] == 3);
  session.bind(x.tensor(), y.tensor());
  session.run();
  session.bind();  // unbinds both
  EXPECT(refused([&] { session.run(); }) == LOOM_INVALID_STATE);
  y = Numbers({8, 3}, 7);
  const loom_tensor inputs = x.tensor(), targets = y.tensor();
  const loom_batch batch = batch_of(inputs, targets);
  const char* const config = R"({"loss": "mse", "optimizer": "adam", "learning_rate": 0.02})";
  const double before = std::get<0>(loom::Trainer::create(net, config, x.shape).evaluate(batch));
  const auto trainer = loom::Trainer::create(net, config, x.shape);
  for (int i = 0; i < 60; ++i) trainer.step(batch);
  EXPECT(std::get<0>(trainer.evaluate(batch)) < before / 4);
  const auto cancel = loom::Cancel::create();
  cancel.set(true);
  EXPECT(refused([&] { trainer.step(batch, cancel); }) == LOOM_CANCELLED);
}

void trains() {
  const auto net = loom::Network::from_json(kSpec);
  const Numbers x({20, 6}, 1), y({20, 3}, 7);
  auto options = loom::sized<loom_training_options>();
  int events = 0;
  options.user = &events;
  options.progress = [](void* user, const loom_training_event*) { return ++*static_cast<int*>(user) > 0 ? 1 : 0; };
  const std::string config = R"({"epochs": 3, "batch_size": 10})";
  const loom_tensor inputs = x.tensor(), targets = y.tensor();
  const loom_batch samples = batch_of(inputs, targets);
  const auto outcome = loom::training_run(config, net, samples, loom::sized<loom_batch>(), options);
  EXPECT(outcome.text().find("\"finished\"") != std::string::npos && events > 6);
}

void errors(const char* path) {
  EXPECT(refused([] { loom::Model::open("nowhere.gguf"); }) == LOOM_NOT_FOUND);
  EXPECT(refused([] { loom::Network::from_json(R"({"layers": [{"type": "dens"}]})"); }) == LOOM_UNKNOWN_NAME);
  Numbers x({1, 6}, 1);
  EXPECT(refused([&] { loom::NetworkSession().forward(x.tensor()); }) == LOOM_BAD_HANDLE);  // it has no object
  auto options = loom::sized<loom_model_options>();
  options.progress = [](void*, double) { return 0; };
  EXPECT(refused([&] { loom::Model::open(path, options); }) == LOOM_CANCELLED);
}

void threads_share_a_network() {
  const auto net = loom::Network::from_json(kSpec);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const loom::Network shared = net;  // one more owner
      const auto session = loom::NetworkSession::create(shared);
      Numbers x({4, 6}, 1);
      for (int round = 0; round < 50; ++round) wrong += session.forward(x.tensor()).data_size == 48 ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT(wrong == 0);
}

// Resident memory in pages, 0 where the system has no such file.
long resident() {
  long size = 0, pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &size, &pages) != 2) pages = 0;
    std::fclose(file);
  }
  return pages;
}

void memory_is_flat() {
  long before = 0;
  for (int round = 0; round < 1200; ++round) {
    if (round == 200) before = resident();
    const auto net = loom::Network::from_json(kSpec);
    Numbers x({8, 6}, 1), y({8, 3}, 7);
    loom::NetworkSession::create(net).forward(x.tensor());
    loom::Trainer::create(net, R"({"loss": "mse"})", x.shape).step(batch_of(x.tensor(), y.tensor()));
    EXPECT(refused([] { loom::Network::from_json("{"); }) != LOOM_OK);
  }
  EXPECT(resident() - before < 1024);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  {
    const auto model = loom::Model::open(argv[1]);
    answers(model);
    ends_at_any_moment(model);
  }
  embeds(argv[2]);
  learns();
  trains();
  errors(argv[1]);
  threads_share_a_network();
  memory_is_flat();
  return failures == 0 ? 0 : 1;
} catch (const loom::Error& error) {
  std::printf("%s: %s\n", loom::status_name(error.code()), error.what());
  return 1;
}
