using System;
using System.Runtime.InteropServices;
using System.Text;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Text to token ids and back. It never changes, so any number of threads may use one.</summary>
    public sealed class Tokenizer : LoomObject
    {
        internal Tokenizer(ulong handle)
        {
            Take(handle);
        }

        /// <summary>Opens a tokenizer without the weights of its model.</summary>
        /// <param name="model">A GGUF file, a Hugging Face folder, an .entity, a tokenizer.json, or a hub id that is in
        /// huggingface_hub's cache.</param>
        /// <exception cref="LoomException">There is no such model (NotFound), it holds no tokenizer (Unsupported) or is
        /// damaged (CorruptData).</exception>
        public unsafe Tokenizer(string model)
        {
            using (Pinned memory = new Pinned())
            {
                byte* path = memory.Text(Hub.Find(model), nameof(model));
                Take(Native.Make(handle => Abi.TokenizerOpen(path, handle)));
            }
        }

        /// <summary>Number of tokens in the vocabulary.</summary>
        public unsafe int Count
        {
            get
            {
                ulong size;
                int status = Abi.TokenizerVocabSize(Handle, &size);
                GC.KeepAlive(this);
                Native.Check(status);
                return checked((int)size);
            }
        }

        /// <summary>Returns the token ids of a text.</summary>
        /// <param name="text">The text.</param>
        /// <param name="addSpecialTokens">True adds the tokens that the model expects around a text.</param>
        /// <param name="parseSpecial">True reads control tokens in the text, as &lt;|im_end|&gt;, as such; false as
        /// ordinary text.</param>
        /// <returns>The ids.</returns>
        public unsafe int[] Encode(string text, bool addSpecialTokens = true, bool parseSpecial = true)
        {
            byte[] bytes = Native.Bytes(text, nameof(text));
            ulong blob;
            fixed (byte* first = bytes)
            {
                int status = Abi.TokenizerEncode(Handle, first, (UIntPtr)bytes.Length, addSpecialTokens ? 1 : 0,
                    parseSpecial ? 1 : 0, &blob);
                GC.KeepAlive(this);
                Native.Check(status);
            }
            byte[] data = Native.TakeBytes(blob);
            int[] ids = new int[data.Length / sizeof(int)];
            Buffer.BlockCopy(data, 0, ids, 0, data.Length);
            return ids;
        }

        /// <summary>Returns the text of token ids.</summary>
        /// <param name="ids">The ids.</param>
        /// <param name="skipSpecialTokens">True leaves control tokens out.</param>
        /// <returns>The text; bytes that are not UTF-8 become U+FFFD.</returns>
        public unsafe string Decode(int[] ids, bool skipSpecialTokens = true)
        {
            if (ids == null) throw new ArgumentNullException(nameof(ids));
            ulong blob;
            fixed (int* first = ids)
            {
                int status = Abi.TokenizerDecode(Handle, first, (UIntPtr)ids.Length, skipSpecialTokens ? 1 : 0, &blob);
                GC.KeepAlive(this);
                Native.Check(status);
            }
            return Native.TakeText(blob);
        }

        /// <summary>Returns the id of a token.</summary>
        /// <param name="token">Text of the token as the vocabulary spells it.</param>
        /// <returns>The id; null if the vocabulary has no such token.</returns>
        public unsafe int? IdOf(string token)
        {
            byte[] bytes = Native.Bytes(token, nameof(token));
            int id;
            fixed (byte* first = bytes)
            {
                int status = Abi.TokenizerId(Handle, first, (UIntPtr)bytes.Length, &id);
                GC.KeepAlive(this);
                if (status == Abi.NotFound) return null;
                Native.Check(status);
            }
            return id;
        }

        /// <summary>Returns the text of a token as the vocabulary spells it.</summary>
        /// <param name="id">The id.</param>
        /// <returns>The text; empty for an unknown id.</returns>
        public unsafe string Token(int id)
        {
            return TextOf((handle, blob) => Abi.TokenizerToken(handle, id, blob));
        }
    }
}
