// The picture of `loom dna`: text of fixed numbers alone, so that equal networks give equal files.

#include <algorithm>
#include <cmath>

#include "core/markup.h"
#include "evolution/dna/dna.h"

namespace loom {
namespace {

constexpr std::size_t kMaxSide = 512;

// Orange for opposite directions, white for none, blue for the same.
std::string colour_of(double similarity) {
  const double t = std::clamp(similarity, -1.0, 1.0), size = t < 0 ? -t : t;
  const int r = static_cast<int>(255 - size * (t < 0 ? 25 : 216)),
            g = static_cast<int>(255 - size * (t < 0 ? 138 : 153)),
            b = static_cast<int>(255 - size * (t < 0 ? 221 : 78));
  return fmt::format("#{:02x}{:02x}{:02x}", r, g, b);
}

std::string label_of(const Signature& s) { return html_text(shortened(s.key() + " " + s.type, 60)); }

}  // namespace

Result<std::string> heat_map_svg(const Dna& a, const Dna& b, const DnaComparison& comparison, const std::string& name_a,
                                 const std::string& name_b, bool nested) {
  std::vector<const Signature*> rows, cols;
  for (const Signature& s : a.signatures)
    if (s.is_cell || nested) rows.push_back(&s);
  for (const Signature& s : b.signatures)
    if (s.is_cell || nested) cols.push_back(&s);
  if (rows.size() > kMaxSide || cols.size() > kMaxSide)
    return fail(Code::InvalidArgument, "a picture of {} x {} layers, at most {} on a side", rows.size(), cols.size(),
                kMaxSide);
  const std::size_t most = std::max<std::size_t>({rows.size(), cols.size(), 1});
  const double field = std::clamp(720.0 / static_cast<double>(most), 8.0, 56.0),
               font = std::clamp(field * 0.34, 6.0, 13.0);
  std::size_t longest_row = 4, longest_col = 4;
  for (const Signature* s : rows)
    longest_row = std::max(longest_row, std::min<std::size_t>(60, s->key().size() + s->type.size() + 1));
  for (const Signature* s : cols)
    longest_col = std::max(longest_col, std::min<std::size_t>(60, s->key().size() + s->type.size() + 1));
  const double left = 34 + static_cast<double>(longest_row) * font * 0.62,
               top = 96 + static_cast<double>(longest_col) * font * 0.62;
  const double grid_width = field * static_cast<double>(cols.size()),
               grid_height = field * static_cast<double>(rows.size());
  const double width = std::max(left + grid_width + 40, 620.0), height = top + grid_height + 74;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "font-family=\"ui-monospace, Menlo, Consolas, monospace\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n",
      width, height, width, height);
  svg += fmt::format(
      "<text x=\"20\" y=\"30\" font-size=\"16\" font-weight=\"bold\" fill=\"#1d2433\">Similarity of layers</text>\n");
  svg += fmt::format("<text x=\"20\" y=\"52\" font-size=\"12\" fill=\"#4a5468\">rows: {}   columns: {}</text>\n",
                     html_text(shortened(name_a, 60)), html_text(shortened(name_b, 60)));
  svg += fmt::format(
      "<text x=\"20\" y=\"70\" font-size=\"12\" fill=\"#4a5468\">overall {:.4f}   structural {:.4f}   logic shifts {}  "
      " unmatched {}</text>\n",
      comparison.overall, comparison.structural, comparison.shifts.size(), comparison.unmatched.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" text-anchor=\"end\" fill=\"#1d2433\">{}</text>\n",
        left - 8, top + (static_cast<double>(r) + 0.5) * field + font * 0.35, font, label_of(*rows[r]));
  for (std::size_t c = 0; c < cols.size(); ++c) {
    const double x = left + (static_cast<double>(c) + 0.5) * field + font * 0.35, y = top - 8;
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" fill=\"#1d2433\" transform=\"rotate(-90 {:.1f} "
        "{:.1f})\">{}</text>\n",
        x, y, font, x, y, label_of(*cols[c]));
  }
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < cols.size(); ++c) {
      const bool comparable = rows[r]->type == cols[c]->type && rows[r]->weights.size() == cols[c]->weights.size();
      const double s = comparable ? similarity(*rows[r], *cols[c]) : 0, x = left + static_cast<double>(c) * field,
                   y = top + static_cast<double>(r) * field;
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#d7dbe3\" "
          "stroke-width=\"0.5\"/>\n",
          x, y, field, field, comparable ? colour_of(s) : "#f1f2f5");
      if (comparable && field >= 26)
        svg += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" text-anchor=\"middle\" fill=\"{}\">{:.2f}</text>\n",
            x + field / 2, y + field / 2 + font * 0.35, font * 0.9, s > 0.6 ? "#ffffff" : "#1d2433", s);
    }
  const auto index_of = [](std::span<const Signature* const> list, const std::string& key) {
    return static_cast<double>(std::ranges::find_if(list, [&](const Signature* s) { return s->key() == key; }) -
                               list.begin());
  };
  for (const LogicShift& shift : comparison.shifts)
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#d6336c\" "
        "stroke-width=\"2.5\"/>\n",
        left + index_of(cols, shift.target) * field + 1.5, top + index_of(rows, shift.source) * field + 1.5, field - 3,
        field - 3);
  const double legend = top + grid_height + 26;
  for (int i = 0; i <= 40; ++i)
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"5.2\" height=\"12\" fill=\"{}\"/>\n", 62 + i * 5.0,
                       legend, colour_of(i / 20.0 - 1));
  svg += fmt::format("<text x=\"34\" y=\"{:.1f}\" font-size=\"12\" fill=\"#4a5468\">-1</text>\n", legend + 11);
  svg += fmt::format("<text x=\"274\" y=\"{:.1f}\" font-size=\"12\" fill=\"#4a5468\">1</text>\n", legend + 11);
  svg += fmt::format(
      "<rect x=\"310\" y=\"{:.1f}\" width=\"11\" height=\"11\" fill=\"none\" stroke=\"#d6336c\" stroke-width=\"2\"/>\n",
      legend + 0.5);
  svg +=
      fmt::format("<text x=\"328\" y=\"{:.1f}\" font-size=\"12\" fill=\"#4a5468\">logic shift</text>\n", legend + 11);
  svg += fmt::format("<rect x=\"432\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"#f1f2f5\" stroke=\"#d7dbe3\"/>\n",
                     legend);
  svg +=
      fmt::format("<text x=\"450\" y=\"{:.1f}\" font-size=\"12\" fill=\"#4a5468\">other type or size</text>\n</svg>\n",
                  legend + 11);
  return svg;
}

