#include "training/run_page.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/file.h"
#include "core/journal.h"
#include "core/json.h"
#include "io/network_file.h"
#include "network/session/network_session.h"
#include "report/chart.h"
#include "report/page.h"
#include "training/training_run.h"

namespace loom {
namespace {

double number_of(const Json& line, std::string_view key) {
  const Json* value = find(line, key);
  return value == nullptr ? NAN : as_number(*value).value_or(NAN);
}

std::uint64_t count_of(const Json& line, std::string_view key) {
  const Json* value = find(line, key);
  return value == nullptr ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(as_int(*value).value_or(0), 0));
}

std::string text_of(const Json& line, std::string_view key) {
  const Json* value = find(line, key);
  const std::string* text = value == nullptr ? nullptr : as_string(*value);
  return text == nullptr ? std::string() : *text;
}

bool is_event(const Json& line, std::string_view name) { return text_of(line, "event") == name; }

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.2f} %", 100 * share) : "–"; }
std::string figure(double value) { return std::isfinite(value) ? number_text(value) : "–"; }

// Shapes as the layers see them, from a run of one sample of zeros.
class ShapeWatch final : public LayerWatch {
 public:
  void after_forward(const Layer& layer, const ConstView& x, const ConstView& y) override {
    shapes.try_emplace(&layer, x.shape.text(), y.shape.text());
  }
  void after_backward(const Layer& /*layer*/, const ConstView& /*dy*/, const ConstView& /*dx*/) override {}
  std::map<const Layer*, std::pair<std::string, std::string>> shapes;
};

class Page {
 public:
  static Result<Page> read(const std::string& folder) {
    Page page(folder);
    LOOM_TRY(JournalReader journal, JournalReader::open(folder + "/journal.jsonl"));
    LOOM_TRY_VOID(page.read_journal(journal));
    Result<void> timed;
    if (auto timings = JournalReader::open(folder + "/timings.jsonl"))
      timed = page.read_timings(*timings);
    else
      timed = tl::make_unexpected(timings.error());
    if (!timed) {
      page.begun_ = {};
      page.timed_steps_ = {};
      page.seconds_.clear();
      page.warnings_.clear();
      page.num_warnings_ = 0;
      page.notes_.push_back(timed.error().code == Code::NotFound
                                ? "timings.jsonl is missing: curves have the journal's points alone"
                                : timed.error().text());
    }
    if (page.epochs_.stride() > 1)
      page.notes_.push_back(
          fmt::format("Of {} epochs every {}th is shown.", page.epochs_.seen(), page.epochs_.stride()));
    return page;
  }

  std::string html() {
    std::string body = head() + tiles() + warnings() + losses() + rates() + metrics() + confusion() + cells() +
                       layers() + epochs() + sources() + machine() + config();
    std::string notes;
    for (const std::string& note : notes_) notes += fmt::format("<p class=\"sub\">{}</p>\n", html_text(note));
    return html_page(title(), body + notes);
  }

 private:
  explicit Page(std::string folder) : folder_(std::move(folder)) {}

  // A point of the curves, from one line about steps, of which there may be millions.
  struct StepPoint {
    double step = 0, loss = 0, rate = 0;
    std::uint64_t count = 0;
  };
  // At most kMost of many items, evenly spread.
  template <class T, std::size_t kMost>
  class Thinned {
   public:
    // The next item is not among those that are kept: add(), with any item, only counts it.
    bool skips_next() const { return seen_ % stride_ != 0; }
    void add(T item) {
      if (seen_++ % stride_ != 0) return;
      if (items_.size() == kMost) {
        for (std::size_t i = 0; 2 * i < kMost; ++i) items_[i] = std::move(items_[2 * i]);
        items_.resize(kMost / 2);
        stride_ *= 2;
        if ((seen_ - 1) % stride_ != 0) return;
      }
      items_.push_back(std::move(item));
    }
    const std::vector<T>& items() const { return items_; }
    bool empty() const { return items_.empty(); }
    std::uint64_t seen() const { return seen_; }
    std::uint64_t stride() const { return stride_; }

   private:
    std::vector<T> items_;
    std::uint64_t seen_ = 0, stride_ = 1;
  };
  using StepPoints = Thinned<StepPoint, 1 << 14>;

