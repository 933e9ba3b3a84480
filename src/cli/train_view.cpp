#include "cli/train_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cli/common.h"
#include "cli/console.h"
#include "cli/terminal_text.h"

namespace loom::cli {
namespace {

constexpr int kLabel = 9;  // columns of the plot's scale
constexpr double kSpan = 50;

// The text cut at `columns` terminal columns; our own escape sequences take none.
std::string fitted(const std::string& text, int columns) {
  std::string out;
  int used = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\x1b') {
      const std::size_t end = text.find('m', i);
      if (end == text.npos) break;
      out += text.substr(i, end + 1 - i);
      i = end + 1;
      continue;
    }
    std::size_t length = 1;
    while (i + length < text.size() && (static_cast<unsigned char>(text[i + length]) & 0xc0) == 0x80) ++length;
    if (used < columns) out += static_cast<unsigned char>(text[i]) < 0x20 ? "?" : text.substr(i, length);
    ++used, i += length;
  }
  return out;
}

std::string utf8(char32_t c) {
  return {static_cast<char>(0xe0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 0x3f)),
          static_cast<char>(0x80 | (c & 0x3f))};
}

std::string scale_text(double value) {
  const std::string text = value != 0 && (std::abs(value) < 1e-3 || std::abs(value) >= 1e6)
                               ? fmt::format("{:.2g}", value)
                               : fmt::format("{:.4g}", value);
  return fmt::format("{:>{}} ", text, kLabel - 1);
}

std::string bars(const Curve& curve, int columns) {
  const auto& points = curve.points();
  if (points.empty() || columns < 1) return {};
  double low = points[0].y, high = points[0].y;
  for (const Curve::Point& p : points) low = std::min(low, p.y), high = std::max(high, p.y);
  std::string out;
  const std::size_t n = std::min(points.size(), static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < n; ++i) {
    const double y = points[i * points.size() / n].y, share = high > low ? (y - low) / (high - low) : 0.5;
    out += utf8(0x2581 + static_cast<char32_t>(std::lround(std::clamp(share, 0.0, 1.0) * 7)));
  }
  return out;
}

// Braille characters, two dots wide and four high, as the bits of each.
struct Dots {
  Dots(int columns, int rows) : width(static_cast<std::size_t>(columns)), characters(place(0, rows), 0) {}
  std::size_t place(int column, int row) const {
    return static_cast<std::size_t>(row) * width + static_cast<std::size_t>(column);
  }
  void set(int x, int y) {
    constexpr unsigned kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    characters[place(x / 2, y / 4)] |= kBits[y % 4][x % 2];
  }

  std::size_t width;
  std::vector<unsigned> characters;
};

std::string thousands(std::uint64_t n) {
  std::string digits = fmt::format("{}", n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e9)) return "?";
  const auto s = static_cast<std::uint64_t>(std::llround(seconds));
  return s < 60     ? fmt::format("{}s", s)
         : s < 3600 ? fmt::format("{}m{:02}s", s / 60, s % 60)
                    : fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

std::string metrics_text(const Metrics& m) {
  if (m.has_classes()) return fmt::format("validation loss {:.4f}  accuracy {:.2f} %", m.loss(), 100 * m.accuracy());
  return fmt::format("validation loss {:.6g}  mae {:.6g}  r2 {:.4f}", m.loss(), m.mae(), m.r2());
}

void Curve::add(double x, double y) {
  if (!std::isfinite(y)) return;
  if (pending_ > 0) {
    Point& p = points_.back();
    p.x = x, p.y += (y - p.y) / static_cast<double>(pending_ + 1), p.low = std::min(p.low, y),
    p.high = std::max(p.high, y);
  } else {
    points_.push_back({x, y, y, y});
  }
  pending_ = pending_ + 1 == each_ ? 0 : pending_ + 1;
  if (points_.size() < kMost || pending_ != 0) return;
  for (std::size_t i = 0; i < kMost / 2; ++i) {
    const Point &a = points_[2 * i], &b = points_[2 * i + 1];
    points_[i] = {b.x, (a.y + b.y) / 2, std::min(a.low, b.low), std::max(a.high, b.high)};
  }
  points_.resize(kMost / 2);
  each_ *= 2;
}

bool TrainView::possible() { return knows_escapes(kOutput); }

TrainView::TrainView(std::string_view title, const TrainingRun& run) : title_(terminal_text(title)) {
  std::size_t parameters = 0;
  for (const Parameter& p : const_cast<TrainingRun&>(run).trainer().parameters()) parameters += p.elements;
  about_ = fmt::format("{} parameters, {} samples, {} to validate", thousands(parameters),
                       thousands(run.data().training_samples.size()), thousands(run.data().validation_samples.size()));
}

