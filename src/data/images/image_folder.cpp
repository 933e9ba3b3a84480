#include "data/images/image_folder.h"

#include <algorithm>

#include "core/file.h"
#include "core/folder.h"
#include "data/images/image.h"

namespace loom {
namespace {

bool is_image_name(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower.ends_with(".png") || lower.ends_with(".jpg") || lower.ends_with(".jpeg");
}

Result<Image> read_image(const std::string& path) {
  LOOM_TRY(const auto file, MappedFile::open(path));
  auto image = decode_image(file->bytes());
  if (!image) return at(path, std::move(image).error());
  return image;
}

struct File {
  std::string path;
  std::int32_t label = 0;
};

class ImageFolder final : public Dataset {
 public:
  ImageFolder(DatasetInfo info, std::vector<File> files) : Dataset(std::move(info)), files_(std::move(files)) {}

 private:
  Result<void> read_sample(std::size_t sample, const SampleBuffers& to) const override {
    LOOM_TRY(const Image read, read_image(files_[sample].path));
    const Shape& shape = info().input;
    if (read.height != shape[1] || read.width != shape[2])
      return fail(Code::ShapeMismatch, "{}: {} x {} pixels, expected {} x {} as the first image has",
                  files_[sample].path, read.height, read.width, shape[1], shape[2]);
    const Image image = with_channels(read, shape[0]);
    const std::size_t pixels = image.height * image.width;
    for (std::size_t c = 0; c < image.channels; ++c)
      for (std::size_t i = 0; i < pixels; ++i) to.inputs[c * pixels + i] = image.pixels[i * image.channels + c];
    to.labels[0] = files_[sample].label;
    return {};
  }
  std::vector<File> files_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> open_image_folder(const std::string& folder, const ImageFolderOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3)
    return fail(Code::InvalidConfig, "{}: {} channels, expected 1, 3 or 0 (as the first image has)", folder,
                options.channels);
  DatasetInfo about;
  about.source = folder, about.class_names = options.class_names;
  std::vector<File> files;
  Sha256 hash;
  LOOM_TRY(const auto entries, visible_names_in(folder));
  for (const std::string& name : entries) {
    const std::string below = fmt::format("{}/{}", folder, name);
    if (!is_directory(below)) continue;
    LOOM_TRY(auto images, visible_names_in(below));
    std::erase_if(images, [](const std::string& image) { return !is_image_name(image); });
    if (options.class_names.empty()) about.class_names.push_back(name);
    const auto known = std::ranges::find(about.class_names, name);
    if (known == about.class_names.end() && !images.empty())
      return fail(Code::UnknownName, "{}: no class of that name", below);
    for (const std::string& image : images) {
      if (files.size() == kMaxSamples) return fail(Code::LimitExceeded, "{}: more than {} images", folder, kMaxSamples);
      files.push_back(
          {fmt::format("{}/{}", below, image), static_cast<std::int32_t>(known - about.class_names.begin())});
      LOOM_TRY(const auto file, MappedFile::open(files.back().path));
      const std::string relative = fmt::format("{}/{}", name, image);
      hash.update(std::as_bytes(std::span(relative.c_str(), relative.size() + 1)));
      hash.update(file->bytes());
    }
  }
  if (files.empty()) return fail(Code::ShapeMismatch, "{}: no PNG or JPEG files in subfolders, one per class", folder);
  LOOM_TRY(const Image first, read_image(files[0].path));
  about.sha256 = hash.finish();
  about.samples = files.size();
  about.classes = about.class_names.size();
  about.input = Shape::of({options.channels == 0 ? first.channels : options.channels, first.height, first.width});
  return std::unique_ptr<Dataset>(new ImageFolder(std::move(about), std::move(files)));
}

}  // namespace loom
