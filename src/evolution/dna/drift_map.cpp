// The picture of `loom dna JOURNAL`: how far each layer moved in each epoch.

#include <algorithm>
#include <cmath>

#include "evolution/dna/dna.h"
#include "report/markup.h"
#include "report/svg.h"

namespace loom {
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

constexpr std::size_t kMostRows = 512;

class DriftPicture {
 public:
  DriftPicture(const DriftRecord& record, const std::string& name);
  std::string svg() const {
    return svg_.finish(std::max(total_at_ + total_width_ + 40, 620.0), y_of(rows_) + 92, kSvgMono, "Drift of layers");
  }

 private:
  static constexpr std::size_t kMostColumns = 120;
  static constexpr double kTop = 104, kGap = 14;

  std::size_t first_of(std::size_t column) const { return 1 + column * epochs_ / columns_; }
  double x_of(std::size_t column) const { return left_ + static_cast<double>(column) * cell_width_; }
  double y_of(std::size_t row) const { return kTop + static_cast<double>(row) * cell_height_; }
  void field(double x, double y, double width, double drift, const std::string& title) {
    const std::string colour = strength_colour(strength_of(drift)), words = fmt::format("{}: {:.3g}", title, drift);
    svg_.rect({.x = x,
               .y = y,
               .width = width,
               .height = cell_height_,
               .fill = colour,
               .stroke = kSvgLine,
               .stroke_width = 0.5,
               .title = words});
  }
  void title(const std::string& name);
  void grid();
  void logic_shifts();
  void legend();

  const DriftRecord& record_;
  std::size_t rows_, epochs_, columns_;
  std::vector<std::string> labels_;
  double cell_width_, cell_height_, font_, left_ = 0, total_at_ = 0, total_width_;
  Svg svg_;
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
    labels_.push_back(shortened(label, 60));
    longest = std::max(longest, std::min<std::size_t>(60, label.size()));
  }
  left_ = 34 + static_cast<double>(longest) * font_ * 0.62;
  total_at_ = x_of(columns_) + kGap;
  title(name);
  grid();
  logic_shifts();
  legend();
}

void DriftPicture::title(const std::string& name) {
  std::size_t events = 0;
  for (const auto& shifts : record_.since_previous) events += shifts.size();
  svg_.text({.x = 20, .y = 30, .size = 16, .bold = true}, "Drift of layers");
  svg_.text({.x = 20, .y = 52, .fill = kSvgSoft}, shortened(name, 60));
  svg_.text({.x = 20, .y = 70, .fill = kSvgSoft},
            fmt::format("1 - similarity to the previous epoch; {} epochs, {} logic shifts", epochs_, events));
}

void DriftPicture::grid() {
  const DnaDrift& drift = record_.drift;
  const auto width = static_cast<std::size_t>(cell_width_ * static_cast<double>(columns_));
  const std::size_t every = std::max<std::size_t>(1, (columns_ * 30 + width - 1) / width);
  for (std::size_t c = 0; c < columns_; c += every)
    svg_.text(
        {.x = left_ + (static_cast<double>(c) + 0.5) * cell_width_, .y = kTop - 8, .size = 10, .anchor = "middle"},
        std::to_string(first_of(c)));
  svg_.text({.x = total_at_ + total_width_ / 2, .y = kTop - 8, .size = 10, .anchor = "middle"}, "total");
  for (std::size_t k = 0; k < rows_; ++k) {
    svg_.text({.x = left_ - 8, .y = y_of(k) + cell_height_ / 2 + font_ * 0.35, .size = font_, .anchor = "end"},
              labels_[k]);
    for (std::size_t c = 0; c < columns_; ++c) {
      std::size_t most = first_of(c);
      for (std::size_t e = most; e < first_of(c + 1); ++e)
        if (drift.from_previous[e][k] > drift.from_previous[most][k]) most = e;
      field(x_of(c), y_of(k), cell_width_, drift.from_previous[most][k], fmt::format("{}, epoch {}", labels_[k], most));
    }
    field(total_at_, y_of(k), total_width_, drift.from_first[epochs_][k], labels_[k] + ", total");
  }
}

void DriftPicture::logic_shifts() {
  for (std::size_t c = 0; c < columns_; ++c)
    for (std::size_t e = first_of(c); e < first_of(c + 1) && e < record_.since_previous.size(); ++e)
      for (const LogicShift& shift : record_.since_previous[e]) {
        const auto row =
            static_cast<std::size_t>(std::ranges::find(record_.drift.keys, shift.target) - record_.drift.keys.begin());
        if (row == rows_) continue;
        svg_.rect({.x = x_of(c) + 1.2,
                   .y = y_of(row) + 1.2,
                   .width = cell_width_ - 2.4,
                   .height = cell_height_ - 2.4,
                   .stroke = kSvgMark,
                   .stroke_width = 2.5});
      }
}

void DriftPicture::legend() {
  const double y = y_of(rows_) + 26;
  for (int i = 0; i <= 70; ++i) {
    const std::string colour = strength_colour(i / 70.0);
    svg_.rect({.x = 34 + i * 3.0, .y = y, .width = 3.2, .height = 12, .fill = colour});
  }
  for (int power = kLeastPower; power <= 0; power += power == -7 ? 3 : 2)
    svg_.text({.x = 36 + (power - kLeastPower) * 30.0, .y = y + 28, .size = 10, .fill = kSvgSoft, .anchor = "middle"},
              power == 0 ? "1" : fmt::format("1e{}", power));
  svg_.rect({.x = 280, .y = y + 0.5, .width = 11, .height = 11, .stroke = kSvgMark, .stroke_width = 2});
  svg_.text({.x = 298, .y = y + 11, .fill = kSvgSoft},
            "logic shift: the layer that another one was in the previous epoch");
}

}  // namespace

Result<std::string> drift_map_svg(const DriftRecord& record, const std::string& name) {
  const std::size_t rows = record.drift.keys.size(),
                    epochs = record.drift.from_previous.empty() ? 0 : record.drift.from_previous.size() - 1;
  if (epochs == 0 || rows == 0 || rows > kMostRows)
    return fail(Code::InvalidArgument, "a picture of {} layers over {} epochs, 1 to {} layers expected", rows, epochs,
                kMostRows);
  return DriftPicture(record, name).svg();
}

}  // namespace loom
