#include "graph/folding_budget.h"

namespace loom::graph {
namespace {

thread_local void* shared_total = nullptr;  // of the outermost scope of this thread

}  // namespace

FoldingBudget::FoldingBudget() : total_(shared_total != nullptr ? static_cast<Total*>(shared_total) : &own_) {
  if (total_ == &own_) shared_total = total_;
}
FoldingBudget::~FoldingBudget() {
  if (total_ == &own_) shared_total = nullptr;
}

void FoldingBudget::bring(std::uint64_t elements) {
  total_->most = plus_work(total_->most, times_work(elements, kFoldedPerElement));
}

Result<void> FoldingBudget::spend(std::uint64_t work) {
  if (work > total_->most - total_->spent)
    return fail(Code::LimitExceeded,
                "computing constants takes {} multiply-adds, expected at most {} (of {} for all graphs of a network)",
                work, total_->most - total_->spent, total_->most);
  total_->spent += work;
  return {};
}

}  // namespace loom::graph
