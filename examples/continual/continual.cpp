// Does a network that learns by targets forget less? Digits come in a stream, sixteen at a time; each is answered first
// and learned then. Half way the task changes without a word. The chart shows how fast accuracy recovers with each
// way of learning, and what it still knows of the first task at the end.
//   example_continual [--scenario permuted|split] [--seeds N] [--passes N] [--out FILE.html] [-t THREADS]
//   permuted  the second task shows the same digits with their pixels shuffled
//   split     digits 0 to 4 first, then 5 to 9
// Digits are those of data/mnist_5k.csv.gz in $LOOM_DATA (tools/fetch_data.sh data). The clock of the tracker counts
// answers, so the figures and hashes are the same on every machine.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "core/file.h"
#include "core/json.h"
#include "data/pipeline/order.h"
#include "network/spec/spec.h"
#include "telemetry/adaptation.h"
#include "training/data_config.h"
#include "report/chart.h"
#include "report/page.h"
#include "training/trainer.h"
#include "training/weight_hash.h"

namespace {

using namespace loom;

constexpr std::size_t kPixels = 784, kClasses = 10, kBatch = 16, kWindow = 400;
constexpr std::size_t kTrain = 4000;  // of 5000; the others test

struct Options {
  std::string scenario = "permuted", out;
  std::uint64_t seeds = 3, passes = 3;
  int threads = 1;
};

// A way of learning. Budgets below the threshold leave a cell as it is.
struct Learner {
  const char* name;
  std::optional<TweenMode> mode;  // absent: backprop
  double budget_threshold;
  const char* style;  // of its line in the chart; empty: not drawn
};
constexpr Learner kLearners[] = {
    {"backprop", std::nullopt, 0, "s1"},
    {"layerwise, budgets off", TweenMode::Layerwise, 0, "faint"},
    {"layerwise, budgets 0.2", TweenMode::Layerwise, 0.2, "s2"},
    {"layerwise, budgets 0.99", TweenMode::Layerwise, 0.99, ""},
    {"chain, budgets off", TweenMode::Chain, 0, ""},
    {"chain, budgets 0.2", TweenMode::Chain, 0.2, "s3"},
};
constexpr double kRates[] = {0.01, 0.03, 0.1, 0.3};

struct Digits {
  std::vector<float> pixels;  // [n, 784], 0 to 1
  std::vector<std::int32_t> labels;
  std::size_t size() const { return labels.size(); }
  Samples part(std::size_t first, std::size_t count) const {
    return {
        {pixels.data() + first * kPixels, Shape::of({count, kPixels})}, std::span(labels).subspan(first, count), {}};
  }
  void add(const Digits& from, std::size_t i) {
    pixels.insert(pixels.end(), from.pixels.begin() + static_cast<std::ptrdiff_t>(i * kPixels),
                  from.pixels.begin() + static_cast<std::ptrdiff_t>((i + 1) * kPixels));
    labels.push_back(from.labels[i]);
  }
};

struct Task {
  Digits train, test;
};

Result<Digits> read_digits() {
  const char* given = std::getenv("LOOM_DATA");
  const char* home = std::getenv("HOME");
  const std::string folder = given != nullptr ? given : std::string(home != nullptr ? home : ".") + "/.cache/loom/data";
  LOOM_TRY(Json config,
           parse_json(R"({"format":"csv","path":"data/mnist_5k.csv.gz","header":false,"class_ids":true})"));
  LOOM_TRY(const TrainingData opened, open_training_data(config, folder, {}));
  const std::unique_ptr<Dataset>& data = opened.training;
  Digits digits;
  digits.pixels.resize(data->info().samples * kPixels);
  digits.labels.resize(data->info().samples);
  std::vector<std::uint32_t> order(data->info().samples);
  std::iota(order.begin(), order.end(), 0u);
  shuffle(order, 5, 0);
  LOOM_TRY_VOID(data->read(order, {.inputs = digits.pixels, .labels = digits.labels, .values = {}}));
  for (float& p : digits.pixels) p /= 255;
  return digits;
}

// Returns the digits with their pixels in another order, the same for all digits.
Digits shuffled_pixels(const Digits& digits) {
  std::vector<std::uint32_t> order(kPixels);
  std::iota(order.begin(), order.end(), 0u);
  shuffle(order, 6, 0);
  Digits out = digits;
  for (std::size_t i = 0; i < digits.size(); ++i)
    for (std::size_t p = 0; p < kPixels; ++p) out.pixels[i * kPixels + p] = digits.pixels[i * kPixels + order[p]];
  return out;
}

std::array<Task, 2> tasks_of(const Digits& all, bool split) {
  std::array<Task, 2> tasks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Task& task = tasks[split && all.labels[i] >= 5 ? 1 : 0];
    (i < kTrain ? task.train : task.test).add(all, i);
  }
  if (!split) tasks[1] = {shuffled_pixels(tasks[0].train), shuffled_pixels(tasks[0].test)};
  return tasks;
}

