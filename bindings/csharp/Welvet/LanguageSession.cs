using System;
using System.Collections.Generic;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Options of a session of a language model. Threads, Isa and Device that are null are those of the
    /// model.</summary>
    public sealed class LanguageSessionOptions : ComputeOptions
    {
        /// <summary>Number of sequences that the session holds at once.</summary>
        public int Sequences { get; set; } = 1;

        /// <summary>Longest sequence in tokens; null: that of the model.</summary>
        public int? Context { get; set; }

        /// <summary>Numeric type of keys and values: "float32" (or null), "bfloat16", "int8".</summary>
        public string KvDType { get; set; }

        /// <summary>True computes with activations of 8 bits instead of 16: faster, less exact.</summary>
        public bool Int8Activations { get; set; }
    }

    /// <summary>Sequences of tokens that a language model has read, with their caches. Calls of several threads take
    /// turns.</summary>
    public sealed class LanguageSession : LoomObject
    {
        internal unsafe LanguageSession(LanguageModel model, LanguageSessionOptions options)
        {
            options = options ?? new LanguageSessionOptions();
            ComputeOptions chosen = new ComputeOptions
            {
                Threads = options.Threads ?? model.Options.Threads,
                Isa = options.Isa ?? model.Options.Isa,
                Device = options.Device ?? model.Options.Device,
            };
            using (Pinned memory = new Pinned())
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(chosen, memory);
                Interop.SessionOptions values = Interop.SessionOptions.Create();
                values.Compute = &compute;
                values.Sequences = (uint)Native.InRange(options.Sequences, 1, int.MaxValue, nameof(options.Sequences));
                int? context = options.Context ?? model.Options.Context;
                if (context != null)
                    values.ContextTokens = (ulong)Native.InRange(context.Value, 1, 1 << 24, nameof(options.Context));
                values.KvDtype = memory.Text(options.KvDType, nameof(options.KvDType));
                values.Int8Activations = options.Int8Activations ? 1 : 0;
                ulong handle;
                int status = Abi.SessionCreate(model.Handle, &values, &handle);
                GC.KeepAlive(model);
                Native.Check(status);
                Take(handle);
            }
        }

        /// <summary>Describes the session: isa, threads, context_tokens, sequences, memory in bytes.</summary>
        public unsafe IReadOnlyDictionary<string, object> Info => RecordOf(Abi.SessionInfo);

        /// <summary>Appends tokens to a sequence.</summary>
        /// <param name="ids">The tokens.</param>
        /// <param name="sequence">Number of the sequence, from 0.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The logits of the token that follows, one per token of the vocabulary.</returns>
        /// <exception cref="LoomException">The context is full (ContextFull), an id is not in the vocabulary
        /// (OutOfRange). The sequence is then as before.</exception>
        public unsafe float[] Feed(int[] ids, int sequence = 0, CancellationToken cancellationToken = default)
        {
            if (ids == null) throw new ArgumentNullException(nameof(ids));
            Enter();
            try
            {
                using (CancelFlag cancel = new CancelFlag(cancellationToken))
                {
                    float* logits;
                    UIntPtr count;
                    fixed (int* first = ids)
                    {
                        Native.Check(Abi.SessionFeed(Handle, Place(sequence), first, (UIntPtr)ids.Length, cancel.Handle,
                            &logits, &count), cancellationToken);
                    }
                    return Native.Copy(logits, count);
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Returns the token ids of a sequence.</summary>
        /// <param name="sequence">Number of the sequence, from 0.</param>
        /// <returns>The ids.</returns>
        public unsafe int[] Tokens(int sequence = 0)
        {
            Enter();
            try
            {
                int* ids;
                UIntPtr count;
                Native.Check(Abi.SessionTokens(Handle, Place(sequence), &ids, &count));
                return Native.Copy(ids, count);
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Drops the tokens of a sequence after the first ones.</summary>
        /// <param name="length">Number of tokens to keep.</param>
        /// <param name="sequence">Number of the sequence, from 0.</param>
        public void Rewind(int length, int sequence = 0)
        {
            int status = Abi.SessionRewind(Handle, Place(sequence), Place(length, nameof(length)));
            GC.KeepAlive(this);
            Native.Check(status);
        }

        /// <summary>Copies a sequence onto another one.</summary>
        /// <param name="source">Number of the sequence that is read.</param>
        /// <param name="target">Number of the sequence that becomes equal to it.</param>
        public void Fork(int source, int target)
        {
            int status = Abi.SessionFork(Handle, Place(source, nameof(source)), Place(target, nameof(target)));
            GC.KeepAlive(this);
            Native.Check(status);
        }

        /// <summary>Returns the tokens of a sequence with their keys and values.</summary>
        /// <param name="sequence">Number of the sequence, from 0.</param>
        /// <returns>Bytes for Restore(), on any machine.</returns>
        public unsafe byte[] Snapshot(int sequence = 0)
        {
            return BytesOf((handle, blob) => Abi.SessionSnapshot(handle, Place(sequence), blob));
        }

        /// <summary>Replaces a sequence by a snapshot.</summary>
        /// <param name="snapshot">Bytes of Snapshot().</param>
        /// <param name="sequence">Number of the sequence, from 0.</param>
        /// <exception cref="LoomException">The snapshot is of another model (ShapeMismatch) or damaged
        /// (CorruptData).</exception>
        public unsafe void Restore(byte[] snapshot, int sequence = 0)
        {
            if (snapshot == null) throw new ArgumentNullException(nameof(snapshot));
            fixed (byte* first = snapshot)
            {
                int status = Abi.SessionRestore(Handle, Place(sequence), first, (UIntPtr)snapshot.Length);
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }

        /// <summary>Continues sequence 0 with a prompt and an answer to it.</summary>
        /// <param name="prompt">A text.</param>
        /// <param name="options">How the answer is written; null: defaults.</param>
        /// <param name="form">Form of the text.</param>
        /// <param name="cancellationToken">Ends the answer at any moment.</param>
        /// <returns>The pieces, to be enumerated once; its Result is the answer.</returns>
        public TextStream Stream(string prompt, GenerationOptions options = null, PromptForm form = PromptForm.Auto,
            CancellationToken cancellationToken = default)
        {
            return Begin(Native.Bytes(prompt, nameof(prompt)), (int)form, options, cancellationToken);
        }

        /// <summary>Like Stream(), for a conversation, which the chat template writes.</summary>
        /// <param name="messages">The messages.</param>
        /// <param name="options">How the answer is written; null: defaults.</param>
        /// <param name="cancellationToken">Ends the answer at any moment.</param>
        /// <returns>The pieces, to be enumerated once; its Result is the answer.</returns>
        public TextStream Stream(IEnumerable<Message> messages, GenerationOptions options = null,
            CancellationToken cancellationToken = default)
        {
            return Begin(Message.ToJson(messages), Abi.PromptMessages, options, cancellationToken);
        }

        private unsafe TextStream Begin(byte[] text, int form, GenerationOptions options, CancellationToken token)
        {
            using (Pinned memory = new Pinned())
            {
                Interop.GenerationOptions values = (options ?? new GenerationOptions()).ToInterop(memory);
                ulong handle;
                int status = Abi.GeneratorFromText(Handle, memory.Array(text), (UIntPtr)text.Length, form, &values,
                    &handle);
                GC.KeepAlive(this);
                GC.KeepAlive(options);
                Native.Check(status);
                return new TextStream(handle, false, Gate, token);
            }
        }

        private static ulong Place(int number, string name = "sequence")
        {
            return (ulong)Native.InRange(number, 0, int.MaxValue, name);
        }
    }
}
