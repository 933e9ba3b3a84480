// The picture of `loom dna A B`: equal networks give equal files.

#include <algorithm>
#include <cmath>

#include "evolution/dna/dna.h"
#include "report/markup.h"
#include "report/svg.h"

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

std::string label_of(const Signature& s) { return shortened(s.key() + " " + s.type, 60); }

constexpr std::string_view kOther = "#f1f2f5";

// A row for each layer of the first network, a column for each of the second.
class HeatMap {
 public:
  HeatMap(const DnaComparison& comparison, std::vector<const Signature*> rows, std::vector<const Signature*> cols)
      : comparison_(comparison), rows_(std::move(rows)), cols_(std::move(cols)) {
    const std::size_t most = std::max<std::size_t>({rows_.size(), cols_.size(), 1});
    field_ = std::clamp(720.0 / static_cast<double>(most), 8.0, 56.0);
    font_ = std::clamp(field_ * 0.34, 6.0, 13.0);
    left_ = 34 + longest(rows_) * font_ * 0.62, top_ = 96 + longest(cols_) * font_ * 0.62;
  }
  std::string svg(const std::string& name_a, const std::string& name_b) {
    title(name_a, name_b);
    labels();
    fields();
    shifts();
    legend();
    return svg_.finish(std::max(x_of(cols_.size()) + 40, 620.0), y_of(rows_.size()) + 74, kSvgMono,
                       "Similarity of layers");
  }

 private:
  static double longest(const std::vector<const Signature*>& list) {
    std::size_t most = 4;
    for (const Signature* s : list)
      most = std::max(most, std::min<std::size_t>(60, s->key().size() + s->type.size() + 1));
    return static_cast<double>(most);
  }
  double x_of(std::size_t col) const { return left_ + static_cast<double>(col) * field_; }
  double y_of(std::size_t row) const { return top_ + static_cast<double>(row) * field_; }
  void title(const std::string& name_a, const std::string& name_b);
  void labels();
  void fields();
  void shifts();
  void legend();

  const DnaComparison& comparison_;
  std::vector<const Signature*> rows_, cols_;
  double field_, font_, left_, top_;
  Svg svg_;
};

void HeatMap::title(const std::string& name_a, const std::string& name_b) {
  const DnaComparison& c = comparison_;
  svg_.text({.x = 20, .y = 30, .size = 16, .bold = true}, "Similarity of layers");
  svg_.text({.x = 20, .y = 52, .fill = kSvgSoft},
            fmt::format("rows: {}   columns: {}", shortened(name_a, 60), shortened(name_b, 60)));
  svg_.text({.x = 20, .y = 70, .fill = kSvgSoft},
            fmt::format("overall {:.4f}   structural {:.4f}   logic shifts {}   unmatched {}", c.overall, c.structural,
                        c.shifts.size(), c.unmatched.size()));
}

void HeatMap::labels() {
  for (std::size_t r = 0; r < rows_.size(); ++r)
    svg_.text({.x = left_ - 8, .y = y_of(r) + field_ * 0.5 + font_ * 0.35, .size = font_, .anchor = "end"},
              label_of(*rows_[r]));
  for (std::size_t c = 0; c < cols_.size(); ++c)
    svg_.text({.x = x_of(c) + field_ * 0.5 + font_ * 0.35, .y = top_ - 8, .size = font_, .turn = -90},
              label_of(*cols_[c]));
}

void HeatMap::fields() {
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (std::size_t c = 0; c < cols_.size(); ++c) {
      const Signature &row = *rows_[r], &col = *cols_[c];
      const bool comparable = row.type == col.type && row.weights.size() == col.weights.size();
      const double s = comparable ? similarity(row, col) : 0, x = x_of(c), y = y_of(r);
      const std::string colour = comparable ? colour_of(s) : std::string(kOther);
      svg_.rect(
          {.x = x, .y = y, .width = field_, .height = field_, .fill = colour, .stroke = kSvgLine, .stroke_width = 0.5});
      if (comparable && field_ >= 26)
        svg_.text({.x = x + field_ / 2,
                   .y = y + field_ / 2 + font_ * 0.35,
                   .size = font_ * 0.9,
                   .fill = s > 0.6 ? std::string_view("#ffffff") : kSvgInk,
                   .anchor = "middle"},
                  fmt::format("{:.2f}", s));
    }
}

void HeatMap::shifts() {
  const auto index_of = [](std::span<const Signature* const> list, const std::string& key) {
    return static_cast<std::size_t>(std::ranges::find_if(list, [&](const Signature* s) { return s->key() == key; }) -
                                    list.begin());
  };
  for (const LogicShift& shift : comparison_.shifts)
    svg_.rect({.x = x_of(index_of(cols_, shift.target)) + 1.5,
               .y = y_of(index_of(rows_, shift.source)) + 1.5,
               .width = field_ - 3,
               .height = field_ - 3,
               .stroke = kSvgMark,
               .stroke_width = 2.5});
}

void HeatMap::legend() {
  const double y = y_of(rows_.size()) + 26;
  for (int i = 0; i <= 40; ++i) {
    const std::string colour = colour_of(i / 20.0 - 1);
    svg_.rect({.x = 62 + i * 5.0, .y = y, .width = 5.2, .height = 12, .fill = colour});
  }
  svg_.text({.x = 34, .y = y + 11, .fill = kSvgSoft}, "-1");
  svg_.text({.x = 274, .y = y + 11, .fill = kSvgSoft}, "1");
  svg_.rect({.x = 310, .y = y + 0.5, .width = 11, .height = 11, .stroke = kSvgMark, .stroke_width = 2});
  svg_.text({.x = 328, .y = y + 11, .fill = kSvgSoft}, "logic shift");
  svg_.rect({.x = 432, .y = y, .width = 12, .height = 12, .fill = kOther, .stroke = kSvgLine});
  svg_.text({.x = 450, .y = y + 11, .fill = kSvgSoft}, "other type or size");
}

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
  return HeatMap(comparison, std::move(rows), std::move(cols)).svg(name_a, name_b);
}

}  // namespace loom
