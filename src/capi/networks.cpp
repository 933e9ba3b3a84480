// Networks of loom.h: making, reading, writing and changing them.

#include <algorithm>

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "host/draw.h"
#include "host/inspect.h"
#include "io/network_file.h"
#include "io/output_file.h"
#include "network/spec/clone.h"
#include "training/weight_hash.h"

namespace loom::capi {

Result<Weight*> weight_of(const Network& network, std::string_view wanted) {
  Weight* found = nullptr;
  network.visit_weights([&](const std::string& path, Weight& w, const Layer&) {
    if (path == wanted) found = &w;
  });
  if (found == nullptr) return fail(Code::NotFound, "the network has no weight \"{}\"", wanted);
  return found;
}

Result<void> bring_values(NetworkObject& object, const Device* on) {
  Device* const ahead = object.ahead.load(std::memory_order_acquire);
  if (ahead == nullptr || ahead == on) return {};
  LOOM_TRY(const Writing writing, Writing::of(object, ahead));
  return fetch_values(object);
}

Result<void> fetch_values(NetworkObject& object) {
  Result<void> done;
  object.network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    if (auto fetched = w.fetch(); !fetched && done) done = at(path, std::move(fetched).error());
  });
  if (done) object.ahead.store(nullptr, std::memory_order_release);
  return done;
}

Result<void> give_gradient(const Gradients& gradients, const Weight& weight, Device* device, const Room& to) {
  const void* const from = gradients.written(weight) ? gradients.of(weight) : nullptr;
  const std::size_t count = weight.elements();
  if (from == nullptr) {  // frozen, or nothing has been added
    std::memset(to.data, 0, count * bytes_of(to.element));
    return {};
  }
  Buffer memory;
  LOOM_TRY(const ConstView here, brought(device, {from, Shape::of({1, count}), gradients.element()}, memory));
  with_element(here.element, [&]<class T>() {
    with_element(to.element, [&]<class U>() {
      std::transform(here.as<T>(), here.as<T>() + count, static_cast<U*>(to.data),
                     [](T v) { return static_cast<U>(v); });
    });
  });
  return {};
}

Result<std::shared_ptr<const ForwardPlan>> plan_forward(NetworkObject& object, const Shape& input) {
  object.plans.forward.reset();
  LOOM_TRY(object.plans.forward, ForwardPlan::create(object.network, input));
  return object.plans.forward;
}

Result<void> need_values(const Network& network) {
  std::string open;
  network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
    if (!w.has_value() && open.empty()) open = path;
  });
  return open.empty() ? Result<void>{} : fail(Code::NoValue, "{} has no value so far", open);
}

Result<Address> address_of(const std::uint64_t* given, std::size_t count) {
  LOOM_TRY(const auto a, need_array(given, count, "address"));
  if (a.size() != 4) return fail(Code::InvalidArgument, "address has {} numbers: expected z, y, x, l", a.size());
  for (const std::uint64_t v : a)
    if (v > 0xffffffff) return fail(Code::OutOfRange, "address: {} is outside the grid", v);
  return Address{static_cast<std::size_t>(a[0]), static_cast<std::size_t>(a[1]), static_cast<std::size_t>(a[2]),
                 static_cast<std::size_t>(a[3])};
}

namespace {

SpecOptions options_of(const loom_network_options& given) {
  SpecOptions out;
  out.strict = given.lenient == 0;
  out.initialise = given.uninitialised == 0;
  if (given.max_bytes != 0) out.max_bytes = given.max_bytes;
  return out;
}

Result<std::uint64_t> handle_of(SpecResult made) {
  return make_handle<NetworkObject>(std::move(made.network), std::move(made.warnings), std::move(made.plans));
}

std::string_view role_name(WeightRole role) {
  switch (role) {
    case WeightRole::Matrix: return "matrix";
    case WeightRole::Vector: return "vector";
    case WeightRole::TypedVector: return "typed_vector";
    case WeightRole::Statistic: return "statistic";
    case WeightRole::Adapter: return "adapter";
  }
  return "";
}

Json weights_of(const Network& network) {
  Json list = Json::array();
  network.visit_weights([&](const std::string& path, const Weight& w, const Layer& layer) {
    list.push_back(Json{{"name", path},
                        {"layer", layer.kind()},
                        {"role", role_name(w.role())},
                        {"shape", w.shape().extents()},
                        {"dtype", name(w.dtype())},
                        {"has_value", w.has_value()},
                        {"has_master", w.has_master()},
                        {"is_frozen", w.is_frozen()}});
  });
  return list;
}

Json info_of(const NetworkObject& object) {
  const Network& network = object.network;
  Json out = to_json(network_facts(network));
  out.erase("path");
  out["name"] = network.settings.name;
  out["element"] = network.settings.activations == Element::f64 ? "f64" : "f32";
  out["seed"] = network.settings.seed;
  out["warnings"] = object.warnings;
  std::uint64_t weights = 0;
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) { weights += w.elements(); });
  out["weights"] = weights;
  if (network.settings.input_shape) out["input_shape"] = network.settings.input_shape->extents();
  if (const Plans plans = object.current_plans(); plans.know_shapes() && network.num_cells() > 0)
    out["output_shape"] = plans.shape_after(network.num_cells() - 1).extents();
  return out;
}

