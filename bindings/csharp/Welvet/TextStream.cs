using System;
using System.Collections;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>An answer that is being written: pieces of text, which may be enumerated once. Leaving the loop early
    /// ends the answer; <see cref="Result"/> stays readable.</summary>
    public sealed class TextStream : LoomObject, IEnumerable<string>, IEnumerator<string>
#if NETCOREAPP3_0_OR_GREATER || NETSTANDARD2_1_OR_GREATER
        , IAsyncEnumerable<string>
#endif
    {
        private readonly bool _isOfChat;
        private readonly CancellationToken _token;
        private readonly Decoder _decoder = Encoding.UTF8.GetDecoder();
        private bool _hasEnded;
        private Generation _result;

        /// <summary>Takes over a handle: of a generator, or one more of a chat.</summary>
        internal TextStream(ulong handle, bool isOfChat, object gate, CancellationToken token)
            : base(gate)
        {
            _isOfChat = isOfChat;
            _token = token;
            Take(handle);
        }

        /// <summary>The piece of text that MoveNext() moved to.</summary>
        public string Current { get; private set; }

        object IEnumerator.Current => Current;

        /// <summary>The answer so far, or the whole one after the last piece.</summary>
        /// <exception cref="ObjectDisposedException">The stream was disposed before its first piece.</exception>
        public Generation Result
        {
            get
            {
                if (_result != null) return _result;
                Enter();
                try
                {
                    return ReadResult();
                }
                finally
                {
                    Leave();
                }
            }
        }

        /// <summary>Moves to the next piece of text.</summary>
        /// <returns>False at the end of the answer.</returns>
        /// <exception cref="OperationCanceledException">The token was cancelled. The answer has ended.</exception>
        /// <exception cref="LoomException">The context is full (ContextFull).</exception>
        public bool MoveNext()
        {
            if (_hasEnded) return false;
            if (_token.IsCancellationRequested)
            {
                Dispose();
                throw new OperationCanceledException(_token);
            }
            Enter();
            try
            {
                using (CancelFlag cancel = new CancelFlag(_token))
                {
                    while (!_hasEnded)
                    {
                        string piece = Advance(cancel.Handle);
                        if (piece.Length == 0) continue;
                        Current = piece;
                        return true;
                    }
                }
            }
            finally
            {
                Leave();
            }
            Current = null;
            return false;
        }

        /// <summary>Moves to the next piece of text on a thread of the pool.</summary>
        /// <returns>The piece; null at the end of the answer.</returns>
        public Task<string> NextAsync()
        {
            return Task.Run(() => MoveNext() ? Current : null);
        }

        /// <summary>Writes the rest of the answer.</summary>
        /// <returns>The whole answer.</returns>
        public Generation Finish()
        {
            while (MoveNext())
            {
            }
            return Result;
        }

        /// <summary>Returns the receipt of a complete answer, which proves it on another machine
        /// (docs/guide/audit.md).</summary>
        /// <returns>A JSON text.</returns>
        /// <exception cref="LoomException">The answer has not ended (InvalidState), or the model came from
        /// memory.</exception>
        /// <exception cref="ObjectDisposedException">The stream was disposed, as by the end of a foreach
        /// loop.</exception>
        public unsafe string Receipt()
        {
            return TextOf((handle, blob) => _isOfChat ? Abi.ChatReceipt(handle, blob)
                : Abi.GeneratorReceipt(handle, blob));
        }

        /// <summary>Lists the drawn tokens with their logarithmic probabilities.</summary>
        /// <returns>A JSON list with an object per token: id, logprob (natural logarithm, before temperature and cuts)
        /// and top, the best tokens.</returns>
        /// <exception cref="LoomException">The option Logprobs is 0 (InvalidState).</exception>
        public unsafe string Logprobs()
        {
            return TextOf((handle, blob) => _isOfChat ? Abi.ChatLogprobs(handle, blob)
                : Abi.GeneratorLogprobs(handle, blob));
        }

        /// <summary>Does one bounded piece of work.</summary>
        private unsafe string Advance(ulong cancel)
        {
            Step step = Step.Create();
            int status = _isOfChat ? Abi.ChatNext(Handle, cancel, &step) : Abi.GeneratorNext(Handle, cancel, &step);
            Native.Check(status, _token);
            _hasEnded = step.Stop != Abi.StopNotYet;
            int size = checked((int)step.TextSize);
            char[] chars = new char[size + 4];
            byte none = 0;
            fixed (char* to = chars)
            {
                int count = _decoder.GetChars(size == 0 ? &none : step.Text, size, to, chars.Length, _hasEnded);
                if (step.Stop != Abi.StopCancelled) return new string(chars, 0, count);
            }
            _result = ReadResult();
            throw new OperationCanceledException(_token);
        }

        private unsafe Generation ReadResult()
        {
            Interop.Generation result = Interop.Generation.Create();
            Native.Check(_isOfChat ? Abi.ChatResult(Handle, &result) : Abi.GeneratorResult(Handle, &result));
            return new Generation(&result);
        }

        internal override unsafe void BeforeDispose()
        {
            if (!_hasEnded && _isOfChat) Abi.ChatStop(Handle);
            _hasEnded = true;
            if (_result != null) return;
            Interop.Generation result = Interop.Generation.Create();
            int status = _isOfChat ? Abi.ChatResult(Handle, &result) : Abi.GeneratorResult(Handle, &result);
            if (status == Abi.Ok) _result = new Generation(&result);
        }

        /// <summary>The stream itself: it is enumerated once.</summary>
        /// <returns>This object.</returns>
        public IEnumerator<string> GetEnumerator()
        {
            return this;
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            return this;
        }

        void IEnumerator.Reset()
        {
            throw new NotSupportedException("an answer is enumerated once");
        }

#if NETCOREAPP3_0_OR_GREATER || NETSTANDARD2_1_OR_GREATER
        /// <summary>Enumerates the answer, each piece on a thread of the pool.</summary>
        /// <param name="cancellationToken">Ends the answer between pieces, beside the token of the call.</param>
        /// <returns>The enumerator.</returns>
        public IAsyncEnumerator<string> GetAsyncEnumerator(CancellationToken cancellationToken = default)
        {
            return new AsyncPieces(this, cancellationToken);
        }

        private sealed class AsyncPieces : IAsyncEnumerator<string>
        {
            private readonly TextStream _stream;
            private readonly CancellationToken _token;

            public AsyncPieces(TextStream stream, CancellationToken token)
            {
                _stream = stream;
                _token = token;
            }

            public string Current { get; private set; }

            public ValueTask<bool> MoveNextAsync()
            {
                return new ValueTask<bool>(Task.Run(() =>
                {
                    _token.ThrowIfCancellationRequested();
                    bool more = _stream.MoveNext();
                    Current = _stream.Current;
                    return more;
                }));
            }

            public ValueTask DisposeAsync()
            {
                return new ValueTask(Task.Run(() => _stream.Dispose()));
            }
        }
#endif
    }
}
