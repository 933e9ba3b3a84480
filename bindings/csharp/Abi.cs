// The C ABI of Loom: constants, structs and functions of loom.h. Made by tools/gen_bindings.py from api/loom.json.
// Structs begin with their size: `var options = ModelOptions.Create();` sets it.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

#pragma warning disable 1591  // fields and constants whose name says all have no comment

namespace Welvet.Interop
{
    /// <summary>Called on the calling thread with the fraction that is done, from 0 to 1. Return 1 to continue, 0 to
    /// cancel the call.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnProgress(void* user, double fraction);

    /// <summary>Called on the calling thread with each event of a training. Return 1 to continue, 0 to stop training
    /// after this event.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnTraining(void* user, TrainingEvent* @event);

    /// <summary>Called on the calling thread for each step of a training whose gradients other processes compute.
    /// Fill gradients, losses and counts of the event. Return 1 to continue, 0 to stop the training before this
    /// step.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnShards(void* user, ShardsEvent* @event);

    /// <summary>Called on the calling thread after each generation with its report, a JSON object. Return 1 to
    /// continue, 0 to end the evolution.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnGeneration(void* user, byte* report);

    /// <summary>Called on the calling thread after each layer of a pass, children before their container. Return 1 to
    /// continue, 0 to end the watch.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnLayer(void* user, LayerEvent* @event);

    /// <summary>Called on the calling thread after each window of layers. Return 1 to continue, 0 to end the
    /// watch.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnWindow(void* user, WindowEvent* @event);

    /// <summary>Called on the calling thread for each generation of an evolution whose networks other processes
    /// judge. Fill the fitness of the event. Return 1 to continue, 0 to end the evolution with CANCELLED.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int OnJudging(void* user, JudgingEvent* @event);

    /// <summary>Reads up to `size` bytes from `offset` on into `to` and returns how many, 0 for none; -1 is a
    /// failure.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate long ReadAt(void* user, ulong offset, void* to, UIntPtr size);

    /// <summary>Function that a worker of the host calls.</summary>
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

    /// <summary>A callback of a layer kind of the host's own. It describes the computation with loom_layer functions
    /// and returns LOOM_OK, or the status of one of them that failed. The description must depend on settings and
    /// shapes only. Several threads may call it at the same time.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate int LayerRule(void* user, ulong layer);

    /// <summary>Called when the library finds itself broken; the process ends when it returns.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate void OnFatal(void* user, byte* text);

    /// <summary>An event of a training, for on_training. It lasts during the call.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct TrainingEvent
    {
        public uint StructSize;
        public int Phase;
        /// <summary>from 0</summary>
        public ulong Epoch;
        /// <summary>of the training</summary>
        public ulong Epochs;
        /// <summary>of the epoch, from 0</summary>
        public ulong Batch;
        /// <summary>of an epoch</summary>
        public ulong Batches;
        /// <summary>of the last batch; at TRAINING_EPOCH_END the mean of the epoch</summary>
        public double Loss;
        /// <summary>of the last step</summary>
        public double LearningRate;
        /// <summary>a JSON object of metrics after a validation, else NULL</summary>
        public byte* Validation;
        /// <summary>at TRAINING_END, else TRAINING_STOP_NOT_YET</summary>
        public int Stop;

        public static TrainingEvent Create()
        {
            return new TrainingEvent { StructSize = (uint)sizeof(TrainingEvent) };
        }
    }

    /// <summary>A step whose gradients the host provides, for on_shards. For each node of shards [first, first +
    /// count) that a replica has summed, write the sum into the first-th part of gradients, its loss into
    /// losses[first] and count into counts[first]. Counts inside a node stay 0. The event lasts during the
    /// call.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct ShardsEvent
    {
        public uint StructSize;
        /// <summary>argument of loom_replica_begin() after the replica, as are the next four</summary>
        public ulong Epoch;
        /// <summary>samples of the epoch before the batch</summary>
        public ulong Position;
        public ulong Step;
        public double LossScale;
        /// <summary>the weights</summary>
        public void* Masters;
        public UIntPtr MastersSize;
        /// <summary>of the step</summary>
        public ulong Shards;
        /// <summary>bytes of one part of gradients</summary>
        public ulong GradientSize;
        /// <summary>to fill: `shards` parts, one after another</summary>
        public byte* Gradients;
        public UIntPtr GradientsCount;
        /// <summary>to fill: one for each shard</summary>
        public double* Losses;
        public UIntPtr LossesCount;
        /// <summary>to fill: one for each shard, 0 at first</summary>
        public ulong* Counts;
        public UIntPtr CountsCount;

        public static ShardsEvent Create()
        {
            return new ShardsEvent { StructSize = (uint)sizeof(ShardsEvent) };
        }
    }

    /// <summary>A layer that ran, for on_layer. The statistics are those of its output, or of the gradient or gap of
    /// its input. The event lasts during the call.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct LayerEvent
    {
        public uint StructSize;
        public int Pass;
        /// <summary>of the layer, "layers.3"</summary>
        public byte* Path;
        /// <summary>its kind, "dense"</summary>
        public byte* Layer;
        /// <summary>of its weights</summary>
        public byte* Dtype;
        /// <summary>index of the cell that holds it</summary>
        public ulong Cell;
        /// <summary>of the call, or the number of ticks</summary>
        public ulong Step;
        public double Mean;
        /// <summary>standard deviation</summary>
        public double Deviation;
        public double Greatest;
        public double Least;
        /// <summary>values above 1e-6 in magnitude</summary>
        public ulong Active;
        /// <summary>float32 or float64, with its shape</summary>
        public Tensor* Values;

        public static LayerEvent Create()
        {
            return new LayerEvent { StructSize = (uint)sizeof(LayerEvent) };
        }
    }

    /// <summary>Statistics of consecutive layers that ran, for on_window. The event lasts during the call.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct WindowEvent
    {
        public uint StructSize;
        /// <summary>in the window</summary>
        public ulong Layers;
        /// <summary>average of the means of the layers</summary>
        public double Mean;
        /// <summary>average of their standard deviations</summary>
        public double Deviation;
        /// <summary>of all values</summary>
        public double Greatest;
        /// <summary>of all values</summary>
        public double Least;
        /// <summary>average number of values above 1e-6 in magnitude</summary>
        public double Active;
        /// <summary>fraction of values that are not active, 0 to 1</summary>
        public double Sparsity;
        /// <summary>of the first layer</summary>
        public ulong FirstStep;
        /// <summary>of the last layer</summary>
        public ulong LastStep;

        public static WindowEvent Create()
        {
            return new WindowEvent { StructSize = (uint)sizeof(WindowEvent) };
        }
    }

    /// <summary>Networks of a generation that the host judges, for on_judging. The event lasts during the
    /// call.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct JudgingEvent
    {
        public uint StructSize;
        /// <summary>files (.entity), one after another</summary>
        public void* Networks;
        public UIntPtr NetworksSize;
        /// <summary>where each file ends in networks; one for each network</summary>
        public ulong* Ends;
        public UIntPtr EndsCount;
        /// <summary>numbers that loom_judge_fitness() gives for a network</summary>
        public ulong Width;
        /// <summary>to fill: width numbers for each network, one network after another; NaN ranks last</summary>
        public double* Fitness;
        public UIntPtr FitnessCount;

        public static JudgingEvent Create()
        {
            return new JudgingEvent { StructSize = (uint)sizeof(JudgingEvent) };
        }
    }

    /// <summary>Values with their type and shape, row-major and little-endian. A function reads a tensor that goes
    /// in, and fills the memory of one that it is to write. A function that gives a tensor sets all fields, and its
    /// memory belongs to the object of the call.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct Tensor
    {
        public uint StructSize;
        /// <summary>type of the values</summary>
        public int Element;
        /// <summary>the values; the size is in bytes</summary>
        public void* Data;
        public UIntPtr DataSize;
        /// <summary>extents, outermost first; none for a scalar</summary>
        public ulong* Shape;
        public UIntPtr ShapeCount;

        public static Tensor Create()
        {
            return new Tensor { StructSize = (uint)sizeof(Tensor) };
        }
    }

    /// <summary>Callbacks of a custom layer kind.</summary>
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

