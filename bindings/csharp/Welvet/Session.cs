using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Options of a session of a network.</summary>
    public sealed class SessionOptions : ComputeOptions
    {
        /// <summary>True keeps the activations of a forward for Backward().</summary>
        public bool Backward { get; set; }

        /// <summary>Above 0 attention and recurrent layers go on from call to call, up to this number of
        /// positions.</summary>
        public int Context { get; set; }

        /// <summary>Numeric type of keys and values: "float32" (or null), "bfloat16", "int8".</summary>
        public string KvDType { get; set; }

        /// <summary>Above 0 Backward() computes cells again from every n-th one, for less memory.</summary>
        public int CheckpointEvery { get; set; }
    }

    /// <summary>Side inputs of a forward pass.</summary>
    public sealed class PassOptions
    {
        /// <summary>True drops in dropout layers, and uses the statistics of the batch.</summary>
        public bool Training { get; set; }

        /// <summary>Step of the random streams of dropout.</summary>
        public uint Step { get; set; }

        /// <summary>Number of valid steps of each sample, in a batch of sequences of several lengths; null:
        /// all.</summary>
        public int[] Lengths { get; set; }

        /// <summary>Numbers for layers that read an external input; null: none.</summary>
        public Tensor External { get; set; }

        /// <summary>Mask of attention layers; null: none.</summary>
        public Tensor Mask { get; set; }
    }

    /// <summary>One user of a network: activations, gradients, states. Several sessions may run one network at the same
    /// time; calls of several threads with one session take turns.</summary>
    public sealed class Session : LoomObject
    {
        private readonly Network _network;
        private int[] _shape = new int[0]; // of the last input
        private ulong[] _extents = new ulong[0];
        private BoundArrays _bound;
        private LayerCallback _watch;

        /// <summary>Makes a session.</summary>
        /// <param name="network">The network, which it keeps alive.</param>
        /// <param name="options">Options; null: defaults.</param>
        public unsafe Session(Network network, SessionOptions options = null)
        {
            _network = network ?? throw new ArgumentNullException(nameof(network));
            options = options ?? new SessionOptions();
            using (Pinned memory = new Pinned())
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                NetworkSessionOptions values = NetworkSessionOptions.Create();
                values.Compute = &compute;
                values.Backward = options.Backward ? 1 : 0;
                values.Context = (ulong)Native.InRange(options.Context, 0, 1 << 24, nameof(options.Context));
                values.KvDtype = memory.Text(options.KvDType, nameof(options.KvDType));
                values.CheckpointEvery = (ulong)Native.InRange(options.CheckpointEvery, 0, 1 << 24,
                    nameof(options.CheckpointEvery));
                ulong handle;
                int status = Abi.NetworkSessionCreate(network.Handle, &values, &handle);
                GC.KeepAlive(network);
                Native.Check(status);
                Take(handle);
            }
        }

        /// <summary>The network.</summary>
        public Network Network => _network;

        /// <summary>Describes the session: threads, memory in bytes, element type, positions.</summary>
        public unsafe IReadOnlyDictionary<string, object> Info => RecordOf(Abi.NetworkSessionInfo);

        /// <summary>Runs the network.</summary>
        /// <param name="x">Numbers [samples, ...].</param>
        /// <param name="options">Side inputs; null: none.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The output.</returns>
        /// <exception cref="LoomException">The shape does not fit the first layer (ShapeMismatch).</exception>
        public unsafe Tensor Forward(Tensor x, PassOptions options = null,
            CancellationToken cancellationToken = default)
        {
            if (x == null) throw new ArgumentNullException(nameof(x));
            Enter();
            try
            {
                using (Pinned memory = new Pinned())
                using (CancelFlag cancel = new CancelFlag(cancellationToken))
                {
                    Pass pass = PassOf(options, memory, cancel);
                    Interop.Tensor y = Interop.Tensor.Create();
                    SetShape(x.Shape);
                    fixed (float* first = x.Values)
                    {
                        Native.Check(Call(first, x.Values.Length, &pass, &y), cancellationToken);
                    }
                    return InteropTensors.Copy(&y);
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Runs the network without making objects, in about a microsecond over C.</summary>
        /// <param name="x">Numbers, row-major.</param>
        /// <param name="shape">Shape of x, samples first.</param>
        /// <param name="y">Receives the output, row-major.</param>
        /// <returns>Number of values of the output.</returns>
        /// <exception cref="ArgumentException">y is too short.</exception>
        /// <exception cref="LoomException">The shape does not fit the first layer (ShapeMismatch).</exception>
        public unsafe int Forward(float[] x, int[] shape, float[] y)
        {
            if (x == null) throw new ArgumentNullException(nameof(x));
            if (y == null) throw new ArgumentNullException(nameof(y));
            Enter();
            try
            {
                SetShape(shape ?? throw new ArgumentNullException(nameof(shape)));
                fixed (float* from = x)
                fixed (float* to = y)
                    return Fill(from, x.Length, to, y.Length);
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Runs a network whose spec has "activations": "f64".</summary>
        /// <param name="x">Numbers, row-major.</param>
        /// <param name="shape">Shape of x, samples first.</param>
        /// <returns>The output, row-major.</returns>
        /// <exception cref="LoomException">The network computes in float (InvalidArgument), or the shape does not fit
        /// (ShapeMismatch).</exception>
        public unsafe double[] Forward(double[] x, int[] shape)
        {
            if (x == null) throw new ArgumentNullException(nameof(x));
            ulong[] extents = Native.Extents(shape, nameof(shape));
            Enter();
            try
            {
                Interop.Tensor output = Interop.Tensor.Create();
                fixed (double* first = x)
                fixed (ulong* places = extents)
                {
                    Interop.Tensor input = InteropTensors.Of(first, x.Length, places, extents.Length);
                    int status = Abi.NetworkSessionForward(Handle, &input, null, &output);
                    _watch?.Rethrow();
                    Native.Check(status);
                }
                double[] y = new double[checked((int)((ulong)output.DataSize / sizeof(double)))];
                if (y.Length > 0) Marshal.Copy((IntPtr)output.Data, y, 0, y.Length);
                return y;
            }
            finally
            {
                Leave();
            }
        }

#if NETCOREAPP3_0_OR_GREATER || NETSTANDARD2_1_OR_GREATER
        /// <summary>Like Forward(x, shape, y), for spans.</summary>
        /// <param name="x">Numbers, row-major.</param>
        /// <param name="shape">Shape of x, samples first.</param>
        /// <param name="y">Receives the output, row-major.</param>
        /// <returns>Number of values of the output.</returns>
        public unsafe int Forward(ReadOnlySpan<float> x, ReadOnlySpan<int> shape, Span<float> y)
        {
            Enter();
            try
            {
                if (!shape.SequenceEqual(_shape)) SetShape(shape.ToArray());
                fixed (float* from = &MemoryMarshal.GetReference(x))
                fixed (float* to = &MemoryMarshal.GetReference(y))
                    return Fill(from, x.Length, to, y.Length);
            }
            finally
            {
                Leave();
            }
        }
#endif

        private unsafe int Fill(float* x, int count, float* to, int room)
        {
            Interop.Tensor y = Interop.Tensor.Create();
            Native.Check(Call(x, count, null, &y));
            ulong size = (ulong)y.DataSize;
            if (size > (ulong)room * sizeof(float))
                throw new ArgumentException("y has " + room + " values: expected " + size / sizeof(float), nameof(y));
            Buffer.MemoryCopy(y.Data, to, size, size);
            return (int)(size / sizeof(float));
        }

        private unsafe int Call(float* x, int count, Pass* pass, Interop.Tensor* y)
        {
            fixed (ulong* extents = _extents)
            {
                Interop.Tensor input = InteropTensors.Of(x, count, extents, _extents.Length);
                int status = Abi.NetworkSessionForward(Handle, &input, pass, y);
                _watch?.Rethrow();
                return status;
            }
        }

        private void SetShape(int[] shape)
        {
            bool isEqual = shape.Length == _shape.Length;
            for (int i = 0; isEqual && i < shape.Length; ++i) isEqual = shape[i] == _shape[i];
            if (isEqual) return;
            _extents = Native.Extents(shape, nameof(shape));
            _shape = (int[])shape.Clone();
        }

        private static unsafe Pass PassOf(PassOptions options, Pinned memory, CancelFlag cancel)
        {
            Pass pass = Pass.Create();
            pass.Cancel = cancel.Handle;
            if (options == null) return pass;
            pass.Training = options.Training ? 1 : 0;
            pass.Step = options.Step;
            if (options.Lengths != null)
            {
                pass.Lengths = (ulong*)memory.Array(Native.Extents(options.Lengths, nameof(options.Lengths)));
                pass.LengthsCount = (UIntPtr)options.Lengths.Length;
            }
            pass.External = memory.Tensor(options.External);
            pass.Mask = memory.Tensor(options.Mask);
            return pass;
        }

        /// <summary>Adds the gradients of the last forward to those of the weights.</summary>
        /// <param name="outputGradient">Gradient of the loss by each number of the output.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The gradient of the input, in its shape.</returns>
        /// <exception cref="LoomException">The session was made without Backward, or there was no forward
        /// (InvalidState).</exception>
        public unsafe Tensor Backward(Tensor outputGradient, CancellationToken cancellationToken = default)
        {
            if (outputGradient == null) throw new ArgumentNullException(nameof(outputGradient));
            Enter();
            try
            {
                using (Pinned memory = new Pinned())
                using (CancelFlag cancel = new CancelFlag(cancellationToken))
                {
                    Interop.Tensor dx = Interop.Tensor.Create();
                    int status = Abi.NetworkSessionBackward(Handle, memory.Tensor(outputGradient), cancel.Handle, &dx);
                    _watch?.Rethrow();
                    Native.Check(status, cancellationToken);
                    return new Tensor(Native.Copy((float*)dx.Data, InteropTensors.CountOf(&dx)),
                        (int[])_shape.Clone());
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Returns the gradient of a weight, added up since ClearGradients().</summary>
        /// <param name="weight">Name of the weight, as "layers.0.weight".</param>
        /// <returns>The gradient in the shape of the weight.</returns>
        /// <exception cref="KeyNotFoundException">The network has no such weight.</exception>
        public unsafe Tensor Gradient(string weight)
        {
            Tensor values = _network.ZerosLike(weight);
            using (Pinned memory = new Pinned())
            {
                int status = Abi.NetworkSessionGradient(Handle, memory.Text(weight, nameof(weight)),
                    memory.Tensor(values));
                GC.KeepAlive(this);
                Native.Check(status);
            }
            return values;
        }

        /// <summary>Sets every gradient to 0.</summary>
        public void ClearGradients()
        {
            int status = Abi.NetworkSessionClearGradients(Handle);
            GC.KeepAlive(this);
            Native.Check(status);
        }

        /// <summary>Binds arrays, which Run() reads and fills without a copy. They stay where they are in memory until
        /// others are bound or the session is disposed.</summary>
        /// <param name="x">Input, row-major.</param>
        /// <param name="shape">Shape of x, samples first.</param>
        /// <param name="y">Output, row-major, of the output's size.</param>
        /// <exception cref="LoomException">An array has another size (ShapeMismatch).</exception>
        public unsafe void Bind(float[] x, int[] shape, float[] y)
        {
            if (x == null) throw new ArgumentNullException(nameof(x));
            if (y == null) throw new ArgumentNullException(nameof(y));
            ulong[] extents = Native.Extents(shape, nameof(shape));
            Enter();
            BoundArrays arrays = new BoundArrays(x, y);
            try
            {
                fixed (ulong* first = extents)
                {
                    Interop.Tensor input = InteropTensors.Of((float*)arrays.X, x.Length, first, extents.Length);
                    Interop.Tensor output = InteropTensors.Of((float*)arrays.Y, y.Length);
                    Native.Check(Abi.NetworkSessionBind(Handle, &input, &output));
                }
                BoundArrays before = _bound;
                _bound = arrays;
                arrays = before;
            }
            finally
            {
                arrays?.Dispose();
                Leave();
            }
        }

        /// <summary>Runs the network from the bound input into the bound output.</summary>
        /// <exception cref="LoomException">Nothing is bound (InvalidState).</exception>
        public void Run()
        {
            Enter();
            try
            {
                int status = Abi.NetworkSessionRun(Handle);
                _watch?.Rethrow();
                Native.Check(status);
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Calls a function after every layer of the passes to come, on their thread. No bit of a result
        /// changes. An exception of it ends the watch and comes out of the pass; a call of this session from it is
        /// refused (Busy).</summary>
        /// <param name="callback">The function; null ends the watch.</param>
        public unsafe void Watch(Action<LayerEvent> callback)
        {
            Enter();
            try
            {
                LayerCallback watch = callback == null ? null : new LayerCallback(callback);
                Native.Check(Abi.NetworkSessionWatch(Handle, watch?.Pointer ?? IntPtr.Zero,
                    watch == null ? null : watch.User));
                _watch?.Dispose();
                _watch = watch;
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Resets every sequence and state to its beginning.</summary>
        public void Reset()
        {
            int status = Abi.NetworkSessionReset(Handle);
            GC.KeepAlive(this);
            Native.Check(status);
        }

        /// <summary>Returns the state that the next call depends on.</summary>
        /// <returns>Bytes for Restore().</returns>
        /// <exception cref="LoomException">There was no run (InvalidState).</exception>
        public unsafe byte[] Snapshot()
        {
            return BytesOf(Abi.NetworkSessionSnapshot);
        }

        /// <summary>Replaces the state.</summary>
        /// <param name="snapshot">Bytes of Snapshot(), of a session with the same network and options.</param>
        /// <exception cref="LoomException">The bytes are of another network or damaged (CorruptData).</exception>
        public unsafe void Restore(byte[] snapshot)
        {
            RestoreBy(snapshot, Abi.NetworkSessionRestore);
        }

        internal override unsafe void BeforeDispose()
        {
            Abi.NetworkSessionWatch(Handle, IntPtr.Zero, null);
            _watch?.Dispose();
            if (_bound == null) return;
            Abi.NetworkSessionBind(Handle, null, null);
            _bound.Dispose();
        }
    }

    /// <summary>Two arrays that stay where they are in memory.</summary>
    internal sealed class BoundArrays : IDisposable
    {
        private GCHandle _x, _y;

        public BoundArrays(float[] x, float[] y)
        {
            _x = GCHandle.Alloc(x, GCHandleType.Pinned);
            _y = GCHandle.Alloc(y, GCHandleType.Pinned);
        }

        ~BoundArrays()
        {
            Free();
        }

        public IntPtr X => _x.AddrOfPinnedObject();

        public IntPtr Y => _y.AddrOfPinnedObject();

        public void Dispose()
        {
            Free();
            GC.SuppressFinalize(this);
        }

        private void Free()
        {
            if (!_x.IsAllocated) return;
            _x.Free();
            _y.Free();
        }
    }
}