void TrainView::observe(const TrainProgress& p) {
  if (first_) first_step_ = p.step, first_ = false;
  epoch_ = p.epoch, epochs_ = p.epochs, step_ = p.step, batch_ = p.batch,
  batches_ = std::max<std::uint64_t>(p.batches, 1), skipped_ = p.skipped;
  if (p.event == TrainEvent::BatchEnd) {
    samples_ += p.samples, learning_rate_ = p.learning_rate;
    rate_.add(static_cast<double>(p.step), p.learning_rate);
    if (p.report != nullptr && p.report->skipped) {
      warn(fmt::format("step {} skipped: {}", p.step, p.report->why));
    } else {
      loss_.add(static_cast<double>(p.step), p.loss);
      seen_ = std::min(seen_ + 1, kSpan), mean_ += (p.loss - mean_) / seen_;
      best_ = seen_ == 1 ? mean_ : std::min(best_, mean_);
    }
    if (!p.warning.empty()) warn(fmt::format("step {}: {}", p.step, p.warning));
  }
  if (p.validation != nullptr && p.event == TrainEvent::EpochEnd) {
    validation_.emplace_back(static_cast<double>(p.step), p.validation->loss());
    validation_text_ = fmt::format("{}  (epoch {})", metrics_text(*p.validation), p.epoch + 1);
  }
  stopping_ = stopping_ || interrupted();
  draw(p.event == TrainEvent::EpochEnd || p.event == TrainEvent::TrainBegin);
}

void TrainView::journal_line(const Json& line) {
  const Json *hash = find(line, "hash"), *step = find(line, "step");
  if (hash == nullptr || as_string(*hash) == nullptr) return;
  hash_ =
      fmt::format("{} at step {}", as_string(*hash)->substr(0, 16), step == nullptr ? 0 : as_int(*step).value_or(0));
}

void TrainView::warn(const std::string& text) { warning_ = terminal_text(text, 400), ++warnings_; }

// The lowest and highest value of curve and points; absent where there is none.
std::optional<std::pair<double, double>> TrainView::range() const {
  std::optional<std::pair<double, double>> seen;
  const auto reach = [&](double y) {
    if (!std::isfinite(y)) return;
    seen = seen ? std::pair(std::min(seen->first, y), std::max(seen->second, y)) : std::pair(y, y);
  };
  for (const Curve::Point& p : loss_.points()) reach(p.y);
  for (const auto& [x, y] : validation_) reach(y);
  return seen;
}

