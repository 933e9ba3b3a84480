using System.Collections.Generic;
using System.Runtime.CompilerServices;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>The native library and this machine.</summary>
    public static unsafe class Library
    {
        /// <summary>Version of the library, as "0.1.0".</summary>
        public static string Version
        {
            get
            {
                Loader.Ready();
                return VersionText();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)] // Mono resolves functions when it compiles their caller
        private static string VersionText()
        {
            return Native.Text(Abi.Version());
        }

        /// <summary>Describes this machine: version, cpu, instruction sets, cores.</summary>
        /// <returns>A JSON object.</returns>
        public static IReadOnlyDictionary<string, object> SystemInfo()
        {
            string json = Native.TakeText(Native.Make(info => Abi.SystemInfo(info)));
            return (IReadOnlyDictionary<string, object>)Json.Parse(json);
        }

        /// <summary>Lists the graphics cards that <see cref="ComputeOptions.Device"/> can name.</summary>
        /// <returns>A JSON object with a list "adapters".</returns>
        /// <exception cref="LoomException">No card is available (IoError).</exception>
        public static IReadOnlyDictionary<string, object> GpuReport()
        {
            string json = Native.TakeText(Native.Make(report => Abi.GpuReport(report)));
            return (IReadOnlyDictionary<string, object>)Json.Parse(json);
        }

        /// <summary>Runs the golden set, which takes seconds. Its hash is equal on every machine.</summary>
        /// <param name="options">Threads and instruction set; null: defaults.</param>
        /// <returns>The SHA-256 of the table of results, 64 hexadecimal digits.</returns>
        public static string Verify(ComputeOptions options = null)
        {
            using (Pinned memory = new Pinned())
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                Interop.ComputeOptions* given = &compute;
                return Native.TakeText(Native.Make(hash => Abi.Verify(given, hash)));
            }
        }
    }
}
