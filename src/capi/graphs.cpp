// Graphs of loom.h: ONNX models, run on tensors of the caller.

#include <algorithm>
#include <cstdint>
#include <bit>
#include <cstring>
#include <functional>

#include "capi/graph_objects.h"
#include "capi/guard.h"
#include "capi/options.h"
#include "core/checked.h"
#include "core/json.h"
#include "core/nearest.h"
#include "host/graph_run.h"
#include "io/onnx/graph_file.h"

namespace loom::capi {
namespace {

using graph::Store;
using graph::Type;
using graph::Value;

// Memory of the caller that stands for an input.
struct BoundInput {
  Type type = Type::none;
  graph::Dims dims;
  std::span<const std::byte> bytes;
};

struct GraphSessionObject : Object {
  static constexpr Kind kKind = Kind::GraphSession;
  GraphSessionObject(std::shared_ptr<GraphObject> of, std::unique_ptr<graph::Runner> given)
      : graph(std::move(of)), runner(std::move(given)), bound(graph->program->accepted().size()) {}
  // An output of the last run, and a copy of its bytes once a caller asks for them in another layout.
  struct Output {
    std::vector<std::uint64_t> extents;
    std::vector<std::byte> bytes;
    bool in_place = false;
  };
  const std::shared_ptr<GraphObject> graph;
  const std::unique_ptr<graph::Runner> runner;
  std::vector<BoundInput> bound;  // by input of the program; of type none: nothing
  std::vector<Value> values;      // outputs of the last run
  std::vector<Output> outputs;
};

template <class F>
Result<void> load_graph(const loom_graph_options* options, loom_graph* graph, F&& read) {
  LOOM_TRY(const loom_graph_options given, read_struct(options));
  graph::ProgramOptions wanted;
  if (given.max_bytes != 0) wanted.max_bytes = given.max_bytes;
  LOOM_TRY(graph::Model model, read());
  LOOM_TRY(auto program, graph::Program::create(std::move(model), wanted));
  LOOM_TRY(*graph, make_handle<GraphObject>(std::move(program)));
  return {};
}

// The place of a name in a list; a name that is NULL is the only one's.
template <class Names, class Projection>
Result<std::size_t> place_of(const Names& names, Projection name_of, const char* wanted, const char* what) {
  if (wanted == nullptr) {
    if (names.size() == 1) return 0;
    return fail(Code::InvalidArgument, "the graph has {} {}s: expected the name of one", names.size(), what);
  }
  const auto found = std::ranges::find(names, std::string_view(wanted), name_of);
  if (found == names.end()) return fail(Code::InvalidArgument, "the graph has no {} \"{}\"", what, printable(wanted));
  return static_cast<std::size_t>(found - names.begin());
}

Result<std::size_t> bytes_of(Type type, std::span<const std::size_t> dims) {
  std::size_t n = 1;
  for (const std::size_t d : dims) {
    LOOM_TRY(n, checked_mul(n, d));
  }
  if (n > SIZE_MAX / 16) return fail(Code::SizeOverflow, "an input of {} numbers", n);
  return graph::stored_bytes(type, n);
}

// Whether the caller's bytes have the layout that the engine reads.
bool lies_right(const BoundInput& input) {
  if (input.type != Type::f32 && input.type != Type::f64 && input.type != Type::i64) return false;
  if constexpr (std::endian::native != std::endian::little) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(input.bytes.data());
  return !input.bytes.empty() && address % graph::bytes_of(graph::store_of(input.type)) == 0;
}

Result<Value> value_of(const BoundInput& input) {
  if (!lies_right(input)) return graph::value_from_bytes(input.type, input.dims, input.bytes);
  // Operations read their inputs and never write to them.
  return Value{.type = input.type, .dims = input.dims, .data = const_cast<std::byte*>(input.bytes.data())};
}

Result<void> run(GraphSessionObject& s, const CancelOf& cancel) {
  const auto& names = s.graph->program->accepted();
  const std::size_t needed = s.graph->program->inputs().size();  // the others have defaults
  std::vector<std::pair<std::string, Value>> inputs;
  for (std::size_t i = 0; i < s.bound.size(); ++i) {
    if (s.bound[i].type == Type::none && i >= needed) continue;
    if (s.bound[i].type == Type::none)
      return fail(Code::InvalidArgument, "nothing is bound to the input \"{}\"", printable(names[i].name));
    LOOM_TRY(Value value, value_of(s.bound[i]));
    inputs.emplace_back(names[i].name, std::move(value));
  }
  LOOM_TRY(std::vector<Value> values, s.runner->run(std::move(inputs), cancel.flag()));
  std::vector<GraphSessionObject::Output> outputs(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    outputs[i].extents.assign(values[i].dims.begin(), values[i].dims.end());
  s.values = std::move(values), s.outputs = std::move(outputs);
  return {};
}

struct GivenOutput {
  const Value* value = nullptr;
  std::span<const std::uint64_t> extents;
  std::span<const std::byte> bytes;
};
Result<GivenOutput> output_of(GraphSessionObject& s, const char* name) {
  LOOM_TRY(const std::size_t place, place_of(s.graph->program->outputs(), std::identity{}, name, "output"));
  if (s.values.empty()) return fail(Code::InvalidState, "the session has run nothing so far");
  const Value& value = s.values[place];
  GraphSessionObject::Output& output = s.outputs[place];
  std::span<const std::byte> bytes{value.as<const std::byte>(), value.bytes()};
  const bool as_stored = value.type == Type::f32 || value.type == Type::f64 || value.type == Type::i64;
  if (!as_stored || std::endian::native != std::endian::little) {
    if (!output.in_place) {
      LOOM_TRY(output.bytes, graph::bytes_of_value(value));
      output.in_place = true;
    }
    bytes = output.bytes;
  }
  return GivenOutput{&value, output.extents, bytes};
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_graph_open(const char* path, const loom_graph_options* options, loom_graph* graph) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(graph));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    return load_graph(options, graph, [&] { return read_graph(std::string(name)); });
  });
}

