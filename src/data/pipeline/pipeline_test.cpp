#include <set>

#include "core/philox.h"
#include "data/array_dataset.h"
#include "data/csv/csv.h"
#include "data/data_test.h"
#include "data/pipeline/batches.h"
#include "data/pipeline/order.h"

namespace loom {
namespace {

// `samples` of [2, 3, 4]; element e of sample s is 100 s + e, its label s % 3.
std::unique_ptr<Dataset> numbered(std::size_t samples) {
  struct Kept {
    std::vector<float> x;
    std::vector<std::uint8_t> t;
  };
  auto kept = std::make_shared<Kept>();
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t e = 0; e < 24; ++e) kept->x.push_back(static_cast<float>(100 * s + e));
    kept->t.push_back(static_cast<std::uint8_t>(s % 3));
  }
  const bool big = std::endian::native == std::endian::big;
  return std::move(*dataset_of({"x", DType::float32, big, {samples, 2, 3, 4}, std::as_bytes(std::span(kept->x)), kept},
                               {"t", DType::uint8, false, {samples}, std::as_bytes(std::span(kept->t)), kept},
                               Digest{}));
}

TEST(Order, fisher_yates_of_domain_4_keyed_by_seed_and_epoch) {  // T-42
  auto order = all_of(10);
  shuffle(order, 7, 3);
  auto expected = all_of(10);  // word by word, as T-42 and N-08 say
  for (std::uint32_t i = 9; i > 0; --i) {
    const PhiloxBlock words = philox4x32(7, {i / 4, 4u << 16, 3, 0});
    std::swap(expected[i], expected[static_cast<std::size_t>(std::uint64_t{words[i % 4]} * (i + 1) >> 32)]);
  }
  EXPECT_EQ(order, expected);
  const auto shuffled = [](std::uint64_t seed, std::uint32_t epoch) {
    auto o = all_of(1000);
    shuffle(o, seed, epoch);
    EXPECT_EQ(std::set<std::uint32_t>(o.begin(), o.end()).size(), 1000u);
    return o;
  };
  EXPECT_EQ(shuffled(1, 0), shuffled(1, 0));
  EXPECT_NE(shuffled(1, 0), shuffled(1, 1));
  EXPECT_NE(shuffled(1, 0), shuffled(2, 0));
}

TEST(Order, every_permutation_of_four_is_as_likely) {  // T-42
  std::map<std::vector<std::uint32_t>, int> count;
  for (std::uint32_t epoch = 0; epoch < 24000; ++epoch) {
    auto order = all_of(4);
    shuffle(order, 5, epoch);
    ++count[order];
  }
  ASSERT_EQ(count.size(), 24u);
  for (const auto& [order, n] : count) EXPECT_NEAR(n, 1000, 155);  // five deviations of a binomial
}

TEST(Order, splits_hold_out_the_last_or_shuffled_samples) {  // T-50
  const auto last = split_last(10, 0.25);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->training, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(last->validation, (std::vector<std::uint32_t>{7, 8, 9}));
  const auto mixed = split_shuffled(100, 0.2, 3);
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->validation.size(), 20u);
  auto both = mixed->training;
  both.insert(both.end(), mixed->validation.begin(), mixed->validation.end());
  EXPECT_NE(both, all_of(100));
  std::ranges::sort(both);
  EXPECT_EQ(both, all_of(100));
  EXPECT_EQ(split_shuffled(100, 0.2, 3)->training, mixed->training);
  for (const double bad : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()})
    expect_error(split_last(10, bad), Code::OutOfRange, {"fraction"});
  expect_error(split_last(2, 0.8), Code::OutOfRange, {"none of 2"});
}

TEST(Normalise, means_and_deviations_are_numpys) {  // T-42
  const auto set = open_csv(golden_data("table.csv"),
                            {.header = false, .delimiter = ';', .target_index = 0, .targets = TargetKind::values});
  ASSERT_TRUE(set);
  const auto& expected = expected_data()["fit"];
  const auto fit = fit_mean_std(**set, all_of(3), NormaliseBy::element);
  ASSERT_TRUE(fit);
  for (std::size_t i = 0; i < 2; ++i) {  // numpy sums in another order: some units of f64, then one rounding to f32
    EXPECT_FLOAT_EQ(fit->offset[i], expected["mean"][i].get<float>());
    EXPECT_FLOAT_EQ(1 / fit->scale[i], expected["std"][i].get<float>());
  }
  const auto whole = fit_mean_std(**set, all_of(3), NormaliseBy::whole);
  EXPECT_FLOAT_EQ(whole->offset[0], expected["whole_mean"].get<float>());
  EXPECT_FLOAT_EQ(1 / whole->scale[0], expected["whole_std"].get<float>());
  const auto range = fit_min_max(**set, all_of(2), NormaliseBy::last_axis);
  EXPECT_EQ(range->offset, (std::vector<float>{0.5f, 2}));
  EXPECT_EQ(range->scale, (std::vector<float>{2, 0.5f}));
  expect_error(fit_mean_std(**set, {}, NormaliseBy::whole), Code::InvalidArgument, {"no samples"});
}