struct Outcome {
  double before = 0;                         // percent right of the first task's test digits, before the change
  double first_after = 0, second_after = 0;  // of both tasks at the end
  // answers from the change until the stream's accuracy is back at nine tenths
  std::int64_t recovery = -1;
  double stream = 0;  // percent right of all answers
  std::vector<double> windows;
  Digest hash{};
};

Result<std::size_t> right_answers(Trainer& trainer, const Samples& samples) {
  LOOM_TRY(const Trainer::Evaluation answer, trainer.evaluate(samples));
  const std::span<const float> y(static_cast<const float*>(answer.output.data), samples.size() * kClasses);
  std::size_t right = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto row = y.subspan(i * kClasses, kClasses);
    right += std::max_element(row.begin(), row.end()) - row.begin() == samples.classes[i];
  }
  return right;
}

Result<double> percent_right(Trainer& trainer, const Digits& digits) {
  LOOM_TRY(const std::size_t right, right_answers(trainer, digits.part(0, digits.size())));
  return 100.0 * static_cast<double>(right) / static_cast<double>(digits.size());
}

Result<Network> network_of(std::uint64_t seed) {
  LOOM_TRY(SpecResult spec, network_from_json(fmt::format(R"({{"seed":{},"layers":[
    {{"type":"dense","input_height":784,"output_height":128,"activation":"relu","bias":true}},
    {{"type":"dense","input_height":128,"output_height":64,"activation":"relu","bias":true}},
    {{"type":"dense","input_height":64,"output_height":10,"bias":true,"activation":"linear"}}]}})",
                                                          seed)));
  return std::move(spec.network);
}

TrainerConfig config_of(const Learner& learner, double rate, int threads) {
  TrainerConfig config;
  config.loss.kind = LossKind::SoftmaxCrossEntropy;
  config.schedule.learning_rate = rate;
  config.session.threads = threads;
  if (!learner.mode) {
    config.optimizer = {.name = "sgd", .momentum = 0.9, .dampening = 0.9};  // the law of the targets' updates
  } else {
    config.tween.emplace();
    config.tween->mode = *learner.mode;
    config.tween->budget_threshold = learner.budget_threshold;
  }
  return config;
}

Result<Outcome> live(const Learner& learner, double rate, std::uint64_t seed, const std::array<Task, 2>& tasks,
                     const Options& options) {
  LOOM_TRY(Network network, network_of(seed));
  LOOM_TRY(const std::unique_ptr<Trainer> trainer,
           Trainer::create(network, Shape::of({kBatch, kPixels}), config_of(learner, rate, options.threads)));
  double answers = 0;
  const auto outputs_of = [&](const Task& task) { return task.train.size() / kBatch * kBatch * options.passes; };
  LOOM_TRY(AdaptationTracker tracker, AdaptationTracker::create(
                                          kWindow, static_cast<double>(outputs_of(tasks[0]) + outputs_of(tasks[1])),
                                          [&] { return answers; }, "first"));
  Outcome outcome;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (t == 1) {
      LOOM_TRY(outcome.before, percent_right(*trainer, tasks[0].test));
      tracker.mark_task_change("second");
    }
    std::vector<std::uint32_t> order(tasks[t].train.size());
    for (std::uint32_t pass = 0; pass < options.passes; ++pass) {
      std::iota(order.begin(), order.end(), 0u);
      shuffle(order, seed, pass, static_cast<std::uint32_t>(t));
      for (std::size_t first = 0; first + kBatch <= order.size(); first += kBatch) {
        Digits batch;
        for (std::size_t i = 0; i < kBatch; ++i) batch.add(tasks[t].train, order[first + i]);
        LOOM_TRY(const std::size_t right, right_answers(*trainer, batch.part(0, kBatch)));
        for (std::size_t i = 0; i < kBatch; ++i) tracker.record(i < right), answers += 1;
        LOOM_TRY_VOID(trainer->step(batch.part(0, kBatch)));
      }
    }
  }
  tracker.finish();
  LOOM_TRY(outcome.first_after, percent_right(*trainer, tasks[0].test));
  LOOM_TRY(outcome.second_after, percent_right(*trainer, tasks[1].test));
  outcome.recovery = tracker.changes()[0].recovery_outputs;
  outcome.stream = tracker.accuracy();
  for (const AdaptationWindow& window : tracker.windows()) outcome.windows.push_back(window.accuracy / 100);
  outcome.hash = weight_hash(network);
  return outcome;
}

// Means over the seeds; the first seed's windows and hash; no recovery if one seed had none.
struct Row {
  const Learner* learner;
  double rate = 0;
  Outcome mean;
};

