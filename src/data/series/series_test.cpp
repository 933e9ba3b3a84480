#include "data/series/series.h"

#include <gtest/gtest.h>

namespace loom {
namespace {

TEST(Series, windows_and_the_row_behind_each) {
  const auto data = parse_series("year,spots,wind\n1,10,100\n2,20,200\n3,30,300\n4,40,400\n", "t.csv", {},
                                 {.columns = {"wind", "spots"}, .length = 2});
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ((*data)->info().samples, 2u);
  EXPECT_EQ((*data)->info().input, Shape::of({2, 2}));
  EXPECT_EQ((*data)->info().target, Shape::of({2}));
  std::vector<float> x(8), t(4);
  const std::vector<std::uint32_t> both = {1, 0};
  ASSERT_TRUE((*data)->read(both, {.inputs = x, .labels = {}, .values = t}));
  EXPECT_EQ(x, (std::vector<float>{200, 20, 300, 30, 100, 10, 200, 20}));
  EXPECT_EQ(t, (std::vector<float>{400, 40, 300, 30}));
  const auto wide = parse_series("1\n2\n3\n4\n5\n6\n", "t.csv", {}, {.header = false, .length = 2, .stride = 2});
  ASSERT_TRUE(wide);
  EXPECT_EQ((*wide)->info().samples, 2u);
  const auto scaled = parse_series("3\n5\n", "t.csv", {}, {.header = false, .length = 1, .scale = 0.5});
  ASSERT_TRUE(scaled);
  std::vector<float> a(1), b(1);
  ASSERT_TRUE((*scaled)->read(std::vector<std::uint32_t>{0}, {.inputs = a, .labels = {}, .values = b}));
  EXPECT_EQ(a[0], 1.5f);
  EXPECT_EQ(b[0], 2.5f);
}

TEST(Series, errors_name_line_and_column) {
  const auto message = [](std::string_view text, const SeriesOptions& options) {
    const auto data = parse_series(text, "t.csv", {}, options);
    return data ? std::string("no error") : data.error().text();
  };
  EXPECT_EQ(message("a,b\n1,2\n3,x\n", {.length = 1}), "t.csv: line 3, column 2 (b): \"x\", expected a number");
  EXPECT_EQ(message("a,b\n1,2\n3\n", {.length = 1}), "t.csv: line 3: 1 fields, expected 2");
  EXPECT_EQ(message("a,b\n1,1e99\n", {.length = 1}), "t.csv: line 2, column 2 (b): 1e99 is beyond f32");
  EXPECT_NE(message("a,b\n1,2\n", {.columns = {"c"}, .length = 1}).find("no column \"c\""), std::string::npos);
  EXPECT_NE(message("a\n1\n2\n", {.length = 2}).find("2 rows, expected at least 3"), std::string::npos);
  EXPECT_NE(message("", {.length = 2}).find("header"), std::string::npos);
  EXPECT_NE(message("a\n", {.length = 2}).find("0 rows"), std::string::npos);
  EXPECT_NE(message("1\n", {.header = false, .columns = {"a"}}).find("header"), std::string::npos);
  EXPECT_NE(message("1\n2\n", {.header = false, .length = 0}).find("begin at 1"), std::string::npos);
  EXPECT_NE(message("1\n2\n", {.header = false, .length = 1, .scale = 0}).find("scale 0"), std::string::npos);
}

}  // namespace
}  // namespace loom
