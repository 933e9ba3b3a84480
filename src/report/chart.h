#pragma once
// Charts as inline SVG. Their colours are classes of html_page(), so that one picture is read in light, in dark and on
// paper.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loom {

struct ChartSeries {
  std::string name;
  const char* style;                              // class of the stroke: s1, s2, s3, faint
  std::vector<std::pair<double, double>> points;  // by ascending x; a gap where y is not finite
  bool dots = false;                              // every point is marked and named on hovering
};

struct ChartOptions {
  std::string x_label, label;  // label: for people who cannot see it
  bool logarithmic = false;    // ignored unless every y is positive
  bool percent = false;        // y is a share
  int height = 240;
};

// Empty text when no series has a finite point.
std::string line_chart(const ChartOptions& options, std::span<const ChartSeries> series);

// Draws a line without axes for a table's cell.
std::string sparkline(std::span<const double> values, std::string_view label);

// Draws counts[target][predicted], flat. Shares of a row are shown by colour: right ones in one, wrong ones in another.
std::string confusion_chart(std::span<const std::string> names, std::span<const std::uint64_t> counts);

}  // namespace loom
