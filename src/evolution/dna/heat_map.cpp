// The picture of `loom dna`: text of fixed numbers alone, so that equal networks give equal files.

#include <algorithm>

#include "core/markup.h"
#include "evolution/dna/dna.h"

namespace loom {
namespace {

constexpr std::size_t kMaxSide = 512;

// Orange for opposite directions, white for none, blue for the same.
std::string colour_of(double similarity) {
  const double t = std::clamp(similarity, -1.0, 1.0), size = t < 0 ? -t : t;
  const int r = static_cast<int>(255 - size * (t < 0 ? 25 : 216)), g = static_cast<int>(255 - size * (t < 0 ? 138 : 153)),
            b = static_cast<int>(255 - size * (t < 0 ? 221 : 78));
  return fmt::format("#{:02x}{:02x}{:02x}", r, g, b);
}

std::string label_of(const Signature& s) { return html_text(shortened(s.key() + " " + s.type, 60)); }

}  // namespace

Result<std::string> heat_map_svg(const Dna& a, const Dna& b, const DnaComparison& comparison, const std::string& name_a, const std::string& name_b,
                                 bool nested) {
  std::vector<const Signature*> rows, cols;
  for (const Signature& s : a.signatures)
    if (s.is_cell || nested) rows.push_back(&s);
  for (const Signature& s : b.signatures)
    if (s.is_cell || nested) cols.push_back(&s);
  if (rows.size() > kMaxSide || cols.size() > kMaxSide)
    return fail(Code::InvalidArgument, "a picture of {} x {} layers, at most {} on a side", rows.size(), cols.size(), kMaxSide);
  const std::size_t most = std::max<std::size_t>({rows.size(), cols.size(), 1});
  const double field = std::clamp(720.0 / static_cast<double>(most), 8.0, 56.0), font = std::clamp(field * 0.34, 6.0, 13.0);
  std::size_t longest_row = 4, longest_col = 4;
  for (const Signature* s : rows) longest_row = std::max(longest_row, std::min<std::size_t>(60, s->key().size() + s->type.size() + 1));
  for (const Signature* s : cols) longest_col = std::max(longest_col, std::min<std::size_t>(60, s->key().size() + s->type.size() + 1));
  const double left = 34 + static_cast<double>(longest_row) * font * 0.62, top = 96 + static_cast<double>(longest_col) * font * 0.62;
  const double grid_width = field * static_cast<double>(cols.size()), grid_height = field * static_cast<double>(rows.size());
  const double width = std::max(left + grid_width + 40, 620.0), height = top + grid_height + 74;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "font-family=\"ui-monospace, Menlo, Consolas, monospace\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
  svg += fmt::format("<text x=\"20\" y=\"30\" font-size=\"16\" font-weight=\"bold\" fill=\"#1d2433\">Similarity of layers</text>\n");
  svg += fmt::format("<text x=\"20\" y=\"52\" font-size=\"12\" fill=\"#4a5468\">rows: {}   columns: {}</text>\n", html_text(shortened(name_a, 60)), html_text(shortened(name_b, 60)));
  svg += fmt::format(
      "<text x=\"20\" y=\"70\" font-size=\"12\" fill=\"#4a5468\">overall {:.4f}   structural {:.4f}   logic shifts {}   unmatched {}</text>\n",
      comparison.overall, comparison.structural, comparison.shifts.size(), comparison.unmatched.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" text-anchor=\"end\" fill=\"#1d2433\">{}</text>\n", left - 8,
                       top + (static_cast<double>(r) + 0.5) * field + font * 0.35, font, label_of(*rows[r]));
  for (std::size_t c = 0; c < cols.size(); ++c) {
    const double x = left + (static_cast<double>(c) + 0.5) * field + font * 0.35, y = top - 8;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" fill=\"#1d2433\" transform=\"rotate(-90 {:.1f} {:.1f})\">{}</text>\n", x, y,
                       font, x, y, label_of(*cols[c]));
  }
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < cols.size(); ++c) {
      const bool comparable = rows[r]->type == cols[c]->type && rows[r]->weights.size() == cols[c]->weights.size();
      const double s = comparable ? similarity(*rows[r], *cols[c]) : 0, x = left + static_cast<double>(c) * field, y = top + static_cast<double>(r) * field;
      svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#d7dbe3\" stroke-width=\"0.5\"/>\n", x, y,
                         field, field, comparable ? colour_of(s) : "#f1f2f5");
      if (comparable && field >= 26)
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" text-anchor=\"middle\" fill=\"{}\">{:.2f}</text>\n", x + field / 2,
                           y + field / 2 + font * 0.35, font * 0.9, s > 0.6 ? "#ffffff" : "#1d2433", s);
    }
  const auto index_of = [](std::span<const Signature* const> list, const std::string& key) {
    return static_cast<double>(std::ranges::find_if(list, [&](const Signature* s) { return s->key() == key; }) - list.begin());
  };
  for (const LogicShift& shift : comparison.shifts)
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#d6336c\" stroke-width=\"2.5\"/>\n",
        left + index_of(cols, shift.target) * field + 1.5, top + index_of(rows, shift.source) * field + 1.5, field - 3, field - 3);
  const double legend = top + grid_height + 26;
  for (int i = 0; i <= 40; ++i)
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"5.2\" height=\"12\" fill=\"{}\"/>\n", 62 + i * 5.0, legend, colour_of(i / 20.0 - 1));
  svg += fmt::format("<text x=\"34\" y=\"{:.1f}\" font-size=\"12\" fill=\"#4a5468\">-1</text>\n", legend + 11);
  svg += fmt::format("<text x=\"274\" y=\"{:.1f}\" font-size=\"12\" fill=\"#4a5468\">1</text>\n", legend + 11);
  svg += fmt::format("<rect x=\"310\" y=\"{:.1f}\" width=\"11\" height=\"11\" fill=\"none\" stroke=\"#d6336c\" stroke-width=\"2\"/>\n", legend + 0.5);
  svg += fmt::format("<text x=\"328\" y=\"{:.1f}\" font-size=\"12\" fill=\"#4a5468\">logic shift</text>\n", legend + 11);
  svg += fmt::format("<rect x=\"432\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"#f1f2f5\" stroke=\"#d7dbe3\"/>\n", legend);
  svg += fmt::format("<text x=\"450\" y=\"{:.1f}\" font-size=\"12\" fill=\"#4a5468\">other type or size</text>\n</svg>\n", legend + 11);
  return svg;
}

}  // namespace loom
