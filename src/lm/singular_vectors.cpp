#include "lm/singular_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace loom {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Makes v orthogonal to every basis vector, twice, and returns its length.
double orthogonalise(std::vector<double>& v, const std::vector<std::vector<double>>& basis) {
  for (int pass = 0; pass < 2; ++pass)
    for (const std::vector<double>& q : basis) {
      const double part = dot(v, q);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] -= part * q[i];
    }
  return std::sqrt(dot(v, v));
}

// A fixed vector without structure.
std::vector<double> start_vector(std::size_t n, std::uint64_t seed) {
  std::vector<double> v(n);
  for (double& x : v) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    x = static_cast<double>(seed >> 40) / 8388608.0 - 1.0;
  }
  return v;
}

// Eigenvalues of a symmetric matrix a [n, n] on its diagonal and the vectors as the columns of v, by Jacobi's
// rotations.
void diagonalise(std::vector<double>& a, std::vector<double>& v, std::size_t n) {
  v.assign(n * n, 0.0);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  for (const double x : a) total += x * x;
  const double small = 1e-15 * std::sqrt(total);
  bool rotated = true;
  for (int pass = 0; pass < 60 && std::exchange(rotated, false); ++pass)  // they converge in ten
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const double off = a[p * n + q];
        if (std::abs(off) <= small) continue;
        rotated = true;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
        const double t = (theta < 0 ? -1.0 : 1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[k * n + p], y = a[k * n + q];
          a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[p * n + k], y = a[q * n + k];
          a[p * n + k] = c * x - s * y, a[q * n + k] = s * x + c * y;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = v[k * n + p], y = v[k * n + q];
          v[k * n + p] = c * x - s * y, v[k * n + q] = s * x + c * y;
        }
      }
}

// The Lanczos process for W W^T.
class Lanczos {
 public:
  Lanczos(std::span<const float> w, std::size_t rows, std::size_t cols) : w_(w), rows_(rows), cols_(cols) {}

  void extend(std::size_t steps) {
    while (basis_.size() < std::min(steps, rows_)) {
      if (next_.empty()) next_ = start_vector(rows_, basis_.size() + 1), beta_ = 0;
      const double length = orthogonalise(next_, basis_);
      if (!(length > 0)) break;
      for (double& x : next_) x /= length;
      betas_.push_back(beta_);
      basis_.push_back(next_);
      multiply(basis_.back(), next_);
      alphas_.push_back(dot(next_, basis_.back()));
      largest_ = std::max(largest_, std::abs(alphas_.back()));
      beta_ = orthogonalise(next_, basis_);
      if (beta_ <= 1e-14 * largest_) next_.clear();  // an invariant subspace: go on from another vector
    }
  }

  // Takes the vectors of the `count` largest values; false while one of them is not exact to 1e-11 of the largest.
  bool take(std::size_t count, std::vector<double>& to) const {
    const std::size_t n = basis_.size();
    std::vector<double> t(n * n, 0.0), v;
    for (std::size_t i = 0; i < n; ++i) {
      t[i * n + i] = alphas_[i];
      if (i > 0) t[i * n + i - 1] = t[(i - 1) * n + i] = betas_[i];
    }
    diagonalise(t, v, n);
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return t[a * n + a] > t[b * n + b]; });
    const double rest = n == rows_ || next_.empty() ? 0 : beta_;
    to.assign(count * rows_, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t column = order[i];
      if (std::abs(rest * v[(n - 1) * n + column]) > 1e-11 * std::abs(t[order[0] * n + order[0]])) return false;
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t r = 0; r < rows_; ++r) to[i * rows_ + r] += v[k * n + column] * basis_[k][r];
    }
    return true;
  }
  bool is_complete(std::size_t wanted) const { return basis_.size() < wanted || basis_.size() == rows_; }

 private:
  void multiply(const std::vector<double>& x, std::vector<double>& y) const {
    std::vector<double> h(cols_, 0.0);
    for (std::size_t r = 0; r < rows_; ++r)
      for (std::size_t c = 0; c < cols_; ++c) h[c] += x[r] * static_cast<double>(w_[r * cols_ + c]);
    y.assign(rows_, 0.0);
    for (std::size_t r = 0; r < rows_; ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < cols_; ++c) sum += static_cast<double>(w_[r * cols_ + c]) * h[c];
      y[r] = sum;
    }
  }

  std::span<const float> w_;
  std::size_t rows_, cols_;
  std::vector<std::vector<double>> basis_;
  std::vector<double> alphas_, betas_, next_;
  double beta_ = 0, largest_ = 0;
};

}  // namespace

Result<std::vector<double>> left_singular_vectors(std::span<const float> w, std::size_t rows, std::size_t cols,
                                                  std::size_t count) {
  if (count > std::min(rows, cols))
    return fail(Code::InvalidArgument, "{} singular vectors of a {} x {} matrix, at most {} expected", count, rows,
                cols, std::min(rows, cols));
  for (const float x : w)
    if (!std::isfinite(x)) return fail(Code::NonFinite, "singular vectors of a matrix with infinite or NaN values");
  Lanczos lanczos(w, rows, cols);
  std::vector<double> vectors;
  for (std::size_t steps = 2 * count + 24;; steps += steps / 2) {
    lanczos.extend(steps);
    if (lanczos.take(count, vectors) || lanczos.is_complete(steps)) return vectors;
  }
}

}  // namespace loom
