using System;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Threads, instruction set and device of an object. No result depends on them, but for a device whose
    /// name ends with ":fast".</summary>
    public class ComputeOptions
    {
        /// <summary>Workers, 1 to 256; null: one per physical core.</summary>
        public int? Threads { get; set; }

        /// <summary>Instruction set, as "avx2"; null: the best one of this processor.</summary>
        public string Isa { get; set; }

        /// <summary>"cpu" (or null), "auto", or a card of <see cref="Library.GpuReport"/>, as "gpu".</summary>
        public string Device { get; set; }

        /// <summary>The options as C takes them, while `memory` lives.</summary>
        internal static unsafe Interop.ComputeOptions ToInterop(ComputeOptions options, Pinned memory)
        {
            Interop.ComputeOptions compute = Interop.ComputeOptions.Create();
            if (options == null) return compute;
            if (options.Threads != null)
                compute.ThreadCount = Native.InRange(options.Threads.Value, 1, 256, nameof(Threads));
            compute.Isa = memory.Text(options.Isa, nameof(Isa));
            compute.Device = memory.Text(options.Device, nameof(Device));
            return compute;
        }
    }
}
