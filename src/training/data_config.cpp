#include "training/data_config.h"

#include <array>
#include <numeric>

#include "core/config_reader.h"
#include "core/config_writer.h"
#include "core/nearest.h"
#include "data/csv/csv.h"
#include "data/idx/idx.h"
#include "data/images/image_folder.h"
#include "data/numpy/numpy_dataset.h"
#include "data/pipeline/order.h"
#include "data/series/series.h"
#include "data/text/text_windows.h"

namespace loom {
namespace {

// Memory has no name that a config could give: a program holds the samples.
enum class Format : std::uint8_t { Missing, Idx, Csv, Npy, Npz, Images, Text, Series, Memory };
enum class Targets : std::uint8_t { ByFormat, Classes, Values };
enum class Method : std::uint8_t { Given, MeanStd, MinMax };

struct NormaliseConfig {
  Method method = Method::Given;
  NormaliseBy by = NormaliseBy::whole;
  std::vector<double> offset, scale;
};

// One data set, and for a training set what the training as a whole does with it.
struct DataConfig {
  Format format = Format::Missing;
  std::string path, inputs, targets, delimiter = ",";
  Targets kind = Targets::ByFormat;
  std::vector<std::size_t> shape;
  std::vector<std::string> class_names;
  std::optional<std::int64_t> target_index;
  ArrayOptions arrays;
  CsvOptions csv;
  TextWindowOptions text;
  ImageFolderOptions images;
  SeriesOptions series;
  std::size_t limit = 0;
  Json validation;
  double validation_split = 0;
  bool is_shuffled = false;
  std::optional<NormaliseConfig> normalise;
  AugmentConfig augment;