namespace {

// White for 1e-7 and less, through green, to blue for 1 and more: powers of ten are equal steps (between powers of two,
// straight lines: a logarithm of some system's would not be the same everywhere).
constexpr int kLeastPower = -7;
double strength_of(double drift) {
  if (!(drift > 0)) return 0;
  int power = 0;
  const double mantissa = std::frexp(drift, &power);
  return std::clamp(1 - (power + 2 * mantissa - 2) * 0.30103 / kLeastPower, 0.0, 1.0);
}
std::string strength_colour(double t) {
  constexpr double stops[3][3] = {{255, 255, 255}, {102, 194, 164}, {16, 56, 110}};
  const std::size_t from = t < 0.5 ? 0 : 1;
  const double share = 2 * t - static_cast<double>(from);
  int rgb[3];
  for (std::size_t c = 0; c < 3; ++c)
    rgb[c] = static_cast<int>(std::lround(stops[from][c] + share * (stops[from + 1][c] - stops[from][c])));
  return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

class DriftPicture {
 public:
  DriftPicture(const DriftRecord& record, const std::string& name);
  std::string svg() && { return std::move(svg_) + "</svg>\n"; }

 private:
  static constexpr std::size_t kMostColumns = 120;
  static constexpr double kTop = 104, kGap = 14;

  std::size_t first_of(std::size_t column) const { return 1 + column * epochs_ / columns_; }
  double x_of(std::size_t column) const { return left_ + static_cast<double>(column) * cell_width_; }
  double y_of(std::size_t row) const { return kTop + static_cast<double>(row) * cell_height_; }
  void text(double x, double y, double size, std::string_view colour, std::string_view anchor, std::string_view words,
            bool bold = false) {
    svg_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" fill=\"{}\" text-anchor=\"{}\"{}>{}</text>\n",
                    x, y, size, colour, anchor, bold ? " font-weight=\"bold\"" : "", words);
  }
  void field(double x, double y, double width, double drift, std::string_view title) {
    svg_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#d7dbe3\" "
        "stroke-width=\"0.5\"><title>{}: {:.3g}</title></rect>\n",
        x, y, width, cell_height_, strength_colour(strength_of(drift)), title, drift);
  }
  void title(const std::string& name);
  void grid();
  void logic_shifts();
  void legend();

  const DriftRecord& record_;
  std::size_t rows_, epochs_, columns_;
  std::vector<std::string> labels_;
  double cell_width_, cell_height_, font_, left_ = 0, total_at_ = 0, total_width_;
  std::string svg_;
};