    /// <summary>Threads, instruction set, device and memory of a call or an object. No result depends on them, but
    /// for a device of precision fast. A field that a call cannot use is INVALID_ARGUMENT with its name. Fields that
    /// are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct ComputeOptions
    {
        public uint StructSize;
        /// <summary>shared workers; 0: workers of its own</summary>
        public ulong Threads;
        /// <summary>of its own workers; 0: one per physical core</summary>
        public int ThreadCount;
        /// <summary>an instruction set by name, to compare; NULL: the best one</summary>
        public byte* Isa;
        /// <summary>where it runs: cpu, gpu, gpu:N of loom_gpu_report(), or auto, the faster one; NULL: cpu. gpu:fast
        /// and gpu:N:fast give up equal bits for speed</summary>
        public byte* Device;
        /// <summary>of activations: a call that needs more is OUT_OF_MEMORY; 0: no limit</summary>
        public ulong MaxBytes;

        public static ComputeOptions Create()
        {
            return new ComputeOptions { StructSize = (uint)sizeof(ComputeOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct ModelOptions
    {
        public uint StructSize;
        /// <summary>workers for loading: threads or thread_count; NULL: one per physical core</summary>
        public ComputeOptions* Compute;
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
        /// <summary>threads, instruction set and device; NULL: defaults</summary>
        public ComputeOptions* Compute;
        /// <summary>how many sequences it holds at once; 0: one</summary>
        public uint Sequences;
        /// <summary>longest sequence; 0: what the model was trained for, at most 4096</summary>
        public ulong ContextTokens;
        /// <summary>of keys and values: float32 (the default), bfloat16, int8</summary>
        public byte* KvDtype;
        /// <summary>activations in 8 bits instead of 16: faster, a little less exact</summary>
        public int Int8Activations;

        public static SessionOptions Create()
        {
            return new SessionOptions { StructSize = (uint)sizeof(SessionOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default: 128 tokens, the most likely token each time. The fields from
    /// plain_text on say how a chat template writes the prompt; where none does (LOOM_PROMPT_RAW, ids) they are
    /// INVALID_ARGUMENT.</summary>
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
        /// strangers. Control tokens of the chat template stay</summary>
        public int PlainText;
        /// <summary>in place of the model's default: the name of another template of the model, one of Loom's own
        /// (chatml, llama2, llama3, mistral, tinyllama, zephyr, plain, bitnet_instruction, bitnet_microsoft), or the
        /// text of a template</summary>
        public byte* ChatTemplate;
        /// <summary>JSON: a list of functions that the chat template describes to the model</summary>
        public byte* Tools;
        /// <summary>JSON: an object of variables that the chat template reads, as {"enable_thinking":
        /// false}</summary>
        public byte* TemplateVariables;
        /// <summary>YYYY-MM-DD, for chat templates that write the day</summary>
        public byte* Date;
        /// <summary>with LOOM_PROMPT_MESSAGES: the model continues the last message in place of answering
        /// it</summary>
        public int ContinueFinalMessage;
        /// <summary>a JSON Schema that the text satisfies, or begins to satisfy where the answer is cut. At most one
        /// of this and the next three is set; what they have and Loom does not support is INVALID_ARGUMENT, by
        /// name</summary>
        public byte* Schema;
        /// <summary>a grammar in llama.cpp's GBNF, likewise</summary>
        public byte* Grammar;
        /// <summary>a regular expression that matches the whole text, likewise</summary>
        public byte* Regex;
        /// <summary>texts of which the answer is one</summary>
        public byte** Choices;
        public UIntPtr ChoicesCount;

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
        /// <summary>threads, instruction set, device and memory; NULL: defaults</summary>
        public ComputeOptions* Compute;
        /// <summary>a forward keeps what loom_network_session_backward() needs</summary>
        public int Backward;
        /// <summary>above 0: attention and recurrent layers go on from call to call, as one sequence per sample of up
        /// to so many positions; not with backward</summary>
        public ulong Context;
        /// <summary>of kept keys and values: float32 (the default), bfloat16, int8</summary>
        public byte* KvDtype;
        /// <summary>above 0: a forward keeps the inputs of each such number of cells alone, and backward computes the
        /// rest again</summary>
        public ulong CheckpointEvery;

        public static NetworkSessionOptions Create()
        {
            return new NetworkSessionOptions { StructSize = (uint)sizeof(NetworkSessionOptions) };
        }
    }

    /// <summary>Options and side inputs of a forward. Fields that are 0 mean none.</summary>
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
        /// <summary>input of the layers that read an external one; NULL: none</summary>
        public Tensor* External;
        /// <summary>of attention; NULL: none</summary>
        public Tensor* Mask;
        /// <summary>read between cells: ends the call with CANCELLED</summary>
        public ulong Cancel;

        public static Pass Create()
        {
            return new Pass { StructSize = (uint)sizeof(Pass) };
        }
    }

    /// <summary>Samples that a network learns from, with classes or target values, as its loss takes them.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct Batch
    {
        public uint StructSize;
        /// <summary>float32 or the network's element, samples first</summary>
        public Tensor* Inputs;
        /// <summary>int32: a class for each row of the output; float32 or the network's element: as many values for
        /// each sample as the output has. The samples come first; no shape is needed</summary>
        public Tensor* Targets;

        public static Batch Create()
        {
            return new Batch { StructSize = (uint)sizeof(Batch) };
        }
    }

    /// <summary>Result of one step of a training.</summary>
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
    public unsafe struct TrainingOptions
    {
        public uint StructSize;
        /// <summary>threads, instruction set, device and memory; NULL: defaults</summary>
        public ComputeOptions* Compute;
        /// <summary>folder of the run: journal, checkpoint, model, report. NULL: none, or beside a config
        /// file</summary>
        public byte* Out;
        /// <summary>where relative paths of the config start; NULL: the folder of its file</summary>
        public byte* Folder;
        public int Start;
        /// <summary>in place of the config's; 0: its own</summary>
        public ulong Epochs;
        /// <summary>ends the run after the current step, with its checkpoint</summary>
        public ulong Cancel;
        /// <summary>NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of progress and shards</summary>
        public void* User;
        /// <summary>gives the gradients of every step; NULL: the run computes them</summary>
        public IntPtr Shards;

        public static TrainingOptions Create()
        {
            return new TrainingOptions { StructSize = (uint)sizeof(TrainingOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct EvolutionOptions
    {
        public uint StructSize;
        /// <summary>threads, instruction set and device that judge networks; NULL: defaults. A device is exact, never
        /// fast</summary>
        public ComputeOptions* Compute;
        /// <summary>folder of the run; NULL: none, or beside a config file</summary>
        public byte* Out;
        /// <summary>where relative paths of the config start; NULL: the folder of its file</summary>
        public byte* Folder;
        public int Start;
        /// <summary>in place of the config's; 0: its own</summary>
        public ulong Generations;
        /// <summary>ends the run after the current generation</summary>
        public ulong Cancel;
        /// <summary>NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of the callbacks</summary>
        public void* User;
        /// <summary>judges the networks of a generation; NULL: the run does</summary>
        public IntPtr Judging;

        public static EvolutionOptions Create()
        {
            return new EvolutionOptions { StructSize = (uint)sizeof(EvolutionOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct StepMeshOptions
    {
        public uint StructSize;
        /// <summary>threads, instruction set and device; NULL: defaults</summary>
        public ComputeOptions* Compute;
        /// <summary>captured ticks that a state keeps, at most 65536; 0: none</summary>
        public ulong History;
        /// <summary>loom_step_mesh_backward() will be called</summary>
        public int Backward;
        /// <summary>every tick leaves what it read, which learning by targets starts from</summary>
        public int KeepInputs;

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
        /// <summary>keeps the values of these ticks that backward needs</summary>
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
    public unsafe struct FileConvertOptions
    {
        public uint StructSize;
        /// <summary>workers of loom_file_convert(): thread_count; NULL: one per physical core</summary>
        public ComputeOptions* Compute;
        /// <summary>matrices to this type, by name; NULL: as stored</summary>
        public byte* Dtype;
        /// <summary>folder of an adapter to merge into the weights</summary>
        public byte* Adapter;
        /// <summary>NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of progress</summary>
        public void* User;
        /// <summary>replaces a file of another kind than the one that is written, too</summary>
        public int Overwrite;

        public static FileConvertOptions Create()
        {
            return new FileConvertOptions { StructSize = (uint)sizeof(FileConvertOptions) };
        }
    }

    /// <summary>Result of one call of loom_generator_next().</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct Step
    {
        public uint StructSize;
        /// <summary>text that can no longer change, following the pieces before; may be empty; lasts until the next
        /// call with the generator</summary>
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
    public unsafe struct EncoderOptions
    {
        public uint StructSize;
        /// <summary>threads, instruction set, device and memory; NULL: defaults</summary>
        public ComputeOptions* Compute;
        /// <summary>quantises the matrices on load to this type, by name; NULL: float32</summary>
        public byte* Dtype;
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
    public unsafe struct FileOpenOptions
    {
        public uint StructSize;
        /// <summary>workers for loading, of an encoder, and of the sessions of a graph that name none: threads or
        /// thread_count; not for a network. NULL: one per physical core</summary>
        public ComputeOptions* Compute;
        /// <summary>a JSON file of what the shapes of bare tensors do not say (docs/reference/formats.md); NULL:
        /// none</summary>
        public byte* Hints;
        /// <summary>ends the loading of a language model with CANCELLED</summary>
        public ulong Cancel;
        /// <summary>of a language model; NULL: none</summary>
        public IntPtr Progress;
        /// <summary>first argument of progress</summary>
        public void* User;
        /// <summary>quantises the matrices of a language model or an encoder on load; not for other files. NULL: as
        /// stored</summary>
        public byte* Dtype;
        /// <summary>unknown keys of a network's spec are warnings, not errors; not for other files</summary>
        public int Lenient;

        public static FileOpenOptions Create()
        {
            return new FileOpenOptions { StructSize = (uint)sizeof(FileOpenOptions) };
        }
    }

    /// <summary>Fields that are 0 mean the default.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public unsafe struct FileExportOptions
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
        /// <summary>replaces a file of another kind than the one that is written, too</summary>
        public int Overwrite;

        public static FileExportOptions Create()
        {
            return new FileExportOptions { StructSize = (uint)sizeof(FileExportOptions) };
        }
    }

    /// <summary>The functions and constants of loom.h.</summary>
    public static unsafe partial class Abi
    {
#if UNITY_IOS && !UNITY_EDITOR
        private const string Library = "__Internal"; // linked into the program
#else
        private const string Library = "loom";
#endif

        // Version of this interface. Libraries of an equal version serve programs of older headers, whose structs may
        // be smaller.
        /// <summary>compared with loom_library_abi_version() when a program loads the library</summary>
        public const int AbiVersion = 1;

        // Status of a call: OK, or the reason why it failed. loom_last_error() has the text.
        /// <summary>done</summary>
        public const int Ok = 0;
        /// <summary>an argument is outside what the function takes</summary>
        public const int InvalidArgument = 1;
        /// <summary>a configuration contradicts itself</summary>
        public const int InvalidConfig = 2;
        /// <summary>shapes that must fit do not</summary>
        public const int ShapeMismatch = 3;
        /// <summary>a size overflows</summary>
        public const int SizeOverflow = 4;
        /// <summary>a number is outside its range</summary>
        public const int OutOfRange = 5;
        /// <summary>an index is outside of what it counts</summary>
        public const int IndexOutOfRange = 6;
        /// <summary>a value is infinite or NaN</summary>
        public const int NonFinite = 7;
        /// <summary>a name is unknown</summary>
        public const int UnknownName = 8;
        /// <summary>a key is unknown</summary>
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
        /// <summary>out of memory</summary>
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
        /// <summary>containers are nested too deep</summary>
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
        /// <summary>the graphics card is lost with the values on it; objects of language models continue on the
        /// CPU</summary>
        public const int DeviceLost = 32;

        // Kind of the object that a handle refers to.
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

        // The type of a tensor's numbers, numbered as in ONNX files. Values follow each other, little-endian; two
        // codes of 4 bits share a byte, the first one in the low bits.
        /// <summary>unspecified</summary>
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

        // How a training treats a folder that holds a run.
        /// <summary>begins; a folder that holds a run is INVALID_ARGUMENT</summary>
        public const int RunFresh = 0;
        /// <summary>continues from the last checkpoint, or begins where there is none</summary>
        public const int RunResume = 1;
        /// <summary>begins again and overwrites the run</summary>
        public const int RunOverwrite = 2;

        // The place in a training that an event reports.
        public const int TrainingBegin = 0;
        public const int TrainingEpochBegin = 1;
        public const int TrainingBatchBegin = 2;
        public const int TrainingBatchEnd = 3;
        public const int TrainingValidationEnd = 4;
        public const int TrainingCheckpoint = 5;
        public const int TrainingEpochEnd = 6;
        public const int TrainingEnd = 7;

        // Why a training ended.
        /// <summary>it continues</summary>
        public const int TrainingStopNotYet = 0;
        /// <summary>after its last epoch</summary>
        public const int TrainingStopFinished = 1;
        /// <summary>validations no longer improved</summary>
        public const int TrainingStopEarlyStop = 2;
        /// <summary>a callback or cancel ended it; it can be resumed</summary>
        public const int TrainingStopStopped = 3;
        /// <summary>values were not finite; the outcome has a message</summary>
        public const int TrainingStopDiverged = 4;

        // A pass over the layers of a network.
        public const int PassForward = 0;
        /// <summary>gradients</summary>
        public const int PassBackward = 1;
        /// <summary>of a step mesh</summary>
        public const int PassTick = 2;
        /// <summary>gaps of target propagation</summary>
        public const int PassTween = 3;

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
        /// <summary>a lost graphics card whose work continues on the CPU</summary>
        public const int LogInfo = 3;

        // How a text becomes a prompt.
        /// <summary>a question for a model with a chat template, a text to continue for the others</summary>
        public const int PromptAuto = 0;
        /// <summary>the text is continued as it is</summary>
        public const int PromptRaw = 1;
        /// <summary>the text is a question; NO_TEMPLATE when the model brings no template</summary>
        public const int PromptChat = 2;
        /// <summary>the text is a conversation for the chat template: a JSON list of messages with role and
        /// content</summary>
        public const int PromptMessages = 3;

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
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_version")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_version", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            byte* Version();

        /// <summary>Returns the LOOM_ABI_VERSION of the library. A program that was compiled with another one must
        /// not call other functions.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_library_abi_version")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_library_abi_version", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LibraryAbiVersion();

        /// <summary>Returns the text of the last call on this thread that failed, one line; empty before any. It
        /// lasts until the next one fails.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_last_error")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_last_error", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            byte* LastError();

        /// <summary>Returns the name of a reason that a generation ended for, as files and receipts have it: eos,
        /// stop, length, context or cancelled; "" for STOP_NOT_YET and for a number that is none.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_stop_name")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_stop_name", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            byte* StopName(int stop);

        /// <summary>Returns the name of a reason that a training ended for, as the stop_reason of outcomes, journals
        /// and reports: finished, early_stop, stopped or diverged; "" for TRAINING_STOP_NOT_YET and for a number that
        /// is none.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_training_stop_name")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_training_stop_name", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            byte* TrainingStopName(int stop);

        /// <summary>Returns the name of a status, "Busy"; "Unknown" for a number that is none.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_status_name")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_status_name", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            byte* StatusName(int status);

        /// <summary>Gives the version of the arithmetic: results of equal versions have equal bits.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_numerics_version")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_numerics_version", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NumericsVersion(uint* version);

        /// <summary>Gives a JSON object: version, CPU, instruction sets, cores.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_system_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_system_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SystemInfo(ulong* info);

        /// <summary>Runs the golden set and gives the SHA-256 of its table as text: 64 hexadecimal digits, equal on
        /// every machine. Takes seconds. (compute: thread_count and isa; NULL: defaults)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_verify")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_verify", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int Verify(ComputeOptions* compute, ulong* digest);

        /// <summary>Gives a JSON object with the graphics cards that options can name in their field device:
        /// adapters, each with device ("gpu:0"), name, driver, backend, kind, limits and tier. IO_ERROR with the
        /// reason in one line where there is none. With the suffix :fast (gpu:0:fast) a card or auto need not be
        /// exact: its results differ from those of other devices (docs/guide/gpu.md).</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_gpu_report")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_gpu_report", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GpuReport(ulong* report);

        /// <summary>Gives what numbers become in a numeric type: encoded, with scales estimated as those of a matrix
        /// of such rows, and decoded. (columns: of a row; 0: all are one row; to: as many)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_dtype_simulate")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_dtype_simulate", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int DtypeSimulate(float* values, UIntPtr valuesCount, ulong columns, byte* dtype, float* to,
                UIntPtr toCount);

        /// <summary>Increments the reference count of an object.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_retain")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_retain", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int Retain(ulong handle);

        /// <summary>Decrements the reference count of an object. At 0 the object is freed, at once or when the calls
        /// that use it have returned. The handle 0 is ignored.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_release")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_release", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int Release(ulong handle);

        /// <summary>Gives what the handle stands for.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_kind_of")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_kind_of", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int KindOf(ulong handle, int* kind);

        /// <summary>Gives the bytes of a blob; they last until it is released. A text ends with a NUL that the size
        /// does not count.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_blob_view")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_blob_view", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int BlobView(ulong blob, void** data, UIntPtr* dataSize);

        /// <summary>Makes a flag that is not set.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_cancel_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_cancel_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int CancelCreate(ulong* cancel);

        /// <summary>Sets or clears the flag, from any thread.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_cancel_set")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_cancel_set", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int CancelSet(ulong cancel, int set);

        /// <summary>Starts workers. Sessions that use them at the same time take turns; no result depends on it.
        /// (count: the caller's thread included; 0: one per physical core)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_threads_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_threads_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ThreadsCreate(int count, ulong* threads);

        /// <summary>Uses the host's own workers. (count: at least 1)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_threads_from_host")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_threads_from_host", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ThreadsFromHost(int count, IntPtr run, void* user, ulong* threads);

        /// <summary>Reports every call that fails (LOOM_LOG_ERROR), and every lost graphics card whose work continues
        /// on the CPU (LOOM_LOG_INFO), to the host, on the thread of the call. The hook may call other functions;
        /// their failures are not reported.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_set_log")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_set_log", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SetLog(IntPtr log, void* user);

        /// <summary>Takes the memory of tensors from the host: weights, activations, keys and values. Memory goes
        /// back to the functions that gave it. Both functions are called from several threads at once.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_set_memory")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_set_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SetMemory(IntPtr allocate, IntPtr free, void* user);

        /// <summary>Reports a broken invariant of the library to the host before the process ends.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_set_fatal")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_set_fatal", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SetFatal(IntPtr fatal, void* user);

        /// <summary>Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a
        /// tokenizer.json.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tokenizer_open")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tokenizer_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TokenizerOpen(byte* path, ulong* tokenizer);

        /// <summary>Reads a tokenizer.json from memory.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tokenizer_from_json")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tokenizer_from_json", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TokenizerFromJson(void* json, UIntPtr jsonSize, ulong* tokenizer);

        /// <summary>Reads the tokenizer of a GGUF file, an .entity or a tokenizer.json from memory.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tokenizer_from_memory")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tokenizer_from_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TokenizerFromMemory(void* data, UIntPtr dataSize, ulong* tokenizer);

        /// <summary>Gives the ids of a text, as int32 values. (add_special_tokens: what the vocabulary puts around a
        /// text; parse_special: a marker in the text is the marker; 0: it is ordinary text)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tokenizer_encode")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tokenizer_encode", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TokenizerEncode(ulong tokenizer, void* text, UIntPtr textSize, int addSpecialTokens,
                int parseSpecial, ulong* ids);

        /// <summary>Gives the text of ids: bytes, not valid UTF-8 when the ids are not. Ids without a text add
        /// nothing.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tokenizer_decode")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tokenizer_decode", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TokenizerDecode(ulong tokenizer, int* ids, UIntPtr idsCount, int skipSpecialTokens, ulong* text);

        /// <summary>Gives one more than the greatest id.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tokenizer_vocab_size")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tokenizer_vocab_size", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TokenizerVocabSize(ulong tokenizer, ulong* size);

        /// <summary>Gives the id of a token by its text as the vocabulary spells it; NOT_FOUND when it has
        /// none.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tokenizer_id")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tokenizer_id", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TokenizerId(ulong tokenizer, void* text, UIntPtr textSize, int* id);

        /// <summary>Gives the text of one id as the vocabulary spells it; empty for an unknown id.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tokenizer_token")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tokenizer_token", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TokenizerToken(ulong tokenizer, int id, ulong* text);

        /// <summary>Loads a language model: a GGUF file, a Hugging Face folder or an .entity.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_open")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelOpen(byte* path, ModelOptions* options, ulong* model);

        /// <summary>Like loom_model_open(), for a part of a file into which a GGUF file or an .entity is embedded.
        /// (size: 0: to the end)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_open_part")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_open_part", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelOpenPart(byte* path, ulong offset, ulong size, ModelOptions* options, ulong* model);

        /// <summary>Like loom_model_open(), for bytes, which are read during the call only.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_from_memory")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_from_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelFromMemory(void* data, UIntPtr dataSize, ModelOptions* options, ulong* model);

        /// <summary>Like loom_model_open(), for data that a callback of the host reads, on the calling thread: a GGUF
        /// file tensor by tensor, other files into memory at once. (size: of all bytes)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_from_callback")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_from_callback", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelFromCallback(ulong size, IntPtr read, void* user, ModelOptions* options, ulong* model);

        /// <summary>Like loom_model_open() of a Hugging Face folder, for its files in memory: config.json,
        /// model.safetensors (or its index and shards), tokenizer.json and the others. They are read during the call
        /// only; INVALID_ARGUMENT names a file that is not read. (names: of the files; data: the files, one after the
        /// other; ends: where each ends in data)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_from_files")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_from_files", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelFromFiles(byte** names, UIntPtr namesCount, void* data, UIntPtr dataSize, ulong* ends,
                UIntPtr endsCount, ModelOptions* options, ulong* model);

        /// <summary>Gives a JSON object: path, format, sizes, context, special tokens, what is missing.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelInfo(ulong model, ulong* info);

        /// <summary>Gives the model's tokenizer; NOT_FOUND, or why it cannot be read.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_tokenizer")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_tokenizer", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelTokenizer(ulong model, ulong* tokenizer);

        /// <summary>Writes messages as the model's chat template has them: a JSON list of objects with role and
        /// content.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_render_chat")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_render_chat", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelRenderChat(ulong model, void* messages, UIntPtr messagesSize, int addGenerationPrompt,
                ulong* text);

        /// <summary>Gives a JSON list of a model's adapters: name (that of their folder's place among the options,
        /// "0"), rank, alpha, matrices, parameters.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_adapters")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_adapters", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelAdapters(ulong model, ulong* list);

        /// <summary>Makes a session with empty sequences.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionCreate(ulong model, SessionOptions* options, ulong* session);

        /// <summary>Appends ids to a sequence and gives the logits that follow the last one; they last until the next
        /// call with the session. A call that fails leaves the sequence as it was.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_feed")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_feed", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionFeed(ulong session, ulong sequence, int* ids, UIntPtr idsCount, ulong cancel, float** logits,
                UIntPtr* logitsCount);

        /// <summary>Gives the tokens of a sequence; they last until the next call with the session.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_tokens")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_tokens", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionTokens(ulong session, ulong sequence, int** ids, UIntPtr* idsCount);

        /// <summary>Drops what follows the first length tokens of a sequence.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_rewind")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_rewind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionRewind(ulong session, ulong sequence, ulong length);

        /// <summary>Copies a sequence onto another.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_fork")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_fork", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionFork(ulong session, ulong from, ulong to);

        /// <summary>Gives tokens, keys and values of a sequence as bytes.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_snapshot")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_snapshot", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionSnapshot(ulong session, ulong sequence, ulong* bytes);

        /// <summary>Puts a snapshot into a sequence; SHAPE_MISMATCH when it is of another model.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_restore")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_restore", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionRestore(ulong session, ulong sequence, void* bytes, UIntPtr bytesSize);

        /// <summary>Gives a JSON object: instruction set, threads, context, sequences, memory.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionInfo(ulong session, ulong* info);

        /// <summary>Applies these adapters of the model from now on, and no others. All sequences are then empty.
        /// (all: every adapter that the model has counts, whatever names says)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_choose_adapters")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_choose_adapters", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionChooseAdapters(ulong session, byte** names, UIntPtr namesCount, int all);

        /// <summary>Scores a text: a JSON object with the perplexity and the mean of each window. The session's first
        /// sequence is cleared. (window: tokens; 0: 512; max_windows: 0: the whole text)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_session_perplexity")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_session_perplexity", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int SessionPerplexity(ulong session, void* text, UIntPtr textSize, ulong window, ulong maxWindows,
                ulong cancel, ulong* result);

        /// <summary>Creates a generator that continues the sequence with the given ids. Nothing is read
        /// yet.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_generator_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_generator_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GeneratorCreate(ulong session, int* prompt, UIntPtr promptCount, GenerationOptions* options,
                ulong* generator);

        /// <summary>Creates a generator from a text or a conversation. CONTEXT_FULL for a prompt of more than 4 times
        /// the tokens that the session holds.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_generator_from_text")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_generator_from_text", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GeneratorFromText(ulong session, void* text, UIntPtr textSize, int form, GenerationOptions* options,
                ulong* generator);

        /// <summary>Returns what a generator would read, as JSON: prompt, a text, and its ids, prompt_tokens and
        /// dropped_bytes. The options count from plain_text on. CONTEXT_FULL beyond 4 times the context that the
        /// model was trained for.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_model_prompt")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_model_prompt", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ModelPrompt(ulong model, void* text, UIntPtr textSize, int form, GenerationOptions* options,
                ulong* prompt);

        /// <summary>Does one bounded piece of work: reads a part of the prompt, or draws tokens until a piece of text
        /// has settled. At the end it does nothing.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_generator_next")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_generator_next", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GeneratorNext(ulong generator, ulong cancel, Step* step);

        /// <summary>Gives the generation so far.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_generator_result")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_generator_result", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GeneratorResult(ulong generator, Generation* result);

        /// <summary>Gives a JSON list with an object per drawn token: id, logprob (natural logarithm, before
        /// temperature and cuts) and top, the best tokens by the same. INVALID_STATE where the option logprobs is
        /// 0.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_generator_logprobs")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_generator_logprobs", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GeneratorLogprobs(ulong generator, ulong* logprobs);

        /// <summary>Begins a conversation; NO_TEMPLATE for a model without a chat template. (system: message that it
        /// begins with; NULL: none; options: of every answer)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatCreate(ulong session, byte* system, GenerationOptions* options, ulong* chat);

        /// <summary>Adds a message of the user and begins the answer. After an error the conversation is as
        /// before.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_say")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_say", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatSay(ulong chat, void* text, UIntPtr textSize, ulong cancel);

        /// <summary>Begins an answer to the messages as they stand.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_answer")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_answer", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatAnswer(ulong chat, ulong cancel);

        /// <summary>Does one bounded piece of work, as loom_generator_next(). With the last one the answer joins the
        /// conversation, also when the cancel ended it early.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_next")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_next", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatNext(ulong chat, ulong cancel, Step* step);

        /// <summary>Ends an answer that runs; what it has said so far joins the conversation.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_stop")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_stop", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatStop(ulong chat);

        /// <summary>Gives the answer that runs, or the last one.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_result")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_result", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatResult(ulong chat, Generation* result);

        /// <summary>Like loom_generator_logprobs(), for the answer that runs, or the last one.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_logprobs")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_logprobs", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatLogprobs(ulong chat, ulong* logprobs);

        /// <summary>Gives the conversation as JSON: a list of messages with role and content.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_messages")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_messages", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatMessages(ulong chat, ulong* messages);

        /// <summary>Puts another conversation in its place.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_set_messages")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_set_messages", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatSetMessages(ulong chat, void* messages, UIntPtr messagesSize);

        /// <summary>Keeps the first so many messages.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_rewind")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_rewind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatRewind(ulong chat, ulong count);

        /// <summary>Gives a message another text and forgets what follows.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_edit")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_edit", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatEdit(ulong chat, ulong index, void* text, UIntPtr textSize);

        /// <summary>Writes the conversation into a file, whole or not at all. INVALID_ARGUMENT for a file that exists
        /// and holds no conversation.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_save")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_save", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatSave(ulong chat, byte* path);

        /// <summary>Reads a conversation from a file.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_load")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_load", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatLoad(ulong chat, byte* path);

        /// <summary>Makes a network of a spec, or of a JSON checkpoint with weights. Weights that it does not bring
        /// are drawn from its seed.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_from_json")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_from_json", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkFromJson(void* json, UIntPtr jsonSize, NetworkOptions* options, ulong* network);

        /// <summary>Makes a transformer of an arch_config.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_from_arch")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_from_arch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkFromArch(void* json, UIntPtr jsonSize, ulong* network);

        /// <summary>Reads a network: an .entity, a spec or a checkpoint in JSON, a file of Loom 0.8x, a graph in ONNX
        /// as one cell.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_open")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkOpen(byte* path, NetworkOptions* options, ulong* network);

        /// <summary>Like loom_network_open(), for bytes.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_from_memory")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_from_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkFromMemory(void* data, UIntPtr dataSize, NetworkOptions* options, ulong* network);

        /// <summary>Makes a copy that shares nothing which can change.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_clone")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_clone", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkClone(ulong network, ulong* copy);

        /// <summary>Makes a network of one parallel cell whose branches are copies of cell 0 of each network.
        /// (combine_mode: concat, add, avg, ..., as of the kind parallel; share: the copies stand in cells of their
        /// own, which the branches link to)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_graft")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_graft", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkGraft(ulong* networks, UIntPtr networksCount, byte* combineMode, int share, ulong* grafted);

        /// <summary>Writes a file, whole or not at all: .json a checkpoint, everything else .entity. INVALID_ARGUMENT
        /// for the ending of another format, and for a file that exists and holds no network. (keep_master: exact
        /// masters beside packed weights, for further training)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_save")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_save", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSave(ulong network, byte* path, int keepMaster);

        /// <summary>Like loom_network_save(), as bytes. (keep_master: of FORMAT_ENTITY)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_to_bytes")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_to_bytes", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkToBytes(ulong network, int format, int keepMaster, ulong* bytes);

        /// <summary>Gives the spec as JSON: every setting that is not the default, without weights. Widths have the
        /// names of other frameworks: in_features, out_features, hidden_size and the like.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_spec")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_spec", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSpec(ulong network, ulong* spec);

        /// <summary>Gives a JSON object: grid, layers with kinds, types and weights, memory, input and output shape,
        /// what a lenient reader met.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkInfo(ulong network, ulong* info);

        /// <summary>Gives a picture of the grid, SVG. (title: above the picture; NULL: the network's name)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_draw")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_draw", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkDraw(ulong network, byte* title, ulong* svg);

        /// <summary>Gives the SHA-256 of all weights as text, 64 hexadecimal digits.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_hash")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_hash", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkHash(ulong network, ulong* hash);

        /// <summary>Resolves links and infers all shapes from the input's, samples first; a session does so by
        /// itself.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_prepare")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_prepare", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkPrepare(ulong network, ulong* input, UIntPtr inputCount, ulong** output, UIntPtr* outputCount);

        /// <summary>Puts a layer, a JSON object as in a spec, into a cell, replacing the layer in it; its weights are
        /// drawn. The next forward of a session plans it again; step meshes of the network answer INVALID_STATE from
        /// then on. (address: z, y, x, l; layer: of size 0: the cell becomes empty)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_place")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_place", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkPlace(ulong network, ulong* address, UIntPtr addressCount, void* layer, UIntPtr layerSize);

        /// <summary>Gives the matrices another numeric type. Masters stay exact. The next forward of a session plans
        /// it again. (path: a layer and all below it, "layers.3"; NULL: all)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_morph")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_morph", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkMorph(ulong network, byte* path, byte* dtype);

        /// <summary>Frees the exact masters of weights whose type holds their values.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_release_masters")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_release_masters", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkReleaseMasters(ulong network);

        /// <summary>Adds every enabled adapter to its matrix and removes it.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_merge_adapters")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_merge_adapters", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkMergeAdapters(ulong network);

        /// <summary>Gives a JSON list of the weights in path order: name, layer, role, shape, dtype, frozen,
        /// master.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_weights")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_weights", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkWeights(ulong network, ulong* list);

        /// <summary>Fills a tensor with the values of a weight, as float32 or float64. Its size must be that of the
        /// weight. (values: memory to fill; a shape must be that of the weight, or none)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_get_weight")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_get_weight", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkGetWeight(ulong network, byte* name, Tensor* values);

        /// <summary>Sets the values of a weight. NON_FINITE names the first that is not finite. (values: float32 or
        /// float64; a shape must be that of the weight, or none)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_set_weight")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_set_weight", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSetWeight(ulong network, byte* name, Tensor* values);

        /// <summary>Gives a weight as JSON: dtype, packed codes, scales and zero points in Base64.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_weight_codes")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_weight_codes", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkWeightCodes(ulong network, byte* name, ulong* codes);

        /// <summary>Keeps a layer and all below it from learning, or lets it learn. (path: "layers.3"; NULL:
        /// all)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_freeze")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_freeze", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkFreeze(ulong network, byte* path, int frozen);

        /// <summary>Gives the flat index of a cell. (address: z, y, x, l)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_index")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_index", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkIndex(ulong network, ulong* address, UIntPtr addressCount, ulong* index);

        /// <summary>Gives the layer of a cell, a JSON object as in a spec, without weights; NOT_FOUND for an empty
        /// cell. (address: z, y, x, l)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_layer")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_layer", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkLayer(ulong network, ulong* address, UIntPtr addressCount, ulong* layer);

        /// <summary>Gives the structure of a network, a JSON object: every layer, nested ones included, with exact
        /// counts of parameters and bytes.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_blueprint")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_blueprint", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkBlueprint(ulong network, ulong* blueprint);

        /// <summary>Groups a network's weights by the layer and block in their names ("layers.3.self_attn"). A JSON
        /// object: groups, a list of prefix, layer, block and tensors, and unresolved, the names without such a
        /// prefix with the reason.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_groups")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_groups", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkGroups(ulong network, ulong* groups);

        /// <summary>Like loom_file_export(), for a network with its present weights. (path: FILE.onnx or
        /// FILE.safetensors)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_export")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_export", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkExport(ulong network, byte* path, FileExportOptions* options, ulong* report);

        /// <summary>Makes a session.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionCreate(ulong network, NetworkSessionOptions* options, ulong* session);

        /// <summary>Runs the network. The output lasts until the next call with the session. (input: of the element
        /// in which the network computes, samples first)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_forward")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_forward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionForward(ulong session, Tensor* input, Pass* pass, Tensor* output);

        /// <summary>Names the memory of the caller that loom_network_session_run() reads and fills. It must last as
        /// long as it is bound. (input: NULL unbinds both; output: memory to fill; a shape must be that of the
        /// output, or none)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_bind")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_bind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionBind(ulong session, Tensor* input, Tensor* output);

        /// <summary>Runs the network from the bound input into the bound output.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_run")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_run", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionRun(ulong session);

        /// <summary>Runs the backward pass after a forward of a session with `backward`: adds to the gradients of the
        /// weights and gives that of the input, which lasts until the next call. (output_gradient: as many values as
        /// the last output)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_backward")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_backward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionBackward(ulong session, Tensor* outputGradient, ulong cancel, Tensor* inputGradient);

        /// <summary>Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or
        /// float64. (values: memory to fill; a shape must be that of the weight, or none)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_gradient")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionGradient(ulong session, byte* weight, Tensor* values);

        /// <summary>Sets every gradient to 0.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_clear_gradients")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_clear_gradients", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionClearGradients(ulong session);

        /// <summary>Resets every sequence and state.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_reset")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_reset", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionReset(ulong session);

        /// <summary>Goes back to where the sequences of a session with a context had so many positions.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_rewind")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_rewind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionRewind(ulong session, ulong length);

        /// <summary>Gives the state that the next call depends on as bytes: recurrent states, memories, keys and
        /// values.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_snapshot")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_snapshot", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionSnapshot(ulong session, ulong* bytes);

        /// <summary>Puts such a state back, into a session of the same network and options.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_restore")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_restore", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionRestore(ulong session, void* bytes, UIntPtr bytesSize);

        /// <summary>Gives a JSON object: threads, memory, element type, positions, states.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionInfo(ulong session, ulong* info);

        /// <summary>Makes a network ready to learn from batches of that shape, samples first. Nobody else may change
        /// the network while it learns; calls that try answer BUSY, and a changed grid ends the training.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_trainer_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_trainer_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainerCreate(ulong network, void* config, UIntPtr configSize, ulong* shape, UIntPtr shapeCount,
                ComputeOptions* options, ulong* trainer);

        /// <summary>Learns from one batch. (cancel: ends the step with CANCELLED; everything is then as
        /// before)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_trainer_step")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_trainer_step", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainerStep(ulong trainer, Batch* batch, ulong cancel, TrainingStep* step);

        /// <summary>Gives the loss of a batch and the output, which lasts until the next call; no weight
        /// changes.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_trainer_evaluate")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_trainer_evaluate", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainerEvaluate(ulong trainer, Batch* batch, double* loss, Tensor* output);

        /// <summary>Sets the epoch, from 0, for schedules that count epochs.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_trainer_set_epoch")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_trainer_set_epoch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainerSetEpoch(ulong trainer, ulong epoch);

        /// <summary>Gives the schedule "plateau" a validation metric.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_trainer_observe")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_trainer_observe", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainerObserve(ulong trainer, double metric);

        /// <summary>Runs a whole training by a config in JSON: data, epochs, validation, checkpoints, journal. The
        /// outcome is a JSON object: stop reason, losses by epoch, hash, metrics. (network: learns where it is; 0:
        /// the config names one; samples: in place of the config's data; NULL: it names files; validation: in place
        /// of the config's own)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_training_run")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_training_run", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainingRun(void* config, UIntPtr configSize, ulong network, Batch* samples, Batch* validation,
                TrainingOptions* options, ulong* outcome);

        /// <summary>Like loom_training_run(), for a config file.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_training_run_file")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_training_run_file", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainingRunFile(byte* path, TrainingOptions* options, ulong* outcome);

        /// <summary>Does the run of a journal again and compares every hash, loss and metric; CORRUPT_DATA names the
        /// first line that differs. (path: a run's folder, or its journal)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_training_replay")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_training_replay", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainingReplay(byte* path, TrainingOptions* options, ulong* report);

        /// <summary>Opens a config in JSON, with its data and network, to compute gradients for a training of the
        /// same config elsewhere, whose callback on_shards asks for them. UNSUPPORTED with the reason where its steps
        /// cannot be divided. (options: folder and compute; other fields must be 0)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_replica_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_replica_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ReplicaCreate(void* config, UIntPtr configSize, TrainingOptions* options, ulong* replica);

        /// <summary>Takes over a step: what on_shards was given.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_replica_begin")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_replica_begin", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ReplicaBegin(ulong replica, ulong epoch, ulong position, ulong step, double lossScale, void* masters,
                UIntPtr mastersSize);

        /// <summary>Gives the sum of the gradients of shards [first, first + count), and their share in the loss,
        /// which is not finite where the step has to be skipped. The count is a power of two that divides first, or
        /// reaches up to the last shard: a node of the tree that adds all shards.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_replica_sum")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_replica_sum", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ReplicaSum(ulong replica, ulong first, ulong count, double* loss, ulong* gradients);

        /// <summary>Gives a JSON object: shards, gradient_bytes, batches of an epoch, SHA-256 of the data.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_replica_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_replica_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ReplicaInfo(ulong replica, ulong* info);

        /// <summary>Gives a JSON object: steps, skipped ones, learning rate, loss scale, memory; with tween the
        /// figures of each cell's target.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_trainer_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_trainer_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainerInfo(ulong trainer, ulong* info);

        /// <summary>Makes a network ready to learn by targets from batches of that shape.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tween_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tween_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TweenCreate(ulong network, void* config, UIntPtr configSize, ulong* shape, UIntPtr shapeCount,
                ComputeOptions* options, ulong* tween);

        /// <summary>Runs the network; the output lasts until the next call. (input: of the element in which the
        /// network computes, samples first)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tween_forward")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tween_forward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TweenForward(ulong tween, Tensor* input, Tensor* output);

        /// <summary>Runs the rest of a step after a forward: gaps, budgets, updates. (target: as many values as the
        /// output)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tween_step")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tween_step", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TweenStep(ulong tween, Tensor* target, double learningRate);

        /// <summary>Gives every cell its target, the first of the three calls that loom_tween_step() makes. (target:
        /// as many values as the output)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tween_backward")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tween_backward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TweenBackward(ulong tween, Tensor* target);

        /// <summary>Measures how well each cell agrees with its target.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tween_budgets")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tween_budgets", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TweenBudgets(ulong tween);

        /// <summary>Moves the weights.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tween_apply")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tween_apply", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TweenApply(ulong tween, double learningRate);

        /// <summary>Gives a JSON object: the gap of the output, and of each use of a layer gap, budget and size of
        /// the update.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_tween_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_tween_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TweenInfo(ulong tween, ulong* info);

        /// <summary>Prepares a network for ticks with such inputs, samples first.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_mesh_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_mesh_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepMeshCreate(ulong network, ulong* shape, UIntPtr shapeCount, StepMeshOptions* options,
                ulong* mesh);

        /// <summary>Moves states by some ticks; after an error none of them has moved in that tick.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_mesh_step")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_mesh_step", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepMeshStep(ulong mesh, ulong* states, UIntPtr statesCount, TickOptions* options);

        /// <summary>Goes back through captured ticks from a gradient of the last cell's output: adds to the gradients
        /// of the weights and gives that of the input of the newest tick, which lasts until the next call with the
        /// mesh; without data where that tick had no input. (output_gradient: as many values as the output; ticks: at
        /// most; 0: all)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_mesh_backward")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_mesh_backward", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepMeshBackward(ulong mesh, ulong state, Tensor* outputGradient, ulong ticks, Tensor* inputGradient);

        /// <summary>Fills a tensor with the gradient of a weight, summed since it was last cleared, as float32 or
        /// float64. (values: memory to fill; a shape must be that of the weight, or none)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_mesh_gradient")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_mesh_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepMeshGradient(ulong mesh, byte* weight, Tensor* values);

        /// <summary>Sets every gradient to 0.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_mesh_clear_gradients")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_mesh_clear_gradients", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepMeshClearGradients(ulong mesh);

        /// <summary>Gives a JSON object: cells, memory of a state, what a cell waits for that can never
        /// start.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_mesh_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_mesh_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepMeshInfo(ulong mesh, ulong* info);

        /// <summary>Makes a state without outputs.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateCreate(ulong mesh, ulong* state);

        /// <summary>Sets the input of the first cell. (input: as many values as the mesh's input, of the element in
        /// which the network computes; hold: until it is replaced; 0: for the next tick alone)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_set_input")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_set_input", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateSetInput(ulong state, Tensor* input, int hold);

        /// <summary>Removes the input.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_clear_input")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_clear_input", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateClearInput(ulong state);

        /// <summary>Gives the output of a cell in the last tick, until the next call with the mesh; NO_VALUE before
        /// data has reached it. (cell: its index; -1: the last one)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_output")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_output", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateOutput(ulong state, long cell, Tensor* output);

        /// <summary>No input, no outputs, no history, tick 0.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_reset")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_reset", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateReset(ulong state);

        /// <summary>Creates an independent copy.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_fork")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_fork", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateFork(ulong state, ulong* copy);

        /// <summary>Gives the whole state as bytes that any machine reads.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_snapshot")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_snapshot", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateSnapshot(ulong state, ulong* bytes);

        /// <summary>Puts a snapshot into a state of a mesh of the same shapes.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_restore")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_restore", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateRestore(ulong state, void* bytes, UIntPtr bytesSize);

        /// <summary>Gives the SHA-256 of the whole state as text, 64 hexadecimal digits.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_hash")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_hash", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateHash(ulong state, ulong* hash);

        /// <summary>Gives the number of ticks since the start.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_state_ticks")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_state_ticks", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepStateTicks(ulong state, ulong* ticks);

        /// <summary>Makes a mesh that was created with keep_inputs ready to learn by targets. (ticks: 0: through the
        /// last tick alone; above: through so many captured ones)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_mesh_tween_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_mesh_tween_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int MeshTweenCreate(ulong mesh, void* config, UIntPtr configSize, ulong ticks, ulong* tween);

        /// <summary>Moves all weights once towards targets of the last cell's outputs, one state's after another.
        /// (targets: for each state as many values as the output)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_mesh_tween_step")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_mesh_tween_step", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int MeshTweenStep(ulong tween, ulong* states, UIntPtr statesCount, Tensor* targets, double learningRate);

        /// <summary>Gives a network's signatures as JSON: by layer the direction of its weights. (nested: layers
        /// inside containers too)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_dna_extract")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_dna_extract", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int DnaExtract(ulong network, int nested, ulong* dna);

        /// <summary>Compares two networks layer by layer, a JSON object: overlaps, logic shifts, layers of one
        /// alone.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_dna_compare")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_dna_compare", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int DnaCompare(ulong first, ulong second, int nested, ulong* comparison);

        /// <summary>Gives that as a picture, SVG.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_dna_draw")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_dna_draw", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int DnaDraw(ulong first, ulong second, int nested, ulong* svg);

        /// <summary>Gives what differs between the specs and weights of two networks, a JSON object.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_compare")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_compare", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkCompare(ulong first, ulong second, ulong* differences);

        /// <summary>Makes a child of two networks. The config is a JSON object: mode blend, point or uniform,
        /// blend_alpha, split_ratio, fitness_a, fitness_b, seed. (config: of size 0: all defaults)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_splice")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_splice", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSplice(ulong first, ulong second, void* config, UIntPtr configSize, ulong* child);

        /// <summary>Changes a network at random; its output keeps its shape. The config is the object `mutation` of
        /// an evolution, and seed, generation, individual. The report says what was done. (shape: of the input,
        /// samples first; config: of size 0: all defaults)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_mutate")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_mutate", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkMutate(ulong network, ulong* shape, UIntPtr shapeCount, void* config, UIntPtr configSize,
                ulong* report);

        /// <summary>Runs a whole evolution by a config in JSON. The outcome is a JSON object.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_evolution_run")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_evolution_run", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int EvolutionRun(void* config, UIntPtr configSize, EvolutionOptions* options, ulong* outcome);

        /// <summary>Like loom_evolution_run(), for a config file.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_evolution_run_file")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_evolution_run_file", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int EvolutionRunFile(byte* path, EvolutionOptions* options, ulong* outcome);

        /// <summary>Opens the task of a config in JSON, with its data, to judge the networks of an evolution of the
        /// same config elsewhere, whose callback on_judging asks for it. (options: folder and compute; other fields
        /// must be 0)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_judge_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_judge_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int JudgeCreate(void* config, UIntPtr configSize, EvolutionOptions* options, ulong* judge);

        /// <summary>Judges a network, given as a file (.entity), and gives its numbers for on_judging: objectives,
        /// and what novelty goes by. They last until the next call.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_judge_fitness")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_judge_fitness", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int JudgeFitness(ulong judge, void* network, UIntPtr networkSize, double** numbers,
                UIntPtr* numbersCount);

        /// <summary>Gives a JSON object: `identity`, all that a run is a function of, with the SHA-256 of its
        /// files.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_judge_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_judge_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int JudgeInfo(ulong judge, ulong* info);

        /// <summary>Makes the first generation: mutations of a network. The config is a JSON object: population,
        /// elites, seed, objectives, mutation, splice, species, novelty. (shape: of the input, samples first; config:
        /// of size 0: all defaults; compute: threads, thread_count and isa; NULL: defaults)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_population_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_population_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PopulationCreate(ulong @base, ulong* shape, UIntPtr shapeCount, void* config, UIntPtr configSize,
                ComputeOptions* compute, ulong* population);

