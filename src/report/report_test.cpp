// Charts and texts of pages: they end, and every number in them is one.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/chart.h"
#include "report/markup.h"
#include "report/svg.h"

namespace loom::report_test {
namespace {

std::string chart_of(const std::vector<double>& values) {
  ChartSeries series{"loss", "s1", {}};
  for (std::size_t i = 0; i < values.size(); ++i) series.points.emplace_back(static_cast<double>(i), values[i]);
  return line_chart({.x_label = "step", .label = "loss"}, std::span(&series, 1));
}

TEST(Chart, ValuesThatDifferByTheLastBitEndInAPicture) {
  for (const double value : {0.1, 1.0, 3.7, std::log(2.0), 1e300, 1e-300, -5.0})
    for (int steps = 1; steps <= 4; ++steps) {
      double other = value;
      for (int i = 0; i < steps; ++i) other = std::nextafter(other, std::numeric_limits<double>::infinity());
      const std::string svg = chart_of({value, other, value});
      EXPECT_LT(svg.size(), 10000u) << value;
      EXPECT_EQ(svg.find("nan"), svg.npos) << svg;
      EXPECT_EQ(svg.find("inf"), svg.npos) << svg;
    }
}

TEST(Chart, APeakBesideAGapIsKept) {
  std::vector<double> values(5000, 1.0);
  for (std::size_t i = 0; i < values.size(); i += 10) values[i] = std::nan("");
  values[2505] = 9;
  const std::string svg = chart_of(values);
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_NE(svg.find(" 29.6"), svg.npos) << "9 on an axis from 0 to 10 that is 196 pixels high and ends at 206";
}

TEST(Chart, PointsWithoutAPlaceAreLeftOut) {
  ChartSeries series{"loss", "s1", {{0, 1}, {std::nan(""), 2}, {2, 3}}, true};
  EXPECT_EQ(line_chart({.x_label = "step", .label = "x"}, std::span(&series, 1)).find("nan"), std::string::npos);
  EXPECT_EQ(chart_of({std::nan("")}), "");
}

TEST(Markup, TabsAndLineBreaksStayAndOtherControlCharactersGo) {
  EXPECT_EQ(html_text("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(html_text("\x01<&>\"'"), "\xef\xbf\xbd&lt;&amp;&gt;&quot;&#39;");
}

TEST(Svg, TextsAreEscapedAndEqualCallsGiveEqualBytes) {
  const auto picture = [] {
    Svg svg;
    svg.rect({.x = 1, .y = 2, .width = 3, .height = 4, .fill = "#fff", .stroke = "#000", .title = "a<b"});
    svg.text({.x = 1, .y = 2, .turn = -90}, "<&>");
    svg.path({.stroke = "#b03060", .arrow = true}, "M0 0L1 1");
    return svg.finish(10, 20, "Helvetica", "a \"picture\"");
  };
  const std::string svg = picture();
  EXPECT_EQ(svg, picture());
  EXPECT_NE(svg.find("&lt;&amp;&gt;"), svg.npos);
  EXPECT_NE(svg.find("<title>a&lt;b</title>"), svg.npos);
  EXPECT_NE(svg.find("aria-label=\"a &quot;picture&quot;\""), svg.npos);
  EXPECT_NE(svg.find("id=\"arrow\""), svg.npos);
}

}  // namespace
}  // namespace loom::report_test
