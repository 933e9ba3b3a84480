#pragma once
// Pieces of a page: text made safe, numbers made short, pictures as inline SVG. Colours are classes that the page
// defines, so that one picture is read in light, in dark and on paper.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/markup.h"

namespace loom {

// A whole page that needs nothing else and loads nothing: the classes of what stands below, light and dark and on
// paper.
std::string html_page(std::string_view title, std::string_view body);
// A titled box of a page; nothing for an empty body.
std::string html_section(std::string_view name, const std::string& body, bool is_long = false);

// Short forms for people: 0.01234, 1.2e-07; 12,345; 1.5 MB; 3m05s.
std::string number_text(double value);
std::string count_text(std::uint64_t n);
std::string bytes_text(std::uint64_t bytes);
std::string seconds_text(double seconds);

struct ChartSeries {
  std::string name;
  const char* style;                              // class of the stroke: s1, s2, s3, faint
  std::vector<std::pair<double, double>> points;  // by ascending x; a gap where y is not finite
  bool dots = false;                              // every point is marked and named on hovering
};

struct ChartOptions {
  std::string x_label, label;  // label: for those who cannot see it
  bool logarithmic = false;    // ignored unless every y is positive
  bool percent = false;        // y is a share
  int height = 240;
};

// Empty text when no series has a finite point.
std::string line_chart(const ChartOptions& options, std::span<const ChartSeries> series);

// A line without axes for a table's cell.
std::string sparkline(std::span<const double> values, std::string_view label);

// counts[wanted][given], flat. Shares of a row are shown by colour: right ones in one, wrong ones in another.
std::string confusion_chart(std::span<const std::string> names, std::span<const std::uint64_t> counts);

}  // namespace loom