TEST(Normalise, groups_and_constant_features) {  // T-42
  const auto set = numbered(70);
  const auto channels = fit_mean_std(*set, all_of(70), NormaliseBy::first_axis);
  ASSERT_TRUE(channels);
  EXPECT_EQ(channels->offset, (std::vector<float>{3455.5f, 3467.5f}));
  std::vector<float> sample(24, 3455.5f);
  channels->apply(set->info().input, sample);
  EXPECT_EQ(sample[0], 0.0f);
  EXPECT_LT(sample[12], 0.0f);
  const auto constant = fit_mean_std(*set, all_of(1), NormaliseBy::element);
  EXPECT_EQ(constant->scale, std::vector<float>(24, 1.0f));
  EXPECT_EQ(fit_mean_std(*set, all_of(1), NormaliseBy::last_axis)->offset, (std::vector<float>{10, 11, 12, 13}));
  expect_error(Normalisation{NormaliseBy::whole, {1, 2}, {1, 2}}.check(set->info().input), Code::ShapeMismatch,
               {"2 offsets", "need 1"});
  expect_error(
      Normalisation{NormaliseBy::whole, {1}, {std::numeric_limits<float>::infinity()}}.check(set->info().input),
      Code::NonFinite, {"group 0"});
}

TEST(Augment, every_change_is_a_flip_a_shift_or_a_crop_of_the_image) {  // T-42
  const Shape input = Shape::of({2, 3, 4});
  std::vector<float> image(24), out(24);
  std::iota(image.begin(), image.end(), 1.0f);
  const AugmentConfig flips{.flip_horizontal = true, .flip_vertical = true};
  std::set<std::vector<float>> seen;
  for (std::uint32_t s = 0; s < 64; ++s) {
    augment_pixels(flips, {1, 0, s}, input, input, image, out);
    EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0.0f), 300.0f);
    seen.insert(out);
  }
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_TRUE(seen.contains(image));
  std::vector<float> turned = image;  // both flips: each channel backwards
  std::reverse(turned.begin(), turned.begin() + 12);
  std::reverse(turned.begin() + 12, turned.end());
  EXPECT_TRUE(seen.contains(turned));

  seen.clear();
  for (std::uint32_t s = 0; s < 400; ++s) {
    augment_pixels({.shift = 1}, {1, 0, s}, input, input, image, out);
    seen.insert(out);
  }
  EXPECT_EQ(seen.size(), 9u);
  // down and right
  EXPECT_TRUE(seen.contains({0, 0, 0, 0, 0, 1, 2, 3, 0, 5, 6, 7, 0, 0, 0, 0, 0, 13, 14, 15, 0, 17, 18, 19}));

  const AugmentConfig crop{.crop_height = 2, .crop_width = 2, .padding = 1};
  const auto cropped = crop.output_shape(input);
  ASSERT_TRUE(cropped);
  EXPECT_EQ(*cropped, Shape::of({2, 2, 2}));
  seen.clear();
  std::vector<float> small(8);
  for (std::uint32_t s = 0; s < 600; ++s) {
    augment_pixels(crop, {1, 0, s}, input, *cropped, image, small);
    seen.insert(small);
  }
  EXPECT_EQ(seen.size(), 20u);  // 4 x 5 places
  EXPECT_TRUE(seen.contains({6, 7, 10, 11, 18, 19, 22, 23}));
  expect_error(AugmentConfig{.crop_height = 6}.output_shape(input), Code::InvalidConfig, {"6 x 4"});
  expect_error(AugmentConfig{.flip_vertical = true}.output_shape(Shape::of({5})), Code::ShapeMismatch, {"[5]"});
  expect_error(AugmentConfig{.noise = -1}.output_shape(input), Code::InvalidConfig, {"noise"});
}

TEST(Augment, noise_is_normal_and_of_its_own_for_every_sample) {  // T-42
  std::vector<float> a(4000), b(4000);
  add_noise({.noise = 0.5f}, {1, 2, 3}, a);
  add_noise({.noise = 0.5f}, {1, 2, 4}, b);
  double sum = 0, square = 0;
  for (const float v : a) sum += v, square += v * v;
  EXPECT_NEAR(sum / 4000, 0, 0.04);  // five deviations
  EXPECT_NEAR(square / 4000, 0.25, 0.03);
  EXPECT_NE(a, b);
}

