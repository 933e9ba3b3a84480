#include "lm/host_weights.h"

#include <functional>
#include <optional>

#include "ops/matmul/matrix_gpu.h"

namespace loom {

namespace {

void visit_matrices_with_pages(const Network& network, const std::function<void(const MatrixPtr&)>& visit) {
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    for (std::size_t p = 0; w.role() == WeightRole::Matrix && p < w.parts(); ++p)
      if (const MatrixPtr& matrix = w.matrix(p); matrix != nullptr && matrix->pages() != nullptr) visit(matrix);
  });
}

}  // namespace

HostWeights::HostWeights(const Network& network) {
  visit_matrices_with_pages(network, [&](const MatrixPtr& matrix) { matrices_.push_back(matrix); });
  leaving_.reserve(matrices_.size());
}

Result<void> HostWeights::hold(ThreadPool& pool) {
  std::vector<PanelHold> holds(matrices_.size());
  std::vector<std::optional<Error>> errors(matrices_.size());
  pool.run(matrices_.size(), [&](std::size_t i) {
    auto hold = PanelHold::take(*matrices_[i]);
    if (hold)
      holds[i] = std::move(*hold);
    else
      errors[i] = std::move(hold).error();
  });
  for (auto& error : errors)
    if (error) return tl::make_unexpected(*std::move(error));
  held_ = std::move(holds);
  return {};
}

void HostWeights::leave(Device& device, ThreadPool& pool) {
  leaving_.clear();
  for (const MatrixPtr& matrix : matrices_)
    if (matrix->pages()->may_leave() && gpu::has_panels(device, *matrix)) leaving_.push_back(matrix.get());
  if (!leaving_.empty()) pool.run(leaving_.size(), [&](std::size_t i) { leaving_[i]->pages()->leave(); });
}

std::size_t HostWeights::bytes_on_host() const {
  std::size_t bytes = 0;
  for (const MatrixPtr& matrix : matrices_)
    if (matrix->pages()->is_on_host()) bytes += matrix->panels() * matrix->panel_bytes();
  return bytes;
}

std::size_t bytes_on_host(const Network& network) {
  std::size_t bytes = network.resident_bytes();
  visit_matrices_with_pages(network, [&](const MatrixPtr& matrix) {
    if (!matrix->pages()->is_on_host()) bytes -= matrix->panels() * matrix->panel_bytes();
  });
  return bytes;
}

}  // namespace loom
