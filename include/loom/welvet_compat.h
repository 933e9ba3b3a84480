/* The names of Loom 0.8x over loom.h. Made by tools/gen_bindings.py from api/welvet_compat.json.

   A handle is positive and of one kind; one that was released or is of another kind is an error, never a crash.
   Constructors return -1 when they fail, and LoomLastError() says why. Texts that are returned are freed by
   FreeLoomString(); one that begins {"error": is an error. api/welvet_compat.json describes each name. */
#ifndef LOOM_WELVET_COMPAT_H
#define LOOM_WELVET_COMPAT_H

#include <stdint.h>

#if defined(_WIN32)
#define WELVET_API __declspec(dllexport)
#else
#define WELVET_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An index that is out of range gives a Type of -1. */
typedef struct LoomLayerSpec {
  int Z, Y, X, L, Type, Activation, DType, InputHeight, InputWidth, InputDepth, OutputHeight, OutputWidth, OutputDepth;
  int InputChannels, Filters, KernelSize, Stride, Padding, NumHeads, NumKVHeads, DModel, SeqLength, VocabSize, EmbeddingDim;
  int NumClusters, UseTiling, TileSize;
} LoomLayerSpec;

typedef struct LoomLayerStats {
  float Avg, Max, Min;
  int Active, Total;
} LoomLayerStats;

WELVET_API char* LoomLoadSafetensorsWithShapes(const char* path);
WELVET_API int64_t LoomBuildNetworkFromJSON(const char* jsonConfig);
WELVET_API int64_t LoomCreateNetwork(const char* jsonConfig);
WELVET_API int64_t LoomLoadUniversal(const char* path);
WELVET_API void LoomFreeNetwork(int64_t handle);
WELVET_API char* LoomLoadWithPrefixes(int64_t n, const char* path);
WELVET_API char* LoomGetNetworkInfo(int64_t handle);
WELVET_API char* LoomExtractDNA(int64_t n);
WELVET_API char* LoomExtractNetworkBlueprint(int64_t n, const char* modelID);
WELVET_API char* LoomCompareDNA(const char* dna1JSON, const char* dna2JSON);
WELVET_API char* LoomSaveSafetensors(const char* path, const char* tensorsJSON);
WELVET_API char* LoomGetMethodsJSON(void);
WELVET_API char* LoomLoadSafetensors(const char* path);
WELVET_API char* LoomLoadSafetensorsFromBytes(const char* buffer, int length);
WELVET_API char* LoomGetLayerTelemetry(int64_t n, int li);
WELVET_API char* LoomLoadUniversalDetailed(const char* path);
WELVET_API int64_t LoomCreateTransformer(int64_t n, const char* embeddingsJSON, const char* lmHeadJSON,
    const char* finalNormJSON);
WELVET_API char* LoomMemoryHistoryWriteJSON(const char* path);
WELVET_API void FreeLoomString(const char* ptr);
WELVET_API int64_t LoomCreateStepState(int64_t n, int dtype);
WELVET_API void LoomFreeStepState(int64_t handle);
WELVET_API void LoomSetInput(int64_t state, const float* data, int length);
WELVET_API int64_t LoomStep(int64_t n, int64_t state, int captureHistory);
WELVET_API char* LoomGetOutput(int64_t state, int li);
WELVET_API char* LoomSequentialForward(int64_t n, const float* inputData, int inputLen);
WELVET_API char* LoomConfigureTrainingMode(int64_t n, int mode);
WELVET_API char* LoomForwardPolymorphic(int64_t n, const float* inputData, int inputLen, const char* shapeJSON);
WELVET_API char* LoomBackwardPolymorphic(int64_t n, const float* inputData, int inputLen, const char* inputShapeJSON,
    const float* targetData, int targetLen, const char* targetShapeJSON);
WELVET_API char* LoomMorphLayer(int64_t n, int li, int targetDType);
WELVET_API int64_t LoomTokensToTensor(int64_t tr, const uint32_t* tokens, int count);
WELVET_API int64_t LoomForwardFull(int64_t tr, int64_t inputTensor);
WELVET_API void LoomFreeTensor(int64_t handle);
WELVET_API void LoomApplyGradients(int64_t n, int li, const char* gradWeightsJSON, float learningRate);
WELVET_API char* LoomStepBackward(int64_t n, int64_t state, const float* gradOutputData, int gradOutputLen);
WELVET_API void LoomApplyTween(int64_t n, int64_t state, const float* targetData, int targetLen, float learningRate);
WELVET_API int64_t LoomCreateTweenState(int64_t n, int dtype);
WELVET_API char* LoomTweenForward(int64_t n, int64_t tp, const float* inputData, int inputLen);
WELVET_API void LoomTweenBackward(int64_t n, int64_t tp, const float* targetData, int targetLen);
WELVET_API char* LoomDefaultTweenConfig(void);
WELVET_API void LoomApplyTweenGaps(int64_t n, int64_t tp, float learningRate);
WELVET_API char* LoomComputeLossGradient(int64_t y, int64_t target, const char* lossType);
WELVET_API char* LoomTrain(int64_t n, const float* inputData, int inputLen, const float* targetData, int targetLen, int B,
    int inDim, int outDim, const char* configJSON);
