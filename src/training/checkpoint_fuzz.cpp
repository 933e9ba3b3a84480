// Any bytes as the checkpoint of a training or, without a network in it, of a fine-tuning, their hashes made right: a
// trainer that goes on, or an Error. The trainers are of Adam, L-BFGS and targets; the first byte picks one.

#include "core/json.h"
#include "io/entity/entity_reseal.h"
#include "network/spec/spec.h"
#include "training/checkpoint.h"

namespace {

loom::Json spec() {
  using loom::Json;
  return Json{{"seed", 1},
              {"input_shape", Json::array({2})},
              {"layers", Json::array({Json{{"type", "dense"}, {"input_height", 2}, {"output_height", 3}},
                                      Json{{"type", "dense"}, {"input_height", 3}, {"output_height", 2}}})}};
}

void restore(loom::Checkpoint& checkpoint, int kind) {
  using namespace loom;
  Network network = checkpoint.network ? std::move(*checkpoint.network) : network_from_json(spec()).value().network;
  TrainerConfig config;
  config.session.threads = 1;
  config.optimizer.name = "adam";
  if (kind == 1) config.lbfgs_history = 3;
  if (kind == 2) config.tween.emplace();
  const auto trainer = Trainer::create(network, Shape::of({4, 2}), config);
  if (!trainer) return;
  const auto position = restore_trainer(checkpoint, **trainer);
  if (!position) return;
  const std::vector<float> x(8, 0.5f);
  const std::size_t outputs = (*trainer)->session().output_shape(Shape::of({4, 2})).value().elements();
  const std::vector<float> t(outputs, 0.25f);
  static_cast<void>((*trainer)->step({{x.data(), Shape::of({4, 2})}, {}, {t.data(), Shape::of({outputs})}}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  if (size == 0 || size > (1 << 16)) return 0;
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data + 1),
                               reinterpret_cast<const std::byte*>(data + size));
  reseal(bytes);
  auto checkpoint = parse_checkpoint(bytes);
  if (!checkpoint) return 0;
  static_cast<void>(check_identity("checkpoint", *checkpoint, Json::object()));
  std::size_t elements = 0;
  if (checkpoint->network)
    checkpoint->network->visit_weights(
        [&](const std::string&, const Weight& w, const Layer&) { elements += w.elements(); });
  if (elements > 4096) return 0;  // time, not safety
  restore(*checkpoint, data[0] % 3);
  return 0;
}
