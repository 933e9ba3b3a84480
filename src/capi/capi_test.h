#pragma once
// Helpers of the tests of the C ABI.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace loom::test {

template <class S>
S sized() {
  S s{};
  s.struct_size = sizeof s;
  return s;
}

// The bytes of a blob, which is released.
inline std::string take(loom_blob blob) {
  const void* data = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(loom_blob_view(blob, &data, &size), LOOM_OK) << loom_last_error();
  std::string out(static_cast<const char*>(data), size);
  EXPECT_EQ(static_cast<const char*>(data)[size], '\0');
  EXPECT_EQ(loom_release(blob), LOOM_OK);
  return out;
}

// Values of the caller as a tensor, to read or to fill.
template <class T>
loom_tensor tensor_of(const T* values, std::size_t count, const std::uint64_t* shape = nullptr, std::size_t rank = 0) {
  auto out = sized<loom_tensor>();
  out.element = std::is_same_v<T, double>         ? LOOM_ELEMENT_FLOAT64
                : std::is_same_v<T, std::int32_t> ? LOOM_ELEMENT_INT32
                                                  : LOOM_ELEMENT_FLOAT32;
  out.data = const_cast<T*>(values), out.data_size = count * sizeof(T), out.shape = shape, out.shape_count = rank;
  return out;
}
template <class T>
loom_tensor tensor_of(const std::vector<T>& values) {
  return tensor_of(values.data(), values.size());
}
template <class T, std::size_t Rank>
loom_tensor tensor_of(const std::vector<T>& values, const std::uint64_t (&shape)[Rank]) {
  return tensor_of(values.data(), values.size(), shape, Rank);
}
template <class T = float>
std::vector<T> values_of(const loom_tensor& tensor) {
  EXPECT_EQ(tensor.element, (std::is_same_v<T, double> ? LOOM_ELEMENT_FLOAT64 : LOOM_ELEMENT_FLOAT32));
  const auto* const values = static_cast<const T*>(tensor.data);
  return {values, values + tensor.data_size / sizeof(T)};
}

// A batch of classes (int32) or values, whose memory must live as long.
class Batch {
 public:
  template <class X, class T, std::size_t Rank>
  Batch(const std::vector<X>& inputs, const std::uint64_t (&shape)[Rank], const std::vector<T>& targets)
      : inputs_(tensor_of(inputs, shape)), targets_(tensor_of(targets)) {
    batch_.struct_size = sizeof batch_;
    batch_.inputs = &inputs_, batch_.targets = &targets_;
  }
  Batch(const Batch&) = delete;
  const loom_batch* get() const { return &batch_; }

 private:
  loom_tensor inputs_, targets_;
  loom_batch batch_{};
};

template <class T>
loom_status forward(loom_network_session session, const std::vector<T>& x, const std::vector<std::uint64_t>& shape,
                    loom_tensor& y, const loom_pass* pass = nullptr) {
  const loom_tensor input = tensor_of(x.data(), x.size(), shape.data(), shape.size());
  y = sized<loom_tensor>();
  return loom_network_session_forward(session, &input, pass, &y);
}
template <class T>
loom_status backward(loom_network_session session, const std::vector<T>& dy, loom_tensor& dx) {
  const std::uint64_t count = dy.size();
  const loom_tensor gradient = tensor_of(dy.data(), dy.size(), &count, 1);
  dx = sized<loom_tensor>();
  return loom_network_session_backward(session, &gradient, 0, &dx);
}
template <class T>
loom_status gradient(loom_network_session session, const std::string& weight, std::vector<T>& values) {
  const loom_tensor to = tensor_of(values.data(), values.size());
  return loom_network_session_gradient(session, weight.c_str(), &to);
}
template <class T>
loom_status get_weight(loom_network network, const std::string& name, std::vector<T>& values) {
  const loom_tensor to = tensor_of(values.data(), values.size());
  return loom_network_get_weight(network, name.c_str(), &to);
}
template <class T>
loom_status set_weight(loom_network network, const std::string& name, const std::vector<T>& values) {
  const loom_tensor from = tensor_of(values.data(), values.size());
  return loom_network_set_weight(network, name.c_str(), &from);
}

}  // namespace loom::test
