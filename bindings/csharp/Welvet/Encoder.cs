using System;
using System.Collections.Generic;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>How a text encoder is loaded.</summary>
    public sealed class EncoderOptions : ComputeOptions
    {
        /// <summary>Numeric type that the matrices are quantised to on load, as "int8"; null: float32.</summary>
        public string DType { get; set; }

        /// <summary>Text that is put before every text; "" puts none; null: the prompt that PromptName names.</summary>
        public string Prompt { get; set; }

        /// <summary>A prompt of the folder by its name, as "query"; null: the folder's default one, if any.</summary>
        public string PromptName { get; set; }
    }

    /// <summary>A model that turns texts into vectors, as sentence-transformers do. Calls of several threads take
    /// turns.</summary>
    public sealed class Encoder : LoomObject
    {
        /// <summary>Loads an encoder.</summary>
        /// <param name="model">Folder of a BERT in the layout of sentence-transformers, or a hub id that is in
        /// huggingface_hub's cache.</param>
        /// <param name="options">How it is loaded; null: defaults.</param>
        /// <exception cref="LoomException">There is no such model (NotFound), the folder is no encoder (Unsupported) or
        /// damaged (CorruptData).</exception>
        public unsafe Encoder(string model, EncoderOptions options = null)
        {
            using (Pinned memory = new Pinned())
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                Interop.EncoderOptions values = Interop.EncoderOptions.Create();
                values.Compute = &compute;
                values.Dtype = memory.Text(options?.DType, nameof(options.DType));
                values.Prompt = memory.Text(options?.Prompt, nameof(options.Prompt));
                values.PromptName = memory.Text(options?.PromptName, nameof(options.PromptName));
                byte* path = memory.Text(Hub.Find(model), nameof(model));
                Interop.EncoderOptions* given = &values;
                Take(Native.Make(handle => Abi.EncoderOpen(path, given, handle)));
            }
        }

        internal Encoder(ulong handle)
        {
            Take(handle);
        }

        /// <summary>Describes the encoder: dimensions, max_tokens, layers, pooling, threads.</summary>
        public unsafe IReadOnlyDictionary<string, object> Info => RecordOf(Abi.EncoderInfo);

        /// <summary>Returns the vectors of texts. A text's vector has the same bits alone and among others.</summary>
        /// <param name="texts">The texts.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>A tensor [texts, dimensions].</returns>
        /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
        public unsafe Tensor Embed(IReadOnlyList<string> texts, CancellationToken cancellationToken = default)
        {
            if (texts == null) throw new ArgumentNullException(nameof(texts));
            Enter();
            try
            {
                using (Pinned memory = new Pinned())
                using (CancelFlag cancel = new CancelFlag(cancellationToken))
                {
                    Interop.Tensor vectors = Interop.Tensor.Create();
                    ulong* tokens;
                    UIntPtr tokensCount;
                    Native.Check(Abi.EncoderEmbed(Handle, memory.Texts(texts, nameof(texts)), (UIntPtr)texts.Count,
                        cancel.Handle, &vectors, &tokens, &tokensCount), cancellationToken);
                    return InteropTensors.Copy(&vectors);
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Like Embed(texts), for one text.</summary>
        /// <param name="text">The text.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The vector.</returns>
        public float[] Embed(string text, CancellationToken cancellationToken = default)
        {
            return Embed(new[] { text }, cancellationToken).Values;
        }
    }
}
