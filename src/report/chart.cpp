#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/page.h"

namespace loom {
namespace {

constexpr double kWidth = 760, kLeft = 62, kRight = 14, kTop = 10, kBottom = 34;
constexpr std::size_t kMostPoints = 1200;  // of a line: more than its pixels show nothing

// 1, 2 or 5 times a power of ten: the least step that cuts `span` into at most `most` parts.
double nice_step(double span, int most) {
  const double raw = span / most, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0})
    if (m * power >= raw * (1 - 1e-9)) return m * power;
  return 10 * power;
}

class Axis {
 public:
  Axis(double low, double high, bool logarithmic) : low_(low), high_(high), log_(logarithmic) {
    if (log_) {
      low_ = std::log10(low), high_ = std::log10(high);
      if (high_ - low_ < 0.1) low_ -= 0.05, high_ += 0.05;
    } else if (!(high_ - low_ > 1e-12 * std::max(std::abs(low_), std::abs(high_)))) {  // ticks would not differ
      const double room = low == 0 ? 1 : std::abs(low) * 0.1;
      low_ -= room, high_ += room;
    }
  }
  // Rounded outwards to whole ticks.
  void round_out() {
    if (log_) return;
    const double step = nice_step(high_ - low_, 5);
    low_ = std::floor(low_ / step + 1e-9) * step, high_ = std::ceil(high_ / step - 1e-9) * step;
  }
  double place(double v) const { return ((log_ ? std::log10(v) : v) - low_) / (high_ - low_); }
  std::vector<double> ticks(int most) const {
    std::vector<double> out;
    if (!log_) {
      const double step = nice_step(high_ - low_, most);
      const double first = std::ceil(low_ / step - 1e-9);
      for (int i = 0; i <= most + 1 && (first + i) * step <= high_ + step * 1e-9; ++i)
        out.push_back(first + i == 0 ? 0 : (first + i) * step);
      return out;
    }
    for (const std::vector<double>& digits : {std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 5}, {1}}) {
      out.clear();
      for (double e = std::floor(low_); e <= std::ceil(high_); ++e)
        for (const double d : digits)
          if (const double v = d * std::pow(10.0, e); std::log10(v) >= low_ - 1e-9 && std::log10(v) <= high_ + 1e-9)
            out.push_back(v);
      if (out.size() <= static_cast<std::size_t>(most) + 1) break;
    }
    while (out.size() > static_cast<std::size_t>(most) + 1) {
      std::vector<double> fewer;
      for (std::size_t i = 0; i < out.size(); i += 2) fewer.push_back(out[i]);
      out = std::move(fewer);
    }
    return out;
  }

 private:
  double low_, high_;
  bool log_;
};

bool is_finite(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

// Keeps the least and the greatest of each run of points, so that peaks stay.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<std::pair<double, double>> out;
  const std::size_t each = (points.size() * 2 + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < points.size(); i += each) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(std::min(points.size(), i + each));
    const auto above = [](const auto& a, const auto& b) {
      return is_finite(b) && (!is_finite(a) || a.second > b.second);
    };
    const auto below = [](const auto& a, const auto& b) {
      return is_finite(b) && (!is_finite(a) || a.second < b.second);
    };
    auto low = std::max_element(begin, end, above), high = std::max_element(begin, end, below);
    if (high < low) std::swap(low, high);
    out.push_back(*low);
    if (low != high) out.push_back(*high);
  }
  return out;
}

std::string percent_text(double share) { return fmt::format("{:.6g} %", std::round(share * 1e6) / 1e4); }

}  // namespace

std::string line_chart(const ChartOptions& options, std::span<const ChartSeries> series) {
  std::optional<double> x_low, x_high, y_low, y_high;
  for (const ChartSeries& s : series)
    for (const auto& [x, y] : s.points) {
      if (!std::isfinite(y) || !std::isfinite(x)) continue;
      x_low = std::min(x_low.value_or(x), x), x_high = std::max(x_high.value_or(x), x);
      y_low = std::min(y_low.value_or(y), y), y_high = std::max(y_high.value_or(y), y);
    }
  if (!y_low) return {};
  const double height = options.height, bottom = height - kBottom;
  const bool logarithmic = options.logarithmic && *y_low > 0;
  const Axis across(*x_low, *x_high, false);
  Axis up(*y_low, *y_high, logarithmic);
  up.round_out();
  const auto px = [&](double x) { return kLeft + across.place(x) * (kWidth - kLeft - kRight); };
  const auto py = [&](double y) { return bottom - up.place(y) * (bottom - kTop); };
  std::string out = fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
                                height, html_text(options.label));
  for (const double y : up.ticks(6))
    out += fmt::format(
        "<path class=\"grid\" d=\"M{} {:.1f}H{}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        kLeft, py(y), kWidth - kRight, kLeft - 7, py(y) + 4, options.percent ? percent_text(y) : number_text(y));
  for (const double x : across.ticks(8)) {
    if (x != std::floor(x)) continue;
    out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", px(x),
                       bottom + 15, x >= 0 ? count_text(static_cast<std::uint64_t>(x)) : number_text(x));
  }
  out += fmt::format(
      "<path class=\"axis\" d=\"M{} {:.1f}H{}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1f}\" "
      "text-anchor=\"end\">{}</text>\n",
      kLeft, bottom, kWidth - kRight, kWidth - kRight, height - 4, html_text(options.x_label));
  for (const ChartSeries& s : series) {
    std::string path;
    bool pen_down = false;
    for (const auto& [x, y] : thinned(s.points)) {
      const bool fine = is_finite({x, y});
      if (fine) path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", px(x), py(y));
      pen_down = fine;
    }
    out += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", s.style, path);
    if (!s.dots || s.points.size() > 300) continue;
    for (const auto& [x, y] : s.points)
      if (is_finite({x, y}))
        out += fmt::format(
            "<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}: {} at {} {}</title></circle>\n",
            s.style, px(x), py(y), s.points.size() > 60 ? 1.8 : 3, html_text(s.name),
            options.percent ? percent_text(y) : number_text(y), html_text(options.x_label), number_text(x));
  }
  out += "</svg>\n<p class=\"legend\">";
  for (const ChartSeries& s : series)
    if (!s.points.empty()) out += fmt::format("<span><i class=\"{}\"></i>{}</span>", s.style, html_text(s.name));
  return out + "</p>\n";
}

