// The C ABI of Loom: constants, structs and functions of loom.h. Made by tools/gen_bindings.py from api/loom.json.
// Structs begin with their size: `var options = ModelOptions.Create();` sets it.

using System;
using System.Runtime.InteropServices;

namespace Welvet
{
    /// <summary>Called on the thread of the caller, with the part that is done, from 0 to 1. Returning 0 cancels the
    /// call.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnProgress(void* user, double fraction);

    /// <summary>Called on the thread of the caller. epoch and batch count from 0; loss is that of the last batch, at
    /// TRAINING_EPOCH_END the epoch's mean; validation is a JSON object of metrics where there was one, else NULL.
    /// Returning 0 ends the training behind this event.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnTraining(void* user, int @event, ulong epoch, ulong epochs, ulong batch,
        ulong batches, double loss, double learningRate, byte* validation);

    /// <summary>Called on the thread of the caller once a step of a training whose gradients other processes compute.
    /// The first five numbers and `masters`, the weights, are for loom_replica_begin(). To be filled: for each node
    /// of shards [first, first + count) that a replica summed, its gradients in the first-th of `shards` pieces of
    /// gradient_size bytes at `gradients`, its loss in losses[first] (double) and the count in counts[first]
    /// (uint64_t); counts inside of a node stay 0. Returning 0 ends the training.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnShards(void* user, ulong epoch, ulong position, ulong step, double lossScale,
        ulong shards, void* masters, UIntPtr mastersSize, void* gradients, UIntPtr gradientSize, void* losses,
        void* counts);

    /// <summary>Called on the thread of the caller behind a generation, with its report, a JSON object. Returning 0
    /// ends the evolution.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnGeneration(void* user, byte* report);

    /// <summary>Called on the thread of the caller behind a layer of a pass, children before their container. event
    /// is "forward", "backward", "tick" or "tween"; path is that of the layer, "layers.3", cell the index of the cell
    /// that holds it, step that of the call or the number of ticks. The figures are those of its output, or of the
    /// gradient or the gap of its input: mean, deviation, greatest and least, how many numbers are above 1e-6 in
    /// size, and their count. values are the numbers, double where is_double, else float; they last during the call.
    /// Returning 0 ends the watch.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnLayerEvent(void* user, byte* @event, byte* path, byte* layer, byte* dtype,
        ulong cell, ulong step, double mean, double deviation, double greatest, double least, ulong active,
        ulong count, void* values, int isDouble);

    /// <summary>Called on the thread of the caller behind so many layers of passes, with the figures of all of them:
    /// the means of mean, deviation and active, the greatest and the least, the part of the numbers that is not
    /// active, the first step and the last. Returning 0 ends the watch.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnWindow(void* user, ulong layers, double mean, double deviation, double greatest,
        double least, double active, double sparsity, ulong firstStep, ulong lastStep);

    /// <summary>Called on the thread of the caller once a generation of an evolution whose networks other processes
    /// judge. `count` networks as files (.entity) lie one behind the other at `networks`; the i-th ends at ends[i]
    /// (uint64_t). To be filled: for each the `width` numbers (double) that judge_fitness() gives, one network's
    /// behind the other's, at `fitness`. Returning 0 ends the evolution with CANCELLED.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnJudging(void* user, ulong count, void* networks, void* ends, ulong width,
        void* fitness);

    /// <summary>Reads up to `size` bytes from `offset` on into `to` and returns how many, 0 for none; -1 is a
    /// failure.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate long ReadAt(void* user, ulong offset, void* to, UIntPtr size);

    /// <summary>What a host's worker calls.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate void Work(void* job, int worker);

    /// <summary>Calls work(job, w) for every w from 0 to workers - 1, on any threads and in any order, and returns
    /// when all have returned.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate void RunWork(void* user, IntPtr work, void* job, int workers);

    /// <summary>Takes one line.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate void OnLog(void* user, int level, byte* text);

    /// <summary>Gives so many bytes at a multiple of `alignment`, a power of two; NULL: there are none, and the call
    /// that asked is OUT_OF_MEMORY. May come from any thread that calls.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate void* AllocateMemory(void* user, UIntPtr bytes, UIntPtr alignment);

    /// <summary>Takes back what allocate_memory gave.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate void FreeMemory(void* user, void* memory, UIntPtr bytes);

    /// <summary>A callback of a layer kind of the host's own: it says by loom_layer functions what is to be computed
    /// and returns LOOM_OK, or the status of the call that it came in. It must say the same for the same settings and
    /// shapes, and may come on several threads at the same time.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int LayerRule(void* user, ulong layer);

    /// <summary>Called when the library finds itself broken; the process ends when it returns.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate void OnFatal(void* user, byte* text);

    /// <summary>What a layer kind of the host's own does.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct KindCallbacks
    {
        public uint StructSize;
        /// <summary>declares the weights by the settings; NULL: there are none</summary>
        public IntPtr Declare;
        /// <summary>says how the output follows from the input; the shape of its result is that of the
        /// output</summary>
        public IntPtr Forward;
        /// <summary>says how the gradient of the input follows from that of the output, and adds to those of the
        /// weights; NULL: layers of the kind do not learn. Targets go the same way</summary>
        public IntPtr Backward;
        /// <summary>first argument of the callbacks</summary>
        public void* User;

        public static KindCallbacks Create()
        {
            return new KindCallbacks { StructSize = (uint)sizeof(KindCallbacks) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct ModelOptions
    {
        public uint StructSize;
        /// <summary>workers for loading; 0: one per physical core</summary>
        public ulong Threads;
        /// <summary>ends the call with CANCELLED</summary>
        public ulong Cancel;
        /// <summary>NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of progress</summary>
        public void* User;
        /// <summary>quantises the matrices on load to this type, by name; NULL: as stored</summary>
        public byte* Dtype;
        /// <summary>folders of PEFT adapters</summary>
        public byte** Adapters;
        public UIntPtr AdaptersCount;

        public static ModelOptions Create()
        {
            return new ModelOptions { StructSize = (uint)sizeof(ModelOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct SessionOptions
    {
        public uint StructSize;
        /// <summary>shared workers; 0: workers of its own</summary>
        public ulong Threads;
        /// <summary>of its own workers; 0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>how many sequences it holds at once; 0: one</summary>
        public uint Sequences;
        /// <summary>longest sequence; 0: what the model was trained for, at most 4096</summary>
        public ulong ContextTokens;
        /// <summary>of keys and values: float32 (the default), bfloat16, int8</summary>
        public byte* KvDtype;
        /// <summary>activations in 8 bits instead of 16: faster, a little less exact</summary>
        public int Int8Activations;
        /// <summary>an instruction set by name, to compare; NULL: the best one</summary>
        public byte* Isa;
        /// <summary>where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; with the same bits.
        /// NULL: cpu</summary>
        public byte* Device;

        public static SessionOptions Create()
        {
            return new SessionOptions { StructSize = (uint)sizeof(SessionOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default: 128 tokens, the most likely token each time.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct GenerationOptions
    {
        public uint StructSize;
        /// <summary>0: 128</summary>
        public ulong MaxTokens;
        /// <summary>end-of-sequence tokens are banned before</summary>
        public ulong MinTokens;
        /// <summary>of the draws: equal seeds give equal texts</summary>
        public ulong Seed;
        /// <summary>0: the most likely token</summary>
        public float Temperature;
        /// <summary>0 or 1: off; a small number keeps the best token alone</summary>
        public float TopP;
        /// <summary>0: off</summary>
        public float MinP;
        /// <summary>0 or 1: off</summary>
        public float TypicalP;
        /// <summary>0 or 1: off</summary>
        public float RepetitionPenalty;
        /// <summary>0: off</summary>
        public float FrequencyPenalty;
        /// <summary>0: off</summary>
        public float PresencePenalty;
        /// <summary>0: off</summary>
        public int TopK;
        /// <summary>tokens that the penalties look back on; 0: 64, -1: all</summary>
        public int RepetitionWindow;
        /// <summary>end-of-sequence tokens are banned throughout</summary>
        public int IgnoreEos;
        /// <summary>the text ends before the first of them</summary>
        public byte** Stop;
        public UIntPtr StopCount;
        /// <summary>drafts, what followed the same tokens before, are checked several at once: the same text in less
        /// time</summary>
        public int Speculate;
        /// <summary>a smaller model with the same tokens that drafts instead</summary>
        public ulong DraftModel;
        /// <summary>max_tokens is 0: the prompt is read and nothing is drawn; a max_tokens beside it is
        /// INVALID_ARGUMENT</summary>
        public int PromptOnly;
        /// <summary>tokens whose logits change before each draw</summary>
        public int* BiasIds;
        public UIntPtr BiasIdsCount;
        /// <summary>added to the logits of bias_ids, one each; -infinity: never drawn</summary>
        public float* Biases;
        public UIntPtr BiasesCount;
        /// <summary>tokens that end the text, beside the model's own</summary>
        public int* StopIds;
        public UIntPtr StopIdsCount;
        /// <summary>how many of the best tokens loom_generator_logprobs() reports for each draw; 0: none</summary>
        public uint Logprobs;
        /// <summary>control tokens in a question or in messages (as &lt;|im_end|&gt;) are read as text: for texts of
        /// strangers. Those of the chat template stay. Without effect on LOOM_PROMPT_RAW and on ids</summary>
        public int PlainText;

        public static GenerationOptions Create()
        {
            return new GenerationOptions { StructSize = (uint)sizeof(GenerationOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct NetworkOptions
    {
        public uint StructSize;
        /// <summary>unknown keys are warnings, not errors; loom_network_info() lists them</summary>
        public int Lenient;
        /// <summary>weights that the source does not bring stay without values</summary>
        public int Uninitialised;
        /// <summary>of memory for weights that are drawn: OUT_OF_MEMORY beyond; 0: no limit</summary>
        public ulong MaxBytes;

        public static NetworkOptions Create()
        {
            return new NetworkOptions { StructSize = (uint)sizeof(NetworkOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct NetworkSessionOptions
    {
        public uint StructSize;
        /// <summary>shared workers; 0: workers of its own</summary>
        public ulong Threads;
        /// <summary>of its own workers; 0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>a forward keeps what loom_network_session_backward() needs</summary>
        public int Backward;
        /// <summary>an instruction set by name, to compare; NULL: the best one</summary>
        public byte* Isa;
        /// <summary>of activations: a call that needs more is OUT_OF_MEMORY; 0: no limit</summary>
        public ulong MaxBytes;
        /// <summary>above 0: attention and recurrent layers go on from call to call, as one sequence per sample of up
        /// to so many positions; not with backward</summary>
        public ulong Context;
        /// <summary>of kept keys and values: float32 (the default), bfloat16, int8</summary>
        public byte* KvDtype;
        /// <summary>above 0: a forward keeps the inputs of every so many cells alone, and backward computes the rest
        /// anew</summary>
        public ulong CheckpointEvery;
        /// <summary>where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; with the same bits.
        /// NULL: cpu</summary>
        public byte* Device;

        public static NetworkSessionOptions Create()
        {
            return new NetworkSessionOptions { StructSize = (uint)sizeof(NetworkSessionOptions) };
        }
    }

    /// <summary>What a forward takes beside its input. Fields that are 0 mean none.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct Pass
    {
        public uint StructSize;
        /// <summary>dropout, batch statistics</summary>
        public int Training;
        /// <summary>of the random streams of dropout</summary>
        public uint Step;
        /// <summary>of a ragged batch: valid steps of each sample, the first ones</summary>
        public ulong* Lengths;
        public UIntPtr LengthsCount;
        /// <summary>input of the layers that read an external one</summary>
        public float* External;
        public UIntPtr ExternalCount;
        public ulong* ExternalShape;
        public UIntPtr ExternalShapeCount;
        /// <summary>of attention</summary>
        public float* Mask;
        public UIntPtr MaskCount;
        public ulong* MaskShape;
        public UIntPtr MaskShapeCount;
        /// <summary>read between cells: ends the call with CANCELLED</summary>
        public ulong Cancel;

        public static Pass Create()
        {
            return new Pass { StructSize = (uint)sizeof(Pass) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct TrainerOptions
    {
        public uint StructSize;
        /// <summary>shared workers; 0: workers of its own</summary>
        public ulong Threads;
        /// <summary>of its own workers; 0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>an instruction set by name, to compare; NULL: the best one</summary>
        public byte* Isa;
        /// <summary>of activations: a step that needs more is OUT_OF_MEMORY; 0: no limit</summary>
        public ulong MaxBytes;
        /// <summary>where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; with the same bits.
        /// NULL: cpu</summary>
        public byte* Device;

        public static TrainerOptions Create()
        {
            return new TrainerOptions { StructSize = (uint)sizeof(TrainerOptions) };
        }
    }

    /// <summary>Samples that a network learns from: classes or target values, as its loss takes them.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct Batch
    {
        public uint StructSize;
        /// <summary>row-major</summary>
        public float* Inputs;
        public UIntPtr InputsCount;
        /// <summary>of the inputs, samples first</summary>
        public ulong* Shape;
        public UIntPtr ShapeCount;
        /// <summary>one id per row of the output</summary>
        public int* Classes;
        public UIntPtr ClassesCount;
        /// <summary>as many values per sample as the output has</summary>
        public float* Targets;
        public UIntPtr TargetsCount;

        public static Batch Create()
        {
            return new Batch { StructSize = (uint)sizeof(Batch) };
        }
    }

    /// <summary>What one step of a training did.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct TrainingStep
    {
        public uint StructSize;
        /// <summary>of the batch, before the step</summary>
        public double Loss;
        /// <summary>of the step</summary>
        public double LearningRate;
        /// <summary>0 unless the config clips by it</summary>
        public double GradientNorm;
        /// <summary>a loss, a gradient or an update was not finite: everything is as before</summary>
        public int Skipped;
        /// <summary>of a skipped step; lasts until the next call with the trainer</summary>
        public byte* Why;
        public UIntPtr WhySize;

        public static TrainingStep Create()
        {
            return new TrainingStep { StructSize = (uint)sizeof(TrainingStep) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct TrainOptions
    {
        public uint StructSize;
        /// <summary>folder of the run: journal, checkpoint, model, report. NULL: none, or beside a config
        /// file</summary>
        public byte* Out;
        /// <summary>where relative paths of the config start; NULL: where its file lies</summary>
        public byte* Folder;
        public int Start;
        /// <summary>in place of the config's; 0: its own</summary>
        public ulong Epochs;
        /// <summary>shared workers; 0: workers of its own</summary>
        public ulong Threads;
        /// <summary>of its own workers; 0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>an instruction set by name, to compare; NULL: the best one</summary>
        public byte* Isa;
        /// <summary>ends the run behind the step that runs, with its checkpoint</summary>
        public ulong Cancel;
        /// <summary>NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of progress and shards</summary>
        public void* User;
        /// <summary>gives the gradients of every step; NULL: the run computes them</summary>
        public IntPtr Shards;
        /// <summary>where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; with the same bits.
        /// NULL: cpu</summary>
        public byte* Device;

        public static TrainOptions Create()
        {
            return new TrainOptions { StructSize = (uint)sizeof(TrainOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct EvolveOptions
    {
        public uint StructSize;
        /// <summary>folder of the run; NULL: none, or beside a config file</summary>
        public byte* Out;
        /// <summary>where relative paths of the config start; NULL: where its file lies</summary>
        public byte* Folder;
        public int Start;
        /// <summary>in place of the config's; 0: its own</summary>
        public ulong Generations;
        /// <summary>0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>an instruction set by name, to compare; NULL: the best one</summary>
        public byte* Isa;
        /// <summary>ends the run behind the generation that runs</summary>
        public ulong Cancel;
        /// <summary>NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of the callbacks</summary>
        public void* User;
        /// <summary>judges the networks of a generation; NULL: the run does</summary>
        public IntPtr Judging;
        /// <summary>where networks are judged: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; with
        /// the same bits, and so never fast. NULL: cpu</summary>
        public byte* Device;

        public static EvolveOptions Create()
        {
            return new EvolveOptions { StructSize = (uint)sizeof(EvolveOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct StepMeshOptions
    {
        public uint StructSize;
        /// <summary>shared workers; 0: workers of its own</summary>
        public ulong Threads;
        /// <summary>of its own workers; 0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>an instruction set by name, to compare; NULL: the best one</summary>
        public byte* Isa;
        /// <summary>captured ticks that a state keeps, at most 65536; 0: none</summary>
        public ulong History;
        /// <summary>loom_step_mesh_backward() will be called</summary>
        public int Backward;
        /// <summary>every tick leaves what it read, which learning by targets starts from</summary>
        public int KeepInputs;
        /// <summary>where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; with the same bits.
        /// NULL: cpu</summary>
        public byte* Device;

        public static StepMeshOptions Create()
        {
            return new StepMeshOptions { StructSize = (uint)sizeof(StepMeshOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct TickOptions
    {
        public uint StructSize;
        /// <summary>0: one</summary>
        public ulong Ticks;
        /// <summary>keeps what backward needs of these ticks</summary>
        public int Capture;
        /// <summary>dropout, batch statistics</summary>
        public int Training;
        /// <summary>read between cells: ends the call with CANCELLED</summary>
        public ulong Cancel;

        public static TickOptions Create()
        {
            return new TickOptions { StructSize = (uint)sizeof(TickOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct ConvertOptions
    {
        public uint StructSize;
        /// <summary>matrices to this type, by name; NULL: as stored</summary>
        public byte* Dtype;
        /// <summary>folder of an adapter to merge into the weights</summary>
        public byte* Adapter;
        /// <summary>0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of progress</summary>
        public void* User;

        public static ConvertOptions Create()
        {
            return new ConvertOptions { StructSize = (uint)sizeof(ConvertOptions) };
        }
    }

    /// <summary>What one call of loom_generator_next() did.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct Step
    {
        public uint StructSize;
        /// <summary>text that can no longer change, behind what came before; may be empty; lasts until the next call
        /// with the generator</summary>
        public byte* Text;
        public UIntPtr TextSize;
        /// <summary>of the prompt read so far</summary>
        public ulong PromptTokens;
        /// <summary>drawn so far</summary>
        public ulong GeneratedTokens;
        /// <summary>STOP_NOT_YET: call again</summary>
        public int Stop;

        public static Step Create()
        {
            return new Step { StructSize = (uint)sizeof(Step) };
        }
    }

    /// <summary>A generation so far, or whole. Pointers last until the next call with the generator.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct Generation
    {
        public uint StructSize;
        /// <summary>without stop text and end-of-sequence token; bytes, which a model may leave without a UTF-8
        /// end</summary>
        public byte* Text;
        public UIntPtr TextSize;
        /// <summary>drawn tokens, the end-of-sequence token not included</summary>
        public int* Ids;
        public UIntPtr IdsCount;
        public ulong PromptTokens;
        /// <summary>of the prompt's text that have no token in the vocabulary</summary>
        public ulong DroppedBytes;
        /// <summary>spent on reading the prompt</summary>
        public double PrefillSeconds;
        /// <summary>spent on drawing</summary>
        public double DecodeSeconds;
        public int Stop;
        /// <summary>SHA-256 of the ids and the bits of the last logits; zero before the end</summary>
        public fixed byte Hash[32];
        /// <summary>tokens that were drafted; 0 without speculation</summary>
        public ulong Drafted;
        /// <summary>of these, that came true and took no pass of their own</summary>
        public ulong Accepted;
        /// <summary>of the model over drawn tokens, with their drafts</summary>
        public ulong Passes;

        public static Generation Create()
        {
            return new Generation { StructSize = (uint)sizeof(Generation) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct GraphOptions
    {
        public uint StructSize;
        /// <summary>of all values of a run: more is OUT_OF_MEMORY, one value that takes all of it SIZE_OVERFLOW; 0:
        /// 16 GiB</summary>
        public ulong MaxBytes;

        public static GraphOptions Create()
        {
            return new GraphOptions { StructSize = (uint)sizeof(GraphOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct GraphSessionOptions
    {
        public uint StructSize;
        /// <summary>shared workers; 0: workers of its own</summary>
        public ulong Threads;
        /// <summary>of its own workers; 0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>an instruction set by name, to compare; NULL: the best one</summary>
        public byte* Isa;
        /// <summary>where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; with the same bits.
        /// NULL: cpu</summary>
        public byte* Device;

        public static GraphSessionOptions Create()
        {
            return new GraphSessionOptions { StructSize = (uint)sizeof(GraphSessionOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct EncoderOptions
    {
        public uint StructSize;
        /// <summary>shared workers; 0: workers of its own</summary>
        public ulong Threads;
        /// <summary>of its own workers; 0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>an instruction set by name, to compare; NULL: the best one</summary>
        public byte* Isa;
        /// <summary>quantises the matrices on load to this type, by name; NULL: float32</summary>
        public byte* Dtype;
        /// <summary>where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; with the same bits.
        /// NULL: cpu</summary>
        public byte* Device;
        /// <summary>put before every text; the empty text puts nothing. NULL: the prompt that prompt_name
        /// names</summary>
        public byte* Prompt;
        /// <summary>a prompt of the folder by its name, such as query; not beside prompt. NULL: the folder's default
        /// one, if any</summary>
        public byte* PromptName;

        public static EncoderOptions Create()
        {
            return new EncoderOptions { StructSize = (uint)sizeof(EncoderOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct LoadOptions
    {
        public uint StructSize;
        /// <summary>a JSON file of what the shapes of bare tensors do not say (docs/reference/formats.md); NULL:
        /// none</summary>
        public byte* Hints;
        /// <summary>workers for loading, and of an encoder; 0: workers of its own</summary>
        public ulong Threads;
        /// <summary>of its own workers; 0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>ends the loading of a language model with CANCELLED</summary>
        public ulong Cancel;
        /// <summary>of a language model; NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of progress</summary>
        public void* User;
        /// <summary>quantises the matrices of a language model or an encoder on load; NULL: as stored</summary>
        public byte* Dtype;
        /// <summary>unknown keys of a network's spec are warnings, not errors</summary>
        public int Lenient;

        public static LoadOptions Create()
        {
            return new LoadOptions { StructSize = (uint)sizeof(LoadOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct ExportOptions
    {
        public uint StructSize;
        /// <summary>ONNX: of one sample; of size 0: the network's own</summary>
        public ulong* InputShape;
        public UIntPtr InputShapeCount;
        /// <summary>networks: integer weights as the float32 values that they stand for</summary>
        public int Dequantize;
        /// <summary>of a file of bare tensors: a JSON file (docs/reference/formats.md); NULL: none</summary>
        public byte* Hints;
        /// <summary>language models: matrices to this type, by name; NULL: as stored</summary>
        public byte* Dtype;
        /// <summary>ends the call with CANCELLED</summary>
        public ulong Cancel;
        /// <summary>of a language model; NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of progress</summary>
        public void* User;

        public static ExportOptions Create()
        {
            return new ExportOptions { StructSize = (uint)sizeof(ExportOptions) };
        }
    }

    /// <summary>The functions and constants of loom.h.</summary>
    public static unsafe class Abi
    {
        private const string Library = "loom";

        // What every function returns: OK, or why it failed. loom_last_error() has the text.
        /// <summary>done</summary>
        public const int Ok = 0;
        /// <summary>an argument is outside what the function takes</summary>
        public const int InvalidArgument = 1;
        /// <summary>a configuration contradicts itself</summary>
        public const int InvalidConfig = 2;
        /// <summary>shapes that must fit do not</summary>
        public const int ShapeMismatch = 3;
        /// <summary>a size is beyond what can be counted</summary>
        public const int SizeOverflow = 4;
        /// <summary>a number is outside its range</summary>
        public const int OutOfRange = 5;
        /// <summary>an index is outside of what it counts</summary>
        public const int IndexOutOfRange = 6;
        /// <summary>a value is infinite or NaN</summary>
        public const int NonFinite = 7;
        /// <summary>a name means nothing here</summary>
        public const int UnknownName = 8;
        /// <summary>a key means nothing here</summary>
        public const int UnknownKey = 9;
        /// <summary>there is no such file or part</summary>
        public const int NotFound = 10;
        /// <summary>the system refused to read or write</summary>
        public const int IoError = 11;
        /// <summary>no room is left on the disk</summary>
        public const int DiskFull = 12;
        /// <summary>the content makes no sense</summary>
        public const int CorruptData = 13;
        /// <summary>the content is known and not supported</summary>
        public const int Unsupported = 14;
        /// <summary>memory is not to be had</summary>
        public const int OutOfMemory = 15;
        /// <summary>the context of a session holds no more tokens</summary>
        public const int ContextFull = 16;
        /// <summary>the model brings no chat template</summary>
        public const int NoTemplate = 17;
        /// <summary>a chat template failed</summary>
        public const int TemplateError = 18;
        /// <summary>a limit that guards against hostile input was met</summary>
        public const int LimitExceeded = 19;
        /// <summary>links lead in a circle</summary>
        public const int LinkCycle = 20;
        /// <summary>the caller's cancel ended the call</summary>
        public const int Cancelled = 21;
        /// <summary>a tensor has no values</summary>
        public const int EmptyTensor = 22;
        /// <summary>a link leads backwards where none may</summary>
        public const int FeedbackLink = 23;
        /// <summary>a link leads to an empty cell</summary>
        public const int LinkToEmpty = 24;
        /// <summary>containers lie too deep in each other</summary>
        public const int NestingTooDeep = 25;
        /// <summary>the object is not in the state that the call needs</summary>
        public const int InvalidState = 26;
        /// <summary>there is no value so far</summary>
        public const int NoValue = 27;
        /// <summary>there is no history so far</summary>
        public const int NoHistory = 28;
        /// <summary>the format cannot hold the values exactly</summary>
        public const int LossySave = 29;
        /// <summary>another thread uses the object, or this call was made from a callback of it</summary>
        public const int Busy = 30;
        /// <summary>the handle is none, was released, or is of another kind</summary>
        public const int BadHandle = 31;
        /// <summary>the graphics card is gone, and what lay on it; objects of language models go on on the
        /// CPU</summary>
        public const int DeviceLost = 32;

        // What a handle stands for.
        public const int KindNone = 0;
        public const int KindBlob = 1;
        public const int KindCancel = 2;
        public const int KindThreads = 3;
        public const int KindTokenizer = 4;
        public const int KindModel = 5;
        public const int KindSession = 6;
        public const int KindGenerator = 7;
        public const int KindNetwork = 8;
        public const int KindNetworkSession = 9;
        public const int KindTrainer = 10;
        public const int KindStepMesh = 11;
        public const int KindStepState = 12;
        public const int KindTween = 13;
        public const int KindMeshTween = 14;
        public const int KindPopulation = 15;
        public const int KindChat = 16;
        public const int KindReplica = 17;
        public const int KindLayer = 18;
        public const int KindGraph = 19;
        public const int KindGraphSession = 20;
        public const int KindEncoder = 21;
        public const int KindAdaptation = 22;
        public const int KindJudge = 23;

        // The type of a tensor's numbers, numbered as in ONNX files. They lie one behind the other, little-endian;
        // two codes of 4 bits share a byte, the first one low.
        /// <summary>not said</summary>
        public const int ElementNone = 0;
        public const int ElementFloat32 = 1;
        public const int ElementUint8 = 2;
        public const int ElementInt8 = 3;
        public const int ElementUint16 = 4;
        public const int ElementInt16 = 5;
        public const int ElementInt32 = 6;
        public const int ElementInt64 = 7;
        /// <summary>a byte each, 0 or 1</summary>
        public const int ElementBool = 9;
        public const int ElementFloat16 = 10;
        public const int ElementFloat64 = 11;
        public const int ElementUint32 = 12;
        public const int ElementUint64 = 13;
        public const int ElementBfloat16 = 16;
        public const int ElementFloat8E4m3fn = 17;
        public const int ElementFloat8E5m2 = 19;
        public const int ElementUint4 = 21;
        public const int ElementInt4 = 22;

        // What a training does with a folder that holds a run.
        /// <summary>begins; a folder that holds a run is INVALID_ARGUMENT</summary>
        public const int RunFresh = 0;
        /// <summary>goes on from the last checkpoint, or begins where there is none</summary>
        public const int RunResume = 1;
        /// <summary>begins anew, whatever is there</summary>
        public const int RunOverwrite = 2;

        // Where a training is.
        public const int TrainingBegin = 0;
        public const int TrainingEpochBegin = 1;
        public const int TrainingBatchBegin = 2;
        public const int TrainingBatchEnd = 3;
        public const int TrainingValidationEnd = 4;
        public const int TrainingCheckpoint = 5;
        public const int TrainingEpochEnd = 6;
        public const int TrainingEnd = 7;

        // A file that Loom reads.
        /// <summary>the spec of a network</summary>
        public const int SchemaNetwork = 0;
        /// <summary>the config of a training</summary>
        public const int SchemaTraining = 1;
        /// <summary>the config of an evolution</summary>
        public const int SchemaEvolution = 2;

        // How a network becomes bytes.
        /// <summary>the binary format: every weight as it is</summary>
        public const int FormatEntity = 0;
        /// <summary>a JSON checkpoint: the spec, and packed weights in Base64</summary>
        public const int FormatJson = 1;

        // How much a message matters.
        /// <summary>a call failed</summary>
        public const int LogError = 1;
        public const int LogInfo = 3;

        // How a text becomes a prompt.
        /// <summary>a question for a model with a chat template, a text to continue for the others</summary>
        public const int PromptAuto = 0;
        /// <summary>the text is continued as it is</summary>
        public const int PromptRaw = 1;
        /// <summary>the text is a question; NO_TEMPLATE when the model brings no template</summary>
        public const int PromptChat = 2;

        // Why a generation ended.
        /// <summary>it goes on</summary>
        public const int StopNotYet = 0;
        /// <summary>an end-of-sequence token</summary>
        public const int StopEos = 1;
        /// <summary>a stop string</summary>
        public const int StopText = 2;
        /// <summary>max_tokens</summary>
        public const int StopLength = 3;
        /// <summary>the context is full</summary>
        public const int StopContext = 4;
        /// <summary>the caller's cancel</summary>
        public const int StopCancelled = 5;

        /// <summary>Returns the version, "0.1.0".</summary>
        [DllImport(Library, EntryPoint = "loom_version", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern byte* Version();

        /// <summary>Returns the text of the last call on this thread that failed, one line; empty before any. It
        /// lasts until the next one fails.</summary>
        [DllImport(Library, EntryPoint = "loom_last_error", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern byte* LastError();

        /// <summary>Returns the name of a status, "Busy"; "Unknown" for a number that is none.</summary>
        [DllImport(Library, EntryPoint = "loom_status_name", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern byte* StatusName(int status);

        /// <summary>Gives the version of the arithmetic: results of equal versions have equal bits.</summary>
        [DllImport(Library, EntryPoint = "loom_numerics_version", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NumericsVersion(uint* version);

        /// <summary>Gives a JSON object: version, CPU, instruction sets, cores.</summary>
        [DllImport(Library, EntryPoint = "loom_system_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SystemInfo(ulong* info);

        /// <summary>Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on
        /// every machine. Takes seconds. (isa: an instruction set by name; NULL: the best one; threads: 0: one per
        /// physical core)</summary>
        [DllImport(Library, EntryPoint = "loom_verify", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Verify(byte* isa, int threads, ulong* digest);

        /// <summary>Gives a JSON object with the graphics cards that options can name in their field device:
        /// adapters, each with device ("gpu:0"), name, driver, backend, kind, limits and tier. IO_ERROR with the
        /// reason in one line where there is none. The name of a card, or auto, with :fast behind it (gpu:0:fast) is
        /// that card without exactness: its results are those of no other device (docs/guide/gpu.md).</summary>
        [DllImport(Library, EntryPoint = "loom_gpu_report", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GpuReport(ulong* report);

        /// <summary>Counts one more owner.</summary>
        [DllImport(Library, EntryPoint = "loom_retain", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Retain(ulong handle);

        /// <summary>Counts one owner less; the last one ends the object, at once or when the calls that use it have
        /// returned. 0 is ignored.</summary>
        [DllImport(Library, EntryPoint = "loom_release", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Release(ulong handle);

        /// <summary>Gives what the handle stands for.</summary>
        [DllImport(Library, EntryPoint = "loom_kind_of", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int KindOf(ulong handle, int* kind);

        /// <summary>Gives the bytes of a blob; they last until it is released. A text ends with a NUL that the size
        /// does not count.</summary>
        [DllImport(Library, EntryPoint = "loom_blob_view", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int BlobView(ulong blob, void** data, UIntPtr* dataSize);

        /// <summary>Makes a flag that is not set.</summary>
        [DllImport(Library, EntryPoint = "loom_cancel_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int CancelCreate(ulong* cancel);

        /// <summary>Sets or clears the flag, from any thread.</summary>
        [DllImport(Library, EntryPoint = "loom_cancel_set", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int CancelSet(ulong cancel, int set);

        /// <summary>Starts workers. Sessions that use them at the same time take turns; no result depends on it.
        /// (count: the caller's thread included; 0: one per physical core)</summary>
        [DllImport(Library, EntryPoint = "loom_threads_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ThreadsCreate(int count, ulong* threads);

        /// <summary>Uses the host's own workers. (count: at least 1)</summary>
        [DllImport(Library, EntryPoint = "loom_threads_from_host", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ThreadsFromHost(int count, IntPtr run, void* user, ulong* threads);

        /// <summary>Tells the host of every call that fails, on the thread of the call. The hook may call other
        /// functions; their failures are not told.</summary>
        [DllImport(Library, EntryPoint = "loom_set_log", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SetLog(IntPtr log, void* user);

        /// <summary>Takes the memory of tensors from the host: weights, activations, keys and values. What was taken
        /// goes back to the functions that gave it. Both functions are called from several threads at once.</summary>
        [DllImport(Library, EntryPoint = "loom_set_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SetMemory(IntPtr allocate, IntPtr free, void* user);

        /// <summary>Tells the host of a broken invariant of the library before the process ends.</summary>
        [DllImport(Library, EntryPoint = "loom_set_fatal", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SetFatal(IntPtr fatal, void* user);

        /// <summary>Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a
        /// tokenizer.json.</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerOpen(byte* path, ulong* tokenizer);

        /// <summary>Reads a tokenizer.json from memory.</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_from_json", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerFromJson(void* json, UIntPtr jsonSize, ulong* tokenizer);

        /// <summary>Reads the tokenizer of a GGUF file, an .entity or a tokenizer.json from memory.</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_from_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerFromMemory(void* data, UIntPtr dataSize, ulong* tokenizer);

        /// <summary>Gives the ids of a text, as int32 values. (add_special_tokens: what the vocabulary puts around a
        /// text; parse_special: a marker in the text is the marker; 0: it is ordinary text)</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_encode", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerEncode(ulong tokenizer, void* text, UIntPtr textSize, int addSpecialTokens,
            int parseSpecial, ulong* ids);

        /// <summary>Gives the text of ids: bytes, not valid UTF-8 when the ids are not. Ids without a text add
        /// nothing.</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_decode", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerDecode(ulong tokenizer, int* ids, UIntPtr idsCount, int skipSpecialTokens,
            ulong* text);

        /// <summary>Gives one more than the greatest id.</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_vocab_size", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerVocabSize(ulong tokenizer, ulong* size);

        /// <summary>Gives the id of a token by its text as the vocabulary spells it; NOT_FOUND when it has
        /// none.</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_id", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerId(ulong tokenizer, void* text, UIntPtr textSize, int* id);

        /// <summary>Gives the text of one id as the vocabulary spells it; empty for an unknown id.</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_token", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerToken(ulong tokenizer, int id, ulong* text);

        /// <summary>Loads a language model: a GGUF file, a Hugging Face folder or an .entity.</summary>
        [DllImport(Library, EntryPoint = "loom_model_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ModelOpen(byte* path, ModelOptions* options, ulong* model);

        /// <summary>The same of a part of a file, where another program has embedded a GGUF file or an .entity.
        /// (size: 0: to the end)</summary>
        [DllImport(Library, EntryPoint = "loom_model_open_part", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ModelOpenPart(byte* path, ulong offset, ulong size, ModelOptions* options,
            ulong* model);

        /// <summary>The same of bytes, which are read during the call only.</summary>
        [DllImport(Library, EntryPoint = "loom_model_from_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ModelFromMemory(void* data, UIntPtr dataSize, ModelOptions* options, ulong* model);

        /// <summary>The same of whatever the host can read; it is read into memory, on the calling thread. (size: of
        /// all bytes)</summary>
        [DllImport(Library, EntryPoint = "loom_model_from_callback", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ModelFromCallback(ulong size, IntPtr read, void* user, ModelOptions* options,
            ulong* model);

        /// <summary>Like loom_model_open() of a Hugging Face folder, for its files in memory: config.json,
        /// model.safetensors (or its index and shards), tokenizer.json and the others. They are read during the call
        /// only; INVALID_ARGUMENT names a file that is not read. (names: of the files; data: the files, one after the
        /// other; ends: where each ends in data)</summary>
        [DllImport(Library, EntryPoint = "loom_model_from_files", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ModelFromFiles(byte** names, UIntPtr namesCount, void* data, UIntPtr dataSize,
            ulong* ends, UIntPtr endsCount, ModelOptions* options, ulong* model);

        /// <summary>Gives a JSON object: path, format, sizes, context, special tokens, what is missing.</summary>
        [DllImport(Library, EntryPoint = "loom_model_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ModelInfo(ulong model, ulong* info);

        /// <summary>Gives the model's tokenizer; NOT_FOUND, or why it cannot be read.</summary>
        [DllImport(Library, EntryPoint = "loom_model_tokenizer", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ModelTokenizer(ulong model, ulong* tokenizer);

        /// <summary>Writes messages as the model's chat template has them: a JSON list of objects with role and
        /// content.</summary>
        [DllImport(Library, EntryPoint = "loom_model_render_chat", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ModelRenderChat(ulong model, void* messages, UIntPtr messagesSize,
            int addGenerationPrompt, ulong* text);

        /// <summary>Makes a session with empty sequences.</summary>
        [DllImport(Library, EntryPoint = "loom_session_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SessionCreate(ulong model, SessionOptions* options, ulong* session);

        /// <summary>Appends ids to a sequence and gives the logits that follow the last one; they last until the next
        /// call with the session. A call that fails leaves the sequence as it was.</summary>
        [DllImport(Library, EntryPoint = "loom_session_feed", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SessionFeed(ulong session, ulong sequence, int* ids, UIntPtr idsCount, ulong cancel,
            float** logits, UIntPtr* logitsCount);

        /// <summary>Gives the tokens of a sequence; they last until the next call with the session.</summary>
        [DllImport(Library, EntryPoint = "loom_session_tokens", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SessionTokens(ulong session, ulong sequence, int** ids, UIntPtr* idsCount);

        /// <summary>Drops what follows the first length tokens of a sequence.</summary>
        [DllImport(Library, EntryPoint = "loom_session_rewind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SessionRewind(ulong session, ulong sequence, ulong length);

        /// <summary>Copies a sequence onto another.</summary>
        [DllImport(Library, EntryPoint = "loom_session_fork", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SessionFork(ulong session, ulong from, ulong to);

        /// <summary>Gives tokens, keys and values of a sequence as bytes.</summary>
        [DllImport(Library, EntryPoint = "loom_session_snapshot", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SessionSnapshot(ulong session, ulong sequence, ulong* bytes);

        /// <summary>Puts a snapshot into a sequence; SHAPE_MISMATCH when it is of another model.</summary>
        [DllImport(Library, EntryPoint = "loom_session_restore", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SessionRestore(ulong session, ulong sequence, void* bytes, UIntPtr bytesSize);

        /// <summary>Gives a JSON object: instruction set, threads, context, sequences, memory.</summary>
        [DllImport(Library, EntryPoint = "loom_session_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SessionInfo(ulong session, ulong* info);

        /// <summary>Prepares a generation behind what the sequence holds and the given ids. Nothing is read
        /// yet.</summary>
        [DllImport(Library, EntryPoint = "loom_generator_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GeneratorCreate(ulong session, int* prompt, UIntPtr promptCount,
            GenerationOptions* options, ulong* generator);

        /// <summary>The same of a text.</summary>
        [DllImport(Library, EntryPoint = "loom_generator_from_text", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GeneratorFromText(ulong session, void* text, UIntPtr textSize, int form,
            GenerationOptions* options, ulong* generator);

        /// <summary>Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text
        /// has settled. At the end it does nothing.</summary>
        [DllImport(Library, EntryPoint = "loom_generator_next", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GeneratorNext(ulong generator, ulong cancel, Step* step);

        /// <summary>Gives the generation so far.</summary>
        [DllImport(Library, EntryPoint = "loom_generator_result", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GeneratorResult(ulong generator, Generation* result);

        /// <summary>Gives a JSON list with an object per drawn token: id, logprob (natural logarithm, before
        /// temperature and cuts) and top, the best tokens by the same. INVALID_STATE where the option logprobs is
        /// 0.</summary>
        [DllImport(Library, EntryPoint = "loom_generator_logprobs", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GeneratorLogprobs(ulong generator, ulong* logprobs);

        /// <summary>Begins a conversation; NO_TEMPLATE for a model without a chat template. (system: message that it
        /// begins with; NULL: none; options: of every answer)</summary>
        [DllImport(Library, EntryPoint = "loom_chat_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatCreate(ulong session, byte* system, GenerationOptions* options, ulong* chat);

        /// <summary>Adds a message of the user and begins the answer. After an error the conversation is as
        /// before.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_say", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatSay(ulong chat, void* text, UIntPtr textSize, ulong cancel);

        /// <summary>Begins an answer to the messages as they stand.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_answer", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatAnswer(ulong chat, ulong cancel);

        /// <summary>Does one bounded piece of work, as loom_generator_next(). With the last one the answer joins the
        /// conversation, also when the cancel ended it early.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_next", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatNext(ulong chat, ulong cancel, Step* step);

        /// <summary>Ends an answer that runs; what it has said so far joins the conversation.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_stop", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatStop(ulong chat);

        /// <summary>Gives the answer that runs, or the last one.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_result", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatResult(ulong chat, Generation* result);

        /// <summary>Like loom_generator_logprobs(), for the answer that runs, or the last one.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_logprobs", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatLogprobs(ulong chat, ulong* logprobs);

        /// <summary>Gives the conversation as JSON: a list of messages with role and content.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_messages", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatMessages(ulong chat, ulong* messages);

        /// <summary>Puts another conversation in its place.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_set_messages", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatSetMessages(ulong chat, void* messages, UIntPtr messagesSize);

        /// <summary>Keeps the first so many messages.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_rewind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatRewind(ulong chat, ulong count);

        /// <summary>Gives a message another text and forgets what follows.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_edit", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatEdit(ulong chat, ulong index, void* text, UIntPtr textSize);

        /// <summary>Writes the conversation into a file, whole or not at all.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_save", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatSave(ulong chat, byte* path);

        /// <summary>Reads a conversation from a file.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_load", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatLoad(ulong chat, byte* path);

        /// <summary>Makes a network of a spec, or of a JSON checkpoint with weights. Weights that it does not bring
        /// are drawn from its seed.</summary>
        [DllImport(Library, EntryPoint = "loom_network_from_json", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkFromJson(void* json, UIntPtr jsonSize, NetworkOptions* options,
            ulong* network);

        /// <summary>Makes a transformer of an arch_config.</summary>
        [DllImport(Library, EntryPoint = "loom_network_from_arch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkFromArch(void* json, UIntPtr jsonSize, ulong* network);

        /// <summary>Reads a network: an .entity, a spec or a checkpoint in JSON, a file of Loom 0.8x, a graph in ONNX
        /// as one cell.</summary>
        [DllImport(Library, EntryPoint = "loom_network_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkOpen(byte* path, NetworkOptions* options, ulong* network);

        /// <summary>The same of bytes.</summary>
        [DllImport(Library, EntryPoint = "loom_network_from_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkFromMemory(void* data, UIntPtr dataSize, NetworkOptions* options,
            ulong* network);

        /// <summary>Makes a copy that shares nothing which can change.</summary>
        [DllImport(Library, EntryPoint = "loom_network_clone", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkClone(ulong network, ulong* copy);

        /// <summary>Makes a network of one parallel cell whose branches are copies of cell 0 of each network.
        /// (combine_mode: concat, add, avg, ..., as of the kind parallel; share: the copies stand in cells of their
        /// own, which the branches link to)</summary>
        [DllImport(Library, EntryPoint = "loom_network_graft", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkGraft(ulong* networks, UIntPtr networksCount, byte* combineMode, int share,
            ulong* grafted);

        /// <summary>Writes a file, whole or not at all: .json a checkpoint, everything else .entity. (keep_master:
        /// exact masters beside packed weights, for further training)</summary>
        [DllImport(Library, EntryPoint = "loom_network_save", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSave(ulong network, byte* path, int keepMaster);

        /// <summary>The same as bytes. (keep_master: of FORMAT_ENTITY)</summary>
        [DllImport(Library, EntryPoint = "loom_network_to_bytes", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkToBytes(ulong network, int format, int keepMaster, ulong* bytes);

        /// <summary>Gives the spec as JSON: every setting that is not the default, without weights.</summary>
        [DllImport(Library, EntryPoint = "loom_network_spec", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSpec(ulong network, ulong* spec);

        /// <summary>Gives a JSON object: grid, layers with kinds, types and weights, memory, input and output shape,
        /// what a lenient reader met.</summary>
        [DllImport(Library, EntryPoint = "loom_network_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkInfo(ulong network, ulong* info);

        /// <summary>Gives a picture of the grid, SVG. (title: above the picture; NULL: the network's name)</summary>
        [DllImport(Library, EntryPoint = "loom_network_draw", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkDraw(ulong network, byte* title, ulong* svg);

        /// <summary>Gives the SHA-256 of all weights as text, 64 hexadecimal digits.</summary>
        [DllImport(Library, EntryPoint = "loom_network_hash", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkHash(ulong network, ulong* hash);

        /// <summary>Resolves links and infers all shapes from the input's, samples first; a session does so by
        /// itself.</summary>
        [DllImport(Library, EntryPoint = "loom_network_prepare", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkPrepare(ulong network, ulong* input, UIntPtr inputCount, ulong** output,
            UIntPtr* outputCount);

        /// <summary>Puts a layer, a JSON object as in a spec, into a cell in place of what stands there; its weights
        /// are drawn. Sessions begin anew behind this. (address: z, y, x, l; layer: of size 0: the cell becomes
        /// empty)</summary>
        [DllImport(Library, EntryPoint = "loom_network_place", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkPlace(ulong network, ulong* address, UIntPtr addressCount, void* layer,
            UIntPtr layerSize);

        /// <summary>Gives the matrices another numeric type. Masters stay exact. Sessions begin anew behind this.
        /// (path: a layer and all below it, "layers.3"; NULL: all)</summary>
        [DllImport(Library, EntryPoint = "loom_network_morph", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkMorph(ulong network, byte* path, byte* dtype);

        /// <summary>Frees the exact masters of weights whose type holds their values.</summary>
        [DllImport(Library, EntryPoint = "loom_network_release_masters", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkReleaseMasters(ulong network);

        /// <summary>Adds every enabled adapter to its matrix and removes it.</summary>
        [DllImport(Library, EntryPoint = "loom_network_merge_adapters", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkMergeAdapters(ulong network);

        /// <summary>Gives a JSON list of the weights in path order: name, layer, role, shape, dtype, frozen,
        /// master.</summary>
        [DllImport(Library, EntryPoint = "loom_network_weights", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkWeights(ulong network, ulong* list);

        /// <summary>Gives the values that a weight stands for. (values: the weight's number of elements)</summary>
        [DllImport(Library, EntryPoint = "loom_network_get_weight", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkGetWeight(ulong network, byte* name, float* values, UIntPtr valuesCount);

        /// <summary>The same in double precision.</summary>
        [DllImport(Library, EntryPoint = "loom_network_get_weight_f64", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkGetWeightF64(ulong network, byte* name, double* values, UIntPtr valuesCount);

        /// <summary>Gives a weight new values. NON_FINITE names the first that is not finite.</summary>
        [DllImport(Library, EntryPoint = "loom_network_set_weight", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSetWeight(ulong network, byte* name, float* values, UIntPtr valuesCount);

        /// <summary>The same in double precision.</summary>
        [DllImport(Library, EntryPoint = "loom_network_set_weight_f64", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSetWeightF64(ulong network, byte* name, double* values, UIntPtr valuesCount);

        /// <summary>Gives a weight as JSON: dtype, packed codes, scales and zero points in Base64.</summary>
        [DllImport(Library, EntryPoint = "loom_network_weight_codes", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkWeightCodes(ulong network, byte* name, ulong* codes);

        /// <summary>Keeps a layer and all below it from learning, or lets it learn. (path: "layers.3"; NULL:
        /// all)</summary>
        [DllImport(Library, EntryPoint = "loom_network_freeze", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkFreeze(ulong network, byte* path, int frozen);

        /// <summary>Makes a session.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionCreate(ulong network, NetworkSessionOptions* options, ulong* session);

        /// <summary>Runs the network. The output lasts until the next call with the session.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_forward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionForward(ulong session, float* input, UIntPtr inputCount, ulong* shape,
            UIntPtr shapeCount, Pass* pass, float** output, UIntPtr* outputCount, ulong** outputShape,
            UIntPtr* outputShapeCount);

        /// <summary>The same for a network that computes in f64.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_forward_f64", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionForwardF64(ulong session, double* input, UIntPtr inputCount,
            ulong* shape, UIntPtr shapeCount, Pass* pass, double** output, UIntPtr* outputCount, ulong** outputShape,
            UIntPtr* outputShapeCount);

        /// <summary>Names the caller's memory that loom_network_session_run() reads and fills. It must last as long
        /// as it is bound; NULL unbinds. (output: the output's number of elements)</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_bind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionBind(ulong session, float* input, UIntPtr inputCount, ulong* shape,
            UIntPtr shapeCount, float* output, UIntPtr outputCount);

        /// <summary>Runs the network from the bound input into the bound output.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_run", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionRun(ulong session);

        /// <summary>Goes back after a forward of a session with `backward`: adds to the gradients of the weights and
        /// gives that of the input, which lasts until the next call. (output_gradient: of the last output's
        /// shape)</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_backward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionBackward(ulong session, float* outputGradient,
            UIntPtr outputGradientCount, ulong cancel, float** inputGradient, UIntPtr* inputGradientCount);

        /// <summary>The same for a network that computes in f64.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_backward_f64", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionBackwardF64(ulong session, double* outputGradient,
            UIntPtr outputGradientCount, ulong cancel, double** inputGradient, UIntPtr* inputGradientCount);

        /// <summary>Gives the gradient of a weight, added up since it was last cleared.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionGradient(ulong session, byte* weight, float* values,
            UIntPtr valuesCount);

        /// <summary>Sets every gradient to 0.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_clear_gradients", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionClearGradients(ulong session);

        /// <summary>Begins every sequence and state anew.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_reset", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionReset(ulong session);

        /// <summary>Goes back to where the sequences of a session with a context had so many positions.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_rewind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionRewind(ulong session, ulong length);

        /// <summary>Gives the state that the next call depends on as bytes: recurrent states, memories, keys and
        /// values.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_snapshot", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionSnapshot(ulong session, ulong* bytes);

        /// <summary>Puts such a state back, into a session of the same network and options.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_restore", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionRestore(ulong session, void* bytes, UIntPtr bytesSize);

        /// <summary>Gives a JSON object: threads, memory, element type, positions, states.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionInfo(ulong session, ulong* info);

        /// <summary>Makes a network ready to learn from batches of that shape, samples first. Nobody else may change
        /// the network while it learns; calls that try answer BUSY, and a changed grid ends the training.</summary>
        [DllImport(Library, EntryPoint = "loom_trainer_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainerCreate(ulong network, void* config, UIntPtr configSize, ulong* shape,
            UIntPtr shapeCount, TrainerOptions* options, ulong* trainer);

        /// <summary>Learns from one batch. (cancel: ends the step with CANCELLED; everything is then as
        /// before)</summary>
        [DllImport(Library, EntryPoint = "loom_trainer_step", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainerStep(ulong trainer, Batch* batch, ulong cancel, TrainingStep* step);

        /// <summary>Gives the loss of a batch and the output, which lasts until the next call; no weight
        /// changes.</summary>
        [DllImport(Library, EntryPoint = "loom_trainer_evaluate", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainerEvaluate(ulong trainer, Batch* batch, double* loss, float** output,
            UIntPtr* outputCount, ulong** outputShape, UIntPtr* outputShapeCount);

        /// <summary>Tells schedules that count epochs which one it is, from 0.</summary>
        [DllImport(Library, EntryPoint = "loom_trainer_set_epoch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainerSetEpoch(ulong trainer, ulong epoch);

        /// <summary>Gives the schedule "plateau" a validation metric.</summary>
        [DllImport(Library, EntryPoint = "loom_trainer_observe", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainerObserve(ulong trainer, double metric);

        /// <summary>Runs a whole training by a config in JSON: data, epochs, validation, checkpoints, journal. The
        /// outcome is a JSON object: stop reason, losses by epoch, hash, metrics. (network: learns where it is; 0:
        /// the config names one; samples: in place of the config's data; NULL: it names files; validation: in place
        /// of the config's own)</summary>
        [DllImport(Library, EntryPoint = "loom_train", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Train(void* config, UIntPtr configSize, ulong network, Batch* samples,
            Batch* validation, TrainOptions* options, ulong* outcome);

        /// <summary>The same of a config file.</summary>
        [DllImport(Library, EntryPoint = "loom_train_file", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainFile(byte* path, TrainOptions* options, ulong* outcome);

        /// <summary>Does the run of a journal again and compares every hash, loss and metric; CORRUPT_DATA names the
        /// first line that differs. (path: a run's folder, or its journal)</summary>
        [DllImport(Library, EntryPoint = "loom_replay", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Replay(byte* path, TrainOptions* options, ulong* report);

        /// <summary>Opens a config in JSON, with its data and network, to compute gradients for a training of the
        /// same config elsewhere, whose callback on_shards asks for them. UNSUPPORTED with the reason where its steps
        /// cannot be divided. (options: of which it reads folder, threads, thread_count and isa)</summary>
        [DllImport(Library, EntryPoint = "loom_replica_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ReplicaCreate(void* config, UIntPtr configSize, TrainOptions* options,
            ulong* replica);

        /// <summary>Takes over a step: what on_shards was given.</summary>
        [DllImport(Library, EntryPoint = "loom_replica_begin", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ReplicaBegin(ulong replica, ulong epoch, ulong position, ulong step,
            double lossScale, void* masters, UIntPtr mastersSize);

        /// <summary>Gives the sum of the gradients of shards [first, first + count), and their share in the loss,
        /// which is not finite where the step has to be skipped. The count is a power of two that divides first, or
        /// reaches up to the last shard: a node of the tree that adds all shards.</summary>
        [DllImport(Library, EntryPoint = "loom_replica_sum", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ReplicaSum(ulong replica, ulong first, ulong count, double* loss, ulong* gradients);

        /// <summary>Gives a JSON object: shards, gradient_bytes, batches of an epoch, SHA-256 of the data.</summary>
        [DllImport(Library, EntryPoint = "loom_replica_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ReplicaInfo(ulong replica, ulong* info);

        /// <summary>Gives a JSON object: steps, skipped ones, learning rate, loss scale, memory; with tween the
        /// figures of each cell's target.</summary>
        [DllImport(Library, EntryPoint = "loom_trainer_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainerInfo(ulong trainer, ulong* info);

        /// <summary>Makes a network ready to learn by targets from batches of that shape.</summary>
        [DllImport(Library, EntryPoint = "loom_tween_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TweenCreate(ulong network, void* config, UIntPtr configSize, ulong* shape,
            UIntPtr shapeCount, TrainerOptions* options, ulong* tween);

        /// <summary>Runs the network; the output lasts until the next call.</summary>
        [DllImport(Library, EntryPoint = "loom_tween_forward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TweenForward(ulong tween, float* input, UIntPtr inputCount, ulong* shape,
            UIntPtr shapeCount, float** output, UIntPtr* outputCount, ulong** outputShape, UIntPtr* outputShapeCount);

        /// <summary>Does the rest of a step behind a forward: gaps, budgets, updates. (target: of the output's
        /// shape)</summary>
        [DllImport(Library, EntryPoint = "loom_tween_step", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TweenStep(ulong tween, float* target, UIntPtr targetCount, double learningRate);

        /// <summary>The same in three calls: gives every cell its target. (target: of the output's shape)</summary>
        [DllImport(Library, EntryPoint = "loom_tween_backward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TweenBackward(ulong tween, float* target, UIntPtr targetCount);

        /// <summary>Measures how well each cell agrees with its target.</summary>
        [DllImport(Library, EntryPoint = "loom_tween_budgets", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TweenBudgets(ulong tween);

        /// <summary>Moves the weights.</summary>
        [DllImport(Library, EntryPoint = "loom_tween_apply", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TweenApply(ulong tween, double learningRate);

        /// <summary>Gives a JSON object: the gap of the output, and of each use of a layer gap, budget and size of
        /// the update.</summary>
        [DllImport(Library, EntryPoint = "loom_tween_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TweenInfo(ulong tween, ulong* info);

        /// <summary>Prepares a network for ticks with such inputs, samples first.</summary>
        [DllImport(Library, EntryPoint = "loom_step_mesh_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepMeshCreate(ulong network, ulong* shape, UIntPtr shapeCount,
            StepMeshOptions* options, ulong* mesh);

        /// <summary>Moves states by some ticks; after an error none of them has moved in that tick.</summary>
        [DllImport(Library, EntryPoint = "loom_step_mesh_step", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepMeshStep(ulong mesh, ulong* states, UIntPtr statesCount, TickOptions* options);

        /// <summary>Goes back through captured ticks from a gradient of the last cell's output: adds to the gradients
        /// of the weights and gives that of the input of the newest tick, empty where there was none. (ticks: at
        /// most; 0: all)</summary>
        [DllImport(Library, EntryPoint = "loom_step_mesh_backward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepMeshBackward(ulong mesh, ulong state, float* outputGradient,
            UIntPtr outputGradientCount, ulong ticks, float** inputGradient, UIntPtr* inputGradientCount);

        /// <summary>Gives the gradient of a weight, added up since it was last cleared.</summary>
        [DllImport(Library, EntryPoint = "loom_step_mesh_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepMeshGradient(ulong mesh, byte* weight, float* values, UIntPtr valuesCount);

        /// <summary>Sets every gradient to 0.</summary>
        [DllImport(Library, EntryPoint = "loom_step_mesh_clear_gradients", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepMeshClearGradients(ulong mesh);

        /// <summary>Gives a JSON object: cells, memory of a state, what a cell waits for that can never
        /// start.</summary>
        [DllImport(Library, EntryPoint = "loom_step_mesh_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepMeshInfo(ulong mesh, ulong* info);

        /// <summary>Makes a state without outputs.</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateCreate(ulong mesh, ulong* state);

        /// <summary>Lays an input in front of the first cell. (hold: until it is replaced; 0: for the next tick
        /// alone)</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_set_input", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateSetInput(ulong state, float* input, UIntPtr inputCount, int hold);

        /// <summary>Takes the input away.</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_clear_input", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateClearInput(ulong state);

        /// <summary>Gives what a cell left in the last tick, until the next call with the mesh; NO_VALUE before data
        /// arrived there. (cell: its index; -1: the last one)</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_output", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateOutput(ulong state, long cell, float** output, UIntPtr* outputCount,
            ulong** outputShape, UIntPtr* outputShapeCount);

        /// <summary>No input, no outputs, no history, tick 0.</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_reset", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateReset(ulong state);

        /// <summary>Makes a copy that goes its own way.</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_fork", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateFork(ulong state, ulong* copy);

        /// <summary>Gives the whole state as bytes that any machine reads.</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_snapshot", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateSnapshot(ulong state, ulong* bytes);

        /// <summary>Puts a snapshot into a state of a mesh of the same shapes.</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_restore", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateRestore(ulong state, void* bytes, UIntPtr bytesSize);

        /// <summary>Gives the SHA-256 of the whole state as text, 64 hexadecimal digits.</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_hash", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateHash(ulong state, ulong* hash);

        /// <summary>Gives the number of ticks since the start.</summary>
        [DllImport(Library, EntryPoint = "loom_step_state_ticks", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepStateTicks(ulong state, ulong* ticks);

        /// <summary>Makes a mesh that was created with keep_inputs ready to learn by targets. (ticks: 0: through the
        /// last tick alone; above: through so many captured ones)</summary>
        [DllImport(Library, EntryPoint = "loom_mesh_tween_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int MeshTweenCreate(ulong mesh, void* config, UIntPtr configSize, ulong ticks,
            ulong* tween);

        /// <summary>Moves all weights once towards targets of the last cell's outputs, one behind the
        /// other.</summary>
        [DllImport(Library, EntryPoint = "loom_mesh_tween_step", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int MeshTweenStep(ulong tween, ulong* states, UIntPtr statesCount, float* targets,
            UIntPtr targetsCount, double learningRate);

        /// <summary>Gives a network's signatures as JSON: by layer the direction of its weights. (nested: layers
        /// inside containers too)</summary>
        [DllImport(Library, EntryPoint = "loom_dna_extract", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int DnaExtract(ulong network, int nested, ulong* dna);

        /// <summary>Compares two networks layer by layer, a JSON object: overlaps, logic shifts, what stands in one
        /// alone.</summary>
        [DllImport(Library, EntryPoint = "loom_dna_compare", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int DnaCompare(ulong first, ulong second, int nested, ulong* comparison);

        /// <summary>Gives that as a picture, SVG.</summary>
        [DllImport(Library, EntryPoint = "loom_dna_draw", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int DnaDraw(ulong first, ulong second, int nested, ulong* svg);

        /// <summary>Groups points around centres (k-means by Lloyd's rounds, in double precision). A JSON object:
        /// assignment, the cluster of each point, centres, iterations, converged. (points: row-major, one point after
        /// the other; count: of points; clusters: 1 to count; max_iterations: 0: 100; plus_plus: starts far apart
        /// (k-means++); 0: drawn points; seed: of the draws)</summary>
        [DllImport(Library, EntryPoint = "loom_cluster_points", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ClusterPoints(double* points, UIntPtr pointsCount, ulong count, ulong clusters,
            ulong maxIterations, int plusPlus, ulong seed, ulong* result);

        /// <summary>Gives the mean silhouette of a clustering, -1 to 1: how much nearer points are to their own
        /// cluster than to the next one. (points: row-major, one point after the other; count: of points; assignment:
        /// the cluster of each point; at least two clusters)</summary>
        [DllImport(Library, EntryPoint = "loom_silhouette", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Silhouette(double* points, UIntPtr pointsCount, ulong count, ulong* assignment,
            UIntPtr assignmentCount, double* value);

        /// <summary>Groups points that steps of at most such a cosine distance link (single linkage). A JSON list of
        /// lists of points, in order of their first ones. (points: row-major, one point after the other; count: of
        /// points; threshold: 0 to 2)</summary>
        [DllImport(Library, EntryPoint = "loom_group_points", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GroupPoints(double* points, UIntPtr pointsCount, ulong count, double threshold,
            ulong* groups);

        /// <summary>Groups a network's weights by the layer and block in their names ("layers.3.self_attn"). A JSON
        /// object: groups, a list of prefix, layer, block and tensors, and unresolved, the names without such a
        /// prefix with the reason.</summary>
        [DllImport(Library, EntryPoint = "loom_network_groups", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkGroups(ulong network, ulong* groups);

        /// <summary>Gives what differs between the specs and weights of two networks, a JSON object.</summary>
        [DllImport(Library, EntryPoint = "loom_network_compare", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkCompare(ulong first, ulong second, ulong* differences);

        /// <summary>Makes a child of two networks. The config is a JSON object: mode blend, point or uniform,
        /// blend_alpha, split_ratio, fitness_a, fitness_b, seed. (config: of size 0: all defaults)</summary>
        [DllImport(Library, EntryPoint = "loom_network_splice", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSplice(ulong first, ulong second, void* config, UIntPtr configSize,
            ulong* child);

        /// <summary>Changes a network at random; its output keeps its shape. The config is the object `mutation` of
        /// an evolution, and seed, generation, individual. The report says what was done. (shape: of the input,
        /// samples first; config: of size 0: all defaults)</summary>
        [DllImport(Library, EntryPoint = "loom_network_mutate", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkMutate(ulong network, ulong* shape, UIntPtr shapeCount, void* config,
            UIntPtr configSize, ulong* report);

        /// <summary>Runs a whole evolution by a config in JSON. The outcome is a JSON object.</summary>
        [DllImport(Library, EntryPoint = "loom_evolve", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Evolve(void* config, UIntPtr configSize, EvolveOptions* options, ulong* outcome);

        /// <summary>The same of a config file.</summary>
        [DllImport(Library, EntryPoint = "loom_evolve_file", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int EvolveFile(byte* path, EvolveOptions* options, ulong* outcome);

        /// <summary>Opens the task of a config in JSON, with its data, to judge the networks of an evolution of the
        /// same config elsewhere, whose callback on_judging asks for it. (options: of which it reads folder,
        /// thread_count, isa and device)</summary>
        [DllImport(Library, EntryPoint = "loom_judge_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int JudgeCreate(void* config, UIntPtr configSize, EvolveOptions* options, ulong* judge);

        /// <summary>Judges a network, given as a file (.entity), and gives its numbers for on_judging: objectives,
        /// and what novelty goes by. They last until the next call.</summary>
        [DllImport(Library, EntryPoint = "loom_judge_fitness", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int JudgeFitness(ulong judge, void* network, UIntPtr networkSize, double** numbers,
            UIntPtr* numbersCount);

        /// <summary>Gives a JSON object: `identity`, all that a run is a function of, with the SHA-256 of its
        /// files.</summary>
        [DllImport(Library, EntryPoint = "loom_judge_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int JudgeInfo(ulong judge, ulong* info);

        /// <summary>Makes the first generation: mutations of a network. The config is a JSON object: population,
        /// elites, seed, objectives, mutation, splice, species, novelty. (shape: of the input, samples first; config:
        /// of size 0: all defaults; thread_count: 0: one per physical core)</summary>
        [DllImport(Library, EntryPoint = "loom_population_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int PopulationCreate(ulong @base, ulong* shape, UIntPtr shapeCount, void* config,
            UIntPtr configSize, int threadCount, ulong* population);

        /// <summary>Gives the places of the members without a fitness, until the next call with the
        /// population.</summary>
        [DllImport(Library, EntryPoint = "loom_population_ask", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int PopulationAsk(ulong population, ulong** places, UIntPtr* placesCount);

        /// <summary>Gives a copy of a member.</summary>
        [DllImport(Library, EntryPoint = "loom_population_network", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int PopulationNetwork(ulong population, ulong place, ulong* network);

        /// <summary>Takes the fitness of those members, more is better, NaN ranks last, and breeds the next
        /// generation. With several objectives all numbers of a member stand together. The report is a JSON object:
        /// scores, best, average, worst, hash.</summary>
        [DllImport(Library, EntryPoint = "loom_population_tell", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int PopulationTell(ulong population, double* fitness, UIntPtr fitnessCount,
            ulong* report);

        /// <summary>Gives a copy of the network with the best score so far; NO_VALUE before the first
        /// generation.</summary>
        [DllImport(Library, EntryPoint = "loom_population_best", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int PopulationBest(ulong population, ulong* network);

        /// <summary>Gives a JSON object: generation, best score, members with identity, parents, operations,
        /// species.</summary>
        [DllImport(Library, EntryPoint = "loom_population_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int PopulationInfo(ulong population, ulong* info);

        /// <summary>Gives a population as bytes, to go on from elsewhere.</summary>
        [DllImport(Library, EntryPoint = "loom_population_snapshot", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int PopulationSnapshot(ulong population, ulong* bytes);

        /// <summary>Makes a population of a snapshot; config and shape are those it was made with.</summary>
        [DllImport(Library, EntryPoint = "loom_population_restore", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int PopulationRestore(void* bytes, UIntPtr bytesSize, ulong* shape, UIntPtr shapeCount,
            void* config, UIntPtr configSize, int threadCount, ulong* population);

        /// <summary>Adds a layer kind to those of this process. The description is a JSON object: name, help, shapes,
        /// width_key, sample_axes, and settings, a list of key, type (integer, number, boolean, choice, activation),
        /// default, min, max, choices, help. INVALID_ARGUMENT for a name that is there already.</summary>
        [DllImport(Library, EntryPoint = "loom_register_kind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int RegisterKind(void* description, UIntPtr descriptionSize, KindCallbacks* callbacks);

        /// <summary>Takes the kind back: no callback of it comes from then on. INVALID_STATE while a network with a
        /// layer of it lives.</summary>
        [DllImport(Library, EntryPoint = "loom_unregister_kind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int UnregisterKind(byte* name);

        /// <summary>Gives a setting of the layer: an integer, a number, 0 or 1, the index of a choice.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_setting", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerSetting(ulong layer, byte* key, double* value);

        /// <summary>In declare: adds a weight, a vector or, with two extents, a matrix, whose rows are outputs. A
        /// fresh one is filled by a rule. (init: zeros, ones, glorot, he, uniform, normal or identity; NULL: glorot
        /// for matrices, zeros for vectors; size: half width of uniform, deviation of normal; 0: 0.1 and
        /// 0.02)</summary>
        [DllImport(Library, EntryPoint = "loom_layer_declare_weight", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerDeclareWeight(ulong layer, byte* name, ulong* extents, UIntPtr extentsCount,
            byte* init, double size);

        /// <summary>Gives what comes in: the layer's input in forward, the gradient of its output in backward. Axis 0
        /// counts samples, here and in all that follows from it; it keeps its place.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_input", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerInput(ulong layer, ulong* x);

        /// <summary>Names what goes out: the output in forward, the gradient of the input in backward.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_result", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerResult(ulong layer, ulong tensor);

        /// <summary>In forward: keeps a tensor for backward.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_keep", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerKeep(ulong layer, ulong tensor);

        /// <summary>In backward: gives what forward kept, the last one first. All of it is to be asked for.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_kept", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerKept(ulong layer, ulong* tensor);

        /// <summary>Gives the extents of a tensor; SHAPE_MISMATCH where there is no room for them.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_shape", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerShape(ulong layer, ulong tensor, ulong* extents, UIntPtr extentsCount,
            ulong* rank);

        /// <summary>y = W x + b along the last axis, with the bits of a dense layer in every type of W.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_matmul", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerMatmul(ulong layer, ulong x, byte* weight, byte* bias, ulong* y);

        /// <summary>dx = W^T dy; adds to the gradients of W and b.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_matmul_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerMatmulGradient(ulong layer, ulong x, ulong dy, byte* weight, byte* bias,
            ulong* dx);

        /// <summary>y = left right over the last two axes of two tensors whose other axes are equal, either of them
        /// transposed. Its gradients are products too.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_product", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerProduct(ulong layer, ulong left, int transposeLeft, ulong right,
            int transposeRight, ulong* y);

        /// <summary>y = left + right; equal shapes.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_add", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerAdd(ulong layer, ulong left, ulong right, ulong* y);

        /// <summary>y = left right, element by element; equal shapes.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_multiply", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerMultiply(ulong layer, ulong left, ulong right, ulong* y);

        /// <summary>y = x times a factor.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_scale", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerScale(ulong layer, ulong x, double factor, ulong* y);

        /// <summary>Gives a tensor of the shape of another one with one value everywhere.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_fill", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerFill(ulong layer, ulong like, double value, ulong* y);

        /// <summary>y = activation(x). (activation: the key of a setting of that type, or a name)</summary>
        [DllImport(Library, EntryPoint = "loom_layer_activate", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerActivate(ulong layer, ulong x, byte* activation, ulong* y);

        /// <summary>dx = dy times the activation's derivative at x. (activation: the key of a setting of that type,
        /// or a name)</summary>
        [DllImport(Library, EntryPoint = "loom_layer_activate_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerActivateGradient(ulong layer, ulong x, ulong dy, byte* activation, ulong* dx);

        /// <summary>y = activation(gate) up, with the bits of swiglu. (activation: the key of a setting of that type,
        /// or a name)</summary>
        [DllImport(Library, EntryPoint = "loom_layer_gated", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerGated(ulong layer, ulong gate, ulong up, byte* activation, ulong* y);

        /// <summary>The gradients of both. (activation: the key of a setting of that type, or a name)</summary>
        [DllImport(Library, EntryPoint = "loom_layer_gated_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerGatedGradient(ulong layer, ulong gate, ulong up, ulong dy, byte* activation,
            ulong* dgate, ulong* dup);

        /// <summary>p = softmax(x / temperature) along the last axis.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_softmax", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerSoftmax(ulong layer, ulong x, double temperature, ulong* p);

        /// <summary>dx from what softmax gave.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_softmax_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerSoftmaxGradient(ulong layer, ulong p, ulong dy, double temperature, ulong* dx);

        /// <summary>y = x / sqrt(mean of x^2 + eps) gamma along the last axis. (eps: 0 to 1)</summary>
        [DllImport(Library, EntryPoint = "loom_layer_rms_norm", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerRmsNorm(ulong layer, ulong x, byte* gamma, double eps, ulong* y);

        /// <summary>dx; adds to the gradient of gamma.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_rms_norm_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerRmsNormGradient(ulong layer, ulong x, ulong dy, byte* gamma, double eps,
            ulong* dx);

        /// <summary>y = (x - mean) / sqrt(variance + eps) gamma + beta along the last axis. (eps: 0 to 1)</summary>
        [DllImport(Library, EntryPoint = "loom_layer_layer_norm", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerLayerNorm(ulong layer, ulong x, byte* gamma, byte* beta, double eps, ulong* y);

        /// <summary>dx; adds to the gradients of gamma and beta.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_layer_norm_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerLayerNormGradient(ulong layer, ulong x, ulong dy, byte* gamma, byte* beta,
            double eps, ulong* dx);

        /// <summary>y is x with its axes in another order: axis i of y is axis axes[i] of x.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_permute", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerPermute(ulong layer, ulong x, ulong* axes, UIntPtr axesCount, ulong* y);

        /// <summary>y is x with other extents.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_reshape", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerReshape(ulong layer, ulong x, ulong* extents, UIntPtr extentsCount, ulong* y);

        /// <summary>y is [first, first + count) of an axis of x. Its gradient is that of pad, and the
        /// reverse.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_slice", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerSlice(ulong layer, ulong x, ulong axis, ulong first, ulong count, ulong* y);

        /// <summary>y is x at `first` of an axis of another extent, zeros elsewhere.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_pad", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerPad(ulong layer, ulong x, ulong axis, ulong first, ulong extent, ulong* y);

        /// <summary>y is x, whose axis has the extent 1, as often along that axis. Its gradient is the mean, times as
        /// often.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_repeat", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerRepeat(ulong layer, ulong x, ulong axis, ulong times, ulong* y);

        /// <summary>y is the mean of x along an axis, which has the extent 1 then. Its gradient is the repeat of dy
        /// over as many.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_mean", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerMean(ulong layer, ulong x, ulong axis, ulong* y);

        /// <summary>y is x with elements left out at that rate while a network trains, else x. Its gradient is the
        /// same of dy. (which: tells the dropouts of one layer apart)</summary>
        [DllImport(Library, EntryPoint = "loom_layer_dropout", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerDropout(ulong layer, ulong x, double rate, uint which, ulong* y);

        /// <summary>y has the shape of a tensor and holds a weight's values in each of its samples, as often as they
        /// fit.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_weight", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerWeight(ulong layer, byte* name, ulong like, ulong* y);

        /// <summary>In backward: adds the sum of such pieces of a tensor to a weight's gradient.</summary>
        [DllImport(Library, EntryPoint = "loom_layer_add_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int LayerAddGradient(ulong layer, byte* name, ulong tensor);

        /// <summary>Gives what a file holds, a JSON object: a language model, a network, a checkpoint. (tensors:
        /// lists the tensors of a language model)</summary>
        [DllImport(Library, EntryPoint = "loom_inspect", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Inspect(byte* path, int tensors, ulong* facts);

        /// <summary>Writes a GGUF file with the matrices of another one in a type, whole or not at all.</summary>
        [DllImport(Library, EntryPoint = "loom_quantize", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Quantize(byte* from, byte* to, byte* dtype, ConvertOptions* options, ulong* report);

        /// <summary>Writes a language model of any format as .entity, whole or not at all.</summary>
        [DllImport(Library, EntryPoint = "loom_convert", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Convert(byte* from, byte* to, ConvertOptions* options, ulong* report);

        /// <summary>Scores a text: a JSON object with the perplexity and the mean of each window. The session's first
        /// sequence begins anew. (window: tokens; 0: 512; max_windows: 0: the whole text)</summary>
        [DllImport(Library, EntryPoint = "loom_perplexity", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Perplexity(ulong session, void* text, UIntPtr textSize, ulong window,
            ulong maxWindows, ulong cancel, ulong* result);

        /// <summary>Gives the JSON Schema of a file that Loom reads.</summary>
        [DllImport(Library, EntryPoint = "loom_schema", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Schema(int file, ulong* json);

        /// <summary>Gives the receipt of a generation that has ended; INVALID_STATE before, and for one that was
        /// cancelled.</summary>
        [DllImport(Library, EntryPoint = "loom_generator_receipt", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GeneratorReceipt(ulong generator, ulong* receipt);

        /// <summary>Gives the receipt of the last answer that was complete; INVALID_STATE before one.</summary>
        [DllImport(Library, EntryPoint = "loom_chat_receipt", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ChatReceipt(ulong chat, ulong* receipt);

        /// <summary>Gives the receipt of the last texts; INVALID_STATE before any.</summary>
        [DllImport(Library, EntryPoint = "loom_encoder_receipt", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int EncoderReceipt(ulong encoder, ulong* receipt);

        /// <summary>Computes what a receipt names again and compares: a JSON object with command, model, equal,
        /// difference (the first one, or null) and hash. (model: where the model is now; NULL: as in the receipt;
        /// folder: where relative paths start; NULL: the working folder; device: as in the options of a session;
        /// NULL: cpu)</summary>
        [DllImport(Library, EntryPoint = "loom_replay_receipt", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ReplayReceipt(void* receipt, UIntPtr receiptSize, byte* model, byte* folder,
            byte* device, ulong cancel, ulong* report);

        /// <summary>Gives the SHA-256 of a file's bytes, of the files of a model's folder, or the root hash of an
        /// .entity, as text: 64 hexadecimal digits. A file that has not changed since is not read again.</summary>
        [DllImport(Library, EntryPoint = "loom_content_hash", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ContentHash(byte* path, ulong* hash);

        /// <summary>Opens a file or folder: a network (.entity, JSON, safetensors, .npz, Loom 0.8x), a language model
        /// (GGUF, a Hugging Face folder, .entity), a text encoder (the folder of a BERT) or a graph (.onnx, .entity).
        /// loom_kind_of() tells which the handle stands for. The report is a JSON object: kind, format, where each
        /// tensor of a bare file went, warnings.</summary>
        [DllImport(Library, EntryPoint = "loom_load", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int Load(byte* path, LoadOptions* options, ulong* @object, ulong* report);

        /// <summary>Writes what one file holds as another: a network as .onnx or .safetensors, a language model as
        /// .gguf or as a Hugging Face folder. UNSUPPORTED, before a byte is written, names what the format cannot
        /// express. The report is a JSON object: format, bytes, tensors or nodes, SHA-256.</summary>
        [DllImport(Library, EntryPoint = "loom_export_file", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ExportFile(byte* from, byte* to, ExportOptions* options, ulong* report);

        /// <summary>The same of a network as it stands, with its present weights. (path: FILE.onnx or
        /// FILE.safetensors)</summary>
        [DllImport(Library, EntryPoint = "loom_network_export", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkExport(ulong network, byte* path, ExportOptions* options, ulong* report);

        /// <summary>Reads an .onnx file, opset 7 on, or an .entity with a graph. UNSUPPORTED lists every operation
        /// that Loom lacks.</summary>
        [DllImport(Library, EntryPoint = "loom_graph_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphOpen(byte* path, GraphOptions* options, ulong* graph);

        /// <summary>The same of bytes, which are read during the call only; every tensor must lie in them.</summary>
        [DllImport(Library, EntryPoint = "loom_graph_from_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphFromMemory(void* data, UIntPtr dataSize, GraphOptions* options, ulong* graph);

        /// <summary>Gives a JSON object: inputs and outputs with name, type and shape ("?": any extent) as far as the
        /// file says, opset, operations and how often, constants and their bytes.</summary>
        [DllImport(Library, EntryPoint = "loom_graph_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphInfo(ulong graph, ulong* info);

        /// <summary>Makes a session without inputs.</summary>
        [DllImport(Library, EntryPoint = "loom_graph_session_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphSessionCreate(ulong graph, GraphSessionOptions* options, ulong* session);

        /// <summary>Names the caller's memory that runs read as an input. It must last as long as it is bound; what
        /// is in it may change between runs. Float32, float64 and int64 are read where they lie, other types are
        /// copied into wider ones by each run. A shape of no extents is that of a scalar. (input: its name; NULL:
        /// that of the only one)</summary>
        [DllImport(Library, EntryPoint = "loom_graph_session_bind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphSessionBind(ulong session, byte* input, int element, void* data,
            UIntPtr dataSize, ulong* shape, UIntPtr shapeCount);

        /// <summary>Lets go of all memory that is bound.</summary>
        [DllImport(Library, EntryPoint = "loom_graph_session_unbind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphSessionUnbind(ulong session);

        /// <summary>Runs the graph from the bound inputs. INVALID_ARGUMENT for an input that is not bound or of
        /// another type, SHAPE_MISMATCH for one of another shape. (cancel: read between operations: ends the call
        /// with CANCELLED)</summary>
        [DllImport(Library, EntryPoint = "loom_graph_session_run", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphSessionRun(ulong session, ulong cancel);

        /// <summary>Gives an output of the last run where it lies; it lasts until the next call with the session that
        /// is not this one. INVALID_STATE before a run. (output: its name; NULL: that of the only one)</summary>
        [DllImport(Library, EntryPoint = "loom_graph_session_output", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphSessionOutput(ulong session, byte* output, int* element, void** data,
            UIntPtr* dataSize, ulong** shape, UIntPtr* shapeCount);

        /// <summary>Copies an output of the last run, whose bytes must be as many. (output: its name; NULL: that of
        /// the only one)</summary>
        [DllImport(Library, EntryPoint = "loom_graph_session_copy_output", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphSessionCopyOutput(ulong session, byte* output, byte* to, UIntPtr toCount);

        /// <summary>Gives the SHA-256 of all outputs of the last run as text, 64 hexadecimal digits: equal on every
        /// machine.</summary>
        [DllImport(Library, EntryPoint = "loom_graph_session_hash", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphSessionHash(ulong session, ulong* hash);

        /// <summary>Gives a JSON object: threads, memory that runs work in.</summary>
        [DllImport(Library, EntryPoint = "loom_graph_session_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int GraphSessionInfo(ulong session, ulong* info);

        /// <summary>Loads the folder of a BERT as sentence-transformers lay it out.</summary>
        [DllImport(Library, EntryPoint = "loom_encoder_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int EncoderOpen(byte* path, EncoderOptions* options, ulong* encoder);

        /// <summary>Gives a JSON object: dimensions, max_tokens, layers, pooling, threads.</summary>
        [DllImport(Library, EntryPoint = "loom_encoder_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int EncoderInfo(ulong encoder, ulong* info);

        /// <summary>Gives the encoder's tokenizer.</summary>
        [DllImport(Library, EntryPoint = "loom_encoder_tokenizer", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int EncoderTokenizer(ulong encoder, ulong* tokenizer);

        /// <summary>Gives a vector per text, one behind the other, and how many tokens of each were read; both last
        /// until the next call with the encoder. A text's vector has the same bits alone and among others. Behind
        /// max_tokens a text is cut off. (shape: texts, dimensions)</summary>
        [DllImport(Library, EntryPoint = "loom_encoder_embed", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int EncoderEmbed(ulong encoder, byte** texts, UIntPtr textsCount, ulong cancel,
            float** vectors, UIntPtr* vectorsCount, ulong** shape, UIntPtr* shapeCount, ulong** tokens,
            UIntPtr* tokensCount);

        /// <summary>Gives a JSON list of a model's adapters: name (that of their folder's place among the options,
        /// "0"), rank, alpha, matrices, parameters.</summary>
        [DllImport(Library, EntryPoint = "loom_model_adapters", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ModelAdapters(ulong model, ulong* list);

        /// <summary>Lets these adapters of the model count from here on and no others. All sequences are then empty.
        /// (all: every adapter that the model has counts, whatever names says)</summary>
        [DllImport(Library, EntryPoint = "loom_session_choose_adapters", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SessionChooseAdapters(ulong session, byte** names, UIntPtr namesCount, int all);

        /// <summary>Calls the host behind every layer of the session's passes.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_watch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionWatch(ulong session, IntPtr layer, void* user);

        /// <summary>Calls the host behind every so many layers, with the figures of all of them. (layers: at least
        /// 1)</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_watch_windows", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionWatchWindows(ulong session, ulong layers, IntPtr window, void* user);

        /// <summary>Sends a report of every layer to a host that listens, by a thread that no pass waits for:
        /// "http://HOST:PORT/PATH" takes a POST of JSON each, "tanhi://HOST:PORT" a datagram; NULL ends it.</summary>
        [DllImport(Library, EntryPoint = "loom_network_session_report_to", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkSessionReportTo(ulong session, byte* address);

        /// <summary>Calls the host behind every layer of the steps of a trainer, forward and backward. UNSUPPORTED
        /// where several shards run side by side.</summary>
        [DllImport(Library, EntryPoint = "loom_trainer_watch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainerWatch(ulong trainer, IntPtr layer, void* user);

        /// <summary>As loom_network_session_watch_windows(). (layers: at least 1)</summary>
        [DllImport(Library, EntryPoint = "loom_trainer_watch_windows", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainerWatchWindows(ulong trainer, ulong layers, IntPtr window, void* user);

        /// <summary>As loom_network_session_report_to().</summary>
        [DllImport(Library, EntryPoint = "loom_trainer_report_to", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TrainerReportTo(ulong trainer, byte* address);

        /// <summary>Calls the host behind every layer of a mesh's ticks; cells then run one after the other, with the
        /// same bits.</summary>
        [DllImport(Library, EntryPoint = "loom_step_mesh_watch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepMeshWatch(ulong mesh, IntPtr layer, void* user);

        /// <summary>Like loom_network_session_watch_windows(), for a mesh's ticks. (layers: at least 1)</summary>
        [DllImport(Library, EntryPoint = "loom_step_mesh_watch_windows", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepMeshWatchWindows(ulong mesh, ulong layers, IntPtr window, void* user);

        /// <summary>As loom_network_session_report_to().</summary>
        [DllImport(Library, EntryPoint = "loom_step_mesh_report_to", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int StepMeshReportTo(ulong mesh, byte* address);

        /// <summary>Gives the structure of a network, a JSON object: every layer, nested ones included, with exact
        /// counts of parameters and bytes.</summary>
        [DllImport(Library, EntryPoint = "loom_network_blueprint", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkBlueprint(ulong network, ulong* blueprint);

        /// <summary>Begins windows of so many milliseconds, now. (total_ms: what comes later is not
        /// counted)</summary>
        [DllImport(Library, EntryPoint = "loom_adaptation_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int AdaptationCreate(double windowMs, double totalMs, byte* task, ulong* adaptation);

        /// <summary>Counts an output, which was right or not.</summary>
        [DllImport(Library, EntryPoint = "loom_adaptation_record", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int AdaptationRecord(ulong adaptation, int correct);

        /// <summary>The task changes now.</summary>
        [DllImport(Library, EntryPoint = "loom_adaptation_mark", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int AdaptationMark(ulong adaptation, byte* task);

        /// <summary>Gives a JSON object: windows so far, changes with accuracy before them and time to find back,
        /// accuracy, throughput, availability, score.</summary>
        [DllImport(Library, EntryPoint = "loom_adaptation_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int AdaptationInfo(ulong adaptation, ulong* info);

        /// <summary>Gives the flat index of a cell. (address: z, y, x, l)</summary>
        [DllImport(Library, EntryPoint = "loom_network_index", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkIndex(ulong network, ulong* address, UIntPtr addressCount, ulong* index);

        /// <summary>Gives the layer of a cell, a JSON object as in a spec, without weights; NOT_FOUND for an empty
        /// cell. (address: z, y, x, l)</summary>
        [DllImport(Library, EntryPoint = "loom_network_layer", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int NetworkLayer(ulong network, ulong* address, UIntPtr addressCount, ulong* layer);

        /// <summary>Gives what numbers become in a numeric type: encoded, with scales estimated as those of a matrix
        /// of such rows, and decoded. (columns: of a row; 0: all are one row; to: as many)</summary>
        [DllImport(Library, EntryPoint = "loom_simulate_precision", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int SimulatePrecision(float* values, UIntPtr valuesCount, ulong columns, byte* dtype,
            float* to, UIntPtr toCount);

        /// <summary>Finds models that complete each other: pairs whose cases that one of them gets right are at least
        /// such a part of all. A JSON list of {a, b, coverage, overlap, cosine}, the best first; cosine is that of
        /// loom_performance_similarity(). (right: a byte per case, 0 or 1, model by model)</summary>
        [DllImport(Library, EntryPoint = "loom_complementary_matches", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int ComplementaryMatches(void* right, UIntPtr rightSize, ulong models,
            double minCoverage, ulong* matches);

        /// <summary>Gives the cosine of two models' right cases, as vectors of 0 and 1: 1 where both get the same
        /// ones right, 0 where they have none in common. (first: a byte per case, 0 or 1; second: as many)</summary>
        [DllImport(Library, EntryPoint = "loom_performance_similarity", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int PerformanceSimilarity(void* first, UIntPtr firstSize, void* second,
            UIntPtr secondSize, double* cosine);

        /// <summary>Gives how the kernels of a layer kind divide its work, a JSON object: kind, dtype, isa, cpu (rows
        /// and outputs that go together) and gpu (few_rows, few and many: rows and outputs of a workgroup), null
        /// where the kind runs on the CPU alone in that type. No bit depends on it. (kind: dense, swiglu, rnn, lstm,
        /// mha, gru, cnn1 to cnn3, convtransposed1 to convtransposed3, or attention; dtype: of the weights; isa: an
        /// instruction set by name; NULL: the best one)</summary>
        [DllImport(Library, EntryPoint = "loom_tile_sizes", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TileSizes(byte* kind, byte* dtype, byte* isa, ulong* sizes);
    }
}
