// Every word of the mission that loom.hpp resolves is named here. Made by tools/gen_bindings.py from api/loom.json.
#include <loom/loom.hpp>

template <class T>
void exists() {
  static_assert(sizeof(T) > 0);
}

int main() {
  exists<loom::VolumetricNetwork>();
  exists<decltype(loom::Morph)>();
  exists<decltype(loom::DenseForwardPolymorphic)>();
  exists<decltype(loom::ExtractDNA)>();
  exists<decltype(loom::CompareNetworks)>();
  exists<decltype(loom::LayerSignature)>();
  exists<decltype(loom::NetworkDNA)>();
  exists<decltype(loom::LogicShift)>();
  exists<decltype(loom::SystemAudit)>();
  exists<decltype(loom::GetHardwareInfo)>();
  exists<decltype(loom::ArchConfig)>();
  exists<decltype(loom::SystolicForward)>();
  exists<loom::TargetPropState>();
  exists<decltype(loom::CalculateTargetPropGaps)>();
  exists<decltype(loom::ApplyTargetPropGaps)>();
  exists<decltype(loom::LinkBudget)>();
}
