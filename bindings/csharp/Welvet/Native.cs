using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Called with a handle, gives a new handle.</summary>
    internal unsafe delegate int Giver(ulong handle, ulong* result);

    /// <summary>Called with a handle, reads bytes.</summary>
    internal unsafe delegate int Restorer(ulong handle, void* bytes, UIntPtr size);

    /// <summary>Gives a new handle.</summary>
    internal unsafe delegate int Maker(ulong* result);

    /// <summary>Texts, blobs and errors as C has them.</summary>
    internal static unsafe class Native
    {
        /// <summary>Loads the library if it is not loaded, and calls a function that gives a handle. Calls that may be
        /// the first of a program are inside of a function of their own, since Mono resolves them when it compiles
        /// their caller.</summary>
        public static ulong Make(Maker function)
        {
            Loader.Ready();
            ulong handle;
            Check(function(&handle));
            return handle;
        }

        /// <summary>Like Make(), for a function that gives a status alone.</summary>
        public static int First(Func<int> function)
        {
            Loader.Ready();
            return function();
        }

        /// <summary>Calls a function that gives a JSON object and may call back.</summary>
        public static IReadOnlyDictionary<string, object> Report(Maker function, Callback callback = null,
            CancellationToken token = default)
        {
            int status = Abi.Ok;
            ulong blob = Make(result =>
            {
                status = function(result);
                return Abi.Ok; // an exception of the callback comes first
            });
            string report = status == Abi.Ok ? TakeText(blob) : null;
            callback?.Rethrow();
            Check(status, token);
            return (IReadOnlyDictionary<string, object>)Json.Parse(report);
        }

        /// <summary>Throws the exception of a status that is not OK.</summary>
        public static void Check(int status)
        {
            if (status != Abi.Ok) throw ErrorOf(status);
        }

        /// <summary>Like Check(status), for a call that a token may have cancelled.</summary>
        public static void Check(int status, CancellationToken token)
        {
            if (status == Abi.Cancelled && token.IsCancellationRequested) throw new OperationCanceledException(token);
            Check(status);
        }

        private static Exception ErrorOf(int status)
        {
            Exception cause = t_cause;
            t_cause = null;
            return new LoomException(Text(Abi.StatusName(status)), Text(Abi.LastError()), cause);
        }

        [ThreadStatic] private static Exception t_cause;

        /// <summary>Keeps the exception of a function of a layer kind: the cause of the error that the call of this
        /// thread gives.</summary>
        public static int KeepCause(Exception e)
        {
            t_cause = e;
            return Abi.InvalidState;
        }

        /// <summary>Text that ends with NUL; "" for none.</summary>
        public static string Text(byte* text)
        {
            if (text == null) return "";
            int size = 0;
            while (text[size] != 0) ++size;
            return Text(text, (UIntPtr)size);
        }

        public static string Text(byte* text, UIntPtr size)
        {
            return (ulong)size == 0 ? "" : Encoding.UTF8.GetString(text, checked((int)size));
        }

        /// <summary>UTF-8 without a NUL, for parameters that have a size.</summary>
        public static byte[] Bytes(string text, string name)
        {
            if (text == null) throw new ArgumentNullException(name);
            return Encoding.UTF8.GetBytes(text);
        }

        /// <summary>UTF-8 with a NUL at its end.</summary>
        public static byte[] Terminated(string text, string name)
        {
            if (text == null) throw new ArgumentNullException(name);
            if (text.IndexOf('\0') >= 0) throw new ArgumentException(name + " has a NUL in it", name);
            byte[] bytes = new byte[Encoding.UTF8.GetByteCount(text) + 1];
            Encoding.UTF8.GetBytes(text, 0, text.Length, bytes, 0);
            return bytes;
        }

        /// <summary>Like Terminated(); null stays null.</summary>
        public static byte[] OptionalText(string text, string name)
        {
            return text == null ? null : Terminated(text, name);
        }

        /// <summary>Copies a blob and releases it.</summary>
        public static byte[] TakeBytes(ulong blob)
        {
            try
            {
                void* data;
                UIntPtr size;
                Check(Abi.BlobView(blob, &data, &size));
                byte[] bytes = new byte[checked((int)size)];
                if (bytes.Length > 0) Marshal.Copy((IntPtr)data, bytes, 0, bytes.Length);
                return bytes;
            }
            finally
            {
                Abi.Release(blob);
            }
        }

        /// <summary>Like TakeBytes(), for UTF-8.</summary>
        public static string TakeText(ulong blob)
        {
            return Encoding.UTF8.GetString(TakeBytes(blob));
        }

        public static float[] Copy(float* from, UIntPtr count)
        {
            float[] values = new float[checked((int)count)];
            if (values.Length > 0) Marshal.Copy((IntPtr)from, values, 0, values.Length);
            return values;
        }

        public static int[] Copy(int* from, UIntPtr count)
        {
            int[] values = new int[checked((int)count)];
            if (values.Length > 0) Marshal.Copy((IntPtr)from, values, 0, values.Length);
            return values;
        }

        /// <summary>Extents as C# has them.</summary>
        public static int[] Shape(ulong* extents, UIntPtr count)
        {
            int[] shape = new int[checked((int)count)];
            for (int i = 0; i < shape.Length; ++i) shape[i] = checked((int)extents[i]);
            return shape;
        }

        /// <summary>Extents as C has them.</summary>
        public static ulong[] Extents(int[] shape, string name)
        {
            if (shape == null) throw new ArgumentNullException(name);
            ulong[] extents = new ulong[shape.Length];
            for (int i = 0; i < shape.Length; ++i)
            {
                if (shape[i] < 0)
                    throw new ArgumentOutOfRangeException(name, shape[i], name + "[" + i + "] is negative");
                extents[i] = (ulong)shape[i];
            }
            return extents;
        }

        /// <summary>Refuses a number outside of its range.</summary>
        public static int InRange(int value, int least, int most, string name)
        {
            if (value < least || value > most)
                throw new ArgumentOutOfRangeException(name, value, name + " must be " + least + " to " + most);
            return value;
        }
    }

    /// <summary>A flag of the library that a token sets; 0 for a token that cannot be cancelled.</summary>
    internal sealed class CancelFlag : IDisposable
    {
        private readonly CancellationTokenRegistration _registration;

        public CancelFlag(CancellationToken token)
        {
            token.ThrowIfCancellationRequested();
            if (!token.CanBeCanceled) return;
            unsafe
            {
                Handle = Native.Make(flag => Abi.CancelCreate(flag));
            }
            _registration = token.Register(Set);
        }

        public ulong Handle { get; private set; }

        private void Set()
        {
            Abi.CancelSet(Handle, 1);
        }

        public void Dispose()
        {
            if (Handle == 0) return;
            _registration.Dispose(); // waits for a callback that runs
            Abi.Release(Handle);
            Handle = 0;
        }
    }
}