std::vector<float> inputs_from(Batches& batches, std::uint32_t epoch, std::size_t position,
                               std::vector<std::int32_t>* labels = nullptr) {
  EXPECT_TRUE(batches.seek(epoch, position));
  std::vector<float> out;
  for (Batch batch; batches.next(batch).value();) {
    out.insert(out.end(), batch.inputs.begin(), batch.inputs.end());
    if (labels) labels->insert(labels->end(), batch.labels.begin(), batch.labels.end());
  }
  return out;
}

TEST(Batches, are_the_samples_in_order) {  // T-42
  const auto set = numbered(10);
  auto batches = Batches::create(*set, {1, 3, 5, 7, 9}, {.batch_size = 2});
  ASSERT_TRUE(batches) << batches.error().text();
  EXPECT_EQ(batches->batches(), 3u);
  std::vector<std::size_t> sizes;
  for (Batch batch; batches->next(batch).value();) sizes.push_back(batch.size);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 2, 1}));
  std::vector<std::int32_t> labels;
  EXPECT_EQ(inputs_from(*batches, 1, 0, &labels), read_samples(*set, {1, 3, 5, 7, 9})->inputs);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{1, 0, 2, 1, 0}));
  auto whole = Batches::create(*set, all_of(5), {.batch_size = 2, .drop_last = true});
  EXPECT_EQ(whole->batches(), 2u);
  EXPECT_EQ(inputs_from(*whole, 0, 0).size(), 4 * 24u);
  auto none = Batches::create(*set, all_of(5), {.batch_size = 6, .drop_last = true});
  EXPECT_EQ(none->batches(), 0u);
  EXPECT_TRUE(inputs_from(*none, 0, 0).empty());
  expect_error(Batches::create(*set, all_of(5), {.batch_size = 0}), Code::InvalidConfig, {"0 samples"});
  expect_error(Batches::create(*set, {10}, {}), Code::IndexOutOfRange, {"sample 10"});
  expect_error(whole->seek(0, 6), Code::OutOfRange, {"position 6", "5 samples"});
}

TEST(Batches, a_run_resumes_from_any_sample_with_the_same_bits) {  // T-60
  const auto set = numbered(23);
  BatchConfig config{.batch_size = 4, .shuffle = true, .seed = 9};
  config.augment = {.flip_horizontal = true, .shift = 1, .crop_height = 2, .padding = 1, .noise = 0.1f};
  const auto fit = fit_mean_std(*set, all_of(23), NormaliseBy::first_axis);
  auto one = Batches::create(*set, all_of(23), config, *fit);
  ASSERT_TRUE(one) << one.error().text();
  const std::size_t size = one->input_shape().elements();
  EXPECT_EQ(size, 2 * 2 * 4u);
  const auto whole = inputs_from(*one, 2, 0);
  ASSERT_EQ(whole.size(), 23 * size);
  for (std::size_t position = 0; position <= 23; ++position) {
    auto other = Batches::create(*set, all_of(23), config, *fit);
    EXPECT_EQ(inputs_from(*other, 2, position),
              std::vector<float>(whole.begin() + static_cast<std::ptrdiff_t>(position * size), whole.end()))
        << position;
  }
  EXPECT_NE(inputs_from(*one, 3, 0), whole);
  config.batch_size = 7;  // batch neighbours do not matter
  auto sevens = Batches::create(*set, all_of(23), config, *fit);
  EXPECT_EQ(inputs_from(*sevens, 2, 0), whole);
}

TEST(Batches, next_allocates_nothing) {  // N-01
  const auto set = numbered(16);
  BatchConfig config{.batch_size = 4, .shuffle = true};
  config.augment = {.flip_horizontal = true, .noise = 0.1f};
  auto batches = Batches::create(*set, all_of(16), config, {NormaliseBy::whole, {1}, {2}});
  ASSERT_TRUE(batches);
  const std::size_t before = allocated_bytes();
  std::size_t samples = 0;
  for (Batch batch; batches->next(batch).value();) samples += batch.size;
  EXPECT_EQ(allocated_bytes(), before);
  EXPECT_EQ(samples, 16u);
}

// The output that every target must print: order, augmentation, normalisation and noise of one run.
TEST(Batches, bits_are_those_of_the_table) {  // T-42
  const auto set = numbered(23);
  BatchConfig config{.batch_size = 4, .shuffle = true, .seed = 9};
  config.augment = {
      .flip_horizontal = true, .flip_vertical = true, .shift = 1, .crop_height = 2, .padding = 1, .noise = 0.1f};
  auto batches = Batches::create(*set, all_of(23), config, *fit_mean_std(*set, all_of(23), NormaliseBy::first_axis));
  ASSERT_TRUE(batches);
  Sha256 hash;
  hash.update_floats(inputs_from(*batches, 0, 0));
  hash.update_floats(inputs_from(*batches, 1, 0));
  EXPECT_EQ(to_hex(hash.finish()).substr(0, 16), "f28cb7f9cbd0f744");
}

}  // namespace
}  // namespace loom
