#include "verify/random_graph.h"

#include <string>

namespace loom {
namespace {

Json node(const char* op, const Json& inputs, const Json& outputs, const Json& attributes = Json::object()) {
  return {{"op", op}, {"inputs", inputs}, {"outputs", outputs}, {"attributes", attributes}};
}

// Multiples of 1/8 from -1 to 1.
Json random_values(Draw& draw, std::size_t n) {
  Json values = Json::array();
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<double>(draw.below(17)) / 8 - 1);
  return values;
}

Json floats(Draw& draw, const char* name, const std::vector<std::size_t>& shape) {
  std::size_t n = 1;
  for (const std::size_t extent : shape) n *= extent;
  return {{"name", name}, {"type", "float32"}, {"shape", shape}, {"values", random_values(draw, n)}};
}

Json whole_number(const char* name, std::int64_t value, const char* type = "int64") {
  return {{"name", name}, {"type", type}, {"shape", Json::array()}, {"values", {value}}};
}

Json graph_layer(const Shape& input, Json constants, Json nodes) {
  Json shape = Json::array({-1});
  for (const std::size_t extent : input.extents().subspan(1)) shape.push_back(extent);
  Json graph{{"opset", 17},
             {"inputs", {{{"name", "x"}, {"type", "float32"}, {"shape", std::move(shape)}}}},
             {"outputs", {"y"}},
             {"constants", std::move(constants)},
             {"nodes", std::move(nodes)}};
  return {{"type", "graph"}, {"graph", std::move(graph)}};
}

// One step of a loop: `before` and a part of the input become "next".
Json step_of(Draw& draw, const char* before, const char* part) {
  Json nodes = Json::array({node("MatMul", {before, "w"}, {"moved"})});
  nodes.push_back(node(std::string(draw.name({"Add", "Mul", "Sub"})).c_str(), {"moved", part}, {"joined"}));
  nodes.push_back(node(std::string(draw.name({"Tanh", "Sigmoid", "Relu"})).c_str(), {"joined"}, {"next"}));
  return nodes;
}

// Chooses one of two branches by a constant, in the body of a loop or beside it.
Json choice(Draw& draw, const char* from, const char* to) {
  const auto branch = [&](const char* op) {
    return Json{
        {"g",
         {{"inputs", Json::array()}, {"outputs", {"chosen"}}, {"nodes", Json::array({node(op, {from}, {"chosen"})})}}}};
  };
  const std::string first(draw.name({"Neg", "Abs"})), second(draw.name({"Exp", "Identity"}));
  return node("If", {"flag"}, {to}, {{"then_branch", branch(first.c_str())}, {"else_branch", branch(second.c_str())}});
}

}  // namespace

RandomGraph random_einsum(Draw& draw) {
  const std::size_t batch = draw.between(1, 6), steps = draw.between(1, 5), n = draw.between(1, 24),
                    outputs = draw.between(1, 24);
  const Shape flat = Shape::of({batch, n}), sequence = Shape::of({batch, steps, n});
  struct Form {
    const char* equation;
    Json inputs;
    std::vector<std::size_t> constant;  // the shape of "w"; none: no constant
    Shape input, output;
  };
  const std::vector<Form> forms{
      {"bi,io->bo", {"x", "w"}, {n, outputs}, flat, Shape::of({batch, outputs})},
      {"bi,bj->bij", {"x", "x"}, {}, flat, Shape::of({batch, n, n})},
      {"b...,...->b...", {"x", "w"}, {n}, flat, flat},
      {"bi,i,i->bi", {"x", "w", "w"}, {n}, flat, flat},
      {"...ti,io->...to", {"x", "w"}, {n, outputs}, sequence, Shape::of({batch, steps, outputs})},
      {"bti,bsi->bts", {"x", "x"}, {}, sequence, Shape::of({batch, steps, steps})},
      {"bti,tio->bo", {"x", "w"}, {steps, n, outputs}, sequence, Shape::of({batch, outputs})},
      {"bti->bit", Json::array({"x"}), {}, sequence, Shape::of({batch, n, steps})},
      {"bti,ij,bsj->bts", {"x", "w", "x"}, {n, n}, sequence, Shape::of({batch, steps, steps})},
  };
  const Form& form = draw.pick_of(forms);
  Json constants = Json::array();
  if (!form.constant.empty()) constants.push_back(floats(draw, "w", form.constant));
  const Json equation{{"equation", {{"s", form.equation}}}};
  Json nodes = Json::array({node("Einsum", form.inputs, {"y"}, equation)});
  return {graph_layer(form.input, std::move(constants), std::move(nodes)), form.input, form.output};
}

RandomGraph random_loop(Draw& draw) {
  const std::size_t batch = draw.between(1, 5), steps = draw.between(1, 5), n = draw.between(1, 20);
  const bool scans = draw.percent(40), stacks = !scans && draw.percent(40), chooses = draw.percent(40);
  const Shape flat = Shape::of({batch, n}), sequence = Shape::of({batch, steps, n});
  Json constants = Json::array({floats(draw, "w", {n, n}), whole_number("flag", draw.percent(50) ? 1 : 0, "bool")});
  Json nodes = Json::array();
  if (scans) {
    // [batch, steps, n]: the state begins as the mean of all steps.
    Json body{{"inputs", {{{"name", "before"}}, {{"name", "part"}}}}, {"outputs", {"next", "kept"}}};
    body["nodes"] = step_of(draw, "before", "part");
    body["nodes"].push_back(chooses ? choice(draw, "next", "kept") : node("Identity", {"next"}, {"kept"}));
    nodes.push_back(
        node("ReduceMean", Json::array({"x"}), {"mean"}, {{"axes", {{"ints", {1}}}}, {"keepdims", {{"i", 0}}}}));
    const Json one = Json::array({1});
    nodes.push_back(node("Scan", {"mean", "x"}, {"last", "y"},
                         {{"body", {{"g", std::move(body)}}},
                          {"num_scan_inputs", {{"i", 1}}},
                          {"scan_input_axes", {{"ints", one}}},
                          {"scan_output_axes", {{"ints", one}}},
                          {"scan_input_directions", {{"ints", Json::array({draw.percent(50) ? 1 : 0})}}}}));
    return {graph_layer(sequence, std::move(constants), std::move(nodes)), sequence, sequence};
  }
  Json body{{"inputs", {{{"name", "i"}}, {{"name", "go"}}, {{"name", "before"}}}}, {"outputs", {"on", "next"}}};
  body["nodes"] = step_of(draw, "before", "x");
  body["nodes"].push_back(node("Identity", {"go"}, {"on"}));
  if (stacks) body["nodes"].push_back(node("Identity", {"next"}, {"kept"})), body["outputs"].push_back("kept");
  constants.push_back(whole_number("times", static_cast<std::int64_t>(draw.between(1, 6))));
  const std::size_t times = constants.back()["values"][0].get<std::size_t>();
  Json outputs = Json::array({"state"});
  if (stacks) outputs.push_back("all");
  nodes.push_back(node("Loop", {"times", "", "x"}, outputs, {{"body", {{"g", std::move(body)}}}}));
  if (stacks) {
    nodes.push_back(node("Transpose", Json::array({"all"}), {"y"}, {{"perm", {{"ints", {1, 0, 2}}}}}));
    return {graph_layer(flat, std::move(constants), std::move(nodes)), flat, Shape::of({batch, times, n})};
  }
  nodes.push_back(chooses ? choice(draw, "state", "y") : node("Identity", Json::array({"state"}), {"y"}));
  return {graph_layer(flat, std::move(constants), std::move(nodes)), flat, flat};
}

}  // namespace loom