Result<void> place(Network& network, const Address& address, std::string_view json) {
  LOOM_TRY(const std::size_t index, network.index_of(address));
  LayerPtr layer;
  if (!json.empty()) {
    LOOM_TRY(const Json spec, parse_json(json));
    LOOM_TRY(layer, layer_from_json(spec));
  }
  network.exchange(index, Cell(std::move(layer)));
  return network.initialise();
}

// Visits a layer by its path, or those of all cells.
Result<void> visit_layers(Network& network, const char* path, const std::function<void(Layer&)>& visit) {
  if (path != nullptr) {
    LOOM_TRY(Layer* const layer, network.layer_at(std::string_view(path)));
    visit(*layer);
    return {};
  }
  for (std::size_t i = 0; i < network.num_cells(); ++i)
    if (Layer* const layer = network.cell(i).front()) visit(*layer);
  return {};
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_network_from_json(const void* json, size_t json_size, const loom_network_options* options,
                                   loom_network* network) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(network));
    LOOM_TRY(const std::string_view text, need_bytes(json, json_size, "json"));
    LOOM_TRY(const loom_network_options given, read_struct(options));
    LOOM_TRY(SpecResult made, network_from_json(text, options_of(given)));
    LOOM_TRY(*network, handle_of(std::move(made)));
    return {};
  });
}

loom_status loom_network_from_arch(const void* json, size_t json_size, loom_network* network) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(network));
    LOOM_TRY(const std::string_view text, need_bytes(json, json_size, "json"));
    LOOM_TRY(const Json config, parse_json(text));
    LOOM_TRY(SpecResult made, build_from_arch(config));
    LOOM_TRY(*network, handle_of(std::move(made)));
    return {};
  });
}

loom_status loom_network_open(const char* path, const loom_network_options* options, loom_network* network) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(network));
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const loom_network_options given, read_struct(options));
    LOOM_TRY(SpecResult made, load_network(std::string(name), options_of(given)));
    LOOM_TRY(*network, handle_of(std::move(made)));
    return {};
  });
}

loom_status loom_network_from_memory(const void* data, size_t data_size, const loom_network_options* options,
                                     loom_network* network) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(network));
    LOOM_TRY(const std::string_view bytes, need_bytes(data, data_size, "data"));
    LOOM_TRY(const loom_network_options given, read_struct(options));
    const auto source = ByteSource::memory("data", std::as_bytes(std::span(bytes)));
    LOOM_TRY(SpecResult made, load_network(source, options_of(given)));
    LOOM_TRY(*network, handle_of(std::move(made)));
    return {};
  });
}

loom_status loom_network_clone(loom_network network, loom_network* copy) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(copy));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(Network made, clone_network(taken.network()));
    LOOM_TRY(*copy, make_handle<NetworkObject>(std::move(made), std::vector<std::string>{}));
    return {};
  });
}

loom_status loom_network_graft(const loom_network* networks, size_t networks_count, const char* combine_mode,
                               int32_t share, loom_network* grafted) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(grafted));
    LOOM_TRY(const auto handles, need_array(networks, networks_count, "networks"));
    LOOM_TRY(const std::string_view mode, need_text(combine_mode, "combine_mode"));
    if (handles.empty()) return fail(Code::InvalidArgument, "networks is empty");
    std::vector<TakenNetwork<Reading>> taken;
    std::vector<const Network*> parts;
    for (const loom_network handle : handles) {
      LOOM_TRY(auto one, take_network<Reading>(handle));
      parts.push_back(&one.network());
      taken.push_back(std::move(one));
    }
    LOOM_TRY(Network made, graft_networks(parts, mode, share != 0));
    LOOM_TRY(*grafted, make_handle<NetworkObject>(std::move(made), std::vector<std::string>{}));
    return {};
  });
}

loom_status loom_network_save(loom_network network, const char* path, int32_t keep_master) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view name, need_text(path, "path"));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY_VOID(need_values(taken.network()));
    LOOM_TRY_VOID(check_output(std::string(name), OutputKind::network, false, {}, ""));
    LOOM_TRY(const Digest root, save_network(std::string(name), taken.network(), {.keep_master = keep_master != 0}));
    (void)root;
    return {};
  });
}

