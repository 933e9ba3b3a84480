#pragma once

namespace loom::test {

// The spec of a network of two layers that names its input: a file of the kind that most commands read.
inline constexpr const char* kTwoLayers = R"({"seed":1,"input_shape":[2],"layers":[
  {"type":"dense","input_height":2,"output_height":8,"activation":"tanh"},
  {"type":"dense","input_height":8,"output_height":3,"activation":"linear"}]})";

}  // namespace loom::test
