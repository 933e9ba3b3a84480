#pragma once
// One object of a stream's payload, read key by key. The text is untrusted: every number has a range, every list the
// length that the layer asks for, every error its place and both numbers.

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/shape.h"

namespace loom {

// Consecutive numbers of one name in a list of weights.
struct WeightPiece {
  std::string name;
  std::vector<std::size_t> extents;
};
struct NamedValues {
  std::string name;
  std::vector<float> values;
};

class PayloadObject {
 public:
  // `what` begins messages, as "dense"; the object must outlive this.
  PayloadObject(const Json& object, Steps place, std::string what)
      : object_(object), place_(std::move(place)), what_(std::move(what)) {}

  // The order of a square matrix that does not say its own (plan_layer()).
  std::string_view square_layout = "out_in";

  const std::string& what() const { return what_; }
  const Steps& place() const { return place_; }

  // The member, or null where it is absent or null itself. A member that is asked for counts as read.
  const Json* get(std::string_view key);
  // A whole number in [least, most]; without the member `absent`, or InvalidConfig where that is outside of the
  // range.
  Result<std::size_t> size(std::string_view key, std::size_t least, std::size_t most, std::size_t absent);
  // The value of the first of two names that exists.
  Result<std::size_t> size_of(std::string_view key, std::string_view other);
  Result<double> number(std::string_view key, double absent);
  Result<std::string> text(std::string_view key, std::string_view absent);
  Result<std::vector<std::size_t>> sizes(std::string_view key, std::size_t least);

  // A list of numbers, or their bytes in Base64 (little-endian float32, or {"dtype": "float16", "base64": ".."}), each
  // rounded to f32, cut into pieces. ShapeMismatch names the two lengths; NonFinite the first number that f32 lacks.
  Result<std::vector<NamedValues>> weights(std::string_view key, std::vector<WeightPiece> pieces);

  // UnknownKey for members that nobody has asked for: they might change results.
  Result<void> finish() const;

  tl::unexpected<Error> wrong(std::string_view key, Code code, const std::string& message) const;

 private:
  const Json& object_;
  Steps place_;
  std::string what_;
  std::set<std::string, std::less<>> read_;
};

// The numbers of a list or of Base64, as weights() takes them.
Result<std::vector<float>> float_values(const Json& value);

}  // namespace loom
