using System;
using System.Collections.Generic;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Options of a step mesh.</summary>
    public sealed class StepMeshOptions : ComputeOptions
    {
        /// <summary>Number of captured ticks that a state keeps, for Backward().</summary>
        public int History { get; set; }

        /// <summary>True keeps the activations that Backward() needs.</summary>
        public bool Backward { get; set; }

        /// <summary>True keeps the inputs of every tick, which a MeshTween starts from.</summary>
        public bool KeepInputs { get; set; }
    }

    /// <summary>A network whose cells all move at once: in each tick a cell reads the outputs of the tick before. Its
    /// users have a StepState each. Calls with a mesh and its states take turns.</summary>
    public sealed class StepMesh : LoomObject
    {
        /// <summary>Prepares a network for ticks.</summary>
        /// <param name="network">The network, which the mesh keeps alive.</param>
        /// <param name="shape">Shape of the input, samples first.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <exception cref="LoomException">The shape does not fit (ShapeMismatch).</exception>
        public unsafe StepMesh(Network network, int[] shape, StepMeshOptions options = null)
        {
            if (network == null) throw new ArgumentNullException(nameof(network));
            options = options ?? new StepMeshOptions();
            ulong[] extents = Native.Extents(shape, nameof(shape));
            using (Pinned memory = new Pinned())
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                Interop.StepMeshOptions values = Interop.StepMeshOptions.Create();
                values.Compute = &compute;
                values.History = (ulong)Native.InRange(options.History, 0, 65536, nameof(options.History));
                values.Backward = options.Backward ? 1 : 0;
                values.KeepInputs = options.KeepInputs ? 1 : 0;
                ulong handle;
                int status = Abi.StepMeshCreate(network.Handle, (ulong*)memory.Array(extents),
                    (UIntPtr)extents.Length, &values, &handle);
                GC.KeepAlive(network);
                Native.Check(status);
                Take(handle);
            }
        }

        /// <summary>Describes the mesh: cells, memory of a state in bytes.</summary>
        public unsafe IReadOnlyDictionary<string, object> Info
        {
            get
            {
                lock (Gate) return RecordOf(Abi.StepMeshInfo);
            }
        }

        /// <summary>Makes a user of the mesh.</summary>
        /// <returns>A state without input and outputs.</returns>
        public unsafe StepState State()
        {
            ulong handle;
            int status;
            lock (Gate) status = Abi.StepStateCreate(Handle, &handle);
            GC.KeepAlive(this);
            Native.Check(status);
            return new StepState(handle, Gate);
        }

        /// <summary>Moves a state by some ticks.</summary>
        /// <param name="state">The state.</param>
        /// <param name="ticks">Number of ticks.</param>
        /// <param name="capture">True keeps them in the history of the state, for Backward().</param>
        public void Step(StepState state, int ticks = 1, bool capture = false)
        {
            Step(new[] { state }, ticks, capture);
        }

        /// <summary>Moves states by some ticks.</summary>
        /// <param name="states">The states.</param>
        /// <param name="ticks">Number of ticks.</param>
        /// <param name="capture">True keeps them in the history of the states, for Backward().</param>
        /// <param name="training">True drops in dropout layers, and uses the statistics of the batch.</param>
        /// <param name="cancellationToken">Ends the call; no state has then moved in the tick that was
        /// cancelled.</param>
        public unsafe void Step(IReadOnlyList<StepState> states, int ticks = 1, bool capture = false,
            bool training = false, CancellationToken cancellationToken = default)
        {
            ulong[] handles = StepState.HandlesOf(states);
            Enter();
            try
            {
                using (CancelFlag cancel = new CancelFlag(cancellationToken))
                {
                    TickOptions options = TickOptions.Create();
                    options.Ticks = (ulong)Native.InRange(ticks, 1, int.MaxValue, nameof(ticks));
                    options.Capture = capture ? 1 : 0;
                    options.Training = training ? 1 : 0;
                    options.Cancel = cancel.Handle;
                    fixed (ulong* first = handles)
                    {
                        int status = Abi.StepMeshStep(Handle, first, (UIntPtr)handles.Length, &options);
                        GC.KeepAlive(states);
                        Native.Check(status, cancellationToken);
                    }
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Adds the gradients of captured ticks to those of the weights.</summary>
        /// <param name="state">The state whose ticks are read.</param>
        /// <param name="outputGradient">Gradient of the loss by the output of the last cell.</param>
        /// <param name="ticks">Most ticks to go back; 0: all that were captured.</param>
        /// <returns>The gradient of the newest tick's input; null if that tick had no input.</returns>
        /// <exception cref="LoomException">The last tick was not captured (NoHistory).</exception>
        public unsafe Tensor Backward(StepState state, float[] outputGradient, int ticks = 0)
        {
            if (outputGradient == null) throw new ArgumentNullException(nameof(outputGradient));
            ulong handle = StepState.HandlesOf(new[] { state })[0];
            Enter();
            try
            {
                Interop.Tensor dx = Interop.Tensor.Create();
                fixed (float* first = outputGradient)
                {
                    Interop.Tensor dy = InteropTensors.Of(first, outputGradient.Length);
                    Native.Check(Abi.StepMeshBackward(Handle, handle, &dy,
                        (ulong)Native.InRange(ticks, 0, 65536, nameof(ticks)), &dx));
                }
                GC.KeepAlive(state);
                return dx.Data == null ? null : InteropTensors.Copy(&dx);
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Begins learning by targets.</summary>
        /// <param name="config">Options of docs/guide/tween.md as JSON.</param>
        /// <param name="ticks">Number of captured ticks that a step goes back through; 0: the last tick alone.</param>
        /// <returns>An object whose Step() moves the weights.</returns>
        public unsafe MeshTween Tween(string config = "{}", int ticks = 0)
        {
            byte[] json = Native.Bytes(config, nameof(config));
            ulong handle;
            fixed (byte* first = json)
            {
                int status;
                lock (Gate) status = Abi.MeshTweenCreate(Handle, first, (UIntPtr)json.Length,
                    (ulong)Native.InRange(ticks, 0, 65536, nameof(ticks)), &handle);
                GC.KeepAlive(this);
                Native.Check(status);
            }
            return new MeshTween(handle, Gate);
        }
    }

    /// <summary>One user of a mesh: outputs of the cells, recurrent states, captured ticks.</summary>
    public sealed class StepState : LoomObject
    {
        internal StepState(ulong handle, object gate)
            : base(gate)
        {
            Take(handle);
        }

        internal static ulong[] HandlesOf(IReadOnlyList<StepState> states)
        {
            if (states == null) throw new ArgumentNullException(nameof(states));
            ulong[] handles = new ulong[states.Count];
            for (int i = 0; i < handles.Length; ++i)
                handles[i] = (states[i] ?? throw new ArgumentException("a state is null", nameof(states))).Handle;
            return handles;
        }

        /// <summary>Number of ticks since the start.</summary>
        public unsafe long Ticks
        {
            get
            {
                ulong ticks;
                int status;
                lock (Gate) status = Abi.StepStateTicks(Handle, &ticks);
                GC.KeepAlive(this);
                Native.Check(status);
                return (long)ticks;
            }
        }

        /// <summary>SHA-256 of the whole state, 64 hexadecimal digits: equal on every machine.</summary>
        public unsafe string Hash
        {
            get
            {
                lock (Gate) return TextOf(Abi.StepStateHash);
            }
        }

        /// <summary>Sets the input of the first cell.</summary>
        /// <param name="x">Numbers in the shape of the mesh, row-major.</param>
        /// <param name="hold">True keeps the input until it is replaced; false removes it after the next tick.</param>
        /// <exception cref="LoomException">There are more or fewer numbers (ShapeMismatch).</exception>
        public unsafe void SetInput(float[] x, bool hold = true)
        {
            if (x == null) throw new ArgumentNullException(nameof(x));
            fixed (float* first = x)
            {
                Interop.Tensor input = InteropTensors.Of(first, x.Length);
                int status;
                lock (Gate) status = Abi.StepStateSetInput(Handle, &input, hold ? 1 : 0);
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }

        /// <summary>Removes the input.</summary>
        public void ClearInput()
        {
            int status;
            lock (Gate) status = Abi.StepStateClearInput(Handle);
            GC.KeepAlive(this);
            Native.Check(status);
        }

        /// <summary>Returns the output of a cell in the last tick.</summary>
        /// <param name="cell">Index of the cell in the order of addresses; -1: the last one.</param>
        /// <returns>The output; null if no data has reached the cell.</returns>
        public unsafe Tensor Output(int cell = -1)
        {
            Enter();
            try
            {
                Interop.Tensor output = Interop.Tensor.Create();
                int status = Abi.StepStateOutput(Handle, cell, &output);
                if (status == Abi.NoValue) return null;
                Native.Check(status);
                return InteropTensors.Copy(&output);
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Resets the state to its beginning: no input, no outputs, no history, tick 0.</summary>
        public void Reset()
        {
            int status;
            lock (Gate) status = Abi.StepStateReset(Handle);
            GC.KeepAlive(this);
            Native.Check(status);
        }

        /// <summary>Copies the state.</summary>
        /// <returns>A state of the same mesh, which moves on its own.</returns>
        public unsafe StepState Fork()
        {
            ulong copy;
            int status;
            lock (Gate) status = Abi.StepStateFork(Handle, &copy);
            GC.KeepAlive(this);
            Native.Check(status);
            return new StepState(copy, Gate);
        }

        /// <summary>Returns the whole state.</summary>
        /// <returns>Bytes for Restore(), on any machine.</returns>
        public unsafe byte[] Snapshot()
        {
            lock (Gate) return BytesOf(Abi.StepStateSnapshot);
        }

        /// <summary>Replaces the state.</summary>
        /// <param name="snapshot">Bytes of Snapshot(), of a state of an equal mesh.</param>
        /// <exception cref="LoomException">The snapshot is of another mesh (ShapeMismatch) or damaged
        /// (CorruptData).</exception>
        public unsafe void Restore(byte[] snapshot)
        {
            RestoreBy(snapshot, Abi.StepStateRestore);
        }
    }

    /// <summary>Learning by targets between ticks. StepMesh.Tween() makes one.</summary>
    public sealed class MeshTween : LoomObject
    {
        internal MeshTween(ulong handle, object gate)
            : base(gate)
        {
            Take(handle);
        }

        /// <summary>Moves all weights once towards targets.</summary>
        /// <param name="states">The states.</param>
        /// <param name="targets">Targets of the last cell's outputs, one state's after another.</param>
        /// <param name="learningRate">Size of the step.</param>
        /// <exception cref="LoomException">The targets have another size (ShapeMismatch).</exception>
        public unsafe void Step(IReadOnlyList<StepState> states, float[] targets, double learningRate)
        {
            if (targets == null) throw new ArgumentNullException(nameof(targets));
            ulong[] handles = StepState.HandlesOf(states);
            Enter();
            try
            {
                fixed (ulong* first = handles)
                fixed (float* values = targets)
                {
                    Interop.Tensor wanted = InteropTensors.Of(values, targets.Length);
                    int status = Abi.MeshTweenStep(Handle, first, (UIntPtr)handles.Length, &wanted, learningRate);
                    GC.KeepAlive(states);
                    Native.Check(status);
                }
            }
            finally
            {
                Leave();
            }
        }
    }
}