  // A process that worked on the run: its first line, and its last one where it has ended. The first kMost.
  struct Session {
    Json begin, end;
  };
  struct Sessions {
    static constexpr std::size_t kMost = 1 << 10;
    std::vector<Session> sessions;
    std::uint64_t seen = 0;
    void add(Session session) {
      if (seen++ < kMost) sessions.push_back(std::move(session));
    }
    void end(Json line) {
      if (!sessions.empty() && seen == sessions.size()) sessions.back().end = std::move(line);
    }
  };
  static constexpr std::size_t kMostWarnings = 20;

  static StepPoint point_of(const Json& line) {
    return {number_of(line, "step"), number_of(line, "loss"), number_of(line, "learning_rate"),
            count_of(line, "count")};
  }

  // Lines about steps and epochs are most of a long journal: those that nothing shows are not parsed, but for the last
  // ones.
  Result<void> read_journal(JournalReader& reader) {
    std::string step, epoch;  // skipped last
    for (;;) {
      LOOM_TRY(const auto text, reader.next_text());
      if (!text) break;
      if (journal_steps_.skips_next() && text->find(R"("event":"steps")") != text->npos) {
        journal_steps_.add({});
        step = *text;
        continue;
      }
      if (epochs_.skips_next() && text->find(R"("event":"epoch")") != text->npos) {
        epochs_.add({});
        epoch = *text;
        continue;
      }
      LOOM_TRY(Json line, reader.parsed(*text));
      if (reader.lines() == 1) {
        start_ = std::move(line);
        if (is_event(start_, "start")) continue;
        return fail(Code::CorruptData, "{}/journal.jsonl: the first line is no start of a run", folder_);
      }
      last_step_ = std::max(last_step_, count_of(line, "step"));
      if (is_event(line, "steps")) {
        journal_steps_.add(point_of(line));
      } else if (is_event(line, "epoch")) {
        epoch.clear();
        last_epoch_ = line;
        epochs_.add(std::move(line));
      } else if (is_event(line, "cells")) {
        cells_.add(std::move(line));
      } else if (is_event(line, "end")) {
        end_ = std::move(line);
      }
    }
    if (start_.is_null())
      return fail(Code::CorruptData, "{}/journal.jsonl: the first line is no start of a run", folder_);
    for (const std::string& text : {step, epoch}) {
      if (text.empty()) continue;
      LOOM_TRY(Json last, reader.parsed(text));
      last_step_ = std::max(last_step_, count_of(last, "step"));
      if (is_event(last, "epoch")) last_epoch_ = std::move(last);
    }
    return {};
  }

  Result<void> read_timings(JournalReader& reader) {
    for (;;) {
      LOOM_TRY(auto line, reader.next());
      if (!line) return {};
      last_step_ = std::max(last_step_, count_of(*line, "step"));
      if (is_event(*line, "steps")) {
        timed_steps_.add(point_of(*line));
        samples_ += number_of(*line, "samples"), busy_ += number_of(*line, "seconds");
      } else if (is_event(*line, "epoch")) {
        if (seconds_.size() < (1 << 20)) seconds_[count_of(*line, "epoch")] = number_of(*line, "seconds");
      } else if (is_event(*line, "warning")) {
        if (num_warnings_++ < kMostWarnings) warnings_.push_back(std::move(*line));
      } else if (is_event(*line, "begin")) {
        begun_.add({std::move(*line), Json()});
      } else if (is_event(*line, "end")) {
        total_seconds_ += number_of(*line, "seconds");
        begun_.end(std::move(*line));
      }
    }
  }

  const Json& start() const { return start_; }
  std::string title() const {
    std::string name = folder_;
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    name = name.substr(name.rfind('/') + 1);  // npos + 1: from the start
    return name.empty() || name == "." || name == ".." ? "run" : name;
  }
  std::string head() const {
    const std::string when = begun_.sessions.empty() ? "" : text_of(begun_.sessions[0].begin, "time");
    const Json* data = find(start(), "data");
    std::string source = data != nullptr && data->is_array() && !data->empty() ? text_of((*data)[0], "source") : "";
    return fmt::format("<h1>{}</h1>\n<p class=\"sub\">Training on {}{}{}</p>\n", html_text(title()), html_text(source),
                       when.empty() ? "" : ", begun ", html_text(when));
  }

