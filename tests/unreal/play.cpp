// Plays a UWelvetModel as Unreal would: events on the game thread, an answer that is stopped, an object that is
// destroyed.
#include "Async/Async.h"
#include "WelvetModel.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

static void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "play: expected %s\n", what);
  std::exit(1);
}

// Runs the tasks that wait for the game thread.
static void frame() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard<std::mutex> lock(stub_tasks.mutex);
    tasks.swap(stub_tasks.game);
  }
  for (const auto& task : tasks) task();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

int main(int argc, char** argv) {
  expect(argc == 2, "the path of a model");
  std::string pieces, whole, code, text;
  const auto game_thread = std::this_thread::get_id();
  auto model = std::make_unique<UWelvetModel>();
  model->OnToken.listeners.push_back([&](const FString& piece) {
    expect(std::this_thread::get_id() == game_thread, "events on the game thread");
    pieces += *piece;
  });
  model->OnFinished.listeners.push_back([&](const FString& answer) { whole = *answer; });
  model->OnFailed.listeners.push_back([&](const FString& name, const FString& words) { code = *name, text = *words; });

  expect(!model->Ask("x") && code == "InvalidState", "InvalidState without a model");
  expect(!model->Load("missing.gguf") && code == "NotFound" && !text.empty(), "NotFound of a missing file");
  expect(model->Load(argv[1]), "a model");
  expect(!model->Ask("x", 0) && code == "InvalidArgument", "InvalidArgument of 0 tokens");
  expect(model->Ask("What is the capital of France?"), "an answer");
  expect(model->IsBusy() && !model->Ask("x") && code == "Busy" && !model->Load(argv[1]), "Busy during the answer");
  while (model->IsBusy()) frame();
  expect(whole == "The capital of France is Paris." && pieces == whole, "the README's answer");

  code.clear();
  expect(model->Ask("Tell me a story.", 500), "a story");
  while (pieces == whole) frame();
  model->Stop();
  while (model->IsBusy()) frame();
  expect(code == "Cancelled", "Cancelled after Stop()");

  code.clear();
  expect(model->Ask("Tell me a story.", 500), "another story");
  const std::string before = pieces;
  model->BeginDestroy();
  for (std::thread& thread : stub_tasks.pool) thread.join();
  frame();
  expect(code.empty() && pieces == before, "no event of a destroyed object");
  std::puts("played");
  return 0;
}
