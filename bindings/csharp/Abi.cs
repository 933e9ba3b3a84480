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

    /// <summary>What a host's worker calls.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate void Work(void* job, int worker);

    /// <summary>Calls work(job, w) for every w from 0 to workers - 1, on any threads and in any order, and returns
    /// when all have returned.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public unsafe delegate void RunWork(void* user, IntPtr work, void* job, int workers);

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

        public static GenerationOptions Create()
        {
            return new GenerationOptions { StructSize = (uint)sizeof(GenerationOptions) };
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

        public static Generation Create()
        {
            return new Generation { StructSize = (uint)sizeof(Generation) };
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

        // What a handle stands for.
        public const int KindNone = 0;
        public const int KindBlob = 1;
        public const int KindCancel = 2;
        public const int KindThreads = 3;
        public const int KindTokenizer = 4;
        public const int KindModel = 5;
        public const int KindSession = 6;
        public const int KindGenerator = 7;

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

        /// <summary>Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, an .entity, or a
        /// tokenizer.json.</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_open", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerOpen(byte* path, ulong* tokenizer);

        /// <summary>Reads a tokenizer.json from memory.</summary>
        [DllImport(Library, EntryPoint = "loom_tokenizer_from_json", CallingConvention = CallingConvention.Cdecl, ExactSpelling = true)]
        public static extern int TokenizerFromJson(void* json, UIntPtr jsonSize, ulong* tokenizer);

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
    }
}
