// Names every word of the specification that loom.hpp resolves. Made by tools/gen_bindings.py from api/loom.json.
#include <loom/loom.hpp>

template <class T>
void exists() {
  static_assert(sizeof(T) > 0);
}

int main() {
  exists<loom::VolumetricNetwork>();
  exists<decltype(loom::VolumetricLayer)>();
  exists<decltype(loom::GetIndex)>();
  exists<decltype(loom::WeightStore)>();
  exists<decltype(loom::Morph)>();
  exists<decltype(loom::SimulatePrecision)>();
  exists<decltype(loom::DenseForwardPolymorphic)>();
  exists<decltype(loom::RMSNormForwardPolymorphic)>();
  exists<decltype(loom::LayerNormForwardPolymorphic)>();
  exists<decltype(loom::MHAForwardPolymorphic)>();
  exists<decltype(loom::SoftmaxForwardPolymorphic)>();
  exists<decltype(loom::SwiGLUForwardPolymorphic)>();
  exists<decltype(loom::EmbeddingForwardPolymorphic)>();
  exists<decltype(loom::ResidualForwardPolymorphic)>();
  exists<decltype(loom::KMeansForwardPolymorphic)>();
  exists<decltype(loom::RNNForwardPolymorphic)>();
  exists<decltype(loom::LSTMForwardPolymorphic)>();
  exists<decltype(loom::CNN1ForwardPolymorphic)>();
  exists<decltype(loom::CNN2ForwardPolymorphic)>();
  exists<decltype(loom::CNN3ForwardPolymorphic)>();
  exists<decltype(loom::ConvTransposed1DForwardPolymorphic)>();
  exists<decltype(loom::ConvTransposed2DForwardPolymorphic)>();
  exists<decltype(loom::ConvTransposed3DForwardPolymorphic)>();
  exists<decltype(loom::ParallelForwardPolymorphic)>();
  exists<decltype(loom::SequentialForwardPolymorphic)>();
  exists<decltype(loom::MetacognitionForwardPolymorphic)>();
  exists<decltype(loom::ExtractDNA)>();
  exists<decltype(loom::CompareNetworks)>();
  exists<decltype(loom::LayerSignature)>();
  exists<decltype(loom::NetworkDNA)>();
  exists<decltype(loom::LogicShift)>();
  exists<decltype(loom::UniversalLoader)>();
  exists<decltype(loom::PrefixWeightMapper)>();
  exists<decltype(loom::FindComplementaryMatches)>();
  exists<decltype(loom::PolyObserver)>();
  exists<decltype(loom::AggregatingObserver)>();
  exists<loom::AdaptationTracker>();
  exists<decltype(loom::SystemAudit)>();
  exists<decltype(loom::GetHardwareInfo)>();
  exists<decltype(loom::CalculateOptimalTileSize)>();
  exists<decltype(loom::ArchConfig)>();
  exists<decltype(loom::SystolicForward)>();
  exists<decltype(loom::CommitSystolicState)>();
  exists<loom::TargetPropState>();
  exists<decltype(loom::CalculateTargetPropGaps)>();
  exists<decltype(loom::ApplyTargetPropGaps)>();
  exists<decltype(loom::LinkBudget)>();
}
