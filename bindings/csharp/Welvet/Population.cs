using System;
using System.Collections.Generic;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Networks that the caller judges, and that are crossed and mutated, generation by generation. Calls of
    /// several threads take turns.</summary>
    public sealed class Population : LoomObject
    {
        private unsafe delegate int Source(ulong* shape, UIntPtr rank, byte* config, UIntPtr size,
            Interop.ComputeOptions* compute, ulong* population);

        private readonly object _evolving = new object();
        private long _told;  // calls of Tell()

        /// <summary>Makes the first generation: mutations of a network.</summary>
        /// <param name="network">The network, which stays as it is.</param>
        /// <param name="shape">Shape of its input, samples first.</param>
        /// <param name="config">Keys of docs/guide/evolution.md as JSON: population, elites, seed, objectives,
        /// mutation, splice, species, novelty.</param>
        /// <param name="options">Threads and instruction set; null: defaults.</param>
        /// <exception cref="LoomException">A key of the config is unknown (UnknownKey) or wrong.</exception>
        public unsafe Population(Network network, int[] shape, string config = "{}", ComputeOptions options = null)
        {
            if (network == null) throw new ArgumentNullException(nameof(network));
            Make(shape, config, options, (extents, rank, json, size, compute, handle) =>
                Abi.PopulationCreate(network.Handle, extents, rank, json, size, compute, handle));
            GC.KeepAlive(network);
        }

        /// <summary>Continues from a snapshot.</summary>
        /// <param name="snapshot">Bytes of Snapshot().</param>
        /// <param name="shape">Shape of the input of that population.</param>
        /// <param name="config">Config of that population.</param>
        /// <param name="options">Threads and instruction set; null: defaults.</param>
        /// <exception cref="LoomException">The bytes are damaged (CorruptData).</exception>
        public unsafe Population(byte[] snapshot, int[] shape, string config = "{}", ComputeOptions options = null)
        {
            if (snapshot == null) throw new ArgumentNullException(nameof(snapshot));
            using (Pinned memory = new Pinned())
            {
                void* bytes = memory.Array(snapshot);
                Make(shape, config, options, (extents, rank, json, size, compute, handle) =>
                    Abi.PopulationRestore(bytes, (UIntPtr)snapshot.Length, extents, rank, json, size, compute, handle));
            }
        }

        private unsafe void Make(int[] shape, string config, ComputeOptions options, Source source)
        {
            using (Pinned memory = new Pinned())
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                ulong[] extents = Native.Extents(shape, nameof(shape));
                byte[] json = Native.Bytes(config, nameof(config));
                ulong handle;
                Native.Check(source((ulong*)memory.Array(extents), (UIntPtr)extents.Length, (byte*)memory.Array(json),
                    (UIntPtr)json.Length, &compute, &handle));
                Take(handle);
            }
        }

        /// <summary>Describes the population: generation, best score, members.</summary>
        public unsafe IReadOnlyDictionary<string, object> Info => RecordOf(Abi.PopulationInfo);

        /// <summary>Lists the members that have no fitness yet.</summary>
        /// <returns>Their places, for Network().</returns>
        public unsafe int[] Ask()
        {
            Enter();
            try
            {
                ulong* places;
                UIntPtr count;
                Native.Check(Abi.PopulationAsk(Handle, &places, &count));
                return Native.Shape(places, count);
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Copies a member.</summary>
        /// <param name="place">Place of the member, from Ask().</param>
        /// <returns>The copy.</returns>
        public unsafe Network Network(int place)
        {
            ulong handle;
            int status = Abi.PopulationNetwork(Handle, (ulong)Native.InRange(place, 0, int.MaxValue, nameof(place)),
                &handle);
            GC.KeepAlive(this);
            Native.Check(status);
            return new Network(handle);
        }

        /// <summary>Takes the fitness of every member of Ask(), and breeds the next generation.</summary>
        /// <param name="fitness">A number per place of Ask(), in that order; more is better, NaN and
        /// infinities rank last. With several objectives all numbers of a member stand together.</param>
        /// <returns>A report of the generation: scores, best, average, worst, hash.</returns>
        /// <exception cref="LoomException">There are more or fewer numbers.</exception>
        public unsafe IReadOnlyDictionary<string, object> Tell(double[] fitness)
        {
            if (fitness == null) throw new ArgumentNullException(nameof(fitness));
            fixed (double* first = fitness)
            {
                double* place = first;
                IReadOnlyDictionary<string, object> record = RecordOf((handle, report) =>
                    Abi.PopulationTell(handle, place, (UIntPtr)fitness.Length, report));
                Interlocked.Increment(ref _told);
                return record;
            }
        }

        /// <summary>Does a generation: Ask(), judge, Tell(). Calls of Evolve() wait for each other.</summary>
        /// <param name="judge">Takes a network, which is disposed after the call, and returns its fitness: one number.
        /// With several objectives use Ask() and Tell().</param>
        /// <returns>A report of the generation.</returns>
        /// <exception cref="LoomException">Something else called Tell() meanwhile (InvalidState).</exception>
        public IReadOnlyDictionary<string, object> Evolve(Func<Network, double> judge)
        {
            if (judge == null) throw new ArgumentNullException(nameof(judge));
            lock (_evolving)
            {
                long told = Interlocked.Read(ref _told);
                int[] places = Ask();
                double[] fitness = new double[places.Length];
                for (int i = 0; i < places.Length; ++i)
                {
                    using (Network network = Network(places[i])) fitness[i] = judge(network);
                }
                if (Interlocked.Read(ref _told) != told)
                {
                    throw new LoomException("InvalidState", "another call of Tell() bred the next generation while " +
                        "this one was judged: call Evolve() again");
                }
                return Tell(fitness);
            }
        }

        /// <summary>Copies the network with the best score so far.</summary>
        /// <returns>The copy.</returns>
        /// <exception cref="LoomException">No generation was judged (NoValue).</exception>
        public unsafe Network Best()
        {
            ulong handle;
            int status = Abi.PopulationBest(Handle, &handle);
            GC.KeepAlive(this);
            Native.Check(status);
            return new Network(handle);
        }

        /// <summary>Returns the whole population.</summary>
        /// <returns>Bytes for the constructor, on any machine.</returns>
        public unsafe byte[] Snapshot()
        {
            return BytesOf(Abi.PopulationSnapshot);
        }
    }
}
