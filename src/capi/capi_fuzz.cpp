// Any bytes as a program of calls: every function of loom.h with arguments that make sense or do not, over objects that
// earlier calls made, that were released or that never were. Each call answers with a status; nothing is read or
// written beyond what the caller gave.

#include <loom/loom.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "support/capi_arguments.h"
#include "support/capi_calls.inc"
#include "support/paths.h"

namespace {

using loom_calls::Chooser;
using loom_calls::kCalls;
using loom_calls::Objects;

// Copies of small files in a folder of this process: calls may write what they name.
struct Fixtures {
  std::string folder = "/tmp/loom_capi_fuzz_" + std::to_string(::getpid());
  std::vector<std::string> paths;

  Fixtures() {
    namespace fs = std::filesystem;
    fs::create_directories(folder);
    fs::copy(loom::test::source_path("tests/golden/models/llama2_untied"), folder + "/model",
             fs::copy_options::recursive);
    fs::copy_file(loom::test::source_path("tests/golden/small.entity"), folder + "/small.entity");
    for (const char* const name :
         {"/model", "/small.entity", "/made.entity", "/made.json", "/none", "", "/made.onnx", "/made.safetensors"})
      paths.push_back(folder + name);
  }
  ~Fixtures() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  // The first objects of every program.
  void open(Objects& objects) const {
    loom_model model = 0;
    LOOM_ASSERT(loom_model_open(paths[0].c_str(), nullptr, &model) == LOOM_OK);
    objects.add(model);
    loom_compute_options alone{};
    alone.struct_size = sizeof alone, alone.thread_count = 1;
    loom_session_options options{};
    options.struct_size = sizeof options, options.compute = &alone, options.sequences = 2, options.context_tokens = 32;
    loom_session session = 0;
    LOOM_ASSERT(loom_session_create(model, &options, &session) == LOOM_OK);
    objects.add(session);
    const std::string_view spec = loom_calls::kDocuments[1];
    loom_network network = 0;
    LOOM_ASSERT(loom_network_from_json(spec.data(), spec.size(), nullptr, &network) == LOOM_OK);
    objects.add(network);
    loom_network_session_options own{};
    own.struct_size = sizeof own, own.compute = &alone, own.backward = 1;
    LOOM_ASSERT(loom_network_session_create(network, &own, &session) == LOOM_OK);
    objects.add(session);
    loom_trainer trainer = 0;
    const std::uint64_t shape[] = {2, 4};
    loom_network learning = 0;
    LOOM_ASSERT(loom_network_clone(network, &learning) == LOOM_OK);
    const std::string_view config = loom_calls::kDocuments[5];
    LOOM_ASSERT(loom_trainer_create(learning, config.data(), config.size(), shape, 2, &alone, &trainer) == LOOM_OK);
    objects.add(learning), objects.add(trainer);
    loom_blob report = 0;
    loom_graph graph = 0;
    loom_graph_session run = 0;
    LOOM_ASSERT(loom_network_export(network, paths[6].c_str(), nullptr, &report) == LOOM_OK);
    LOOM_ASSERT(loom_graph_open(paths[6].c_str(), nullptr, &graph) == LOOM_OK);
    LOOM_ASSERT(loom_graph_session_create(graph, &alone, &run) == LOOM_OK);
    objects.add(report), objects.add(graph), objects.add(run);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fixtures fixtures;
  Objects objects;
  fixtures.open(objects);
  Chooser chooser(data, size, objects, fixtures.paths, true);
  for (int calls = 0; calls < 40 && !chooser.at_end(); ++calls) {
    const auto& call = kCalls<Chooser>[chooser.next() % std::size(kCalls<Chooser>)];
    if (loom_calls::is_long(call.name)) continue;
    const loom_status status = call.call(chooser);
    LOOM_ASSERT(std::string_view(loom_status_name(status)) != "Unknown");
    LOOM_ASSERT(status == LOOM_OK || *loom_last_error() != '\0');
    if (chooser.rarely()) chooser.release_one();
  }
  return 0;
}
