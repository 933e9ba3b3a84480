using System.Threading;

namespace Welvet
{
    /// <summary>One language model for the whole process, by static methods: for programs that were written for them.
    /// New programs use <see cref="LanguageModel"/>, of which there may be several.</summary>
    public static class Transformer
    {
        private static readonly object Gate = new object();
        private static LanguageModel s_model;

        /// <summary>Loads a model in place of the one before, which is disposed; answers of it that are being written
        /// go on.</summary>
        /// <param name="model">A GGUF file, a Hugging Face folder, an .entity, or a hub id that is in huggingface_hub's
        /// cache.</param>
        /// <param name="options">How it is loaded; null: defaults.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The model, which the next LoadModel() disposes.</returns>
        /// <exception cref="LoomException">There is no such model (NotFound); the message has the command that fetches
        /// a hub id.</exception>
        public static LanguageModel LoadModel(string model, LanguageModelOptions options = null,
            CancellationToken cancellationToken = default)
        {
            LanguageModel loaded = new LanguageModel(model, options, cancellationToken);
            LanguageModel before;
            lock (Gate)
            {
                before = s_model;
                s_model = loaded;
            }
            before?.Dispose();
            return loaded;
        }

        /// <summary>Loads a tokenizer alone. A model brings its own, so only encoding without a model needs
        /// this.</summary>
        /// <param name="model">Path or hub id of the model.</param>
        /// <returns>The tokenizer.</returns>
        /// <exception cref="LoomException">There is no such model (NotFound).</exception>
        public static Tokenizer LoadTokenizer(string model)
        {
            return new Tokenizer(model);
        }

        /// <summary>Answers or continues a prompt.</summary>
        /// <param name="prompt">A text.</param>
        /// <param name="maxTokens">Most tokens of the answer.</param>
        /// <param name="options">How the answer is written, but for its MaxTokens; null: defaults.</param>
        /// <param name="form">Form of the text.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The answer.</returns>
        /// <exception cref="LoomException">No model is loaded (InvalidState).</exception>
        public static Generation Generate(string prompt, int maxTokens = 128, GenerationOptions options = null,
            PromptForm form = PromptForm.Auto, CancellationToken cancellationToken = default)
        {
            using (TextStream stream = GenerateStream(prompt, maxTokens, options, form, cancellationToken))
                return stream.Finish();
        }

        /// <summary>Like Generate(), piece by piece.</summary>
        /// <param name="prompt">A text.</param>
        /// <param name="maxTokens">Most tokens of the answer.</param>
        /// <param name="options">How the answer is written, but for its MaxTokens; null: defaults.</param>
        /// <param name="form">Form of the text.</param>
        /// <param name="cancellationToken">Ends the answer at any moment.</param>
        /// <returns>The pieces, to be enumerated once.</returns>
        /// <exception cref="LoomException">No model is loaded (InvalidState).</exception>
        public static TextStream GenerateStream(string prompt, int maxTokens = 128, GenerationOptions options = null,
            PromptForm form = PromptForm.Auto, CancellationToken cancellationToken = default)
        {
            LanguageModel model;
            lock (Gate) model = s_model;
            if (model == null)
            {
                throw new LoomException("InvalidState",
                    "no model is loaded: call Transformer.LoadModel(path or hub id)");
            }
            return model.Stream(prompt, (options ?? new GenerationOptions()).WithMaxTokens(maxTokens), form,
                cancellationToken);
        }
    }
}
