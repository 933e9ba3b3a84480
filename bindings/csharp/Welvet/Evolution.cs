using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Options of a whole evolution.</summary>
    public sealed class EvolutionOptions : ComputeOptions
    {
        /// <summary>Folder of the run, with lineage, checkpoint and the best network; null: none.</summary>
        public string Out { get; set; }

        /// <summary>Folder that relative paths of the config start from; null: that of the config file, or the current
        /// one.</summary>
        public string Folder { get; set; }

        /// <summary>How a folder that holds a run is treated.</summary>
        public RunStart Start { get; set; }

        /// <summary>Number of generations in place of the config's; null: its own.</summary>
        public int? Generations { get; set; }

        /// <summary>Receives the report of every generation on the calling thread: done, total, best_score, hash. An
        /// exception of it ends the run and comes out of the call. Null: nobody.</summary>
        public IProgress<IReadOnlyDictionary<string, object>> Progress { get; set; }
    }

    /// <summary>Whole evolutions, and their single operations on networks. A Population asks the caller how good
    /// networks are.</summary>
    public static class Evolution
    {
        private unsafe delegate int Runner(Interop.EvolutionOptions* options, ulong* outcome);

        private unsafe delegate int Pair(ulong first, ulong second, ulong* result);

        /// <summary>Runs a whole evolution, whose task judges the networks: one of the config's names, or data of a
        /// file.</summary>
        /// <param name="config">Keys of docs/guide/evolution.md as JSON.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <param name="cancellationToken">Ends the run after the current generation; the outcome is then
        /// "interrupted", and RunStart.Resume continues it.</param>
        /// <returns>The outcome: generations, best, interrupted, hash.</returns>
        /// <exception cref="LoomException">A file is missing (NotFound), the config has an unknown key (UnknownKey), or
        /// Out holds a run and Start is Fresh (InvalidArgument).</exception>
        public static unsafe IReadOnlyDictionary<string, object> Run(string config, EvolutionOptions options = null,
            CancellationToken cancellationToken = default)
        {
            byte[] json = Native.Bytes(config, nameof(config));
            fixed (byte* first = json)
            {
                byte* text = first;
                return Run((given, outcome) => Abi.EvolutionRun(text, (UIntPtr)json.Length, given, outcome), options,
                    cancellationToken);
            }
        }

        /// <summary>Like Run(), for a config file.</summary>
        /// <param name="path">The file.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <param name="cancellationToken">Ends the run after the current generation.</param>
        /// <returns>The outcome.</returns>
        /// <exception cref="LoomException">A file is missing (NotFound), or the config has an unknown key
        /// (UnknownKey).</exception>
        public static unsafe IReadOnlyDictionary<string, object> RunFile(string path, EvolutionOptions options = null,
            CancellationToken cancellationToken = default)
        {
            fixed (byte* first = Native.Terminated(path, nameof(path)))
            {
                byte* name = first;
                return Run((given, outcome) => Abi.EvolutionRunFile(name, given, outcome), options, cancellationToken);
            }
        }

        private static unsafe IReadOnlyDictionary<string, object> Run(Runner runner, EvolutionOptions options,
            CancellationToken token)
        {
            options = options ?? new EvolutionOptions();
            using (Pinned memory = new Pinned())
            using (CancelFlag cancel = new CancelFlag(token))
            using (GenerationCallback progress = new GenerationCallback(options.Progress))
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                Interop.EvolutionOptions values = Interop.EvolutionOptions.Create();
                values.Compute = &compute;
                values.Out = memory.Text(options.Out, nameof(options.Out));
                values.Folder = memory.Text(options.Folder, nameof(options.Folder));
                values.Start = (int)options.Start;
                if (options.Generations != null)
                {
                    values.Generations = (ulong)Native.InRange(options.Generations.Value, 1, 1 << 30,
                        nameof(options.Generations));
                }
                values.Cancel = cancel.Handle;
                values.Progress = progress.Pointer;
                values.User = progress.User;
                Interop.EvolutionOptions* given = &values;
                return Native.Report(outcome => runner(given, outcome), progress, token);
            }
        }

        /// <summary>Changes a network at random. Its output keeps its shape.</summary>
        /// <param name="network">The network, which changes in place.</param>
        /// <param name="shape">Shape of its input, samples first.</param>
        /// <param name="config">JSON like `mutation` of docs/guide/evolution.md, with seed, generation,
        /// individual.</param>
        /// <returns>What was done, and what was skipped.</returns>
        /// <exception cref="LoomException">A key of the config is unknown (UnknownKey) or wrong.</exception>
        public static unsafe IReadOnlyDictionary<string, object> Mutate(Network network, int[] shape,
            string config = "{}")
        {
            if (network == null) throw new ArgumentNullException(nameof(network));
            byte[] json = Native.Bytes(config, nameof(config));
            ulong[] extents = Native.Extents(shape, nameof(shape));
            fixed (byte* first = json)
            fixed (ulong* places = extents)
            {
                byte* text = first;
                ulong* to = places;
                return network.RecordOf((handle, report) => Abi.NetworkMutate(handle, to, (UIntPtr)extents.Length, text,
                    (UIntPtr)json.Length, report));
            }
        }

        /// <summary>Makes a child of two networks.</summary>
        /// <param name="first">A network.</param>
        /// <param name="second">Another one.</param>
        /// <param name="config">JSON: mode ("blend", "point" or "uniform"), blend_alpha, split_ratio, fitness_a,
        /// fitness_b, seed.</param>
        /// <returns>The child.</returns>
        /// <exception cref="LoomException">A key of the config is unknown (UnknownKey) or wrong.</exception>
        public static unsafe Network Splice(Network first, Network second, string config = "{}")
        {
            byte[] json = Native.Bytes(config, nameof(config));
            fixed (byte* place = json)
            {
                byte* text = place;
                return new Network(Of(first, second,
                    (a, b, child) => Abi.NetworkSplice(a, b, text, (UIntPtr)json.Length, child)));
            }
        }

        /// <summary>Returns the signatures of a network: the direction of the weights of each layer.</summary>
        /// <param name="network">The network.</param>
        /// <param name="nested">True includes layers inside of layers.</param>
        /// <returns>A list of JSON objects: key, path, type, dtype, weights.</returns>
        public static unsafe IReadOnlyList<object> Dna(Network network, bool nested = false)
        {
            if (network == null) throw new ArgumentNullException(nameof(network));
            return (IReadOnlyList<object>)Json.Parse(
                network.TextOf((handle, dna) => Abi.DnaExtract(handle, nested ? 1 : 0, dna)));
        }

        /// <summary>Compares the signatures of two networks.</summary>
        /// <param name="first">A network.</param>
        /// <param name="second">Another one.</param>
        /// <param name="nested">True includes layers inside of layers.</param>
        /// <returns>Overlaps, logic shifts, layers of one network alone.</returns>
        public static unsafe IReadOnlyDictionary<string, object> CompareDna(Network first, Network second,
            bool nested = false)
        {
            return (IReadOnlyDictionary<string, object>)Json.Parse(Native.TakeText(
                Of(first, second, (a, b, result) => Abi.DnaCompare(a, b, nested ? 1 : 0, result))));
        }

        /// <summary>Draws the comparison of CompareDna().</summary>
        /// <param name="first">A network.</param>
        /// <param name="second">Another one.</param>
        /// <param name="nested">True includes layers inside of layers.</param>
        /// <returns>The picture, SVG.</returns>
        public static unsafe string DrawDna(Network first, Network second, bool nested = false)
        {
            return Native.TakeText(Of(first, second, (a, b, svg) => Abi.DnaDraw(a, b, nested ? 1 : 0, svg)));
        }

        /// <summary>Compares the specs and weights of two networks.</summary>
        /// <param name="first">A network.</param>
        /// <param name="second">Another one.</param>
        /// <returns>The differences; "equal" is true or false.</returns>
        public static unsafe IReadOnlyDictionary<string, object> Compare(Network first, Network second)
        {
            return (IReadOnlyDictionary<string, object>)Json.Parse(
                Native.TakeText(Of(first, second, Abi.NetworkCompare)));
        }

        /// <summary>Calls a function of two networks that gives a handle.</summary>
        private static unsafe ulong Of(Network first, Network second, Pair function)
        {
            if (first == null) throw new ArgumentNullException(nameof(first));
            if (second == null) throw new ArgumentNullException(nameof(second));
            ulong result;
            int status = function(first.Handle, second.Handle, &result);
            GC.KeepAlive(first);
            GC.KeepAlive(second);
            Native.Check(status);
            return result;
        }
    }

    /// <summary>Generations of an evolution.</summary>
    internal sealed unsafe class GenerationCallback : Callback
    {
        private static readonly OnGeneration Static = Report;
        private static readonly IntPtr StaticPointer = Marshal.GetFunctionPointerForDelegate(Static);
        private readonly IProgress<IReadOnlyDictionary<string, object>> _progress;

        public GenerationCallback(IProgress<IReadOnlyDictionary<string, object>> progress)
        {
            _progress = progress;
        }

        /// <summary>The callback as C takes it; none if nobody listens.</summary>
        public IntPtr Pointer => _progress == null ? IntPtr.Zero : StaticPointer;

        [MonoPInvokeCallback(typeof(OnGeneration))]
        private static int Report(void* user, byte* report)
        {
            GenerationCallback callback = (GenerationCallback)Of(user);
            if (callback.HasThrown) return 0;
            try
            {
                callback._progress.Report((IReadOnlyDictionary<string, object>)Json.Parse(Native.Text(report)));
                return 1;
            }
            catch (Exception e)
            {
                return callback.Keep(e);
            }
        }
    }
}