loom_status loom_network_to_bytes(loom_network network, loom_network_format format, int32_t keep_master,
                                  loom_blob* bytes) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(bytes));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY_VOID(need_values(taken.network()));
    if (format == LOOM_FORMAT_JSON) {
      LOOM_TRY(std::string text, network_to_checkpoint(taken.network()));
      LOOM_TRY(*bytes, make_blob(std::move(text)));
      return {};
    }
    if (format != LOOM_FORMAT_ENTITY) return fail(Code::InvalidArgument, "format is {}: expected 0 or 1", format);
    LOOM_TRY(const auto file, network_to_entity(taken.network(), {.keep_master = keep_master != 0}));
    LOOM_TRY(*bytes, make_blob(std::span<const std::byte>(file)));
    return {};
  });
}

loom_status loom_network_spec(loom_network network, loom_blob* spec) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(spec));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(*spec, make_blob(printed_spec(taken.network())));
    return {};
  });
}

loom_status loom_network_info(loom_network network, loom_blob* info) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(info));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(*info, make_blob(info_of(*taken.use.operator->())));
    return {};
  });
}

loom_status loom_network_draw(loom_network network, const char* title, loom_blob* svg) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(svg));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(std::string picture,
             draw_network(taken.network(), taken.use->current_plans(), title == nullptr ? "" : title));
    LOOM_TRY(*svg, make_blob(std::move(picture)));
    return {};
  });
}

loom_status loom_network_hash(loom_network network, loom_blob* hash) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(hash));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY_VOID(need_values(taken.network()));
    LOOM_TRY(*hash, make_blob(to_hex(weight_hash(taken.network()))));
    return {};
  });
}

loom_status loom_network_prepare(loom_network network, const uint64_t* input, size_t input_count,
                                 const uint64_t** output, size_t* output_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(output, output_count));
    LOOM_TRY(const Shape shape, shape_of(input, input_count, "input"));
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    LOOM_TRY(const auto plan, plan_forward(*taken.use.operator->(), shape));
    Extents& out = taken.use->output_shape;
    const std::size_t cells = taken.network().num_cells();
    out.set(cells == 0 ? shape : plan->shape_after(cells - 1));
    *output = out.values.data(), *output_count = out.count;
    return {};
  });
}

loom_status loom_network_place(loom_network network, const uint64_t* address, size_t address_count, const void* layer,
                               size_t layer_size) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const Address cell, address_of(address, address_count));
    LOOM_TRY(const std::string_view json, need_bytes(layer, layer_size, "layer"));
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    return place(taken.network(), cell, json);
  });
}

loom_status loom_network_morph(loom_network network, const char* path, const char* dtype) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view type, need_text(dtype, "dtype"));
    LOOM_TRY(const DType wanted, dtype_from_name(type));
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    ++taken.use->values;
    return path == nullptr ? taken.network().morph_all(wanted) : taken.network().morph(path, wanted);
  });
}

loom_status loom_network_release_masters(loom_network network) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    taken.network().release_masters();
    taken.network().count_edit();  // trainers need masters
    return {};
  });
}

loom_status loom_network_merge_adapters(loom_network network) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    ++taken.use->values;
    return taken.network().merge_adapters();
  });
}

loom_status loom_network_weights(loom_network network, loom_blob* list) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(list));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(*list, make_blob(weights_of(taken.network())));
    return {};
  });
}

loom_status loom_network_get_weight(loom_network network, const char* name, const loom_tensor* values) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view path, need_text(name, "name"));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(const Weight* weight, weight_of(taken.network(), path));
    LOOM_TRY(const Room room, room_of(values, weight->shape(), path));
    if (!weight->has_value()) return fail(Code::NoValue, "{} has no value so far", path);
    with_element(room.element, [&]<class T>() { weight->decode(0, weight->elements(), static_cast<T*>(room.data)); });
    return {};
  });
}

loom_status loom_network_set_weight(loom_network network, const char* name, const loom_tensor* values) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::string_view path, need_text(name, "name"));
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    LOOM_TRY(Weight* const weight, weight_of(taken.network(), path));
    LOOM_TRY(const ConstView given, view_of(values, weight->shape(), path));
    const auto done = with_element(
        given.element, [&]<class T>() { return weight->set(std::span(given.as<T>(), weight->elements())); });
    if (!done) return fail(done.error().code, "{}: {}", path, done.error().text());
    ++taken.use->values;
    return {};
  });
}

loom_status loom_network_weight_codes(loom_network network, const char* name, loom_blob* codes) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(codes));
    LOOM_TRY(const std::string_view path, need_text(name, "name"));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(const Weight* weight, weight_of(taken.network(), path));
    if (!weight->has_value()) return fail(Code::NoValue, "{} has no value so far", path);
    LOOM_TRY(const Json json, weight_to_json(*weight));
    LOOM_TRY(*codes, make_blob(json));
    return {};
  });
}

loom_status loom_network_freeze(loom_network network, const char* path, int32_t frozen) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto taken, take_network<Writing>(network));
    taken.network().count_edit();
    return visit_layers(taken.network(), path, [&](Layer& layer) { layer.common.trainable = frozen == 0; });
  });
}
