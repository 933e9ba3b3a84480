// Small requirements of networks, kinds and specs that no other suite names.

#include <gtest/gtest.h>

#include "core/json.h"
#include "layers/all.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

std::string grid(const std::string& layers, const std::string& more = "") {
  return R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":2,)" + more + R"("layers":[)" + layers + "]}";
}
const std::string kCell = R"("z":0,"y":0,"x":0,"l":0)";

TEST(Network, index_order_and_its_inverse) {  // V-01
  const Network network = Network::create({2, 3, 4, 5}).value();
  ASSERT_EQ(network.num_cells(), 120u);
  std::size_t next = 0;
  for (std::size_t z = 0; z < 2; ++z)
    for (std::size_t y = 0; y < 3; ++y)
      for (std::size_t x = 0; x < 4; ++x)
        for (std::size_t l = 0; l < 5; ++l, ++next) {
          EXPECT_EQ(network.index_of({z, y, x, l}).value(), next);
          const Address a = network.address_of(next);
          EXPECT_TRUE(a.z == z && a.y == y && a.x == x && a.l == l) << next;
        }
}

TEST(Kinds, every_id_and_name_of_the_table) {  // L-01
  const std::vector<std::string_view> names = {"dense",
                                               "mha",
                                               "swiglu",
                                               "rmsnorm",
                                               "cnn1",
                                               "cnn2",
                                               "cnn3",
                                               "rnn",
                                               "lstm",
                                               "layernorm",
                                               "convtransposed1",
                                               "convtransposed2",
                                               "convtransposed3",
                                               "embedding",
                                               "kmeans",
                                               "softmax",
                                               "parallel",
                                               "sequential",
                                               "residual",
                                               "metacognition",
                                               "gru",
                                               "maxpool",
                                               "avgpool",
                                               "dropout",
                                               "lora",
                                               "batchnorm",
                                               "groupnorm",
                                               "reshape",
                                               "activation",
                                               "position_embedding",
                                               "permute",
                                               "instancenorm",
                                               "s6",
                                               "graph"};
  ASSERT_EQ(layer_kinds().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(layer_kinds()[i]->id, static_cast<int>(i));
    EXPECT_EQ(layer_kinds()[i]->name, names[i]);
  }
}

TEST(Kinds, spellings) {  // J-20
  const std::pair<const char*, const char*> spellings[] = {{"Linear", "dense"},
                                                           {"MultiHeadAttention", "mha"},
                                                           {"multi_head-attention", "mha"},
                                                           {"gated_mlp", "swiglu"},
                                                           {"RMSNorm", "rmsnorm"},
                                                           {"Conv2D", "cnn2"},
                                                           {"conv_transpose_3d", "convtransposed3"},
                                                           {"ConvTransposed1D", "convtransposed1"},
                                                           {"Max-Pool", "maxpool"},
                                                           {"PositionEmbedding", "position_embedding"},
                                                           {"meta", "metacognition"},
                                                           {"LoRA", "lora"},
                                                           {"flatten", "reshape"},
                                                           {"Transpose", "permute"},
                                                           {"attention", "mha"},
                                                           {"Mamba_SSM", "s6"},
                                                           {"selective-ssm", "s6"}};
  for (const auto& [given, kind] : spellings) {
    const auto found = layer_kind(given);
    ASSERT_TRUE(found) << given;
    EXPECT_EQ((*found)->name, kind) << given;
  }
}

TEST(Spec, placement_is_for_cells_and_hints_change_nothing) {  // J-10, J-16
  const std::string dense = R"("type":"dense","input_height":3,"output_height":3)";
  EXPECT_FALSE(network_from_json(grid("{" + dense + "}")));
  const auto child =
      network_from_json(grid("{" + kCell + R"(,"type":"sequential","sequential_layers":[{"z":0,)" + dense + "}]}"));
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::UnknownKey);
  const auto plain = network_from_json(grid("{" + kCell + "," + dense + "}"));
  const auto hinted = network_from_json(
      grid("{" + kCell + R"(,"use_tiling":true,"tile_size":7,"use_gpu":true,"exec_target":"x",)" + dense + "}",
           R"("use_simd_forward":false,"use_exact_dtype":true,)"));
  ASSERT_TRUE(plain);
  ASSERT_TRUE(hinted) << hinted.error().text();
  EXPECT_EQ(dump_json(network_to_json(plain->network)), dump_json(network_to_json(hinted->network)));
}

TEST(Shapes, one_vector_is_no_sequence) {  // S-03
  for (const char* layer :
       {R"({"type":"rnn","input_height":4,"output_height":4})", R"({"type":"lstm","input_height":4,"output_height":4})",
        R"({"type":"gru","input_height":4,"output_height":4})", R"({"type":"mha","d_model":4,"num_heads":1})",
        R"({"type":"s6","input_height":4})", R"({"type":"position_embedding","max_seq_len":4,"embedding_dim":4})"}) {
    const LayerPtr l = layer_from_json(*parse_json(layer)).value();
    const auto shape = l->output_shape(Shape::of({4}));
    ASSERT_FALSE(shape) << layer;
    EXPECT_EQ(shape.error().code, Code::ShapeMismatch) << layer;
  }
}

}  // namespace
}  // namespace loom
