#include "training/data_config.h"

#include <array>
#include <numeric>

#include "data/csv/csv.h"
#include "data/idx/idx.h"
#include "data/images/image_folder.h"
#include "data/numpy/numpy_dataset.h"
#include "data/pipeline/order.h"
#include "data/series/series.h"
#include "data/text/text_windows.h"
#include "learning/names.h"
#include "training/config_reader.h"

namespace loom {
namespace {

constexpr std::array<std::string_view, 7> kFormats = {"idx", "csv", "npy", "npz", "images", "text", "series"};
enum class Format : std::uint8_t { Idx, Csv, Npy, Npz, Images, Text, Series };
// Keys that belong to the training as a whole, not to the data set. A validation set has the first of them.
constexpr std::array<std::string_view, 6> kPipelineKeys = {"limit", "validation", "validation_split", "split", "normalise", "augment"};
constexpr std::span<const std::string_view> kValidationKeys = std::span(kPipelineKeys).first(1);

std::string resolved_path(const std::string& folder, const std::string& path) {
  return path.empty() || path.front() == '/' || folder.empty() ? path : folder + "/" + path;
}

Result<std::optional<Shape>> shape_of(const std::vector<std::size_t>& extents) {
  if (extents.empty()) return std::optional<Shape>();
  LOOM_TRY(const Shape shape, Shape::create(extents));
  return std::optional<Shape>(shape);
}

Result<std::optional<TargetKind>> target_kind(const std::string& text, const ConfigReader& read) {
  if (text.empty()) return std::optional<TargetKind>();
  if (text == "classes") return std::optional(TargetKind::classes);
  if (text == "values") return std::optional(TargetKind::values);
  return fail(Code::InvalidConfig, "{}: \"classes\" or \"values\" expected", read.place_of("target_kind"));
}

// `others`: keys that other code reads.
Result<std::unique_ptr<Dataset>> open_dataset(const Json& config, const std::string& folder, const std::string& place,
                                              std::span<const std::string_view> others) {
  ConfigReader read(&config, place);
  for (const std::string_view key : others) read.member(key);
  std::string format, path, inputs, targets, kind, unit = "bytes", delimiter = ",";
  std::vector<std::size_t> shape;
  ArrayOptions arrays;
  CsvOptions csv;
  TextWindowOptions text;
  ImageFolderOptions images;
  SeriesOptions series;
  std::int64_t target_index = -1;
  read("format", format);
  LOOM_TRY(const std::size_t index, find_name(read.place_of("format"), format, kFormats));
  const auto is = [&](auto... formats) { return ((index == static_cast<std::size_t>(formats)) || ...); };
  if (is(Format::Csv, Format::Npz, Format::Images, Format::Text, Format::Series)) read("path", path);
  if (is(Format::Idx, Format::Npy, Format::Npz)) {
    read("inputs", inputs);
    read("targets", targets);
    read("classes", arrays.classes);
    read("class_names", arrays.class_names);
  }
  if (!is(Format::Images, Format::Text, Format::Series)) {
    read("shape", shape);
    read("target_kind", kind);
  }
  if (is(Format::Csv)) {
    read("header", csv.header);
    read("delimiter", delimiter);
    read("target_column", csv.target_column);
    std::optional<std::int64_t> given;
    read("target_index", given);
    if (given && !csv.target_column.empty()) return fail(Code::InvalidConfig, "{}: target_column names one already", read.place_of("target_index"));
    target_index = given.value_or(-1);
    read("class_ids", csv.class_ids);
    read("class_names", csv.class_names);
  }
  if (is(Format::Series)) {
    read("header", series.header);
    read("delimiter", delimiter);
    read("columns", series.columns);
    read("length", series.length, 1, 1 << 20);
    read("stride", series.stride, 1, 1 << 20);
    read("scale", series.scale);
  }
  if (is(Format::Images)) {
    read("channels", images.channels);
    read("class_names", images.class_names);
  }
  if (is(Format::Text)) {
    read("unit", unit);
    read("length", text.length, 1, 1 << 20);
    read("stride", text.stride, 0, 1 << 20);
    read("vocabulary", text.vocabulary);
  }
  LOOM_TRY_VOID(read.finish());
  LOOM_TRY(const auto input, shape_of(shape));
  LOOM_TRY(const auto wanted, target_kind(kind, read));
  arrays.input = csv.input = input;
  arrays.targets = wanted;
  const auto file = [&](const std::string& name) { return resolved_path(folder, name); };
  const auto missing = [&](std::string_view key) { return fail(Code::InvalidConfig, "{}: a path expected", read.place_of(key)); };
  if (is(Format::Idx, Format::Npy, Format::Npz) && (inputs.empty() || targets.empty())) return missing(inputs.empty() ? "inputs" : "targets");
  if (is(Format::Csv, Format::Npz, Format::Images, Format::Text, Format::Series) && path.empty()) return missing("path");
  if (is(Format::Csv, Format::Series) && delimiter.size() != 1) return fail(Code::InvalidConfig, "{}: one character expected", read.place_of("delimiter"));
  switch (static_cast<Format>(index)) {
    case Format::Idx: return open_idx(file(inputs), file(targets), arrays);
    case Format::Npy: return open_npy(file(inputs), file(targets), arrays);
    case Format::Npz: return open_npz(file(path), inputs, targets, arrays);
    case Format::Images: return open_image_folder(file(path), images);
    case Format::Csv:
      if (target_index < -(1 << 20) || target_index > 1 << 20) return fail(Code::InvalidConfig, "{}: a column expected", read.place_of("target_index"));
      csv.delimiter = delimiter[0], csv.target_index = static_cast<int>(target_index);
      csv.targets = wanted.value_or(TargetKind::classes);
      return open_csv(file(path), csv);
    case Format::Text:
      if (unit != "bytes" && unit != "characters")
        return fail(Code::InvalidConfig, "{}: \"bytes\" or \"characters\" expected", read.place_of("unit"));
      text.unit = unit == "bytes" ? TextUnit::bytes : TextUnit::characters;
      return open_text(file(path), text);
    case Format::Series:
      series.delimiter = delimiter[0];
      return open_series(file(path), series);
  }
  return fail(Code::Unsupported, "{}", format);
}

Result<AugmentConfig> read_augment(const Json* config) {
  AugmentConfig augment;
  ConfigReader read(config, "data.augment");
  read("flip_horizontal", augment.flip_horizontal);
  read("flip_vertical", augment.flip_vertical);
  read("shift", augment.shift);
  read("crop_height", augment.crop_height);
  read("crop_width", augment.crop_width);
  read("padding", augment.padding);
  read("noise", augment.noise);
  LOOM_TRY_VOID(read.finish());
  return augment;
}

// "mean_std", "min_max", or {by, method} or {by, offset, scale}.
Result<Normalisation> read_normalisation(const Json* config, const TrainingData& data) {
  if (config == nullptr || config->is_null()) return Normalisation{};
  std::string method, by = "whole";
  std::vector<double> offset, scale;
  if (const std::string* name = as_string(*config)) {
    method = *name;
  } else {
    ConfigReader read(config, "data.normalise");
    read("method", method);
    read("by", by);
    read("offset", offset);
    read("scale", scale);
    LOOM_TRY_VOID(read.finish());
  }
  constexpr std::array<std::string_view, 4> kBy = {"whole", "element", "first_axis", "last_axis"};
  LOOM_TRY(const std::size_t group, find_name("data.normalise.by", by, kBy));
  const auto groups = static_cast<NormaliseBy>(group);
  if (method.empty()) {
    if (offset.empty() && scale.empty()) return fail(Code::InvalidConfig, "data.normalise: a method, or offset and scale, expected");
    Normalisation given;
    given.by = groups;
    given.offset.assign(offset.begin(), offset.end()), given.scale.assign(scale.begin(), scale.end());
    return given;
  }
  constexpr std::array<std::string_view, 2> kMethods = {"mean_std", "min_max"};
  LOOM_TRY(const std::size_t which, find_name("data.normalise", method, kMethods));
  if (!offset.empty() || !scale.empty()) return fail(Code::InvalidConfig, "data.normalise: either a method, or offset and scale");
  return which == 0 ? fit_mean_std(*data.training, data.training_samples, groups) : fit_min_max(*data.training, data.training_samples, groups);
}

std::vector<std::uint32_t> first_samples(std::size_t count) {
  std::vector<std::uint32_t> samples(count);
  std::iota(samples.begin(), samples.end(), std::uint32_t{0});
  return samples;
}

// Names stand for the same ids as in the training set, whichever come first in the files.
Json with_classes_of(const DatasetInfo& training, Json held_out) {
  const Json *format = find(held_out, "format"), *unit = find(held_out, "unit");
  const std::string* const name = format == nullptr ? nullptr : as_string(*format);
  if (name == nullptr || training.class_names.empty()) return held_out;
  const Json* const class_ids = find(held_out, "class_ids");
  const bool characters = unit != nullptr && *unit == "characters", ids = class_ids != nullptr && *class_ids != false;
  const char* const key = *name == "text" && characters ? "vocabulary" : *name == "images" || (*name == "csv" && !ids) ? "class_names" : nullptr;
  if (key != nullptr && !held_out.contains(key)) held_out[key] = training.class_names;
  return held_out;
}

// The members of the object whose keys are in `keys`.
Json members_of(const Json& object, std::span<const std::string_view> keys) {
  Json out = Json::object();
  for (const std::string_view key : keys)
    if (const Json* value = find(object, key)) out[std::string(key)] = *value;
  return out;
}

// A validation set must look like the training set.
Result<void> check_held_out(const DatasetInfo& training, const DatasetInfo& held_out) {
  if (!(training.input == held_out.input) || !(training.target == held_out.target) || training.targets != held_out.targets)
    return fail(Code::ShapeMismatch, "data.validation: samples {} -> {}, the training set has {} -> {}", held_out.input.text(), held_out.target.text(),
                training.input.text(), training.target.text());
  if (!training.class_names.empty() && !held_out.class_names.empty() && training.class_names != held_out.class_names)
    return fail(Code::InvalidConfig, "data.validation: its classes are not those of the training set, in their order");
  if (!training.columns.empty() && !held_out.columns.empty() && training.columns != held_out.columns)
    return fail(Code::InvalidConfig, "data.validation: its columns ({}) are not those of the training set in their order ({})",
                printable(fmt::format("{}", fmt::join(held_out.columns, ", "))), printable(fmt::format("{}", fmt::join(training.columns, ", "))));
  if (training.targets == TargetKind::classes && held_out.classes > training.classes)
    return fail(Code::OutOfRange, "data.validation: {} classes, the training set has {}", held_out.classes, training.classes);
  return {};
}

}  // namespace

Result<TrainingData> open_training_data(const Json& config, const std::string& folder, std::uint64_t seed) {
  TrainingData data;
  LOOM_TRY(data.training, open_dataset(config, folder, "data", kPipelineKeys));
  double fraction = 0;
  std::string split = "last";
  std::size_t limit = 0, held_limit = 0;
  const Json own = members_of(config, std::array<std::string_view, 3>{"validation_split", "split", "limit"});
  ConfigReader read(&own, "data");
  read("validation_split", fraction);
  read("split", split);
  read("limit", limit);
  LOOM_TRY_VOID(read.finish());
  const std::size_t samples = limit == 0 ? data.training->info().samples : std::min(limit, data.training->info().samples);
  const Json* validation = find(config, "validation");
  if (validation != nullptr && fraction != 0) return fail(Code::InvalidConfig, "data: either validation or validation_split");
  if (split != "last" && split != "shuffled") return fail(Code::InvalidConfig, "data.split: \"last\" or \"shuffled\" expected");
  if (split == "shuffled" && fraction == 0) return fail(Code::InvalidConfig, "data.split: there is no validation_split");
  LOOM_TRY(Split parts, split == "last" ? split_last(samples, fraction) : split_shuffled(samples, fraction, seed));
  if (fraction != 0 && parts.validation.empty())
    return fail(Code::InvalidConfig, "data.validation_split: {} of {} samples is none to validate", fraction, samples);
  data.training_samples = std::move(parts.training), data.validation_samples = std::move(parts.validation);
  if (validation != nullptr) {
    LOOM_TRY(data.held_out, open_dataset(with_classes_of(data.training->info(), *validation), folder, "data.validation", kValidationKeys));
    LOOM_TRY_VOID(check_held_out(data.training->info(), data.held_out->info()));
    const Json of_it = members_of(*validation, kValidationKeys);
    ConfigReader read_of_it(&of_it, "data.validation");
    read_of_it("limit", held_limit);
    LOOM_TRY_VOID(read_of_it.finish());
    const std::size_t count = data.held_out->info().samples;
    data.validation_samples = first_samples(held_limit == 0 ? count : std::min(count, held_limit));
  }
  LOOM_TRY(data.augment, read_augment(find(config, "augment")));
  LOOM_TRY(data.normalisation, read_normalisation(find(config, "normalise"), data));
  return data;
}

}  // namespace loom
