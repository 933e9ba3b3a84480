#include "verify/golden_layers.h"

#include <array>
#include <vector>

#include "core/json.h"
#include "core/philox.h"
#include "core/sha256.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "verify/card_rules.h"

namespace loom {
namespace {

const std::vector<GoldenLayer>& cases() {
  static const std::vector<GoldenLayer> all = {
      {"dense",
       R"({"type":"dense","input_height":70,"output_height":35,"bias":true,"activation":"gelu"})",
       {19, 2, 70}},
      {"cnn1",
       R"({"type":"cnn1","input_channels":20,"filters":36,"groups":2,"kernel_size":3,"stride":2,"padding":1,"dilation":2,"bias":true,"activation":"silu"})",
       {2, 20, 9}},
      {"cnn2",
       R"({"type":"cnn2","input_channels":20,"filters":36,"groups":2,"kernel_size":[3,2],"stride":2,"padding":1,"bias":true,"activation":"silu"})",
       {2, 20, 5, 6}},
      {"cnn3",
       R"({"type":"cnn3","input_channels":4,"filters":6,"groups":2,"kernel_size":[2,3,2],"stride":2,"padding":1,"dilation":[1,1,2],"bias":true})",
       {2, 4, 4, 5, 6}},
      {"convtransposed1",
       R"({"type":"convtransposed1","input_channels":20,"filters":36,"groups":2,"kernel_size":3,"stride":2,"padding":1,"output_padding":1,"bias":true})",
       {2, 20, 6}},
      {"convtransposed2",
       R"({"type":"convtransposed2","input_channels":4,"filters":6,"groups":2,"kernel_size":[3,2],"stride":2,"padding":1,"bias":true})",
       {2, 4, 5, 6}},
      {"convtransposed3",
       R"({"type":"convtransposed3","input_channels":4,"filters":6,"groups":2,"kernel_size":2,"stride":2,"bias":true})",
       {2, 4, 3, 4, 2}},
      {"rnn", R"({"type":"rnn","input_height":35,"output_height":21,"bidirectional":true})", {19, 3, 35}},
      {"lstm", R"({"type":"lstm","input_height":35,"output_height":37,"bidirectional":true})", {18, 3, 35}},
      {"gru", R"({"type":"gru","input_height":35,"output_height":37,"return_sequence":false})", {18, 4, 35}},
      {"s6", R"({"type":"s6","input_height":37,"state_size":5})", {18, 4, 37}},
      {"swiglu", R"({"type":"swiglu","input_height":33,"output_height":70,"bias":true})", {17, 33}},
      {"swiglu inner",
       R"({"type":"swiglu","input_height":33,"output_height":70,"activation":"relu2","inner_norm":true})",
       {17, 33}},
      {"mha",
       R"({"type":"mha","d_model":36,"num_heads":4,"num_kv_heads":2,"head_dim":20,"output_dim":20,"bias":true,"qk_norm":"head","inner_norm":true,"rope_style":"interleaved","partial_rotary_factor":0.5,"sliding_window":66,"logit_softcap":2})",
       {3, 75, 36}},
      {"mha plain", R"({"type":"mha","d_model":36,"num_heads":3,"causal":false,"qk_norm":"full"})", {17, 5, 36}},
      {"parallel concat",
       R"({"type":"parallel","parallel_branches":[{"type":"dense","input_height":19,"output_height":7,"activation":"tanh"},{"type":"dense","input_height":19,"output_height":18}]})",
       {17, 19}},
      {"parallel grid_scatter",
       R"({"type":"parallel","combine_mode":"grid_scatter","scatter_grid":{"rows":2,"cols":2},"scatter_layout":"channels_first","parallel_branches":[{"type":"dense","input_height":19,"output_height":17,"scatter_to":[0,1,0]},{"type":"dense","input_height":19,"output_height":17,"scatter_to":[0,1,0]}]})",
       {17, 19}},
      {"parallel filter",
       R"({"type":"parallel","combine_mode":"filter","top_k":2,"gate_temperature":0.7,"filter_gate":{"type":"dense","input_height":19,"output_height":3},"parallel_branches":[{"type":"dense","input_height":19,"output_height":70},{"type":"dense","input_height":19,"output_height":70,"activation":"gelu"},{"type":"dense","input_height":19,"output_height":70}]})",
       {17, 19}},
      {"lora",
       R"({"type":"lora","rank":5,"alpha":3,"freeze_base":false,"base_layer":{"type":"swiglu","input_height":33,"output_height":70,"bias":true}})",
       {17, 33}},
      {"lora cnn2",
       R"({"type":"lora","rank":3,"alpha":2,"freeze_base":false,"base_layer":{"type":"cnn2","input_channels":20,"filters":36,"groups":2,"kernel_size":[3,2],"padding":1,"bias":true}})",
       {17, 20, 3, 4}},
      {"adapters",
       R"({"type":"dense","input_height":70,"output_height":35,"activation":"gelu","freeze_base":false,"adapters":[{"rank":3},{"name":"second","rank":19,"alpha":4}]})",
       {19, 2, 70}},
      {"metacognition",
       R"({"type":"metacognition","meta_effect":"gate","train_meta":true,"meta_observed_layer":{"type":"dense","input_height":19,"output_height":37,"activation":"tanh"},"meta_network":{"type":"dense","input_height":19,"output_height":2}})",
       {17, 19}},
      {"residual",
       R"({"type":"sequential","residual":true,"sequential_layers":[{"type":"dense","input_height":33,"output_height":33},{"type":"residual"},{"type":"dense","input_height":33,"output_height":33,"activation":"silu"},{"type":"residual","skip_from":0}]})",
       {17, 33}},
      {"rmsnorm", R"({"type":"rmsnorm","input_height":37})", {18, 37}},
      {"layernorm", R"({"type":"layernorm","input_height":37})", {18, 37}},
      {"groupnorm", R"({"type":"groupnorm","input_height":38,"num_groups":2})", {18, 38, 3, 2}},
      {"instancenorm", R"({"type":"instancenorm","input_height":37,"affine":true})", {18, 37, 3, 2}},
      {"batchnorm", R"({"type":"batchnorm","input_height":37})", {70, 37}},
      {"batchnorm2", R"({"type":"batchnorm","input_height":5})", {67, 5, 3, 7}},
      {"maxpool",
       R"({"type":"maxpool","kernel_size":9,"stride":[3,2],"padding":[4,3],"ceil_mode":true})",
       {2, 3, 17, 14},
       false},
      {"avgpool",
       R"({"type":"avgpool","kernel_size":9,"stride":[3,2],"padding":[4,3],"ceil_mode":true})",
       {2, 3, 17, 14},
       false},
      {"kmeans",
       R"({"type":"kmeans","num_clusters":19,"input_height":37,"output_mode":"features","kmeans_temperature":3,"activation":"silu"})",
       {18, 37}},
      {"position_embedding", R"({"type":"position_embedding","max_seq_len":9,"embedding_dim":37})", {18, 7, 37}},
      {"softmax", R"({"type":"softmax","temperature":0.7})", {18, 70}, false},
      {"softmax grid",
       R"({"type":"softmax","softmax_type":"grid","softmax_rows":2,"softmax_cols":35})",
       {3, 70},
       false},
      {"softmax tree",
       R"({"type":"softmax","softmax_type":"hierarchical","hierarchy_mode":"tree","hierarchy_levels":[3,5,2]})",
       {3, 48},
       false},
      {"softmax gumbel", R"({"type":"softmax","softmax_type":"gumbel","temperature":0.7})", {3, 37}, false},
      {"softmax masked", R"({"type":"softmax","softmax_type":"masked","mask":[true,false,true]})", {3, 37}, false},
      {"softmax sparse", R"({"type":"softmax","softmax_type":"sparse","temperature":3})", {3, 37}, false},
      {"softmax adaptive",
       R"({"type":"softmax","softmax_type":"adaptive","adaptive_cutoffs":[4,21,40]})",
       {3, 42},
       false},
      {"softmax mixture", R"({"type":"softmax","softmax_type":"mixture","mixture_count":3})", {3, 54}, false},
      {"softmax entmax 1.5", R"({"type":"softmax","softmax_type":"entmax","temperature":2})", {3, 37}, false},
      {"softmax entmax 1.3", R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":1.3})", {3, 37}, false},
      {"softmax blend",
       R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":1.3,"entmax_mode":"blend"})",
       {3, 37},
       false},
      {"reshape", R"({"type":"reshape","shape":[14,-1]})", {2, 6, 7}, false},
      {"permute", R"({"type":"permute","axes":[2,0,3,1]})", {2, 3, 5, 7}, false},
      {"dropout", R"({"type":"dropout","rate":0.3})", {3, 37}, false, true},
      {"embedding",
       R"({"type":"embedding","vocab_size":11,"embedding_dim":37,"embed_scale":1.5,"activation":"tanh"})",
       {3, 13},
       true,
       false,
       11},
  };
  return all;
}

// Values in [-1, 1) that are a function of the name alone.
std::vector<float> seeded(const std::string& name, std::size_t n) {
  const RandomStream stream{20260101, RandomDomain::Init, 0, random_site(name)};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 2.0f * stream.uniform(i) - 1.0f;
  return v;
}

std::string digest_of(std::span<const float> values) {
  Sha256 hash;
  hash.update_floats(values);
  return to_hex(hash.finish());
}

// The type on every layer of a spec, children included.
void set_type(Json& spec, std::string_view type) {
  if (!spec.is_structured()) return;
  for (Json& inner : spec) set_type(inner, type);
  if (spec.is_object() && spec.contains("type")) spec["dtype"] = std::string(type);
}

}  // namespace

std::span<const GoldenLayer> golden_layers() { return cases(); }

std::size_t golden_types(const GoldenLayer& c) { return c.typed ? kNumTypes : 1; }

Result<Network> golden_network(const GoldenLayer& c, DType dtype) {
  LOOM_TRY(Json spec, parse_json(c.spec));
  if (c.typed) set_type(spec, name(dtype));
  LOOM_TRY(Network network, Network::create({}));
  LOOM_TRY(LayerPtr layer, layer_from_json(spec));
  LOOM_TRY_VOID(network.place({}, std::move(layer)));
  network.settings.seed = 20260101;
  LOOM_TRY_VOID(network.initialise());
  // Adapters begin as zero, and would show nothing.
  network.visit_weights([](const std::string& path, Weight& w, const Layer&) {
    if (w.role() == WeightRole::Adapter) static_cast<void>(w.set(std::span<const float>(seeded(path, w.elements()))));
  });
  return network;
}

std::vector<float> golden_input(const GoldenLayer& c) {
  std::size_t elements = 1;
  for (const std::size_t extent : c.input) elements *= extent;
  std::vector<float> x = seeded(std::string(c.name) + "/x", elements);
  for (std::size_t i = 0; c.ids != 0 && i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % c.ids);
  return x;
}

Result<std::string> layer_golden_lines(const GoldenLayer& c, DType dtype, Isa isa, int threads, Device* device) {
  const std::string type = c.typed ? " " + std::string(name(dtype)) : "";
  LOOM_TRY(const Network network, golden_network(c, dtype));
  LOOM_TRY(const Shape shape, Shape::create(c.input));
  LOOM_TRY(
      const auto session,
      NetworkSession::create(network, shape, {.threads = threads, .isa = isa, .backward = true, .device = device}));
  const std::vector<float> x = golden_input(c);
  PassExtras extras;
  extras.training = c.training, extras.step = 3;
  LOOM_TRY(const ConstView y, session->forward_host({x.data(), shape}, extras));
  std::string lines = fmt::format("{} forward{}\t{}\n", c.name, type, digest_of({y.as(), y.shape.elements()}));
  const std::vector<float> dy = seeded(std::string(c.name) + "/dy", y.shape.elements());
  LOOM_TRY(const ConstView dx, session->backward_host({dy.data(), y.shape}));
  Sha256 hash;
  hash.update_floats({dx.as(), dx.shape.elements()});
  Buffer memory;
  std::optional<Error> failed;
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    const auto g = session->host_gradient(w, memory);
    if (!g) failed = g.error();
    if (g && g->data != nullptr) hash.update_floats({g->as(), w.elements()});
  });
  if (failed) return tl::make_unexpected(*std::move(failed));
  lines += fmt::format("{} backward{}\t{}\n", c.name, type, to_hex(hash.finish()));
  return lines;
}

Result<std::string> layer_golden_table(Isa isa, int threads, Device* device, std::vector<std::string>* refused) {
  std::string table;
  for (const GoldenLayer& c : cases())
    for (std::size_t t = 0; t < golden_types(c); ++t) {
      auto lines = layer_golden_lines(c, static_cast<DType>(t), isa, threads, device);
      if (!lines && refused != nullptr && is_rule_of_cards(lines.error().message))
        refused->push_back(fmt::format("{} {}", c.name, name(static_cast<DType>(t))));
      else if (!lines)
        return at(std::string(c.name), std::move(lines).error());
      else
        table += *lines;
    }
  return table;
}

}  // namespace loom
