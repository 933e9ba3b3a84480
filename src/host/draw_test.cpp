// Pictures of networks: what they show, and that texts stay inside of them.

#include "host/draw.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "network/spec/spec.h"

namespace loom::host_draw_test {
namespace {

std::string picture(const std::string& spec, const std::string& title) {
  const auto read = network_from_json(spec);
  EXPECT_TRUE(read) << read.error().text();
  const auto svg = draw_network(read->network, read->plans, title);
  EXPECT_TRUE(svg);
  return *svg;
}

double number_after(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  return at == text.npos ? -1 : std::strtod(text.c_str() + at + key.size(), nullptr);
}

constexpr char kLayers[] = R"("layers":[{"type":"dense","input_height":3,"output_height":5},
  {"type":"sequential","sequential_layers":[{"type":"dense","input_height":5,"output_height":2}]}]})";

TEST(HostDraw, CellsShowTheShapeThatTheyGive) {
  const std::string svg = picture(std::string(R"({"input_shape":[3],)") + kLayers, "");
  EXPECT_NE(svg.find("gives [1, 5]"), std::string::npos) << svg;
  EXPECT_NE(svg.find("gives [1, 2]"), std::string::npos);
  EXPECT_NE(svg.find("input [1, 3]"), std::string::npos);
  EXPECT_EQ(picture(std::string("{") + kLayers, "").find("gives"), std::string::npos);
}

TEST(HostDraw, APictureIsAsWideAsItsCaption) {
  const std::string title(100, 'M');
  const double narrow = number_after(picture(std::string("{") + kLayers, ""), "width=\""),
               wide = number_after(picture(std::string("{") + kLayers, title), "width=\"");
  EXPECT_GT(wide, narrow);
  EXPECT_GE(wide, 100 * 16 * 0.6);
}

TEST(HostDraw, ALongNameIsCutAtItsBox) {
  const std::string name(300, 'n');
  const std::string svg =
      picture(R"({"layers":[{"type":"dense","input_height":3,"output_height":5,"name":")" + name + R"("}]})", "t");
  EXPECT_EQ(svg.find(std::string(60, 'n')), std::string::npos);
}

}  // namespace
}  // namespace loom::host_draw_test