loom_status loom_graph_from_memory(const void* data, size_t data_size, const loom_graph_options* options,
                                   loom_graph* graph) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(graph));
    LOOM_TRY(const std::string_view bytes, need_bytes(data, data_size, "data"));
    return load_graph(options, graph, [&] { return parse_graph(std::as_bytes(std::span(bytes))); });
  });
}

loom_status loom_graph_info(loom_graph graph, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto use, Use<GraphObject>::of(graph));
    LOOM_TRY(*info, make_blob(graph_facts(use->program->model())));
    return {};
  });
}

loom_status loom_graph_session_create(loom_graph graph, const loom_compute_options* compute,
                                      loom_graph_session* session) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(session));
    graph::RunnerOptions wanted;
    LOOM_TRY_VOID(read_compute(compute, wanted));
    LOOM_TRY(const auto use, Use<GraphObject>::of(graph));
    if (wanted.pool == nullptr && wanted.threads == 0) {
      wanted.pool = use->pool;
      wanted.threads = use->threads;
    }
    LOOM_TRY(auto runner, graph::Runner::create(use->program, wanted));
    LOOM_TRY(*session, make_handle<GraphSessionObject>(use.shared(), std::move(runner)));
    return {};
  });
}

loom_status loom_graph_session_bind(loom_graph_session session, const char* name, const loom_tensor* input) {
  return guard([&]() -> Result<void> {
    if (input == nullptr) return fail(Code::InvalidArgument, "input is NULL");
    LOOM_TRY(const loom_tensor given, read_struct(input));
    LOOM_TRY(const std::string_view bytes, need_bytes(given.data, given.data_size, "data"));
    LOOM_TRY(const auto extents, need_array(given.shape, given.shape_count, "shape"));
    LOOM_TRY(const auto s, take<GraphSessionObject>(session, "graph session"));
    const graph::Program& program = *s->graph->program;
    const auto& names = name == nullptr ? program.inputs() : program.accepted();
    LOOM_TRY(const std::size_t place, place_of(names, &graph::InputInfo::name, name, "input"));
    const loom_element element = given.element;
    if (element <= LOOM_ELEMENT_NONE || element > LOOM_ELEMENT_INT4 || !graph::is_known(static_cast<Type>(element)))
      return fail(Code::InvalidArgument, "element is {}: expected that of a tensor of numbers", element);
    BoundInput bound{static_cast<Type>(element), {extents.begin(), extents.end()}, std::as_bytes(std::span(bytes))};
    LOOM_TRY(const std::size_t size, bytes_of(bound.type, bound.dims));
    if (size != bound.bytes.size())
      return fail(Code::ShapeMismatch, "data has {} bytes, a tensor of {} {} {}", bound.bytes.size(),
                  graph::name_of(bound.type), graph::text_of(bound.dims), size);
    s->bound[place] = std::move(bound);
    return {};
  });
}

loom_status loom_graph_session_unbind(loom_graph_session session) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto s, take<GraphSessionObject>(session, "graph session"));
    std::ranges::fill(s->bound, BoundInput{});
    return {};
  });
}

loom_status loom_graph_session_run(loom_graph_session session, loom_cancel cancel) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const auto s, take<GraphSessionObject>(session, "graph session"));
    return run(*s.operator->(), stop);
  });
}

loom_status loom_graph_session_output(loom_graph_session session, const char* name, loom_tensor* output) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(output));
    LOOM_TRY(const auto s, take<GraphSessionObject>(session, "graph session"));
    LOOM_TRY(const GivenOutput given, output_of(*s.operator->(), name));
    write_struct(loom_tensor{.struct_size = 0,
                             .element = static_cast<loom_element>(given.value->type),
                             .data = const_cast<std::byte*>(given.bytes.data()),  // to read
                             .data_size = given.bytes.size(),
                             .shape = given.extents.data(),
                             .shape_count = given.extents.size()},
                 output, room);
    return {};
  });
}

loom_status loom_graph_session_copy_output(loom_graph_session session, const char* output, uint8_t* to,
                                           size_t to_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto room, need_array(to, to_count, "to"));
    LOOM_TRY(const auto s, take<GraphSessionObject>(session, "graph session"));
    LOOM_TRY(const GivenOutput given, output_of(*s.operator->(), output));
    if (room.size() != given.bytes.size())
      return fail(Code::ShapeMismatch, "the output has {} bytes, there is room for {}", given.bytes.size(),
                  room.size());
    if (!room.empty()) std::memcpy(to, given.bytes.data(), room.size());
    return {};
  });
}

loom_status loom_graph_session_hash(loom_graph_session session, loom_blob* hash) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(hash));
    LOOM_TRY(const auto s, take<GraphSessionObject>(session, "graph session"));
    if (s->values.empty()) return fail(Code::InvalidState, "the session has run nothing so far");
    LOOM_TRY(const Digest digest, digest_of_outputs(s->values));
    LOOM_TRY(*hash, make_blob(to_hex(digest)));
    return {};
  });
}

loom_status loom_graph_session_info(loom_graph_session session, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto s, take<GraphSessionObject>(session, "graph session"));
    LOOM_TRY(*info, make_blob(Json{{"threads", s->runner->threads()}, {"scratch_bytes", s->runner->scratch_bytes()}}));
    return {};
  });
}