WELVET_API char* LoomDenseBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomRMSNormBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomLayerNormBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomMHABackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomSoftmaxBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t postAct);
WELVET_API char* LoomSwiGLUBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomEmbeddingBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomResidualBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomKMeansBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomRNNBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomLSTMBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomCNN1Backward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomCNN2Backward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomCNN3Backward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomConvTransposed1DBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomConvTransposed2DBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomConvTransposed3DBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API void LoomTweenBackwardChainRule(int64_t n, int64_t tp, int64_t target);
WELVET_API void LoomTweenBackwardLayerwise(int64_t n, int64_t tp, int64_t target);
WELVET_API void LoomApplyRecursiveGradients(int64_t n, int li, const char* gradWeightsJSON, float learningRate);
WELVET_API char* LoomDenseForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomRMSNormForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomLayerNormForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomMHAForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomSoftmaxForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomSwiGLUForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomEmbeddingForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomResidualForward(int64_t n, int li, int64_t x, int64_t skip);
WELVET_API char* LoomKMeansForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomRNNForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomLSTMForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomCNN1Forward(int64_t n, int li, int64_t x);
WELVET_API char* LoomCNN2Forward(int64_t n, int li, int64_t x);
WELVET_API char* LoomCNN3Forward(int64_t n, int li, int64_t x);
WELVET_API char* LoomConvTransposed1DForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomConvTransposed2DForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomConvTransposed3DForward(int64_t n, int li, int64_t x);
WELVET_API char* LoomDenseForwardTiled(int64_t n, int li, int64_t x);
WELVET_API char* LoomCNN1ForwardTiled(int64_t n, int li, int64_t x);
WELVET_API char* LoomCNN2ForwardTiled(int64_t n, int li, int64_t x);
WELVET_API char* LoomCNN3ForwardTiled(int64_t n, int li, int64_t x);
WELVET_API char* LoomRNNForwardTiled(int64_t n, int li, int64_t x);
WELVET_API char* LoomLSTMForwardTiled(int64_t n, int li, int64_t x);
WELVET_API char* LoomMHAForwardTiled(int64_t n, int li, int64_t x);
WELVET_API char* LoomSwiGLUForwardTiled(int64_t n, int li, int64_t x);
WELVET_API char* LoomEmbeddingForwardTiled(int64_t n, int li, int64_t x);
WELVET_API char* LoomResidualForwardTiled(int64_t n, int li, int64_t x, int64_t skip);
WELVET_API char* LoomCNN1BackwardTiled(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomCNN2BackwardTiled(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomCNN3BackwardTiled(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomRNNBackwardTiled(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomLSTMBackwardTiled(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomParallelBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomSwiGLUBackwardTiled(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomEmbeddingBackwardTiled(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API char* LoomResidualBackwardTiled(int64_t n, int li, int64_t gOut, int64_t x, int64_t pre);
WELVET_API void LoomInitLayerNormCell(int64_t n, int z, int y, int x, int l, int size, int dtype);
WELVET_API char* LoomDispatchLayer(int64_t n, int li, int64_t x, int64_t skip);
WELVET_API char* LoomDispatchLayerBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t skip, int64_t pre);
WELVET_API int64_t LoomNewVolumetricNetwork(int depth, int rows, int cols, int layersPerCell);
WELVET_API char* LoomComputeLayerStats(int64_t tensor);
WELVET_API int64_t LoomLoadEntity(const char* path);
WELVET_API int64_t LoomLoadEntityWithOptions(const char* path, const char* layerIndicesJSON);
WELVET_API char* LoomSerializeEntity(int64_t n);
WELVET_API int64_t LoomDeserializeEntity(const char* dataBuf, int length);
WELVET_API int64_t LoomDeserializeEntityLayer(const char* dataBuf, int length, int li);
WELVET_API char* LoomLayerPersistenceFromEntity(const char* dataBuf, int length, int li);
WELVET_API int LoomEntityGPUWeightDType(int storedDType, int useGPU);
WELVET_API char* LoomPackQ4_0GPU(const char* weightsJSON);
WELVET_API int64_t LoomLoadEntityTransformer(const char* path);
WELVET_API int64_t LoomBuildTransformerFromEntity(int64_t entity, int dtype);
WELVET_API void LoomFreeEntityTransformer(int64_t entity);
WELVET_API int64_t LoomLoadEntityTransformerAs(const char* path, int dtype);
WELVET_API int64_t LoomOpenEntityFile(const char* path);
WELVET_API int64_t LoomOpenEntityFileAt(const char* path, int64_t baseOffset, int64_t maxLoomEnd);
WELVET_API void LoomCloseEntityFile(int64_t entityFile);
WELVET_API int64_t LoomLoadEntityTransformerFromFile(const char* path);
WELVET_API int64_t LoomLoadEntityTransformerFromFileAt(const char* path, int64_t baseOffset, int64_t maxLoomEnd);
WELVET_API int64_t LoomLoadEntityTransformerTopology(int64_t entityFile);
WELVET_API char* LoomLoadNetworkLayerWeights(int64_t entityFile, int64_t n, const char* layerIndicesJSON);
WELVET_API char* LoomPrepareEntityTransformerLayerIndices(int64_t entity, const char* layerIndicesJSON);
WELVET_API char* LoomDequantizeQ4_0GPUPacked(const char* scalesPackedJSON);
WELVET_API char* LoomSerializeNetwork(int64_t n);
WELVET_API int64_t LoomDeserializeNetwork(const char* jsonBuf, int length);
WELVET_API char* LoomLayerPersistenceFromJSON(const char* jsonBuf, int length, int li);
WELVET_API char* LoomLayerNativePersistenceSnapshot(int64_t n, int li, int dtype);
WELVET_API char* LoomDefaultSpliceConfig(void);
WELVET_API int64_t LoomSpliceDNA(int64_t handleA, int64_t handleB, const char* cfgJSON);
WELVET_API char* LoomSpliceDNAWithReport(int64_t handleA, int64_t handleB, const char* cfgJSON);
WELVET_API char* LoomDefaultNEATConfig(int dModel);
WELVET_API int64_t LoomNEATMutate(int64_t handle, const char* cfgJSON);
WELVET_API int64_t LoomNewNEATPopulation(int64_t seed, int size, const char* cfgJSON);
WELVET_API int LoomNEATPopulationSize(int64_t pop);
WELVET_API int64_t LoomNEATPopulationGetNetwork(int64_t pop, int index);
WELVET_API char* LoomNEATPopulationEvolveWithFitnesses(int64_t pop, const char* fitnessesJSON);
WELVET_API int64_t LoomNEATPopulationBest(int64_t pop);
WELVET_API double LoomNEATPopulationBestFitness(int64_t pop);
WELVET_API char* LoomNEATPopulationSummary(int64_t pop, int generation);
WELVET_API void LoomFreeNEATPopulation(int64_t pop);
WELVET_API char* LoomLLMListModels(const char* hubDir);
WELVET_API char* LoomLLMListInstalledModels(const char* hubDir);
WELVET_API int64_t LoomCreateLLM(const char* snapshotDir, int execMode, int precisionInt, int useGPUInt, int deterministicInt);
WELVET_API char* LoomLLMGenerate(int64_t handle, const char* systemPrompt, const char* userMsg, float temperatureF, int topKI,
    int maxTokensI);
WELVET_API void LoomLLMStartGenerate(int64_t handle, const char* systemPrompt, const char* userMsg, float temperatureF,
    int topKI, int maxTokensI);
WELVET_API char* LoomLLMPollToken(int64_t handle);
WELVET_API void LoomLLMResetHistory(int64_t handle);
WELVET_API void LoomFreeLLM(int64_t handle);
WELVET_API int64_t LoomLoadTokenizer(const char* path);
WELVET_API char* LoomTokenize(int64_t handle, const char* text);
WELVET_API char* LoomDetokenize(int64_t handle, const char* tokensJSON);
WELVET_API void LoomFreeTokenizer(int64_t handle);
WELVET_API char* LoomSetTransformerForwardMode(int64_t tr, int mode);
WELVET_API int LoomGetTransformerForwardMode(int64_t tr);
WELVET_API int LoomTransformerCPUForwardQueueStepTotal(int64_t tr);
WELVET_API char* LoomTransformerBeginCPUForwardQueue(int64_t tr, const char* inputJSON);
WELVET_API char* LoomTransformerCPUForwardQueueTick(int64_t tr);
WELVET_API char* LoomTransformerCPUForwardQueueResult(int64_t tr);
WELVET_API char* LoomTransformerCPUForwardQueueDiscard(int64_t tr);
WELVET_API char* LoomTransformerComparePrefillToNormal(int64_t tr, const char* inputJSON);
WELVET_API char* LoomTransformerTakePipelineForwardStats(int64_t tr);
WELVET_API char* LoomTransformerLastPipelineForwardStats(int64_t tr);
WELVET_API char* LoomForwardBenchResultJSON(void);
WELVET_API char* LoomLayerActionRecordJSON(void);
WELVET_API char* LoomSetTransformerForwardStepObserver(int64_t tr, int debug);
WELVET_API char* LoomTransformerLayerTraceRecords(int64_t tr);
WELVET_API char* LoomSyncEmbeddingsToGPU(int64_t tr);
WELVET_API char* LoomSyncLMHeadToGPU(int64_t tr);
WELVET_API char* LoomSyncFinalNormToGPU(int64_t tr);
WELVET_API int LoomAsmEnabled(void);
WELVET_API int LoomSimdEnabled(void);
WELVET_API char* LoomSetNetworkUseSimdForward(int64_t n, int enabled);
WELVET_API int LoomGetNetworkUseSimdForward(int64_t n);
WELVET_API int LoomPlan9SimdForwardForLayer(int layerType);
WELVET_API int LoomLayerSupportsSimdForward(int layerType);
WELVET_API void LoomSetBitNetTernarySimdForward(int enabled);
WELVET_API void LoomSetBitNetTL1Forward(int enabled);
WELVET_API int LoomStackLayerCount(int64_t n);
WELVET_API char* LoomSetNetworkUseAsmForward(int64_t n, int enabled);
WELVET_API int LoomGetNetworkUseAsmForward(int64_t n);
WELVET_API char* LoomSetLayerUseAsmForward(int64_t n, int li, int enabled);
WELVET_API int LoomGPUPackedWeightsKey(int dtype);
WELVET_API int LoomGPUPackedNativeByteSize(int dtype, int weightCount);
WELVET_API int LoomStoredTensorNumElements(const char* tensorJSON);
WELVET_API char* LoomDecodeTensorBytesInto(const char* dstJSON, const char* bytesJSON, const char* dtype);
WELVET_API char* LoomLoadSafetensorsSelectiveRawFromBytes(const char* buffer, int length, const char* tensorNamesJSON);
WELVET_API char* LoomSetLayerLoadedWeights(int64_t n, int li, int dtype, const char* weightsJSON);
WELVET_API char* LoomMorphLayerBitNetTernary(int64_t n, int li);
WELVET_API char* LoomMorphLayerBitNetNativeTernary(int64_t n, int li);
WELVET_API char* LoomDenseForwardPackedTernaryCPU(int64_t n, int li, const char* inputJSON);
WELVET_API char* LoomMHAForwardPackedTernaryCPU(int64_t n, int li, const char* inputJSON);
WELVET_API char* LoomSwiGLUForwardPackedTernaryCPU(int64_t n, int li, const char* inputJSON);
WELVET_API char* LoomMorphToFloat32ForGPUMasterSlice(int64_t n, int li, int dtype, const char* masterJSON);
WELVET_API char* LoomRunNativeLayerMatrix(const char* configJSON);
WELVET_API int LoomCalculateOptimalCNN1TileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalCNN1SimdTileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalCNN2TileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalCNN2SimdTileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalCNN3TileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalCNN3SimdTileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalDenseSimdTileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalMHASimdTileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalSwiGLUSimdTileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalRNNSimdTileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API int LoomCalculateOptimalLSTMSimdTileSizeForLayer(int64_t n, int li, int dtype);
WELVET_API char* LoomCNN1ForwardPackedCPUFloat32(int64_t n, int li, const char* inputJSON);
WELVET_API char* LoomCNN1BackwardPackedCPUFloat32(int64_t n, int li, const char* gradOutputJSON, const char* inputJSON,
    const char* preActJSON);
WELVET_API char* LoomMHABackwardTiledFloat32(int64_t n, int li, const char* gradOutputJSON, const char* inputJSON,
    const char* preActJSON);
WELVET_API char* LoomLoadSafetensorsSelectiveFromBytes(const char* buffer, int length, const char* tensorNamesJSON);
WELVET_API char* LoomSaveSafetensorsToBytes(int64_t n);
WELVET_API char* LoomApplyGradientsNative(int64_t n, int li, int dtype, const char* gradWeightsJSON, float learningRate,
    float clipVal);
WELVET_API char* LoomLoadEOSTokenIDsFromConfigPath(const char* path);
WELVET_API int64_t LoomNewTokenizerFromJSON(const char* buffer, int length);
WELVET_API char* LoomSystemAuditToJSON(int64_t n);
WELVET_API int64_t LoomDiscoverAccel(const char* intelSO);
WELVET_API void LoomFreeAccelRegistry(int64_t accel);
WELVET_API char* LoomNetworkAttachAccel(int64_t n, int64_t accel);
WELVET_API void LoomNetworkReleaseAccel(int64_t n);
WELVET_API char* LoomSetLayerExecTarget(int64_t n, int li, int target);
WELVET_API char* LoomSyncToAccel(int64_t n, const char* sizeLabel);
WELVET_API char* LoomLayerWeightBytesForAccel(int64_t n, int li);
WELVET_API char* LoomDispatchAccelForward(int64_t n, int li, int64_t x);
WELVET_API LoomLayerSpec LoomGetLayerSpec(int64_t n, int li);
WELVET_API LoomLayerStats LoomGetLayerStats(int64_t state, int li);
WELVET_API void LoomNetworkTanhiConfigure(int64_t handle, int enabled, const char* host, int port, int sendShape);
WELVET_API void LoomNetworkTanhiDisable(int64_t handle);
WELVET_API int LoomTanhiDefaultPort(void);
WELVET_API void LoomDestroyWGPU(int64_t n);
WELVET_API int LoomIsGPU(int64_t n);
WELVET_API int LoomGetGPUSCTileSize(int64_t n);
WELVET_API int LoomGetGPUMCTileSize(int64_t n);
WELVET_API char* LoomDispatchDenseTiled(int64_t n, int tile, int B, int in_, int out_, int act, float scale, int64_t x,
    int64_t w, int64_t bias, int64_t y);
WELVET_API char* LoomDispatchDenseScaled(int64_t n, int B, int in_, int out_, int act, float scale, int64_t x, int64_t w,
    int64_t bias, int64_t y);
WELVET_API char* LoomDispatchCNN1Scaled(int64_t n, int B, int inC, int inL, int outC, int outL, int kSize, int stride,
    int padding, float scale, int64_t x, int64_t w, int64_t y);
WELVET_API char* LoomDispatchCNN2Scaled(int64_t n, int B, int inC, int inH, int inW, int outC, int outH, int outW, int kH,
    int kW, int strideH, int strideW, int padH, int padW, float scale, int64_t x, int64_t w, int64_t y);
WELVET_API char* LoomDispatchCNN3Scaled(int64_t n, int B, int inC, int inD, int inH, int inW, int outC, int outD, int outH,
    int outW, int kD, int kH, int kW, int sD, int sH, int sW, int pD, int pH, int pW, float scale, int64_t x,
    int64_t w, int64_t y);
WELVET_API char* LoomDispatchAdd(int64_t n, int size, int64_t a, int64_t b, int64_t res);
WELVET_API char* LoomDispatchSwiGLUWithActCache(int64_t n, int B, int in_, int out_, int64_t x, int64_t gate, int64_t up,
    int64_t gateBias, int64_t upBias, int64_t y, int64_t gateOut, int64_t upOut, int tile);
WELVET_API char* LoomDispatchLSTMStepPreAct(int64_t n, int B, int in_, int hid, int64_t x, int64_t hPrev, int64_t cPrev,
    int64_t w, int64_t hCurr, int64_t cCurr, int64_t pre);
WELVET_API void LoomDenseGPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile);
WELVET_API void LoomDenseGPUTileSizesFromContext(int64_t n, int dtype, int* scTile, int* mcTile);
WELVET_API void LoomCNN1GPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile);
WELVET_API void LoomCNN2GPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile);
WELVET_API void LoomCNN3GPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile);
WELVET_API void LoomSwiGLUGPUTileSizes(int64_t n, int dtype, int* scTile, int* mcTile);
WELVET_API void LoomMHAGPUTileSizes(int64_t n, int headDim, int dtype, int* scTile, int* mcTile);
WELVET_API char* LoomSyncWeightsFromGPU(int64_t n);
WELVET_API char* LoomShaderTiledSwiGLUActCache(int tile);
WELVET_API char* LoomInitWGPU(int64_t n);
WELVET_API char* LoomSyncToGPU(int64_t n);
WELVET_API void LoomSyncToCPU(int64_t n);
WELVET_API void LoomSyncInferenceWeights(int64_t n);
WELVET_API char* LoomDispatchDense(int64_t n, int B, int in_, int out_, int64_t x, int64_t w, int64_t y, int tile);
WELVET_API char* LoomDispatchDenseQ4(int64_t n, int B, int in_, int out_, int64_t x, int64_t scale, int64_t w, int64_t y,
    int tile);
WELVET_API char* LoomDispatchMHA(int64_t n, int numHeads, int numKVHeads, int headDim, int seqLen, int kvOffset, int maxSeqLen,
    int64_t q, int64_t k, int64_t v, int64_t o, int tile);
WELVET_API char* LoomDispatchSwiGLU(int64_t n, int B, int in_, int out_, int64_t x, int64_t gate, int64_t up, int64_t y,
    int tile);
WELVET_API char* LoomDispatchRMSNorm(int64_t n, int B, int size, float epsilon, int64_t x, int64_t w, int64_t y);
WELVET_API char* LoomDispatchKVUpdate(int64_t n, int offset, int headDim, int maxSeqLen, int numKVHeads, int numTokens,
    int64_t kCache, int64_t vCache, int64_t newK, int64_t newV);
WELVET_API char* LoomDispatchResidual(int64_t n, int size, int64_t x, int64_t residual);
WELVET_API char* LoomDispatchRoPE(int64_t n, int seqLen, int headDim, int numHeads, int offset, float theta, int64_t target);
WELVET_API char* LoomDispatchEmbedding(int64_t n, int vocabSize, int hid, int numTokens, int64_t indices, int64_t weights,
    int64_t y);
WELVET_API char* LoomDispatchRNNStep(int64_t n, int B, int in_, int hid, int64_t x, int64_t hPrev, int64_t wIH, int64_t wHH,
    int64_t bias, int64_t hCurr);
WELVET_API char* LoomDispatchLSTMStep(int64_t n, int B, int in_, int hid, int64_t x, int64_t hPrev, int64_t cPrev, int64_t w,
    int64_t hCurr, int64_t cCurr);
WELVET_API char* LoomDispatchCNN1(int64_t n, int B, int inC, int inL, int outC, int outL, int kSize, int stride, int padding,
    int64_t x, int64_t w, int64_t y);
WELVET_API char* LoomDispatchCNN2(int64_t n, int B, int inC, int inH, int inW, int outC, int outH, int outW, int kH, int kW,
    int strideH, int strideW, int padH, int padW, int64_t x, int64_t w, int64_t y);
WELVET_API char* LoomDispatchCNN3(int64_t n, int B, int inC, int inD, int inH, int inW, int outC, int outD, int outH, int outW,
    int kD, int kH, int kW, int sD, int sH, int sW, int pD, int pH, int pW, int64_t x, int64_t w, int64_t y);
WELVET_API char* LoomDispatchSwiGLUQ4(int64_t n, int B, int in_, int out_, int64_t x, int64_t gateScale, int64_t gateWeight,
    int64_t upScale, int64_t upWeight, int64_t y, int tile);
WELVET_API int LoomCalculateOptimalGPUTileSizeFromLimits(int64_t n, int headDim);
WELVET_API char* LoomForwardTokenIDsWGPU(int64_t tr, const uint32_t* tokens, int numTokens, int computeLogits, int onlyLast);
WELVET_API char* LoomForwardWGPU(int64_t tr, int64_t x);
WELVET_API char* LoomNativeGPUParityRowJSON(void);
WELVET_API char* LoomWGPUDenseBitNetTernaryParamsJSON(void);
WELVET_API char* LoomWGPUBitNetQuantizeActivationParamsJSON(void);
WELVET_API char* LoomWGPUDenseBitNetTernaryQuantizedParamsJSON(void);
WELVET_API char* LoomWGPUBitNetGateProductParamsJSON(void);
WELVET_API char* LoomBitNetShaderNamesJSON(void);
WELVET_API char* LoomGPUInfoJSON(void);
WELVET_API char* LoomWGPUSoftmaxParamsJSON(void);
WELVET_API char* LoomWGPUDenseParamsJSON(void);
WELVET_API char* LoomWGPUMHAParamsJSON(void);
WELVET_API char* LoomWGPURNNParamsJSON(void);
WELVET_API char* LoomWGPULSTMParamsJSON(void);
WELVET_API char* LoomWGPUCNN1ParamsJSON(void);
WELVET_API char* LoomWGPUCNN2ParamsJSON(void);
WELVET_API char* LoomWGPUCNN3ParamsJSON(void);
WELVET_API char* LoomWGPURMSNormParamsJSON(void);
WELVET_API char* LoomWGPUKVParamsJSON(void);
WELVET_API char* LoomWGPURoPEParamsJSON(void);
WELVET_API char* LoomWGPUEmbeddingParamsJSON(void);
WELVET_API char* LoomWGPUDenseI8ParamsJSON(void);
WELVET_API char* LoomWGPUSwiGLUI8ParamsJSON(void);
WELVET_API char* LoomWGPUEmbeddingShardParamsJSON(void);
WELVET_API char* LoomWGPUMultiHeadSoftmaxCEParamsJSON(void);
WELVET_API char* LoomWGPUQuantizeParamsJSON(void);
WELVET_API char* LoomWGPUCNN1PackedUpdateParamsJSON(void);
WELVET_API char* LoomWGPUCNN1BackwardScaleParamsJSON(void);
WELVET_API char* LoomShaderTiledDenseQ4(int tile);
WELVET_API char* LoomShaderTiledDenseI8(int tile);
WELVET_API char* LoomShaderTiledDenseN(int tile);
WELVET_API char* LoomShaderTiledSwiGLUQ4(int tile);
WELVET_API char* LoomShaderTiledSwiGLUI8(int tile);
WELVET_API char* LoomShaderTiledSwiGLUN(int tile);
WELVET_API char* LoomShaderTiledMHAN(int tile, int headDim);
WELVET_API void LoomCNN1GPUTileSizesForLayer(int64_t n, int li, int dtype, int* scTile, int* mcTile);
WELVET_API char* LoomMorphToFloat32ForGPU(int64_t n, int li, int dtype);
WELVET_API char* LoomTanhiGPULayerShapeHint(int64_t n, int li, int numTokens);
WELVET_API char* LoomDispatchSoftmaxForward(int64_t n, int li, int B, int64_t x, int64_t y);
WELVET_API char* LoomDispatchSoftmaxBackward(int64_t n, int B, int size, float temp, int64_t gOut, int64_t softmaxOutput,
    int64_t gIn);
WELVET_API char* LoomDispatchDenseI8(int64_t n, int B, int in_, int out_, int64_t x, int64_t w, int64_t y, float scale,
    int tile);
WELVET_API char* LoomDispatchSwiGLUI8(int64_t n, int B, int in_, int out_, int64_t x, int64_t gateW, int64_t upW,
    int64_t gateBias, int64_t upBias, int64_t y, float gScale, float uScale, int tile);
WELVET_API char* LoomDispatchCNN1Packed(int64_t n, int dtype, int B, int inC, int inL, int outC, int outL, int kSize,
    int stride, int padding, float scale, int64_t x, int64_t w, int64_t y);
WELVET_API char* LoomDispatchCNN1PackedTiled(int64_t n, int dtype, int tile, int kernelVol, int B, int inC, int inL, int outC,
    int outL, int kSize, int stride, int padding, float scale, int64_t x, int64_t w, int64_t y);
WELVET_API char* LoomDispatchCNN1PackedBackwardDX(int64_t n, int dtype, int B, int inC, int inL, int filters, int outL,
    int kSize, int stride, int padding, int act, float scale, int64_t gOut, int64_t w, int64_t pre, int64_t gIn);
WELVET_API char* LoomDispatchCNN1PackedBackwardDXTiled(int64_t n, int dtype, int tile, int kernelVol, int B, int inC, int inL,
    int filters, int outL, int kSize, int stride, int padding, int act, float scale, int64_t gOut, int64_t w,
    int64_t pre, int64_t gIn);
WELVET_API char* LoomDispatchCNN1PackedApplyGradients(int64_t n, int dtype, int size, float lr, float clipVal, float scale,
    int64_t packed, int64_t grad, int64_t master);
WELVET_API char* LoomDispatchFillZero(int64_t n, int size, int64_t buf);
WELVET_API char* LoomDispatchQuantizeI8(int64_t n, int size, float scale, int64_t master, int64_t native);
WELVET_API char* LoomDispatchQuantizeI4(int64_t n, int size, float scale, int64_t master, int64_t native);
WELVET_API char* LoomDispatchQuantizeFP4(int64_t n, int size, float scale, int64_t master, int64_t native);
WELVET_API char* LoomDispatchQuantizeTernary(int64_t n, int size, float scale, int64_t master, int64_t native);
WELVET_API char* LoomDispatchQuantizeBinary(int64_t n, int size, float scale, int64_t master, int64_t native);
WELVET_API char* LoomDispatchCEGradPartialLoss(int64_t n, int size, int64_t y, int64_t target, int64_t grad, int64_t partials);
WELVET_API char* LoomDispatchMultiHeadSoftmaxCEGradPartialLoss(int64_t n, int B, int rowWidth, int h0, int h1, int h2,
    int64_t y, int64_t target, int64_t grad, int64_t partials);
WELVET_API char* LoomDispatchMultiHeadSoftmaxCEGradPartialLossMasked(int64_t n, int B, int rowWidth, int h0, int h1, int h2,
    int64_t y, int64_t target, int64_t grad, int64_t partials, int64_t headMask);
WELVET_API int64_t LoomGetGPUWeightBuffer(int64_t n, int li);
WELVET_API char* LoomDispatchDenseBitNetTernary(int64_t n, int B, int in_, int out_, int64_t x, int64_t w, int64_t bias,
    int64_t y, float weightScale, int act, int tile);
WELVET_API char* LoomDispatchBitNetQuantizeActivation(int64_t n, int B, int in_, int64_t x, int64_t qPacked, int64_t scale);
WELVET_API char* LoomDispatchDenseBitNetTernaryQuantized(int64_t n, int B, int in_, int out_, int64_t qPacked, int64_t scale,
    int64_t w, int64_t bias, int64_t y, float weightScale, int act, int tile);
WELVET_API char* LoomDispatchBitNetGateProduct(int64_t n, int B, int hid, int act, int64_t gatePre, int64_t upPre, int64_t y);
WELVET_API int64_t LoomCreateGPUBuffer(int64_t n, int64_t sizeBytes);
WELVET_API void LoomFreeGPUBuffer(int64_t buf);
WELVET_API char* LoomWriteGPUBuffer(int64_t n, int64_t buf, const float* data, int length);
WELVET_API char* LoomReadGPUBuffer(int64_t n, int64_t buf);
WELVET_API char* LoomShaderDenseBackwardDX(int tile);
WELVET_API char* LoomShaderDenseBackwardDW(int tile);
WELVET_API char* LoomDispatchDenseBackwardDX(int64_t n, int B, int in_, int out_, int64_t gOut, int64_t w, int64_t gIn,
    int tile);
WELVET_API char* LoomDispatchDenseBackwardDW(int64_t n, int B, int in_, int out_, int64_t gOut, int64_t x, int64_t gradWeight,
    int tile);
WELVET_API char* LoomDispatchSwiGLUBackward(int64_t n, int B, int in_, int out_, int64_t gOut, int64_t gateIn, int64_t upIn,
    int64_t gradGate, int64_t gradUp);
WELVET_API char* LoomDispatchRMSNormBackward(int64_t n, int B, int size, float epsilon, int64_t gOut, int64_t x, int64_t rms,
    int64_t w, int64_t gIn, int64_t gradWeight);
WELVET_API char* LoomDispatchEmbeddingBackward(int64_t n, int vocabSize, int hid, int numTokens, int64_t indices, int64_t gOut,
    int64_t gradWeight);
WELVET_API char* LoomDispatchResidualBackward(int64_t n, int size, int64_t gOut, int64_t gIn, int64_t gradResidual);
WELVET_API char* LoomDispatchCNN1BackwardDX(int64_t n, int B, int inC, int inL, int filters, int outL, int kSize, int stride,
    int padding, int act, int64_t gOut, int64_t w, int64_t pre, int64_t gIn);
WELVET_API char* LoomDispatchCNN1BackwardDW(int64_t n, int B, int inC, int inL, int filters, int outL, int kSize, int stride,
    int padding, int act, int64_t gOut, int64_t x, int64_t pre, int64_t gradWeight);
WELVET_API char* LoomDispatchCNN2BackwardDX(int64_t n, int B, int inC, int inH, int inW, int filters, int outH, int outW,
    int kSize, int stride, int padding, int act, int64_t gOut, int64_t w, int64_t pre, int64_t gIn);
WELVET_API char* LoomDispatchCNN2BackwardDW(int64_t n, int B, int inC, int inH, int inW, int filters, int outH, int outW,
    int kSize, int stride, int padding, int act, int64_t gOut, int64_t x, int64_t pre, int64_t gradWeight);
WELVET_API char* LoomDispatchCNN3BackwardDX(int64_t n, int B, int inC, int inD, int inH, int inW, int filters, int outD,
    int outH, int outW, int kSize, int stride, int padding, int act, int64_t gOut, int64_t w, int64_t pre,
    int64_t gIn);
WELVET_API char* LoomDispatchCNN3BackwardDW(int64_t n, int B, int inC, int inD, int inH, int inW, int filters, int outD,
    int outH, int outW, int kSize, int stride, int padding, int act, int64_t gOut, int64_t x, int64_t pre,
    int64_t gradWeight);
WELVET_API char* LoomDispatchMHABackward(int64_t n, int B, int numHeads, int numKVHeads, int headDim, int seqLen, float scale,
    int64_t gOut, int64_t q, int64_t k, int64_t v, int64_t dQ, int64_t dK, int64_t dV);
WELVET_API char* LoomDispatchApplyGradients(int64_t n, int size, float lr, int64_t w, int64_t grad);
WELVET_API char* LoomDispatchMSEGradPartialLoss(int64_t n, int size, int64_t y, int64_t target, int64_t grad, int64_t partials);
WELVET_API char* LoomDispatchForwardLayer(int64_t n, int li, int B, int64_t x, int64_t y);
WELVET_API char* LoomDispatchBackwardLayer(int64_t n, int li, int B, int64_t gOut, int64_t x, int64_t pre, int64_t dx,
    int64_t dw);
WELVET_API char* LoomDispatchActivation(int64_t n, int size, int act, int64_t x, int64_t y);
WELVET_API char* LoomDispatchActivationBackward(int64_t n, int size, int act, int64_t gOut, int64_t pre, int64_t gIn);
WELVET_API char* LoomShaderTiledDenseBackwardDX(int tile);
WELVET_API char* LoomShaderTiledDenseBackwardDW(int tile);
WELVET_API char* LoomShaderTiledRNNBackwardDX(int tile);
WELVET_API char* LoomShaderTiledRNNBackwardDW(int tile);
WELVET_API char* LoomShaderTiledLSTMBackwardDX(int tile);
WELVET_API char* LoomShaderTiledLSTMBackwardDW(int tile);
WELVET_API char* LoomShaderTiledCNN1BackwardDX(int tile);
WELVET_API char* LoomShaderTiledCNN1BackwardDW(int tile);
WELVET_API char* LoomShaderTiledCNN2BackwardDX(int tile, int kernelVol);
WELVET_API char* LoomShaderTiledCNN2BackwardDW(int tile);
WELVET_API char* LoomShaderTiledCNN3BackwardDX(int tile, int kernelVol);
WELVET_API char* LoomShaderTiledCNN3BackwardDW(int tile);
WELVET_API int LoomDispatchDenseBackwardDXTiled(int64_t ctx, int tile, int B, int in_, int out_, int act, int64_t gOut,
    int64_t w, int64_t pre, int64_t gIn);
WELVET_API int LoomDispatchDenseBackwardDWTiled(int64_t ctx, int tile, int B, int in_, int out_, int act, int64_t gOut,
    int64_t x, int64_t pre, int64_t gradWeights);
WELVET_API int LoomDispatchRNNBackwardDX(int64_t ctx, int tile, int B, int in_, int hid, int64_t gOut, int64_t w, int64_t pre,
    int64_t dx);
WELVET_API int LoomDispatchRNNBackwardDW(int64_t ctx, int tile, int B, int in_, int hid, int64_t gOut, int64_t x, int64_t pre,
    int64_t hPrev, int64_t dw);
WELVET_API int LoomDispatchLSTMBackwardDX(int64_t ctx, int tile, int B, int in_, int hid, int64_t gOut, int64_t w, int64_t pre,
    int64_t dx);
WELVET_API int LoomDispatchLSTMBackwardDW(int64_t ctx, int tile, int B, int in_, int hid, int64_t gOut, int64_t x, int64_t pre,
    int64_t hPrev, int64_t dw);
WELVET_API int LoomDispatchCNN1TiledBackwardDX(int64_t ctx, int B, int inC, int inL, int filters, int outL, int kSize,
    int stride, int padding, int act, int64_t gOut, int64_t w, int64_t pre, int64_t dx);
WELVET_API int LoomDispatchCNN1TiledBackwardDW(int64_t ctx, int B, int inC, int inL, int filters, int outL, int kSize,
    int stride, int padding, int act, int64_t gOut, int64_t x, int64_t pre, int64_t dw);
WELVET_API int LoomDispatchCNN2TiledBackwardDX(int64_t ctx, int B, int inC, int ih, int iw, int filters, int oh, int ow,
    int kSize, int stride, int padding, int act, int64_t gOut, int64_t w, int64_t pre, int64_t dx);
WELVET_API int LoomDispatchCNN2TiledBackwardDW(int64_t ctx, int B, int inC, int ih, int iw, int filters, int oh, int ow,
    int kSize, int stride, int padding, int act, int64_t gOut, int64_t x, int64_t pre, int64_t dw);
WELVET_API int LoomDispatchCNN3TiledBackwardDX(int64_t ctx, int B, int inC, int id, int ih, int iw, int filters, int od, int oh,
    int ow, int kSize, int stride, int padding, int act, int64_t gOut, int64_t w, int64_t pre, int64_t dx);
WELVET_API int LoomDispatchCNN3TiledBackwardDW(int64_t ctx, int B, int inC, int id, int ih, int iw, int filters, int od, int oh,
    int ow, int kSize, int stride, int padding, int act, int64_t gOut, int64_t x, int64_t pre, int64_t dw);
WELVET_API char* LoomLastError(void);
WELVET_API int64_t LoomLoadModel(const char* path);
WELVET_API int64_t LoomCreateTensor(const float* data, int length, const char* shapeJSON);
WELVET_API void LoomFreeTweenState(int64_t handle);
WELVET_API char* LoomGenerate(int64_t model, const char* prompt, int maxTokens);
WELVET_API int64_t LoadModel(const char* path);
WELVET_API char* Generate(int64_t model, const char* prompt, int maxTokens);
WELVET_API void FreeNetwork(int64_t handle);

#ifdef __cplusplus
}
#endif

#endif