// Every learner at the rate whose stream of answers is best with the first seed: what somebody would choose who cannot
// see the tests.
Result<Row> row_of(const Learner& learner, const std::array<Task, 2>& tasks, const Options& options) {
  Row row{&learner, 0, {}};
  row.mean.stream = -1;
  for (const double rate : kRates) {
    LOOM_TRY(Outcome outcome, live(learner, rate, 1, tasks, options));
    if (outcome.stream > row.mean.stream) row.rate = rate, row.mean = std::move(outcome);
  }
  Outcome& sum = row.mean;
  for (std::uint64_t seed = 2; seed <= options.seeds; ++seed) {
    LOOM_TRY(const Outcome next, live(learner, row.rate, seed, tasks, options));
    sum.before += next.before, sum.first_after += next.first_after, sum.second_after += next.second_after,
        sum.stream += next.stream;
    sum.recovery = sum.recovery < 0 || next.recovery < 0 ? -1 : sum.recovery + next.recovery;
  }
  const auto n = static_cast<double>(options.seeds);
  sum.before /= n, sum.first_after /= n, sum.second_after /= n, sum.stream /= n;
  if (sum.recovery > 0) sum.recovery /= static_cast<std::int64_t>(options.seeds);
  return row;
}

void print(const Row& row) {
  const Outcome& o = row.mean;
  std::printf("%-24s %5.2f  %6.2f  %6.2f  %7.2f  %6.2f  %8s  %s\n", row.learner->name, row.rate, o.before,
              o.first_after, o.before - o.first_after, o.second_after,
              o.recovery < 0 ? "never" : std::to_string(o.recovery).c_str(), to_hex(o.hash).substr(0, 16).c_str());
  std::fflush(stdout);
}

std::string page_of(std::span<const Row> rows, const Options& options) {
  std::vector<ChartSeries> lines;
  for (const Row& row : rows) {
    if (*row.learner->style == '\0') continue;
    ChartSeries line{row.learner->name, row.learner->style, {}};
    for (std::size_t w = 0; w < row.mean.windows.size(); ++w)
      line.points.emplace_back(static_cast<double>((w + 1) * kWindow), row.mean.windows[w]);
    lines.push_back(std::move(line));
  }
  std::string table =
      "<table><thead><tr><th>Learner</th><th class=\"n\">Rate</th><th class=\"n\">First task before</th><th "
      "class=\"n\">after</th>"
      "<th class=\"n\">Second task</th><th class=\"n\">Answers to recover</th><th>Weights, first "
      "seed</th></tr></thead>\n";
  for (const Row& row : rows)
    table += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.2f} %</td><td class=\"n\">{:.2f} %</td><td "
        "class=\"n\">{:.2f} %</td><td class=\"n\">{}</td><td><code>{}</code></td></tr>\n",
        row.learner->name, row.rate, row.mean.before, row.mean.first_after, row.mean.second_after,
        row.mean.recovery < 0 ? "never" : std::to_string(row.mean.recovery), to_hex(row.mean.hash).substr(0, 16));
  return html_page(
      "A task changes",
      fmt::format("<h1>A task changes: {}</h1>\n", options.scenario) +
          html_section(
              "Share of right answers in the stream, each before it was learned",
              line_chart({.x_label = "answers", .label = "Right answers", .percent = true, .height = 320}, lines)) +
          html_section("Accuracy at the end", table + "</table>\n"));
}

Result<void> run(const Options& options) {
  LOOM_TRY(const Digits digits, read_digits());
  const auto tasks = tasks_of(digits, options.scenario == "split");
  std::printf("%s, %zu and %zu digits, %llu passes each, mean of %llu seeds; percent right of the test digits\n",
              options.scenario.c_str(), tasks[0].train.size(), tasks[1].train.size(),
              static_cast<unsigned long long>(options.passes), static_cast<unsigned long long>(options.seeds));
  std::printf("%-24s %5s  %6s  %6s  %7s  %6s  %8s  %s\n", "learner", "rate", "before", "after", "forgot", "second",
              "recovery", "hash");
  std::vector<Row> rows;
  for (const Learner& learner : kLearners) {
    LOOM_TRY(Row row, row_of(learner, tasks, options));
    print(row);
    rows.push_back(std::move(row));
  }
  if (options.out.empty()) return {};
  const std::string page = page_of(rows, options);
  LOOM_TRY(AtomicFile file, AtomicFile::create(options.out));
  LOOM_TRY_VOID(file.write(std::as_bytes(std::span(page))));
  return file.commit();
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string key = arguments[i], value = i + 1 < count ? arguments[i + 1] : "";
    const auto number = std::strtoul(value.c_str(), nullptr, 10);
    if (key == "--scenario" && (value == "permuted" || value == "split"))
      options.scenario = value;
    else if (key == "--seeds" && number > 0)
      options.seeds = number;
    else if (key == "--passes" && number > 0)
      options.passes = number;
    else if (key == "--out" && !value.empty())
      options.out = value;
    else if (key == "-t" && number > 0)
      options.threads = static_cast<int>(number);
    else
      return std::fprintf(
                 stderr,
                 "usage: %s [--scenario permuted|split] [--seeds N] [--passes N] [--out FILE.html] [-t THREADS]\n",
                 arguments[0]),
             2;
  }
  const auto done = run(options);
  if (!done) return std::fprintf(stderr, "%s\n", done.error().text().c_str()), 1;
  return 0;
}