  std::string tiles() const {
    std::string out = "<div class=\"tiles\">";
    const auto tile = [&](std::string_view name, const std::string& value, const char* mood = "") {
      if (!value.empty())
        out += fmt::format("<div class=\"tile{}\"><b>{}</b><span>{}</span></div>", mood, html_text(value), name);
    };
    const std::string reason = end_.is_null() ? "unfinished" : text_of(end_, "stop_reason");
    const bool is_early = reason == name(TrainingStop::EarlyStop);
    tile("outcome", is_early ? "early stop" : reason,
         reason == name(TrainingStop::Diverged)               ? " bad"
         : is_early || reason == name(TrainingStop::Finished) ? " good"
                                                              : "");
    const Json* last = end_.is_null() ? nullptr : find(end_, "validation");
    if (last == nullptr && !epochs_.empty()) last = find(last_epoch_, "validation");
    if (!epochs_.empty()) tile("training loss", figure(number_of(last_epoch_, "loss")));
    if (last != nullptr) {
      tile("validation loss", figure(number_of(*last, "loss")));
      if (find(*last, "accuracy") != nullptr) tile("accuracy", percent(number_of(*last, "accuracy")));
      if (find(*last, "mae") != nullptr) tile("mean absolute error", figure(number_of(*last, "mae")));
      if (find(*last, "r2") != nullptr) tile("R²", figure(number_of(*last, "r2")));
    }
    tile("epochs", fmt::format("{}", epochs_.seen()));
    tile("steps", count_text(last_step_));
    tile("parameters", count_text(count_of(start(), "parameters")));
    if (total_seconds_ > 0) tile("time", seconds_text(total_seconds_));
    return out + "</div>\n";
  }

  std::string warnings() const {
    std::string out;
    for (const Json& line : warnings_)
      out +=
          fmt::format("<p class=\"warn\">step {}: {}</p>\n", count_of(line, "step"), html_text(text_of(line, "text")));
    if (num_warnings_ > kMostWarnings)
      out += fmt::format("<p class=\"sub\">and {} more in timings.jsonl</p>\n", num_warnings_ - kMostWarnings);
    return html_section("Warnings", out);
  }

  const std::vector<StepPoint>& step_points() const {
    return timed_steps_.empty() ? journal_steps_.items() : timed_steps_.items();
  }

  std::string losses() const {
    ChartSeries raw{"each step", "faint", {}}, smooth{"running mean", "s1", {}},
        epoch{"mean of an epoch", "s3", {}, true}, held{"validation", "s2", {}, true};
    const std::vector<StepPoint>& lines = step_points();
    const double span = std::max(3.0, static_cast<double>(lines.size()) / 40);
    double mean = 0, seen = 0;
    bool grouped = false;
    for (const StepPoint& point : lines) {
      grouped = grouped || point.count > 1;
      raw.points.emplace_back(point.step, point.loss);
      if (!std::isfinite(point.loss)) continue;
      seen = std::min(seen + 1, span), mean += (point.loss - mean) * (seen < 2 ? 1 : 2 / (seen + 1));
      smooth.points.emplace_back(point.step, mean);
    }
    if (grouped) raw.name = "means of a few steps";
    for (const Json& line : epochs_.items()) {
      const double step = number_of(line, "step");
      epoch.points.emplace_back(step, number_of(line, "loss"));
      if (const Json* v = find(line, "validation")) held.points.emplace_back(step, number_of(*v, "loss"));
    }
    double low = INFINITY, high = 0;
    for (const ChartSeries* s : {&smooth, &epoch, &held})
      for (const auto& [x, y] : s->points)
        if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
    const ChartSeries all[] = {raw, smooth, epoch, held};
    return html_section(
        "Loss",
        line_chart(
            {.x_label = "step", .label = "Loss by step", .logarithmic = low > 0 && high > 8 * low, .height = 300},
            all));
  }

  std::string rates() const {
    ChartSeries rate{"learning rate", "s1", {}};
    for (const StepPoint& point : step_points()) rate.points.emplace_back(point.step, point.rate);
    const ChartSeries all[] = {rate};
    return html_section("Learning rate",
                        line_chart({.x_label = "step", .label = "Learning rate by step", .height = 160}, all));
  }

