using System;
using System.Collections.Generic;
using System.Text;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>An answer of a model; ToString() gives its text.</summary>
    public sealed class Generation
    {
        internal unsafe Generation(Interop.Generation* from)
        {
            Text = Native.Text(from->Text, from->TextSize);
            Ids = Native.Copy(from->Ids, from->IdsCount);
            StopReason = Native.Text(Abi.StopName(from->Stop));
            StringBuilder hash = new StringBuilder();
            for (int i = 0; i < 32; ++i) hash.Append(from->Hash[i].ToString("x2"));
            Hash = hash.ToString();
            PromptTokens = (int)from->PromptTokens;
            PrefillTime = TimeSpan.FromTicks((long)(from->PrefillSeconds * TimeSpan.TicksPerSecond));
            DecodeTime = TimeSpan.FromTicks((long)(from->DecodeSeconds * TimeSpan.TicksPerSecond));
            Drafted = (int)from->Drafted;
            Accepted = (int)from->Accepted;
        }

        /// <summary>The answer, without stop text and end-of-sequence token.</summary>
        public string Text { get; }

        /// <summary>Its tokens.</summary>
        public IReadOnlyList<int> Ids { get; }

        /// <summary>"eos", "stop", "length", "context" or "cancelled"; "" while the answer is being written.</summary>
        public string StopReason { get; }

        /// <summary>SHA-256 of the ids and of the bits of the last logits, 64 hexadecimal digits: equal on every
        /// machine.</summary>
        public string Hash { get; }

        /// <summary>Number of tokens that were read before.</summary>
        public int PromptTokens { get; }

        /// <summary>Time of reading the prompt.</summary>
        public TimeSpan PrefillTime { get; }

        /// <summary>Time of writing the answer.</summary>
        public TimeSpan DecodeTime { get; }

        /// <summary>With speculation, number of drafted tokens.</summary>
        public int Drafted { get; }

        /// <summary>With speculation, number of drafted tokens that the model confirmed.</summary>
        public int Accepted { get; }

        /// <summary>The text.</summary>
        /// <returns>The text.</returns>
        public override string ToString()
        {
            return Text;
        }
    }
}