// The curve of the mean and validation points, two by four dots to a character.
std::vector<std::string> TrainView::plot(int columns, int rows) const {
  const int width = columns - kLabel;
  std::vector<std::string> out;
  if (width < 8 || rows < 2) return out;
  const auto seen = range();
  if (!seen) {
    out.assign(static_cast<std::size_t>(rows), "");
    return out;
  }
  const auto [low, high] = *seen;
  const bool logarithmic = low > 0 && high > 10 * low;
  const auto scaled = [&](double y) { return logarithmic ? std::log10(y) : y; };
  double from = scaled(low), to = scaled(high);
  if (!(to > from)) from -= 0.5, to += 0.5;
  const double first = loss_.points().empty() ? 0 : static_cast<double>(first_step_),
               last = std::max(first + 1, static_cast<double>(step_));
  const int dots_x = 2 * width, dots_y = 4 * rows;
  Dots dots(width, rows);
  const auto column = [&](double x) {
    return static_cast<int>(std::clamp(std::lround((x - first) / (last - first) * (dots_x - 1)), 0L, dots_x - 1L));
  };
  const auto row = [&](double y) {
    return static_cast<int>(std::clamp(std::lround((to - scaled(y)) / (to - from) * (dots_y - 1)), 0L, dots_y - 1L));
  };
  std::vector<double> sums(static_cast<std::size_t>(dots_x), 0), counts(sums);
  for (const Curve::Point& p : loss_.points())
    sums[static_cast<std::size_t>(column(p.x))] += p.y, counts[static_cast<std::size_t>(column(p.x))] += 1;
  int before_x = -1, before_y = 0;
  for (int x = 0; x < dots_x; ++x) {
    const auto at = static_cast<std::size_t>(x);
    if (counts[at] == 0) continue;
    const int y = row(sums[at] / counts[at]);
    for (int between = before_x < 0 ? x : before_x; between <= x; ++between)  // joined by a line
      dots.set(between,
               before_x < 0 || x == before_x ? y : before_y + (y - before_y) * (between - before_x) / (x - before_x));
    before_x = x, before_y = y;
  }
  const Colours colour = colours();
  std::vector<bool> marks(dots.characters.size(), false);
  for (const auto& [x, y] : validation_)
    if (std::isfinite(y)) marks[dots.place(column(x) / 2, row(y) / 4)] = true;
  for (int r = 0; r < rows; ++r) {
    const double share = (static_cast<double>(r) + 0.5) / rows, value = to - share * (to - from);
    std::string line = r % 3 == 0 || r + 1 == rows ? scale_text(logarithmic ? std::pow(10.0, value) : value)
                                                   : std::string(kLabel, ' ');
    for (int x = 0; x < width; ++x) {
      const std::size_t at = dots.place(x, r);
      line += marks[at]                  ? fmt::format("{}●{}", colour.green, colour.reset)
              : dots.characters[at] == 0 ? " "
                                         : utf8(0x2800 + dots.characters[at]);
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> TrainView::lines(int columns, int rows) const {
  const Colours c = colours();
  const double elapsed = seconds(), all = static_cast<double>(epochs_ * batches_),
               done = static_cast<double>(step_ - first_step_);
  const double share =
      all > 0 ? std::min(1.0, (static_cast<double>(epoch_ * batches_) + static_cast<double>(batch_)) / all) : 0;
  const double left = done > 0 ? std::max(0.0, all * (1 - share)) * elapsed / done : -1;
  const int bar = std::clamp(columns - 56, 8, 40), full = static_cast<int>(share * bar);
  std::vector<std::string> below;
  below.push_back(fmt::format(
      "loss        {}{:.5g}{}  best {:.5g}  {}⠒ training{}{}", c.bold, mean_, c.reset, best_, c.dim,
      validation_.empty() ? "" : fmt::format("  {}{}●{}{} validation", c.reset, c.green, c.reset, c.dim), c.reset));
  if (!validation_text_.empty()) below.push_back(validation_text_);
  below.push_back(fmt::format("rate        {:<10.4g}  {}", learning_rate_, bars(rate_, std::min(columns - 26, 40))));
  std::string blocks;
  for (int i = 0; i < bar; ++i) blocks += i < full ? "█" : "░";
  below.push_back(fmt::format(
      "epoch {}/{}  {} {:3.0f} %  {} samples/s  ETA {}", std::min(epoch_ + 1, epochs_), epochs_, blocks, 100 * share,
      thousands(static_cast<std::uint64_t>(static_cast<double>(samples_) / std::max(elapsed, 1e-3))),
      left < 0 ? "?" : duration_text(left)));
  below.push_back(
      fmt::format("step {}  {}{}{}", thousands(step_), duration_text(elapsed), hash_.empty() ? "" : "  hash " + hash_,
                  skipped_ == 0 ? "" : fmt::format("  {}{} batches skipped{}", c.bold, thousands(skipped_), c.reset)));
  if (!warning_.empty())
    below.push_back(fmt::format("{}warning{}{} {}", c.bold, c.reset,
                                warnings_ > 1 ? fmt::format(" ({})", warnings_) : "", warning_));
  below.push_back(
      stopping_ ? fmt::format("{}stopping after this batch...{}", c.bold, c.reset)
                : fmt::format("{}Ctrl-C stops after a batch and keeps the state; --resume goes on{}", c.dim, c.reset));
  std::vector<std::string> out = {fmt::format("{}{}{}  {}{}{}", c.bold, title_, c.reset, c.dim, about_, c.reset)};
  // One row stays free, so that nothing scrolls.
  const int room = rows - 2 - static_cast<int>(below.size());
  for (std::string& line : plot(columns, std::min(room, 30))) out.push_back(std::move(line));
  out.insert(out.end(), below.begin(), below.end());
  const auto most = static_cast<std::size_t>(std::max(rows - 1, 1));
  if (out.size() > most) out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(most));
  for (std::string& line : out) line = fitted(line, columns);
  return out;
}

void TrainView::draw(bool always) {
  const auto now = std::chrono::steady_clock::now();
  if (!always && now - drawn_ < std::chrono::milliseconds(120)) return;
  drawn_ = now;
  const TerminalSize size = reported_size(kOutput).value_or(TerminalSize{});
  // Larger sizes show no more, and some terminals claim 65535 x 65535.
  const int columns = std::min(size.columns, 400), rows = std::min(size.rows, 200);
  // A window of another size has wrapped the old lines anywhere: begin again on an empty screen.
  std::string picture = columns != columns_ || rows != rows_ ? "\x1b[2J\x1b[H" : "\x1b[H";
  columns_ = columns, rows_ = rows;
  for (const std::string& line : lines(columns, rows)) picture += line + "\x1b[K\r\n";
  picture += "\x1b[J";
  std::fwrite(picture.data(), 1, picture.size(), stdout);
  std::fflush(stdout);
}

void TrainView::finish() { draw(true); }

}  // namespace loom::cli
