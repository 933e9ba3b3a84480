using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>A conversation with a language model: messages in, answers out. Tokens that the model has read are not
    /// read again. Calls of several threads take turns.</summary>
    public sealed class Chat : LoomObject
    {
        internal unsafe Chat(LanguageModel model, string system, GenerationOptions options)
        {
            using (LanguageSession session = model.Session())
            using (Pinned memory = new Pinned())
            {
                Interop.GenerationOptions values = (options ?? new GenerationOptions()).ToInterop(memory);
                ulong handle;
                int status = Abi.ChatCreate(session.Handle, memory.Text(system, nameof(system)), &values, &handle);
                GC.KeepAlive(options);
                Native.Check(status);
                Take(handle);
            }
        }

        /// <summary>Adds a message of the user and answers it.</summary>
        /// <param name="text">The message.</param>
        /// <param name="cancellationToken">Ends the answer; its text so far joins the conversation.</param>
        /// <returns>The answer.</returns>
        /// <exception cref="LoomException">The message does not fit into the context (ContextFull).</exception>
        /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
        public Generation Say(string text, CancellationToken cancellationToken = default)
        {
            using (TextStream stream = Stream(text, cancellationToken)) return stream.Finish();
        }

        /// <summary>Like Say(), on a thread of the pool.</summary>
        /// <param name="text">The message.</param>
        /// <param name="cancellationToken">Ends the answer; its text so far joins the conversation.</param>
        /// <returns>The answer.</returns>
        public Task<Generation> SayAsync(string text, CancellationToken cancellationToken = default)
        {
            return Task.Run(() => Say(text, cancellationToken), cancellationToken);
        }

        /// <summary>Like Say(), piece by piece. The answer ends when the loop is left and when the next one begins;
        /// its text so far joins the conversation.</summary>
        /// <param name="text">The message; null: the answer is to the messages as they stand.</param>
        /// <param name="cancellationToken">Ends the answer.</param>
        /// <returns>The pieces, to be enumerated once; its Result is the answer.</returns>
        public unsafe TextStream Stream(string text, CancellationToken cancellationToken = default)
        {
            byte[] bytes = text == null ? null : Native.Bytes(text, nameof(text));
            Enter();
            try
            {
                using (Pinned memory = new Pinned())
                using (CancelFlag cancel = new CancelFlag(cancellationToken))
                {
                    Native.Check(Abi.ChatStop(Handle));
                    Native.Check(bytes == null
                        ? Abi.ChatAnswer(Handle, cancel.Handle)
                        : Abi.ChatSay(Handle, memory.Array(bytes), (UIntPtr)bytes.Length, cancel.Handle),
                        cancellationToken);
                    Native.Check(Abi.Retain(Handle));
                    return new TextStream(Handle, true, Gate, cancellationToken);
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Ends the answer that is being written; its text so far joins the conversation.</summary>
        public void Stop()
        {
            int status = Abi.ChatStop(Handle);
            GC.KeepAlive(this);
            Native.Check(status);
        }

        /// <summary>The conversation. Assigning another list replaces it.</summary>
        public unsafe IReadOnlyList<Message> Messages
        {
            get => Message.FromJson(TextOf(Abi.ChatMessages));
            set
            {
                byte[] json = Message.ToJson(value);
                fixed (byte* first = json)
                {
                    int status = Abi.ChatSetMessages(Handle, first, (UIntPtr)json.Length);
                    GC.KeepAlive(this);
                    Native.Check(status);
                }
            }
        }

        /// <summary>Drops messages from the end.</summary>
        /// <param name="count">Number of messages that are kept.</param>
        /// <exception cref="LoomException">The conversation has fewer messages.</exception>
        public void Rewind(int count)
        {
            int status = Abi.ChatRewind(Handle, (ulong)Native.InRange(count, 0, int.MaxValue, nameof(count)));
            GC.KeepAlive(this);
            Native.Check(status);
        }

        /// <summary>Replaces the text of a message and drops the messages after it.</summary>
        /// <param name="index">Place of the message in Messages.</param>
        /// <param name="text">Its new text.</param>
        public unsafe void Edit(int index, string text)
        {
            byte[] bytes = Native.Bytes(text, nameof(text));
            fixed (byte* first = bytes)
            {
                int status = Abi.ChatEdit(Handle, (ulong)Native.InRange(index, 0, int.MaxValue, nameof(index)), first,
                    (UIntPtr)bytes.Length);
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }

        /// <summary>Returns the receipt of the last complete answer, which proves it on another machine
        /// (docs/guide/audit.md).</summary>
        /// <returns>A JSON text.</returns>
        /// <exception cref="LoomException">There is no complete answer (InvalidState).</exception>
        public unsafe string Receipt()
        {
            return TextOf(Abi.ChatReceipt);
        }

        /// <summary>Writes the conversation with the receipts of its answers into a file, whole or not at
        /// all.</summary>
        /// <param name="path">The file, which is replaced if it exists.</param>
        public unsafe void Save(string path)
        {
            fixed (byte* name = Native.Terminated(path, nameof(path)))
            {
                int status = Abi.ChatSave(Handle, name);
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }

        /// <summary>Replaces the conversation by that of a file.</summary>
        /// <param name="path">A file of Save().</param>
        /// <exception cref="LoomException">There is no such file (NotFound), or it is not a conversation
        /// (CorruptData).</exception>
        public unsafe void Load(string path)
        {
            fixed (byte* name = Native.Terminated(path, nameof(path)))
            {
                int status = Abi.ChatLoad(Handle, name);
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }
    }
}