std::string sparkline(std::span<const double> values, std::string_view label) {
  double low = INFINITY, high = -INFINITY;
  for (const double v : values)
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  if (!(low <= high)) return {};
  std::string path;
  bool pen_down = false;
  const std::size_t each = std::max<std::size_t>(1, values.size() / 120);
  for (std::size_t i = 0; i < values.size(); i += each) {
    const double x = values.size() < 2 ? 0 : 2 + 116 * static_cast<double>(i) / static_cast<double>(values.size() - 1);
    const bool fine = std::isfinite(values[i]);
    if (fine)
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x,
                          18 - 16 * (high > low ? (values[i] - low) / (high - low) : 0.5));
    pen_down = fine;
  }
  return fmt::format(
      "<svg class=\"spark\" viewBox=\"0 0 120 20\" role=\"img\" aria-label=\"{}\"><path class=\"line s1\" "
      "d=\"{}\"/></svg>",
      html_text(label), path);
}

namespace {

// A square for each count of a row of the matrix, which begins at (left, y). Numbers stand in squares that have room.
std::string confusion_row(std::span<const std::string> names, std::span<const std::uint64_t> counts, std::size_t r,
                          double left, double y, double cell, bool numbers) {
  std::string out;
  const std::size_t n = names.size();
  std::uint64_t total = 0;
  for (std::size_t c = 0; c < n; ++c) total += counts[r * n + c];
  for (std::size_t c = 0; c < n; ++c) {
    const std::uint64_t count = counts[r * n + c];
    const double x = left + cell * static_cast<double>(c),
                 share = total == 0 ? 0 : static_cast<double>(count) / static_cast<double>(total);
    if (count == 0 && !numbers) continue;
    // A wrong answer in a hundred must still be seen, so that shade grows with the root.
    const double shade = count == 0 ? 0.03 : 0.1 + 0.9 * std::sqrt(share);
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill-opacity=\"{:.2f}\"><title>{} as {}: {} ({:.1f} %)</title></rect>",
        r == c ? "right" : "wrong", x + 0.5, y + 0.5, cell - 1, cell - 1, shade, html_text(names[r]),
        html_text(names[c]), count, 100 * share);
    if (numbers && count > 0)
      out += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                         shade > 0.62 ? "cell deep" : "cell", x + cell / 2, y + cell / 2 + 4, count);
  }
  return out;
}

}  // namespace

std::string confusion_chart(std::span<const std::string> names, std::span<const std::uint64_t> counts) {
  const std::size_t n = names.size();
  if (n == 0 || counts.size() != n * n) return {};
  const bool numbers = n <= 20;
  std::size_t longest = 1;  // in characters of a shortened name
  for (const std::string& name : names)
    longest =
        std::max(longest, std::min<std::size_t>(15, static_cast<std::size_t>(std::ranges::count_if(name, [](char c) {
                                                  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                                                }))));
  const auto length = 7.0 * static_cast<double>(longest);
  const double cell = n <= 6    ? 62
                      : n <= 12 ? 46
                      : numbers ? 34
                                : std::max(4.0, 640.0 / static_cast<double>(n)),
               left = n <= 40 ? 36 + length : 30, top = n <= 40 ? 36 + 0.6 * length : 26;
  const double side = cell * static_cast<double>(n), width = left + side + 8 + (n <= 40 ? 0.6 * length : 0),
               height = top + side + 8;
  std::string out = fmt::format(
      "<svg class=\"confusion\" style=\"max-width:{:.0f}px\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"Confusion matrix\">\n",
      width, width, height);
  out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"14\" text-anchor=\"middle\">predicted</text>",
                     left + side / 2);
  out += fmt::format(
      "<text class=\"tick\" transform=\"translate(12 {:.1f}) rotate(-90)\" text-anchor=\"middle\">true class</text>\n",
      top + side / 2);
  for (std::size_t r = 0; r < n; ++r) {
    const double y = top + cell * static_cast<double>(r);
    if (n <= 40) {
      const std::string name = html_text(shortened(names[r], 14));
      const double x = left + cell * (static_cast<double>(r) + 0.5);
      out +=
          fmt::format("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}<title>{}</title></text>",
                      left - 7, y + cell / 2 + 4, name, html_text(names[r]));
      out += fmt::format(
          "<text class=\"name\" transform=\"translate({:.1f} {:.1f}) rotate(-35)\">{}<title>{}</title></text>\n", x,
          top - 6, name, html_text(names[r]));
    }
    out += confusion_row(names, counts, r, left, y, cell, numbers);
    out += "\n";
  }
  if (n > 40)
    out += fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", left, top, side,
                       side);
  return out + "</svg>\n";
}

}  // namespace loom