  std::string metrics() const {
    struct Kind {
      const char *key, *name, *style;
      bool share;
    };
    std::string out;
    for (const std::vector<Kind>& together :
         {std::vector<Kind>{{"accuracy", "accuracy", "s1", true}, {"top_5", "among the first five", "s3", true}},
          {{"mae", "mean absolute error", "s1", false}},
          {{"r2", "R²", "s1", false}}}) {
      std::vector<ChartSeries> all;
      for (const Kind& kind : together) {
        ChartSeries s{kind.name, kind.style, {}, true};
        for (const Json& line : epochs_.items())
          if (const Json* v = find(line, "validation"); v != nullptr && find(*v, kind.key) != nullptr)
            s.points.emplace_back(number_of(line, "epoch"), number_of(*v, kind.key));
        if (!s.points.empty()) all.push_back(std::move(s));
      }
      out +=
          line_chart({.x_label = "epoch", .label = together[0].name, .percent = together[0].share, .height = 200}, all);
    }
    return html_section("Validation", out);
  }

  std::string confusion() const {
    const Json* matrix = end_.is_null() ? nullptr : find(end_, "confusion");
    const Json *names = matrix == nullptr ? nullptr : find(*matrix, "classes"),
               *rows = matrix == nullptr ? nullptr : find(*matrix, "counts");
    if (names == nullptr || rows == nullptr || !names->is_array() || !rows->is_array() || names->size() != rows->size())
      return {};
    std::vector<std::string> classes;
    std::vector<std::uint64_t> counts;
    for (const Json& name : *names) classes.push_back(as_string(name) != nullptr ? *as_string(name) : dump_json(name));
    for (const Json& row : *rows) {
      if (!row.is_array()) return {};
      for (const Json& count : row)
        counts.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(as_int(count).value_or(0), 0)));
    }
    if (counts.size() != classes.size() * classes.size()) return {};
    std::string out = confusion_chart(classes, counts);
    std::string worst;
    std::vector<std::array<std::uint64_t, 3>> mixed;
    const std::size_t n = classes.size();
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t c = 0; c < n; ++c)
        if (r != c && counts[r * n + c] > 0) mixed.push_back({counts[r * n + c], r, c});
    std::ranges::stable_sort(mixed, [](const auto& a, const auto& b) { return a[0] > b[0]; });
    for (std::size_t i = 0; i < std::min<std::size_t>(3, mixed.size()); ++i)
      worst += fmt::format("{}{} taken for {} ({})", i == 0 ? "" : "; ", html_text(classes[mixed[i][1]]),
                           html_text(classes[mixed[i][2]]), mixed[i][0]);
    if (!worst.empty()) out += fmt::format("<p class=\"sub\">Most often confused: {}.</p>\n", worst);
    return html_section("Confusion matrix of the validation samples", out);
  }

  // {"event":"cells", "step", "cells":[{path, budget, gap, skipped, update_norm}]}
  std::string cells() const {
    struct Course {
      std::vector<double> budget, gap;
      const Json* last = nullptr;
      std::uint64_t skipped = 0;
    };
    std::vector<std::string> order;
    std::map<std::string, Course> courses;
    for (const Json& line : cells_.items()) {
      const Json* list = find(line, "cells");
      if (list == nullptr || !list->is_array()) continue;
      for (const Json& cell : *list) {
        const std::string path = text_of(cell, "path");
        if (!courses.contains(path)) order.push_back(path);
        Course& course = courses[path];
        course.budget.push_back(number_of(cell, "budget")), course.gap.push_back(number_of(cell, "gap"));
        course.last = &cell;
        if (const Json* skipped = find(cell, "skipped"))
          course.skipped += as_bool(*skipped).value_or(false) ? 1 : count_of(cell, "skipped");
      }
    }
    if (order.empty()) return {};
    Table table({{"layer", false},
                 {"budget", true},
                 {"", false},
                 {"gap", true},
                 {"", false},
                 {"update norm", true},
                 {"skipped", true}});
    for (const std::string& path : order) {
      const Course& c = courses[path];
      table.row({html_code(path), figure(number_of(*c.last, "budget")), sparkline(c.budget, "budget of " + path),
                 figure(number_of(*c.last, "gap")), sparkline(c.gap, "gap of " + path),
                 figure(number_of(*c.last, "update_norm")), count_text(c.skipped)});
    }
    return html_section("Tween: budgets and gaps by layer", table.finish(), true);
  }

  std::string layers() {
    const std::string model = folder_ + "/model.entity", checkpoint = folder_ + "/checkpoint.entity";
    const std::string path = !end_.is_null() && is_file(model) ? model : checkpoint;
    auto loaded = load_network(path);
    if (!loaded) {
      notes_.push_back("No table of layers: " + loaded.error().text());
      return {};
    }
    Network& network = loaded->network;
    network.release_masters();
    ShapeWatch watch;
    std::vector<std::size_t> extents;
    if (const Json* input = find(start(), "input"); input != nullptr && input->is_array())
      for (const Json& n : *input)
        extents.push_back(static_cast<std::size_t>(std::max<std::int64_t>(as_int(n).value_or(0), 0)));
    if (const auto shape = Shape::create(extents); shape && !extents.empty()) run_zeros(network, *shape, watch);
    Table table({{"path", false},
                 {"kind", false},
                 {"type", false},
                 {"input", false},
                 {"output", false},
                 {"parameters", true},
                 {"bytes", true}});
    std::uint64_t parameters = 0, bytes = 0;
    network.each_layer([&](std::size_t, const std::string& place, Layer& layer) {
      std::uint64_t elements = 0, stored = 0;
      std::string dtype;
      layer.visit_all_weights([&](Weight& w) {
        if (w.is_tied()) return;
        elements += w.elements(), stored += w.resident_bytes();
        if (dtype.empty() || w.role() == WeightRole::Matrix) dtype = std::string(name(w.dtype()));
      });
      parameters += elements, bytes += stored;
      const auto shape = watch.shapes.find(&layer);
      const bool known = shape != watch.shapes.end();
      std::string kind(layer.kind());
      if (!layer.common.name.empty()) kind += " “" + layer.common.name + "”";
      table.row({html_code(place),
                 html_text(kind) + (layer.common.is_disabled ? " (disabled)"
                                    : layer.common.trainable ? ""
                                                             : " (frozen)"),
                 html_text(dtype), known ? html_text(shape->second.first) : "",
                 known ? html_text(shape->second.second) : "", elements == 0 ? "" : count_text(elements),
                 elements == 0 ? "" : bytes_text(stored)});
    });
    table.row(
        {"<b>all</b>", "", "", "", "", "<b>" + count_text(parameters) + "</b>", "<b>" + bytes_text(bytes) + "</b>"});
    return html_section("Layers",
                        table.finish() +
                            "<p class=\"sub\">Shapes are those of one sample. Bytes are those of the packed weights "
                            "with their scales, without masters.</p>\n",
                        true);
  }

  static void run_zeros(Network& network, const Shape& sample, ShapeWatch& watch) {
    const Shape input = Network::with_batch(sample, 1);
    NetworkSessionOptions alone;
    alone.threads = 1;
    auto session = NetworkSession::create(network, input, alone);
    if (!session) return;
    const std::vector<double> zeros(input.elements());
    (*session)->watch(&watch);
    // An error leaves the layers before it.
    (void)(*session)->forward({zeros.data(), input, (*session)->element()});
  }

  std::string epochs() const {
    if (epochs_.empty()) return {};
    Table table({{"epoch", true},
                 {"step", true},
                 {"loss", true},
                 {"validation", true},
                 {"metric", true},
                 {"skipped", true},
                 {"time", true},
                 {"hash of the weights", false}});
    for (const Json& line : epochs_.items()) {
      const Json* v = find(line, "validation");
      const auto timing = seconds_.find(count_of(line, "epoch"));
      std::string metric;
      if (v != nullptr)
        metric = find(*v, "accuracy") != nullptr ? percent(number_of(*v, "accuracy"))
                 : find(*v, "mae") != nullptr    ? figure(number_of(*v, "mae"))
                                                 : "";
      table.row({fmt::format("{}", count_of(line, "epoch")), count_text(count_of(line, "step")),
                 figure(number_of(line, "loss")), v == nullptr ? "" : figure(number_of(*v, "loss")), metric,
                 count_of(line, "skipped") == 0 ? "" : count_text(count_of(line, "skipped")),
                 timing == seconds_.end() ? "" : seconds_text(timing->second), html_code(text_of(line, "hash"))});
    }
    std::string out = table.finish();
    if (!end_.is_null()) out += fmt::format("<p>Final weights: {}</p>\n", html_code(text_of(end_, "hash")));
    out += fmt::format(
        "<p class=\"sub\">Prove it: <code>loom replay {}</code> trains again and compares every hash.</p>\n",
        html_text(title()));
    return html_section("Epochs", out, true);
  }

  std::string sources() const {
    const Json* data = find(start(), "data");
    if (data == nullptr || !data->is_array()) return {};
    Table table({{"source", false}, {"samples", true}, {"SHA-256", false}});
    for (const Json& set : *data)
      table.row(
          {html_text(text_of(set, "source")), count_text(count_of(set, "samples")), html_code(text_of(set, "sha256"))});
    return html_section("Data", table.finish());
  }

  std::string machine() const {
    Table table({{"begun", false}, {"at step", true}, {"machine", false}, {"threads", true}, {"time", true}});
    if (begun_.sessions.empty()) return {};
    for (const Session& session : begun_.sessions) {
      std::string about;
      if (const Json* machine = find(session.begin, "machine"); machine != nullptr && machine->is_object())
        for (const auto& [key, value] : machine->items())
          about += fmt::format("{}{}: {}", about.empty() ? "" : "<br>", html_text(key),
                               html_text(as_string(value) != nullptr ? *as_string(value) : dump_json(value)));
      table.row({html_text(text_of(session.begin, "time")), count_text(count_of(session.begin, "step")), about,
                 fmt::format("{}", count_of(session.begin, "threads")),
                 session.end.is_null() ? "" : seconds_text(number_of(session.end, "seconds"))});
    }
    std::string out = table.finish();
    if (begun_.seen > begun_.sessions.size())
      out += fmt::format("<p class=\"sub\">and {} more in timings.jsonl</p>\n", begun_.seen - begun_.sessions.size());
    if (busy_ > 0 && samples_ > 0)
      out += fmt::format("<p class=\"sub\">{} samples per second of training. None of this is proved by replay.</p>\n",
                         count_text(static_cast<std::uint64_t>(samples_ / busy_)));
    return html_section("Machine and time", out);
  }

  std::string config() const {
    const Json* config = find(start(), "config");
    if (config == nullptr) return {};
    return html_section(
        "Config",
        fmt::format("<pre>{}</pre>\n<p class=\"sub\">Relative paths start in {}. Numerics version {}{}.</p>\n",
                    html_text(dump_json(*config, 2)),
                    html_code(text_of(start(), "folder").empty() ? "." : text_of(start(), "folder")),
                    count_of(start(), "numerics_version"),
                    find(start(), "precision") != nullptr
                        ? ", precision fast: the hashes are of no other device, and replay proves nothing"
                        : ""),
        true);
  }

  std::string folder_;
  Json start_, end_, last_epoch_;  // lines of the journal; null where there is none
  Thinned<Json, 1 << 12> epochs_;
  Thinned<Json, 1 << 9> cells_;
  StepPoints journal_steps_, timed_steps_;
  Sessions begun_;
  std::map<std::uint64_t, double> seconds_;  // by epoch
  std::vector<Json> warnings_;               // the first kMostWarnings
  std::uint64_t num_warnings_ = 0, last_step_ = 0;
  double samples_ = 0, busy_ = 0, total_seconds_ = 0;  // of all lines about steps; of all sessions
  std::vector<std::string> notes_;
};

}  // namespace

Result<std::string> report_html(const std::string& folder) {
  LOOM_TRY(Page page, Page::read(folder));
  return page.html();
}

Result<void> write_report(const std::string& folder, const std::string& path) {
  LOOM_TRY(const std::string html, report_html(folder));
  return write_file_atomically(path.empty() ? folder + "/report.html" : path, std::as_bytes(std::span(html)));
}

}  // namespace loom
