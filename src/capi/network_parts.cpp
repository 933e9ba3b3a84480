// Parts of networks, one at a time, in loom.h.

#include <algorithm>

#include "capi/guard.h"
#include "capi/network_objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "dtypes/quantize.h"
#include "evolution/ensemble/ensemble.h"
#include "host/tile_sizes.h"
#include "network/spec/spec.h"

namespace loom::capi {
namespace {

// A byte per case, 0 or 1.
ModelPerformance performance_of(std::string_view marks) {
  ModelPerformance out;
  for (const char mark : marks) out.mask.push_back(mark != 0);
  return out;
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_network_index(loom_network network, const uint64_t* address, size_t address_count, uint64_t* index) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(index));
    LOOM_TRY(const Address cell, address_of(address, address_count));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(*index, taken.network().index_of(cell));
    return {};
  });
}

loom_status loom_network_layer(loom_network network, const uint64_t* address, size_t address_count, loom_blob* layer) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(layer));
    LOOM_TRY(const Address cell, address_of(address, address_count));
    LOOM_TRY(const auto taken, take_network<Reading>(network));
    LOOM_TRY(const std::size_t index, taken.network().index_of(cell));
    const Layer* const found = taken.network().cell(index).layer.get();
    if (found == nullptr) return fail(Code::NotFound, "cell {} is empty", index);
    LOOM_TRY(*layer, make_blob(printed_spec(*found)));
    return {};
  });
}

loom_status loom_dtype_simulate(const float* values, size_t values_count, uint64_t columns, const char* dtype,
                                float* to, size_t to_count) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const auto given, need_array(values, values_count, "values"));
    LOOM_TRY(const auto room, need_array(to, to_count, "to"));
    LOOM_TRY(const std::string_view type, need_text(dtype, "dtype"));
    LOOM_TRY(const DType wanted, dtype_from_name(type));
    if (given.size() != room.size())
      return fail(Code::ShapeMismatch, "{} values, there is room for {}", given.size(), room.size());
    if (given.empty()) return fail(Code::EmptyTensor, "values is empty");
    const std::uint64_t cols = columns != 0 ? columns : given.size();
    if (given.size() % cols != 0) return fail(Code::ShapeMismatch, "{} values in rows of {}", given.size(), cols);
    const auto rows = static_cast<std::size_t>(given.size() / cols);
    LOOM_TRY(const QuantizedMatrix codes, quantize(wanted, given, rows, static_cast<std::size_t>(cols)));
    std::ranges::copy(dequantize(codes), to);
    return {};
  });
}

loom_status loom_matches_find(const void* right, size_t right_size, uint64_t models, double min_coverage,
                              loom_blob* matches) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(matches));
    LOOM_TRY(const std::string_view marks, need_bytes(right, right_size, "right"));
    if (models == 0 || marks.size() % models != 0)
      return fail(Code::ShapeMismatch, "right has {} bytes for {} models", marks.size(), models);
    const auto cases = static_cast<std::size_t>(marks.size() / models);
    if (cases == 0) return fail(Code::EmptyTensor, "right is empty");
    std::vector<ModelPerformance> all(static_cast<std::size_t>(models));
    for (std::size_t m = 0; m < all.size(); ++m) all[m] = performance_of(marks.substr(m * cases, cases));
    LOOM_TRY(const auto found, find_complementary_matches(all, min_coverage));
    Json list = Json::array();
    for (const ComplementaryMatch& each : found)
      list.push_back({{"a", each.a},
                      {"b", each.b},
                      {"coverage", each.coverage},
                      {"overlap", each.overlap},
                      {"cosine", performance_similarity(all[each.a], all[each.b])}});
    LOOM_TRY(*matches, make_blob(list));
    return {};
  });
}

loom_status loom_matches_similarity(const void* first, size_t first_size, const void* second, size_t second_size,
                                    double* cosine) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(cosine));
    LOOM_TRY(const std::string_view a, need_bytes(first, first_size, "first"));
    LOOM_TRY(const std::string_view b, need_bytes(second, second_size, "second"));
    if (a.size() != b.size()) return fail(Code::ShapeMismatch, "first has {} cases, second {}", a.size(), b.size());
    if (a.empty()) return fail(Code::EmptyTensor, "first is empty");
    *cosine = performance_similarity(performance_of(a), performance_of(b));
    return {};
  });
}

loom_status loom_layer_kind_tiles(const char* kind, const char* dtype, const char* isa, loom_blob* sizes) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(sizes));
    LOOM_TRY(const std::string_view name, need_text(kind, "kind"));
    LOOM_TRY(const std::string_view type, need_text(dtype, "dtype"));
    LOOM_TRY(const DType wanted, dtype_from_name(type));
    std::optional<Isa> target;
    if (isa != nullptr) {
      LOOM_TRY(target, isa_from_name(isa));
    }
    LOOM_TRY(const TileSizes found, tile_sizes(name, wanted, target));
    LOOM_TRY(*sizes, make_blob(to_json(found)));
    return {};
  });
}
