using System;

namespace Welvet
{
    /// <summary>An error of the library. A cancelled call throws <see cref="OperationCanceledException"/> instead, an
    /// object after its Dispose() <see cref="ObjectDisposedException"/>.</summary>
    public sealed class LoomException : Exception
    {
        /// <summary>Creates an error.</summary>
        /// <param name="code">Name of the error, as "NotFound".</param>
        /// <param name="text">The message, in one line.</param>
        /// <param name="cause">The exception of a layer kind's function; null: none.</param>
        public LoomException(string code, string text, Exception cause = null)
            : base(code + ": " + text, cause)
        {
            Code = code;
            Text = text;
        }

        /// <summary>Name of the error, as "NotFound"; every language has the same names.</summary>
        public string Code { get; }

        /// <summary>The message, in one line.</summary>
        public string Text { get; }
    }
}
