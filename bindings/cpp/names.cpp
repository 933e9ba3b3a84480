// Every word of the mission that loom.hpp resolves is named here. Made by tools/gen_bindings.py from api/loom.json.
#include <loom/loom.hpp>

template <class T>
void exists() {
  static_assert(sizeof(T) > 0);
}

int main() {
  exists<loom::VolumetricNetwork>();
  exists<decltype(loom::SystemAudit)>();
  exists<decltype(loom::GetHardwareInfo)>();
}