  bool is(auto... formats) const { return ((format == formats) || ...); }
  bool has_path() const { return is(Format::Csv, Format::Npz, Format::Images, Format::Text, Format::Series); }
  bool has_arrays() const { return is(Format::Idx, Format::Npy, Format::Npz); }
};

// A format has the keys that change what it reads, so that none is given in vain.
void source_fields(ConfigVisitor& visit, DataConfig& c) {
  if (!c.is(Format::Memory))
    visit.choice({"format", "Required. One of those"}, c.format,
                 {"", "idx", "csv", "npy", "npz", "images", "text", "series"});
  const auto is = [&](auto... formats) { return visit.describes() || c.is(formats...); };
  if (visit.describes() || c.has_path())
    visit({"path", "csv, npz, text, series: the file; images: the folder"}, c.path);
  if (visit.describes() || c.has_arrays()) {
    visit({"inputs", "idx, npy: the file; npz: the array"}, c.inputs);
    visit({"targets", "Like data.inputs, for targets"}, c.targets);
  }
  if (visit.describes() || c.has_arrays() || c.is(Format::Memory))
    visit({"classes", "idx, npy, npz: how many; 0: the greatest label and one"}, c.arrays.classes, kAnySize);
  if (is(Format::Idx, Format::Npy, Format::Npz, Format::Csv, Format::Images, Format::Memory))
    visit({"class_names",
           "One per class. Without `class_ids` a csv's targets are such names; the subfolders of images. A validation "
           "set takes those of "
           "the training set"},
          c.class_names);
  if (is(Format::Idx, Format::Npy, Format::Npz, Format::Csv, Format::Memory)) {
    visit({"shape", "Another shape for a sample, of as many elements"}, c.shape, kAnySize);
    visit.choice({"target_kind", "classes or values; empty: classes for csv and for one whole number per sample"},
                 c.kind, {"", "classes", "values"}, Code::InvalidConfig);
  }
  if (is(Format::Csv, Format::Series)) {
    visit({"header", "csv, series: the first line names the columns"}, c.csv.header);
    visit({"delimiter", "csv, series"}, c.delimiter);
  }
  if (is(Format::Csv)) {
    visit({"target_column", "csv: by name"}, c.csv.target_column);
    visit({"target_index", "csv: by number from 0, negative from the end. Without both: the last"}, c.target_index);
    visit({"class_ids", "csv: targets are numbers of classes, not names"}, c.csv.class_ids);
  }
  if (is(Format::Series)) visit({"columns", "series: by name; empty: all"}, c.series.columns);
  constexpr Key length{"length", "text: ids of a sample, 64; series: rows of a sample, 16"};
  constexpr Key stride{"stride", "From one sample to the next. text: the length; series: 1"};
  if (is(Format::Text)) visit(length, c.text.length, {1, 1 << 20}), visit(stride, c.text.stride, {0, 1 << 20});
  if (is(Format::Series)) {
    visit(length, c.series.length, {1, 1 << 20}), visit(stride, c.series.stride, {1, 1 << 20});
    visit({"scale", "series: every number is multiplied by it, targets too"}, c.series.scale);
  }
  if (is(Format::Images))
    visit({"channels", "images: 1 or 3; without it those of the files"}, c.images.channels, kAnySize);
  if (is(Format::Text)) {
    visit.choice({"unit", "text: bytes or characters"}, c.text.unit, {"bytes", "characters"}, Code::InvalidConfig);
    visit({"vocabulary",
           "text: the characters by id; empty: those of the text. A validation set takes that of the training set"},
          c.text.vocabulary);
  }
  visit({"limit", "Use the first so many samples; 0: all"}, c.limit, kAnySize);
}

void normalise_fields(ConfigVisitor& visit, NormaliseConfig& c) {
  visit.choice({"method", "mean_std or min_max, or"}, c.method, {"", "mean_std", "min_max"});
  visit({"offset", "y = (x - offset) * scale with these numbers"}, c.offset);
  visit({"scale", "The same"}, c.scale);
  visit.choice({"by", "The elements that share a number: whole, element, first_axis, last_axis"}, c.by,
               {"whole", "element", "first_axis", "last_axis"});
}

void augment_fields(ConfigVisitor& visit, AugmentConfig& c) {
  visit({"flip_horizontal", "Half of the samples"}, c.flip_horizontal);
  visit({"flip_vertical", "Half of the samples"}, c.flip_vertical);
  visit({"shift", "Pixels at most, both ways"}, c.shift, kAnySize);
  visit({"crop_height", "A random part of this height; 0: off. Samples that validate are cut in the middle"},
        c.crop_height, kAnySize);
  visit({"crop_width", "And of this width"}, c.crop_width, kAnySize);
  visit({"padding", "Pixels around the image before cropping"}, c.padding, kAnySize);
  visit({"noise", "Standard deviation of the noise that is added"}, c.noise);
}

void data_fields(ConfigVisitor& visit, DataConfig& c) {
  source_fields(visit, c);
  visit.json({"validation",
              "A data set of its own, an object like this one but for the keys below. It is normalised as the training "
              "samples are"},
             c.validation);
  visit({"validation_split", "Or a share of the samples"}, c.validation_split);
  visit.choice({"split", "With validation_split. Which share: last or shuffled"}, c.is_shuffled, {"last", "shuffled"},
               Code::InvalidConfig);
  visit.object(
      {"normalise",
       "mean_std or min_max (fitted on the training samples), or an object with a method, or with offset and scale. "
       "Inputs only"},
      [&](ConfigVisitor& inner) { normalise_fields(inner, c.normalise.emplace()); }, "method");
  visit.object({"augment", "An object; training samples only"},
               [&](ConfigVisitor& inner) { augment_fields(inner, c.augment); });
}

std::string resolved_path(const std::string& folder, const std::string& path) {
  return path.empty() || path.front() == '/' || folder.empty() ? path : folder + "/" + path;
}

// The place of an error of the config; one of a file that it names has that file.
tl::unexpected<Error> inside(const char* key, Error error) {
  return error.place.has_steps() ? under({key}, std::move(error)) : tl::make_unexpected(std::move(error));
}

tl::unexpected<Error> missing(const char* key) { return fail_at({key}, Code::InvalidConfig, "is missing"); }

Result<void> check(const DataConfig& c) {
  if (c.format == Format::Missing) return missing("format");
  if (c.has_arrays() && c.inputs.empty()) return missing("inputs");
  if (c.has_arrays() && c.targets.empty()) return missing("targets");
  if (c.has_path() && c.path.empty()) return missing("path");
  if (c.is(Format::Csv, Format::Series) && c.delimiter.size() != 1)
    return fail_at({"delimiter"}, Code::InvalidConfig, "{}", expected("one character", c.delimiter));
  if (!c.target_index) return {};
  if (!c.csv.target_column.empty())
    return fail_at({"target_index"}, Code::InvalidConfig, "target_column names one already");
  if (*c.target_index < -(1 << 20) || *c.target_index > 1 << 20)
    return fail_at({"target_index"}, Code::InvalidConfig, "{}", expected("a column", *c.target_index));
  return {};
}

// Arrays of one type and shape with the same bytes have one hash, whatever their names and files are.
Digest hash_of(const SampleArrays& arrays) {
  Sha256 hash;
  for (const RawArray* array : {&arrays.inputs, &arrays.targets}) {
    const std::string head =
        fmt::format("{} {}[{}]\n", name(array->dtype), array->big_endian ? "big " : "", fmt::join(array->shape, ","));
    hash.update(std::as_bytes(std::span(head)));
    hash.update(array->bytes);
  }
  return hash.finish();
}

Result<std::unique_ptr<Dataset>> dataset_of(SampleArrays arrays, const ArrayOptions& options) {
  for (const RawArray* array : {&arrays.inputs, &arrays.targets})
    if (const DTypeInfo& type = info(array->dtype); type.block_elements != 1 || type.block_bytes == 0)
      return fail(Code::Unsupported, "{}: elements of {}, expected a type of whole bytes", array->name, type.name);
  const Digest hash = hash_of(arrays);
  return dataset_of(std::move(arrays.inputs), std::move(arrays.targets), hash, options);
}

// Hands the settings that several formats share to the options of each. `arrays`: of Format::Memory.
Result<std::unique_ptr<Dataset>> open_dataset(DataConfig c, const std::string& folder, SampleArrays* arrays = nullptr) {
  LOOM_TRY_VOID(check(c));
  if (!c.shape.empty()) {
    auto shape = Shape::create(c.shape);
    if (!shape) return under({"shape"}, std::move(shape).error());
    c.arrays.input = c.csv.input = *shape;
  }
  if (c.kind != Targets::ByFormat)
    c.arrays.targets = c.kind == Targets::Classes ? TargetKind::classes : TargetKind::values;
  c.csv.targets = c.arrays.targets.value_or(TargetKind::classes);
  c.csv.target_index = static_cast<int>(c.target_index.value_or(-1));
  c.series.header = c.csv.header;
  if (!c.delimiter.empty()) c.series.delimiter = c.csv.delimiter = c.delimiter[0];
  c.arrays.class_names = c.csv.class_names = c.images.class_names = c.class_names;
  const auto file = [&](const std::string& name) { return resolved_path(folder, name); };
  switch (c.format) {
    case Format::Idx: return open_idx(file(c.inputs), file(c.targets), c.arrays);
    case Format::Npy: return open_npy(file(c.inputs), file(c.targets), c.arrays);
    case Format::Npz: return open_npz(file(c.path), c.inputs, c.targets, c.arrays);
    case Format::Images: return open_image_folder(file(c.path), c.images);
    case Format::Csv: return open_csv(file(c.path), c.csv);
    case Format::Text: return open_text(file(c.path), c.text);
    case Format::Series: return open_series(file(c.path), c.series);
    case Format::Memory: return dataset_of(std::move(*arrays), c.arrays);
    case Format::Missing: break;
  }
  return missing("format");
}

Result<Normalisation> normalisation_of(const NormaliseConfig& c, const TrainingData& data) {
  const bool is_given = !c.offset.empty() || !c.scale.empty();
  if (c.method == Method::Given && !is_given)
    return fail(Code::InvalidConfig, "expected a method, or offset and scale");
  if (c.method != Method::Given && is_given)
    return fail(Code::InvalidConfig, "expected either a method, or offset and scale");
  if (c.method == Method::MeanStd) return fit_mean_std(*data.training, data.training_samples, c.by);
  if (c.method == Method::MinMax) return fit_min_max(*data.training, data.training_samples, c.by);
  Normalisation given;
  given.by = c.by;
  given.offset.assign(c.offset.begin(), c.offset.end()), given.scale.assign(c.scale.begin(), c.scale.end());
  return given;
}

// Names stand for the same ids as in the training set, whichever come first in the files.
void take_classes(DataConfig& held_out, const std::vector<std::string>& names) {
  std::vector<std::string>* const own =
      held_out.is(Format::Text) && held_out.text.unit == TextUnit::characters                ? &held_out.text.vocabulary
      : held_out.is(Format::Images) || (held_out.is(Format::Csv) && !held_out.csv.class_ids) ? &held_out.class_names
                                                                                             : nullptr;
  if (own != nullptr && own->empty()) *own = names;
}

std::vector<std::uint32_t> first_samples(std::size_t count) {
  std::vector<std::uint32_t> samples(count);
  std::iota(samples.begin(), samples.end(), std::uint32_t{0});
  return samples;
}

// A validation set must look like the training set.
Result<void> check_held_out(const DatasetInfo& training, const DatasetInfo& held_out) {
  if (!(training.input == held_out.input) || !(training.target == held_out.target) ||
      training.targets != held_out.targets)
    return fail(Code::ShapeMismatch, "samples {} -> {}, the training set has {} -> {}", held_out.input.text(),
                held_out.target.text(), training.input.text(), training.target.text());
  if (!training.class_names.empty() && !held_out.class_names.empty() && training.class_names != held_out.class_names)
    return fail(Code::InvalidConfig, "its classes are not those of the training set, in their order");
  if (!training.columns.empty() && !held_out.columns.empty() && training.columns != held_out.columns)
    return fail(Code::InvalidConfig, "its columns ({}) are not those of the training set in their order ({})",
                printable(fmt::format("{}", fmt::join(held_out.columns, ", "))),
                printable(fmt::format("{}", fmt::join(training.columns, ", "))));
  if (training.targets == TargetKind::classes && held_out.classes > training.classes)
    return fail(Code::OutOfRange, "{} classes, the training set has {}", held_out.classes, training.classes);
  return {};
}

// A validation set of its own, of `limit` samples at most.
Result<void> take_held_out(TrainingData& data, Result<std::unique_ptr<Dataset>> opened, std::size_t limit) {
  if (!opened) return inside("validation", std::move(opened).error());
  data.held_out = std::move(*opened);
  if (auto fits = check_held_out(data.training->info(), data.held_out->info()); !fits)
    return under({"validation"}, std::move(fits).error());
  const std::size_t count = data.held_out->info().samples;
  data.validation_samples = first_samples(limit == 0 ? count : std::min(count, limit));
  return {};
}

Result<void> open_held_out(TrainingData& data, const Json& config, const std::string& folder, const DataUse& use) {
  DataConfig c;
  c.arrays.ignored = c.csv.ignored = use.ignored;
  LOOM_TRY_VOID(read_config(config, [&](ConfigVisitor& visit) { source_fields(visit, c); }, {"validation"}));
  const std::size_t limit = c.limit;
  take_classes(c, data.training->info().class_names);
  return take_held_out(data, open_dataset(std::move(c), folder), limit);
}

// The validation samples that a program holds are read as its training samples are.
Result<void> take_held_out(TrainingData& data, DataConfig c, SampleArrays& arrays) {
  c.limit = 0, c.arrays.targets = data.training->info().targets;
  if (c.class_names.empty() && c.arrays.targets == TargetKind::classes)
    c.arrays.classes = data.training->info().classes;
  return take_held_out(data, open_dataset(std::move(c), "", &arrays), 0);
}

Result<TrainingData> opened(const Json& config, const std::string& folder, const DataUse& use,
                            TrainingArrays* arrays = nullptr) {
  DataConfig c;
  c.arrays.ignored = c.csv.ignored = use.ignored;
  if (arrays != nullptr) c.format = Format::Memory;
  LOOM_TRY_VOID(read_config(config, [&](ConfigVisitor& visit) { data_fields(visit, c); }));
  TrainingData data;
  LOOM_TRY(data.training, open_dataset(c, folder, arrays == nullptr ? nullptr : &arrays->training));
  const bool holds_validation = arrays != nullptr && arrays->validation;
  if (holds_validation && (!c.validation.is_null() || c.validation_split != 0))
    return fail_at({c.validation.is_null() ? "validation_split" : "validation"}, Code::InvalidConfig,
                   "given beside arrays to validate");
  const double fraction = c.validation_split;
  const std::size_t samples =
      c.limit == 0 ? data.training->info().samples : std::min(c.limit, data.training->info().samples);
  if (!c.validation.is_null() && fraction != 0)
    return fail_at({"validation_split"}, Code::InvalidConfig, "given beside validation");
  if (c.is_shuffled && fraction == 0) return fail_at({"split"}, Code::InvalidConfig, "there is no validation_split");
  auto parts = c.is_shuffled ? split_shuffled(samples, fraction, use.seed) : split_last(samples, fraction);
  if (!parts) return under({"validation_split"}, std::move(parts).error());
  if (fraction != 0 && parts->validation.empty())
    return fail_at({"validation_split"}, Code::InvalidConfig, "{} of {} samples is none to validate", fraction,
                   samples);
  data.training_samples = std::move(parts->training), data.validation_samples = std::move(parts->validation);
  if (!c.validation.is_null()) LOOM_TRY_VOID(open_held_out(data, c.validation, folder, use));
  if (holds_validation) LOOM_TRY_VOID(take_held_out(data, c, *arrays->validation));
  data.augment = c.augment;
  if (c.normalise) {
    auto fitted = normalisation_of(*c.normalise, data);
    if (!fitted) return under({"normalise"}, std::move(fitted).error());
    data.normalisation = std::move(*fitted);
  }
  return data;
}

}  // namespace

Result<TrainingData> open_training_data(const Json& config, const std::string& folder, const DataUse& use) {
  auto data = opened(config, folder, use);
  if (!data) return inside("data", std::move(data).error());
  return data;
}

Result<TrainingData> training_data_of(TrainingArrays arrays, const Json& config, const std::string& folder,
                                      const DataUse& use) {
  const auto named = [](SampleArrays& set) {
    if (set.inputs.name.empty()) set.inputs.name = "inputs";
    if (set.targets.name.empty()) set.targets.name = "targets";
  };
  named(arrays.training);
  if (arrays.validation) named(*arrays.validation);
  auto data = opened(config, folder, use, &arrays);
  if (!data) return inside("data", std::move(data).error());
  return data;
}

Json data_schema() {
  DataConfig c;
  return object_schema([&](ConfigVisitor& visit) { data_fields(visit, c); });
}

}  // namespace loom