        /// <summary>Gives the places of the members without a fitness, until the next call with the
        /// population.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_population_ask")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_population_ask", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PopulationAsk(ulong population, ulong** places, UIntPtr* placesCount);

        /// <summary>Gives a copy of a member.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_population_network")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_population_network", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PopulationNetwork(ulong population, ulong place, ulong* network);

        /// <summary>Takes the fitness of those members, more is better, NaN ranks last, and breeds the next
        /// generation. With several objectives all numbers of a member stand together. The report is a JSON object:
        /// scores, best, average, worst, hash.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_population_tell")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_population_tell", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PopulationTell(ulong population, double* fitness, UIntPtr fitnessCount, ulong* report);

        /// <summary>Gives a copy of the network with the best score so far; NO_VALUE before the first
        /// generation.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_population_best")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_population_best", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PopulationBest(ulong population, ulong* network);

        /// <summary>Gives a JSON object: generation, best score, members with identity, parents, operations,
        /// species.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_population_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_population_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PopulationInfo(ulong population, ulong* info);

        /// <summary>Gives a population as bytes, to go on from elsewhere.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_population_snapshot")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_population_snapshot", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PopulationSnapshot(ulong population, ulong* bytes);

        /// <summary>Makes a population of a snapshot; config and shape are those it was made with. (compute: threads,
        /// thread_count and isa; NULL: defaults)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_population_restore")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_population_restore", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PopulationRestore(void* bytes, UIntPtr bytesSize, ulong* shape, UIntPtr shapeCount, void* config,
                UIntPtr configSize, ComputeOptions* compute, ulong* population);

        /// <summary>Groups points around centres (k-means by Lloyd's rounds, in double precision). A JSON object:
        /// assignment, the cluster of each point, centres, iterations, converged. (points: row-major, one point after
        /// the other; count: of points; clusters: 1 to count; max_iterations: 0: 100; plus_plus: starts far apart
        /// (k-means++); 0: drawn points; seed: of the draws)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_points_cluster")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_points_cluster", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PointsCluster(double* points, UIntPtr pointsCount, ulong count, ulong clusters, ulong maxIterations,
                int plusPlus, ulong seed, ulong* result);

        /// <summary>Gives the mean silhouette of a clustering, -1 to 1: how much nearer points are to their own
        /// cluster than to the next one. (points: row-major, one point after the other; count: of points; assignment:
        /// the cluster of each point; at least two clusters)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_points_silhouette")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_points_silhouette", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PointsSilhouette(double* points, UIntPtr pointsCount, ulong count, ulong* assignment,
                UIntPtr assignmentCount, double* value);

        /// <summary>Groups points that steps of at most such a cosine distance link (single linkage). A JSON list of
        /// lists of points, in order of their first ones. (points: row-major, one point after the other; count: of
        /// points; threshold: 0 to 2)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_points_group")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_points_group", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int PointsGroup(double* points, UIntPtr pointsCount, ulong count, double threshold, ulong* groups);

        /// <summary>Finds models that complete each other: pairs whose cases that one of them gets right are at least
        /// such a part of all. A JSON list of {a, b, coverage, overlap, cosine}, the best first; cosine is that of
        /// loom_matches_similarity(). (right: a byte per case, 0 or 1, model by model)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_matches_find")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_matches_find", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int MatchesFind(void* right, UIntPtr rightSize, ulong models, double minCoverage, ulong* matches);

        /// <summary>Gives the cosine of two models' right cases, as vectors of 0 and 1: 1 where both get the same
        /// ones right, 0 where they have none in common. (first: a byte per case, 0 or 1; second: as many)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_matches_similarity")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_matches_similarity", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int MatchesSimilarity(void* first, UIntPtr firstSize, void* second, UIntPtr secondSize, double* cosine);

        /// <summary>Adds a layer kind to those of this process. The description is a JSON object: name, help, shapes,
        /// width_key, sample_axes, and settings, a list of key, type (integer, number, boolean, choice, activation),
        /// default, min, max, choices, help. INVALID_ARGUMENT for a name that is taken.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_kind_register")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_kind_register", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerKindRegister(void* description, UIntPtr descriptionSize, KindCallbacks* callbacks);

        /// <summary>Takes the kind back: no callback of it comes from then on. INVALID_STATE while a network with a
        /// layer of it lives.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_kind_unregister")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_kind_unregister", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerKindUnregister(byte* name);

        /// <summary>Gives a setting of the layer: an integer, a number, 0 or 1, the index of a choice.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_setting")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_setting", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerSetting(ulong layer, byte* key, double* value);

        /// <summary>In declare: adds a weight, a vector or, with two extents, a matrix, whose rows are outputs. A
        /// fresh one is filled by a rule. (init: zeros, ones, glorot, he, uniform, normal or identity; NULL: glorot
        /// for matrices, zeros for vectors; size: half width of uniform, deviation of normal; 0: 0.1 and
        /// 0.02)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_declare_weight")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_declare_weight", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerDeclareWeight(ulong layer, byte* name, ulong* extents, UIntPtr extentsCount, byte* init,
                double size);

        /// <summary>Gives what comes in: the layer's input in forward, the gradient of its output in backward. Axis 0
        /// counts samples in this tensor and in all that are computed from it; it keeps its place.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_input")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_input", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerInput(ulong layer, ulong* x);

        /// <summary>Names what goes out: the output in forward, the gradient of the input in backward.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_result")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_result", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerResult(ulong layer, ulong tensor);

        /// <summary>In forward: keeps a tensor for backward.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_keep")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_keep", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerKeep(ulong layer, ulong tensor);

        /// <summary>In backward: gives what forward kept, the last one first. Every kept tensor must be
        /// taken.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_kept")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_kept", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerKept(ulong layer, ulong* tensor);

        /// <summary>Gives the extents of a tensor; SHAPE_MISMATCH where there is no room for them.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_shape")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_shape", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerShape(ulong layer, ulong tensor, ulong* extents, UIntPtr extentsCount, ulong* rank);

        /// <summary>y = W x + b along the last axis, with the bits of a dense layer in every type of W.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_matmul")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_matmul", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerMatmul(ulong layer, ulong x, byte* weight, byte* bias, ulong* y);

        /// <summary>dx = W^T dy; adds to the gradients of W and b.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_matmul_gradient")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_matmul_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerMatmulGradient(ulong layer, ulong x, ulong dy, byte* weight, byte* bias, ulong* dx);

        /// <summary>y = left right over the last two axes of two tensors whose other axes are equal, either of them
        /// transposed. Its gradients are products too.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_product")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_product", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerProduct(ulong layer, ulong left, int transposeLeft, ulong right, int transposeRight, ulong* y);

        /// <summary>y = left + right; equal shapes.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_add")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_add", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerAdd(ulong layer, ulong left, ulong right, ulong* y);

        /// <summary>y = left right, element by element; equal shapes.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_multiply")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_multiply", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerMultiply(ulong layer, ulong left, ulong right, ulong* y);

        /// <summary>y = x times a factor.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_scale")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_scale", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerScale(ulong layer, ulong x, double factor, ulong* y);

        /// <summary>Gives a tensor of the shape of another one with one value everywhere.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_fill")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_fill", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerFill(ulong layer, ulong like, double value, ulong* y);

        /// <summary>y = activation(x). (activation: the key of a setting of that type, or a name)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_activate")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_activate", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerActivate(ulong layer, ulong x, byte* activation, ulong* y);

        /// <summary>dx = dy times the activation's derivative at x. (activation: the key of a setting of that type,
        /// or a name)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_activate_gradient")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_activate_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerActivateGradient(ulong layer, ulong x, ulong dy, byte* activation, ulong* dx);

        /// <summary>y = activation(gate) up, with the bits of swiglu. (activation: the key of a setting of that type,
        /// or a name)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_gated")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_gated", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerGated(ulong layer, ulong gate, ulong up, byte* activation, ulong* y);

        /// <summary>The gradients of both. (activation: the key of a setting of that type, or a name)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_gated_gradient")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_gated_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerGatedGradient(ulong layer, ulong gate, ulong up, ulong dy, byte* activation, ulong* dgate,
                ulong* dup);

        /// <summary>p = softmax(x / temperature) along the last axis.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_softmax")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_softmax", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerSoftmax(ulong layer, ulong x, double temperature, ulong* p);

        /// <summary>dx from what softmax gave.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_softmax_gradient")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_softmax_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerSoftmaxGradient(ulong layer, ulong p, ulong dy, double temperature, ulong* dx);

        /// <summary>y = x / sqrt(mean of x^2 + eps) gamma along the last axis. (eps: 0 to 1)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_rms_norm")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_rms_norm", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerRmsNorm(ulong layer, ulong x, byte* gamma, double eps, ulong* y);

        /// <summary>dx; adds to the gradient of gamma.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_rms_norm_gradient")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_rms_norm_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerRmsNormGradient(ulong layer, ulong x, ulong dy, byte* gamma, double eps, ulong* dx);

        /// <summary>y = (x - mean) / sqrt(variance + eps) gamma + beta along the last axis. (eps: 0 to 1)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_layer_norm")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_layer_norm", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerLayerNorm(ulong layer, ulong x, byte* gamma, byte* beta, double eps, ulong* y);

        /// <summary>dx; adds to the gradients of gamma and beta.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_layer_norm_gradient")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_layer_norm_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerLayerNormGradient(ulong layer, ulong x, ulong dy, byte* gamma, byte* beta, double eps,
                ulong* dx);

        /// <summary>y is x with its axes in another order: axis i of y is axis axes[i] of x.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_permute")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_permute", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerPermute(ulong layer, ulong x, ulong* axes, UIntPtr axesCount, ulong* y);

        /// <summary>y is x with other extents.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_reshape")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_reshape", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerReshape(ulong layer, ulong x, ulong* extents, UIntPtr extentsCount, ulong* y);

        /// <summary>y is [first, first + count) of an axis of x. Its gradient is that of pad, and the
        /// reverse.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_slice")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_slice", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerSlice(ulong layer, ulong x, ulong axis, ulong first, ulong count, ulong* y);

        /// <summary>y is x at `first` of an axis of another extent, zeros elsewhere.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_pad")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_pad", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerPad(ulong layer, ulong x, ulong axis, ulong first, ulong extent, ulong* y);

        /// <summary>y is x, whose axis has the extent 1, as often along that axis. Its gradient is the mean, times as
        /// often.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_repeat")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_repeat", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerRepeat(ulong layer, ulong x, ulong axis, ulong times, ulong* y);

        /// <summary>y is the mean of x along an axis, which has the extent 1 then. Its gradient is the repeat of dy
        /// over as many.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_mean")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_mean", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerMean(ulong layer, ulong x, ulong axis, ulong* y);

        /// <summary>y is x with elements left out at that rate while a network trains, else x. Its gradient is the
        /// same of dy. (which: number of the dropout within the layer)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_dropout")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_dropout", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerDropout(ulong layer, ulong x, double rate, uint which, ulong* y);

        /// <summary>y has the shape of a tensor and holds a weight's values in each of its samples, as often as they
        /// fit.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_weight")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_weight", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerWeight(ulong layer, byte* name, ulong like, ulong* y);

        /// <summary>In backward: adds the sum of such pieces of a tensor to a weight's gradient.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_add_gradient")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_add_gradient", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerAddGradient(ulong layer, byte* name, ulong tensor);

        /// <summary>Gives how the kernels of a layer kind divide its work, a JSON object: kind, dtype, isa, cpu (rows
        /// and outputs that go together) and gpu (few_rows, few and many: rows and outputs of a workgroup), null
        /// where the kind runs on the CPU alone in that type. No bit depends on it. (kind: dense, swiglu, rnn, lstm,
        /// mha, gru, cnn1 to cnn3, convtransposed1 to convtransposed3, or attention; dtype: of the weights; isa: an
        /// instruction set by name; NULL: the best one)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_layer_kind_tiles")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_layer_kind_tiles", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int LayerKindTiles(byte* kind, byte* dtype, byte* isa, ulong* sizes);

        /// <summary>Gives what a file holds, a JSON object: a language model, a network, a checkpoint. (tensors:
        /// lists the tensors of a language model)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_file_inspect")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_file_inspect", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int FileInspect(byte* path, int tensors, ulong* facts);

        /// <summary>Writes a GGUF file with the matrices of another one in a type, whole or not at all.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_file_quantize")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_file_quantize", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int FileQuantize(byte* from, byte* to, byte* dtype, FileConvertOptions* options, ulong* report);

        /// <summary>Writes a language model of any format as .entity, whole or not at all.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_file_convert")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_file_convert", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int FileConvert(byte* from, byte* to, FileConvertOptions* options, ulong* report);

        /// <summary>Gives the JSON Schema of a file that Loom reads.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_file_schema")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_file_schema", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int FileSchema(int file, ulong* json);

        /// <summary>Opens a file or folder: a network (.entity, JSON, safetensors, .npz, Loom 0.8x), a language model
        /// (GGUF, a Hugging Face folder, .entity), a text encoder (the folder of a BERT) or a graph (.onnx, .entity).
        /// loom_kind_of() gives the kind of the handle. The report is a JSON object: kind, format, where each tensor
        /// of a bare file went, warnings.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_file_open")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_file_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int FileOpen(byte* path, FileOpenOptions* options, ulong* @object, ulong* report);

        /// <summary>Writes what one file holds as another: a network as .onnx or .safetensors, a language model as
        /// .gguf or as a Hugging Face folder. UNSUPPORTED, before a byte is written, names what the format cannot
        /// express. The report is a JSON object: format, bytes, tensors or nodes, SHA-256.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_file_export")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_file_export", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int FileExport(byte* from, byte* to, FileExportOptions* options, ulong* report);

        /// <summary>Gives the SHA-256 of a file's bytes, of the files of a model's folder, or the root hash of an
        /// .entity, as text: 64 hexadecimal digits. A file that has not changed since is not read again.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_file_hash")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_file_hash", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int FileHash(byte* path, ulong* hash);

        /// <summary>Gives the receipt of a generation that has ended; INVALID_STATE before, and for one that was
        /// cancelled.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_generator_receipt")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_generator_receipt", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GeneratorReceipt(ulong generator, ulong* receipt);

        /// <summary>Gives the receipt of the last answer that was complete; INVALID_STATE before one.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_chat_receipt")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_chat_receipt", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ChatReceipt(ulong chat, ulong* receipt);

        /// <summary>Gives the receipt of the last texts; INVALID_STATE before any.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_encoder_receipt")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_encoder_receipt", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int EncoderReceipt(ulong encoder, ulong* receipt);

        /// <summary>Computes what a receipt names again and compares: a JSON object with command, model, equal,
        /// difference (the first one, or null), hash, and the isa and device that were used: those of the receipt
        /// where this machine has them. (model: where the model is now; NULL: as in the receipt; folder: where
        /// relative paths start; NULL: the working folder; device: as in the options of a session; NULL: that of the
        /// receipt, else cpu)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_receipt_replay")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_receipt_replay", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int ReceiptReplay(void* receipt, UIntPtr receiptSize, byte* model, byte* folder, byte* device,
                ulong cancel, ulong* report);

        /// <summary>Reads an .onnx file, opset 7 on, or an .entity with a graph. UNSUPPORTED lists every operation
        /// that Loom lacks.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_open")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphOpen(byte* path, GraphOptions* options, ulong* graph);

        /// <summary>Like loom_graph_open(), for bytes, which are read during the call only; they must hold every
        /// tensor.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_from_memory")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_from_memory", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphFromMemory(void* data, UIntPtr dataSize, GraphOptions* options, ulong* graph);

        /// <summary>Gives a JSON object: inputs and outputs with name, type and shape ("?": any extent) as far as the
        /// file says, opset, operations and how often, constants and their bytes.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphInfo(ulong graph, ulong* info);

        /// <summary>Makes a session without inputs.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_session_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_session_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphSessionCreate(ulong graph, ComputeOptions* options, ulong* session);

        /// <summary>Names the caller's memory that runs read as an input. It must last as long as it is bound; what
        /// is in it may change between runs. Float32, float64 and int64 are read without a copy, other types are
        /// copied into wider ones by each run. A shape of no extents is that of a scalar. (name: of the input; NULL:
        /// the only one)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_session_bind")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_session_bind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphSessionBind(ulong session, byte* name, Tensor* input);

        /// <summary>Lets go of all memory that is bound.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_session_unbind")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_session_unbind", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphSessionUnbind(ulong session);

        /// <summary>Runs the graph from the bound inputs. INVALID_ARGUMENT for an input that is not bound or of
        /// another type, SHAPE_MISMATCH for one of another shape. (cancel: read between operations: ends the call
        /// with CANCELLED)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_session_run")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_session_run", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphSessionRun(ulong session, ulong cancel);

        /// <summary>Gives an output of the last run without a copy; it lasts until the next call with the session
        /// that is not this one. INVALID_STATE before a run. (name: of the output; NULL: the only one)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_session_output")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_session_output", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphSessionOutput(ulong session, byte* name, Tensor* output);

        /// <summary>Copies an output of the last run, whose bytes must be as many. (output: its name; NULL: that of
        /// the only one)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_session_copy_output")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_session_copy_output", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphSessionCopyOutput(ulong session, byte* output, byte* to, UIntPtr toCount);

        /// <summary>Gives the SHA-256 of all outputs of the last run as text, 64 hexadecimal digits: equal on every
        /// machine.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_session_hash")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_session_hash", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphSessionHash(ulong session, ulong* hash);

        /// <summary>Gives a JSON object: threads, memory that runs work in.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_graph_session_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_graph_session_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int GraphSessionInfo(ulong session, ulong* info);

        /// <summary>Loads the folder of a BERT in the layout of sentence-transformers.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_encoder_open")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_encoder_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int EncoderOpen(byte* path, EncoderOptions* options, ulong* encoder);

        /// <summary>Gives a JSON object: dimensions, max_tokens, layers, pooling, threads.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_encoder_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_encoder_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int EncoderInfo(ulong encoder, ulong* info);

        /// <summary>Gives the encoder's tokenizer.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_encoder_tokenizer")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_encoder_tokenizer", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int EncoderTokenizer(ulong encoder, ulong* tokenizer);

        /// <summary>Gives a vector per text, one after another, and the number of tokens that were read of each; both
        /// last until the next call with the encoder. A text's vector has the same bits alone and among others. A
        /// text is cut off after max_tokens. (vectors: float32 [texts, dimensions])</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_encoder_embed")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_encoder_embed", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int EncoderEmbed(ulong encoder, byte** texts, UIntPtr textsCount, ulong cancel, Tensor* vectors,
                ulong** tokens, UIntPtr* tokensCount);

        /// <summary>Calls the host after each layer of the session's passes.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_watch")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_watch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionWatch(ulong session, IntPtr layer, void* user);

        /// <summary>Calls the host after each window of `layers` layers, with their statistics. (layers: at least
        /// 1)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_watch_windows")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_watch_windows", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionWatchWindows(ulong session, ulong layers, IntPtr window, void* user);

        /// <summary>Sends a report of every layer to a host that listens, by a thread that no pass waits for:
        /// "http://HOST:PORT/PATH" takes a POST of JSON each, "tanhi://HOST:PORT" a datagram; NULL ends it.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_network_session_report_to")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_network_session_report_to", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int NetworkSessionReportTo(ulong session, byte* address);

        /// <summary>Calls the host after each layer of the steps of a trainer, forward and backward. UNSUPPORTED
        /// where several shards run side by side.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_trainer_watch")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_trainer_watch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainerWatch(ulong trainer, IntPtr layer, void* user);

        /// <summary>Like loom_network_session_watch_windows(), for a trainer. (layers: at least 1)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_trainer_watch_windows")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_trainer_watch_windows", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainerWatchWindows(ulong trainer, ulong layers, IntPtr window, void* user);

        /// <summary>Like loom_network_session_report_to(), for a trainer.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_trainer_report_to")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_trainer_report_to", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int TrainerReportTo(ulong trainer, byte* address);

        /// <summary>Calls the host after each layer of a mesh's ticks; cells then run one after the other, with the
        /// same bits.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_mesh_watch")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_mesh_watch", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepMeshWatch(ulong mesh, IntPtr layer, void* user);

        /// <summary>Like loom_network_session_watch_windows(), for a mesh's ticks. (layers: at least 1)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_mesh_watch_windows")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_mesh_watch_windows", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepMeshWatchWindows(ulong mesh, ulong layers, IntPtr window, void* user);

        /// <summary>Like loom_network_session_report_to(), for a step mesh.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_step_mesh_report_to")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_step_mesh_report_to", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int StepMeshReportTo(ulong mesh, byte* address);

        /// <summary>Begins windows of so many milliseconds, now. (total_ms: what comes later is not
        /// counted)</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_adaptation_create")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_adaptation_create", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int AdaptationCreate(double windowMs, double totalMs, byte* task, ulong* adaptation);

        /// <summary>Counts an output, which was right or not.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_adaptation_record")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_adaptation_record", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int AdaptationRecord(ulong adaptation, int correct);

        /// <summary>The task changes now.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_adaptation_mark")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_adaptation_mark", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int AdaptationMark(ulong adaptation, byte* task);

        /// <summary>Gives a JSON object: windows so far, changes with accuracy before them and time to recover,
        /// accuracy, throughput, availability, score.</summary>
#if NET7_0_OR_GREATER
        [LibraryImport(Library, EntryPoint = "loom_adaptation_info")]
        [UnmanagedCallConv(CallConvs = new[] { typeof(CallConvCdecl) })]
        public static partial
#else
        [DllImport(Library, EntryPoint = "loom_adaptation_info", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern
#endif
            int AdaptationInfo(ulong adaptation, ulong* info);
    }
}