DriftPicture::DriftPicture(const DriftRecord& record, const std::string& name)
    : record_(record),
      rows_(record.drift.keys.size()),
      epochs_(record.drift.from_previous.size() - 1),
      columns_(std::min(epochs_, kMostColumns)),
      cell_width_(std::clamp(900.0 / static_cast<double>(columns_), 7.0, 44.0)),
      cell_height_(std::clamp(640.0 / static_cast<double>(rows_), 8.0, 26.0)),
      font_(std::clamp(cell_height_ * 0.55, 6.0, 12.0)),
      total_width_(std::max(cell_width_, 30.0)) {
  std::size_t longest = 4;
  for (std::size_t k = 0; k < rows_; ++k) {
    const std::string label = record.drift.keys[k] + " " + record.kinds[k];
    labels_.push_back(html_text(shortened(label, 60))),
        longest = std::max(longest, std::min<std::size_t>(60, label.size()));
  }
  left_ = 34 + static_cast<double>(longest) * font_ * 0.62;
  total_at_ = x_of(columns_) + kGap;
  const double width = std::max(total_at_ + total_width_ + 40, 620.0), height = y_of(rows_) + 92;
  svg_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "font-family=\"ui-monospace, Menlo, Consolas, monospace\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n",
      width, height, width, height);
  title(name);
  grid();
  logic_shifts();
  legend();
}

void DriftPicture::title(const std::string& name) {
  std::size_t events = 0;
  for (const auto& shifts : record_.since_previous) events += shifts.size();
  text(20, 30, 16, "#1d2433", "start", "Drift of layers", true);
  text(20, 52, 12, "#4a5468", "start", html_text(shortened(name, 60)));
  text(20, 70, 12, "#4a5468", "start",
       fmt::format("1 - similarity to the epoch before; {} epochs, {} logic shifts", epochs_, events));
}

void DriftPicture::grid() {
  const DnaDrift& drift = record_.drift;
  const auto width = static_cast<std::size_t>(cell_width_ * static_cast<double>(columns_));
  const std::size_t every = std::max<std::size_t>(1, (columns_ * 30 + width - 1) / width);
  for (std::size_t c = 0; c < columns_; c += every)
    text(left_ + (static_cast<double>(c) + 0.5) * cell_width_, kTop - 8, 10, "#1d2433", "middle",
         std::to_string(first_of(c)));
  text(total_at_ + total_width_ / 2, kTop - 8, 10, "#1d2433", "middle", "in all");
  for (std::size_t k = 0; k < rows_; ++k) {
    text(left_ - 8, y_of(k) + cell_height_ / 2 + font_ * 0.35, font_, "#1d2433", "end", labels_[k]);
    for (std::size_t c = 0; c < columns_; ++c) {
      std::size_t most = first_of(c);
      for (std::size_t e = most; e < first_of(c + 1); ++e)
        if (drift.from_previous[e][k] > drift.from_previous[most][k]) most = e;
      field(x_of(c), y_of(k), cell_width_, drift.from_previous[most][k], fmt::format("{}, epoch {}", labels_[k], most));
    }
    field(total_at_, y_of(k), total_width_, drift.from_first[epochs_][k], labels_[k] + ", in all");
  }
}

void DriftPicture::logic_shifts() {
  for (std::size_t c = 0; c < columns_; ++c)
    for (std::size_t e = first_of(c); e < first_of(c + 1) && e < record_.since_previous.size(); ++e)
      for (const LogicShift& shift : record_.since_previous[e]) {
        const auto row =
            static_cast<std::size_t>(std::ranges::find(record_.drift.keys, shift.target) - record_.drift.keys.begin());
        if (row == rows_) continue;
        svg_ += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#d6336c\" "
            "stroke-width=\"2.5\"/>\n",
            x_of(c) + 1.2, y_of(row) + 1.2, cell_width_ - 2.4, cell_height_ - 2.4);
      }
}

void DriftPicture::legend() {
  const double y = y_of(rows_) + 26;
  for (int i = 0; i <= 70; ++i)
    svg_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"3.2\" height=\"12\" fill=\"{}\"/>\n", 34 + i * 3.0, y,
                        strength_colour(i / 70.0));
  for (int power = kLeastPower; power <= 0; power += power == -7 ? 3 : 2)
    text(36 + (power - kLeastPower) * 30.0, y + 28, 10, "#4a5468", "middle",
         power == 0 ? "1" : fmt::format("1e{}", power));
  svg_ += fmt::format(
      "<rect x=\"280\" y=\"{:.1f}\" width=\"11\" height=\"11\" fill=\"none\" stroke=\"#d6336c\" stroke-width=\"2\"/>\n",
      y + 0.5);
  text(298, y + 11, 12, "#4a5468", "start", "logic shift: what another layer was in the epoch before");
}

}  // namespace

Result<std::string> drift_map_svg(const DriftRecord& record, const std::string& name) {
  const std::size_t rows = record.drift.keys.size(),
                    epochs = record.drift.from_previous.empty() ? 0 : record.drift.from_previous.size() - 1;
  if (epochs == 0 || rows == 0 || rows > kMaxSide)
    return fail(Code::InvalidArgument, "a picture of {} layers over {} epochs, 1 to {} layers expected", rows, epochs,
                kMaxSide);
  return DriftPicture(record, name).svg();
}

}  // namespace loom
