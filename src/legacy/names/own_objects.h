#pragma once
// Objects of this library's own beside those of loom.h: their handles have kinds that loom.h does not use.

#include <map>
#include <memory>
#include <mutex>

#include "legacy/names/welvet_compat.h"

namespace welvet {

// T has a std::mutex `mutex`; a call that finds an object in use by another thread is refused, as loom.h does.
template <class T, int Kind>
class OwnObjects {
 public:
  static int64_t add(std::shared_ptr<T> made) {
    const std::scoped_lock lock(table().mutex);
    const int64_t handle = (int64_t{Kind} << 56) + ++table().made;
    table().all[handle] = std::move(made);
    return handle;
  }
  static std::shared_ptr<T> find(int64_t handle) {
    const std::scoped_lock lock(table().mutex);
    const auto found = table().all.find(handle);
    return found == table().all.end() ? nullptr : found->second;
  }
  // False where there is none. The object ends outside of the lock.
  static bool erase(int64_t handle) {
    std::shared_ptr<T> last;
    const std::scoped_lock lock(table().mutex);
    const auto found = table().all.find(handle);
    if (found == table().all.end()) return false;
    last = std::move(found->second);
    table().all.erase(found);
    return true;
  }
  // Calls body(object) for the object of a handle that nobody else uses.
  template <class F>
  static char* with(int64_t handle, const char* what, F&& body) {
    return answer([&] {
      const std::shared_ptr<T> object = find(handle);
      if (object == nullptr) return failed(std::string("invalid handle of ") + what);
      const std::unique_lock lock(object->mutex, std::try_to_lock);
      return lock ? body(*object) : failed(std::string(what) + " is in use by another call");
    });
  }

 private:
  // It is never destroyed: threads of the host may call while the process ends.
  struct Table {
    std::mutex mutex;
    int64_t made = 0;
    std::map<int64_t, std::shared_ptr<T>> all;
  };
  static Table& table() {
    static auto* const one = new Table;
    return *one;
  }
};

// Frees what LoomLoadModel() gave; false for a handle of something else.
bool free_language_model(int64_t handle);

// Returns the shape of so many input values of a network: its input_shape as one sample where it fits, else one row.
std::vector<std::uint64_t> sample_shape(loom_network network, std::size_t values);

}  // namespace welvet
