using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>How a language model is loaded, and defaults of its sessions.</summary>
    public sealed class LanguageModelOptions : ComputeOptions
    {
        /// <summary>Numeric type that the matrices are quantised to on load, as "int8"; null: as stored.</summary>
        public string DType { get; set; }

        /// <summary>Longest sequence in tokens; null: that of the model's training, at most 4096.</summary>
        public int? Context { get; set; }

        /// <summary>Folders of low-rank adapters as PEFT writes them; null: none.</summary>
        public IReadOnlyList<string> Adapters { get; set; }

        /// <summary>Receives the part that is loaded, from 0 to 1, on the calling thread. An exception of it comes out
        /// of the call. Null: nobody.</summary>
        public IProgress<double> Progress { get; set; }
    }

    /// <summary>A language model: weights, tokenizer, chat template. Any number of threads may use one. Each answer has
    /// a session of its own.</summary>
    public sealed class LanguageModel : LoomObject
    {
        private readonly LanguageModelOptions _options;
        private Tokenizer _tokenizer;

        private unsafe delegate int Opener(Interop.ModelOptions* options, ulong* model);

        /// <summary>Loads a model.</summary>
        /// <param name="model">A GGUF file, a Hugging Face folder, an .entity, or a hub id that is in huggingface_hub's
        /// cache.</param>
        /// <param name="options">How it is loaded; null: defaults.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <exception cref="LoomException">There is no such model (NotFound; the message has the command that fetches
        /// a hub id), the file is no language model (Unsupported) or damaged (CorruptData).</exception>
        /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
        public unsafe LanguageModel(string model, LanguageModelOptions options = null,
            CancellationToken cancellationToken = default)
        {
            _options = options ?? new LanguageModelOptions();
            fixed (byte* path = Native.Terminated(Hub.Find(model), nameof(model)))
            {
                byte* place = path;
                Open((o, handle) => Abi.ModelOpen(place, o, handle), cancellationToken);
            }
        }

        private unsafe LanguageModel(byte[] data, LanguageModelOptions options, CancellationToken cancellationToken)
        {
            _options = options ?? new LanguageModelOptions();
            fixed (byte* first = data)
            {
                byte* place = first;
                Open((o, handle) => Abi.ModelFromMemory(place, (UIntPtr)data.Length, o, handle), cancellationToken);
            }
        }

        internal LanguageModel(ulong handle, LanguageModelOptions options)
        {
            _options = options;
            Take(handle);
        }

        /// <summary>Loads a model from the bytes of a GGUF file or an .entity, which are read during the call
        /// only.</summary>
        /// <param name="data">The bytes.</param>
        /// <param name="options">How it is loaded; null: defaults.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The model.</returns>
        /// <exception cref="LoomException">The bytes are no language model (Unsupported) or damaged
        /// (CorruptData).</exception>
        public static LanguageModel FromBytes(byte[] data, LanguageModelOptions options = null,
            CancellationToken cancellationToken = default)
        {
            if (data == null) throw new ArgumentNullException(nameof(data));
            return new LanguageModel(data, options, cancellationToken);
        }

        /// <summary>Loads a model on a thread of the pool; see the constructor.</summary>
        /// <param name="model">Path or hub id.</param>
        /// <param name="options">How it is loaded; null: defaults.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The model.</returns>
        public static Task<LanguageModel> LoadAsync(string model, LanguageModelOptions options = null,
            CancellationToken cancellationToken = default)
        {
            return Task.Run(() => new LanguageModel(model, options, cancellationToken), cancellationToken);
        }

        private unsafe void Open(Opener opener, CancellationToken token)
        {
            using (Pinned memory = new Pinned())
            using (CancelFlag cancel = new CancelFlag(token))
            using (ProgressCallback progress = new ProgressCallback(_options.Progress))
            {
                Interop.ComputeOptions compute = Interop.ComputeOptions.Create();
                if (_options.Threads != null)
                    compute.ThreadCount = Native.InRange(_options.Threads.Value, 1, 256, nameof(_options.Threads));
                Interop.ModelOptions options = Interop.ModelOptions.Create();
                options.Compute = &compute;
                options.Cancel = cancel.Handle;
                options.Progress = progress.Pointer;
                options.User = progress.User;
                options.Dtype = memory.Text(_options.DType, nameof(_options.DType));
                options.Adapters = memory.Texts(_options.Adapters, nameof(_options.Adapters));
                options.AdaptersCount = (UIntPtr)(_options.Adapters?.Count ?? 0);
                ulong handle;
                int status = opener(&options, &handle);
                if (status == Abi.Ok) Take(handle);
                progress.Rethrow();
                Native.Check(status, token);
            }
        }

        internal LanguageModelOptions Options => _options;

        /// <summary>Describes the model: format, sizes, context, special tokens, what is missing.</summary>
        public unsafe IReadOnlyDictionary<string, object> Info => RecordOf(Abi.ModelInfo);

        /// <summary>The tokenizer of the model, which lives as long as the model.</summary>
        public unsafe Tokenizer Tokenizer
        {
            get
            {
                lock (Gate)
                {
                    if (_tokenizer != null && !IsDisposed) return _tokenizer;
                    ulong handle;
                    Native.Check(Abi.ModelTokenizer(Handle, &handle));
                    return _tokenizer = new Tokenizer(handle);
                }
            }
        }

        internal override void BeforeDispose()
        {
            _tokenizer?.Dispose();
        }

        /// <summary>Writes messages as the model's chat template has them.</summary>
        /// <param name="messages">The messages.</param>
        /// <param name="addGenerationPrompt">True ends the text where the answer of the model begins.</param>
        /// <returns>The text of the prompt.</returns>
        /// <exception cref="LoomException">The model has no chat template (NoTemplate).</exception>
        public unsafe string RenderChat(IEnumerable<Message> messages, bool addGenerationPrompt = true)
        {
            byte[] json = Message.ToJson(messages);
            fixed (byte* first = json)
            {
                byte* place = first;
                return TextOf((handle, blob) => Abi.ModelRenderChat(handle, place, (UIntPtr)json.Length,
                    addGenerationPrompt ? 1 : 0, blob));
            }
        }

        /// <summary>Answers or continues a prompt.</summary>
        /// <param name="prompt">A text.</param>
        /// <param name="options">How the answer is written; null: defaults.</param>
        /// <param name="form">Form of the text.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The answer.</returns>
        /// <exception cref="LoomException">The model has no chat template and form is Chat (NoTemplate), or an option
        /// is wrong (InvalidArgument).</exception>
        /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
        public Generation Generate(string prompt, GenerationOptions options = null, PromptForm form = PromptForm.Auto,
            CancellationToken cancellationToken = default)
        {
            using (TextStream stream = Stream(prompt, options, form, cancellationToken)) return stream.Finish();
        }

        /// <summary>Like Generate(), for a conversation.</summary>
        /// <param name="messages">The messages, which the chat template writes.</param>
        /// <param name="options">How the answer is written; null: defaults.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The answer.</returns>
        public Generation Generate(IEnumerable<Message> messages, GenerationOptions options = null,
            CancellationToken cancellationToken = default)
        {
            using (LanguageSession session = Session())
            using (TextStream stream = session.Stream(messages, options, cancellationToken)) return stream.Finish();
        }

        /// <summary>Like Generate(), on a thread of the pool.</summary>
        /// <param name="prompt">A text.</param>
        /// <param name="options">How the answer is written; null: defaults.</param>
        /// <param name="form">Form of the text.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The answer.</returns>
        public Task<Generation> GenerateAsync(string prompt, GenerationOptions options = null,
            PromptForm form = PromptForm.Auto, CancellationToken cancellationToken = default)
        {
            return Task.Run(() => Generate(prompt, options, form, cancellationToken), cancellationToken);
        }

        /// <summary>Answers or continues a prompt, piece by piece.</summary>
        /// <param name="prompt">A text.</param>
        /// <param name="options">How the answer is written; null: defaults.</param>
        /// <param name="form">Form of the text.</param>
        /// <param name="cancellationToken">Ends the answer at any moment.</param>
        /// <returns>The pieces, to be enumerated once; its Result is the answer.</returns>
        public TextStream Stream(string prompt, GenerationOptions options = null, PromptForm form = PromptForm.Auto,
            CancellationToken cancellationToken = default)
        {
            using (LanguageSession session = Session()) // the generator keeps the session alive
                return session.Stream(prompt, options, form, cancellationToken);
        }

        /// <summary>Begins a conversation.</summary>
        /// <param name="system">Message that the conversation begins with; null: none.</param>
        /// <param name="options">Options of every answer; null: defaults.</param>
        /// <returns>The conversation, without an answer.</returns>
        /// <exception cref="LoomException">The model has no chat template (NoTemplate).</exception>
        public Chat Chat(string system = null, GenerationOptions options = null)
        {
            return new Chat(this, system, options);
        }

        /// <summary>Makes a session, for prompts that are read once and used several times.</summary>
        /// <param name="options">Options of the session; null: defaults.</param>
        /// <returns>A session with empty sequences.</returns>
        public LanguageSession Session(LanguageSessionOptions options = null)
        {
            return new LanguageSession(this, options);
        }
    }
}
