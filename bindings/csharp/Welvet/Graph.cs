using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>An input or an output of a graph.</summary>
    public sealed class GraphValue
    {
        /// <summary>Creates a value over an array, which is not copied.</summary>
        /// <param name="data">An array of one axis: float, double, bool, or numbers without a fraction of 8 to 64 bits.
        /// Types that C# lacks are their codes: float16 and bfloat16 as ushort, floats of 8 bits as byte, numbers of 4
        /// bits two in a byte.</param>
        /// <param name="shape">Extents, outermost first; none for a scalar.</param>
        public GraphValue(Array data, params int[] shape)
        {
            Data = data ?? throw new ArgumentNullException(nameof(data));
            Shape = shape ?? throw new ArgumentNullException(nameof(shape));
        }

        /// <summary>The numbers, row-major.</summary>
        public Array Data { get; }

        /// <summary>Extents, outermost first.</summary>
        public int[] Shape { get; }
    }

    /// <summary>Options of a graph.</summary>
    public sealed class GraphOptions : ComputeOptions
    {
        /// <summary>Most bytes of all values of a run; 0: 16 GiB.</summary>
        public long MaxBytes { get; set; }
    }

    /// <summary>An ONNX model of opset 7 or later: tensors in by name, tensors out. Threads that share one take
    /// turns.</summary>
    public sealed class Graph : LoomObject
    {
        private static readonly Dictionary<Type, int> Elements = new Dictionary<Type, int>
        {
            { typeof(float), Abi.ElementFloat32 }, { typeof(double), Abi.ElementFloat64 },
            { typeof(sbyte), Abi.ElementInt8 }, { typeof(short), Abi.ElementInt16 }, { typeof(int), Abi.ElementInt32 },
            { typeof(long), Abi.ElementInt64 }, { typeof(byte), Abi.ElementUint8 },
            { typeof(ushort), Abi.ElementUint16 }, { typeof(uint), Abi.ElementUint32 },
            { typeof(ulong), Abi.ElementUint64 }, { typeof(bool), Abi.ElementBool }
        };

        // Types that C# lacks, with the type of their codes.
        private static readonly Dictionary<string, KeyValuePair<int, Type>> Codes =
            new Dictionary<string, KeyValuePair<int, Type>>
        {
            { "float16", new KeyValuePair<int, Type>(Abi.ElementFloat16, typeof(ushort)) },
            { "bfloat16", new KeyValuePair<int, Type>(Abi.ElementBfloat16, typeof(ushort)) },
            { "float8_e4m3fn", new KeyValuePair<int, Type>(Abi.ElementFloat8E4m3fn, typeof(byte)) },
            { "float8_e5m2", new KeyValuePair<int, Type>(Abi.ElementFloat8E5m2, typeof(byte)) },
            { "uint4", new KeyValuePair<int, Type>(Abi.ElementUint4, typeof(byte)) },
            { "int4", new KeyValuePair<int, Type>(Abi.ElementInt4, typeof(byte)) }
        };

        private readonly Dictionary<string, string> _types = new Dictionary<string, string>();
        private readonly List<string> _outputs = new List<string>();

        private unsafe delegate int Opener(Interop.GraphOptions* options, ulong* graph);

        /// <summary>Reads a file.</summary>
        /// <param name="path">An .onnx file, or an .entity with one.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <exception cref="LoomException">There is no such file (NotFound), Loom lacks an operation (Unsupported; the
        /// message lists all of them), or the file is damaged (CorruptData).</exception>
        public unsafe Graph(string path, GraphOptions options = null)
        {
            fixed (byte* words = Native.Terminated(path, nameof(path)))
            {
                byte* place = words;
                Open((o, graph) => Abi.GraphOpen(place, o, graph), options);
            }
        }

        private unsafe Graph(byte[] data, GraphOptions options)
        {
            fixed (byte* first = data)
            {
                byte* place = first;
                Open((o, graph) => Abi.GraphFromMemory(place, (UIntPtr)data.Length, o, graph), options);
            }
        }

        internal unsafe Graph(ulong handle, GraphOptions options)
        {
            using (Pinned memory = new Pinned())
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                OpenSession(handle, &compute);
            }
        }

        /// <summary>Reads the contents of a file, which must hold every tensor.</summary>
        /// <param name="data">The contents.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <returns>The graph.</returns>
        /// <exception cref="LoomException">Loom lacks an operation (Unsupported), or the contents are damaged
        /// (CorruptData).</exception>
        public static Graph FromBytes(byte[] data, GraphOptions options = null)
        {
            if (data == null) throw new ArgumentNullException(nameof(data));
            return new Graph(data, options);
        }

        private unsafe void Open(Opener opener, GraphOptions options)
        {
            options = options ?? new GraphOptions();
            if (options.MaxBytes < 0)
                throw new ArgumentOutOfRangeException(nameof(options.MaxBytes), options.MaxBytes, "is negative");
            using (Pinned memory = new Pinned())
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                Interop.ComputeOptions* computing = &compute;
                ulong graph = Native.Make(handle =>
                {
                    Interop.GraphOptions values = Interop.GraphOptions.Create();
                    values.MaxBytes = (ulong)options.MaxBytes;
                    return opener(&values, handle);
                });
                OpenSession(graph, computing);
            }
        }

        /// <summary>Takes over a graph.</summary>
        private unsafe void OpenSession(ulong graph, Interop.ComputeOptions* compute)
        {
            try
            {
                Take(Native.Make(session => Abi.GraphSessionCreate(graph, compute, session)));
                Info = Native.Report(info => Abi.GraphInfo(graph, info));
            }
            finally
            {
                Abi.Release(graph);  // the session keeps it
            }
            foreach (IReadOnlyDictionary<string, object> port in (IReadOnlyList<object>)Info["inputs"])
                _types[(string)port["name"]] = (string)port["type"];
            foreach (IReadOnlyDictionary<string, object> port in (IReadOnlyList<object>)Info["outputs"])
                _outputs.Add((string)port["name"]);
        }

        /// <summary>Describes the graph: inputs and outputs with name, type and shape, opset, operations.</summary>
        public IReadOnlyDictionary<string, object> Info { get; private set; }

        /// <summary>Runs the graph.</summary>
        /// <param name="inputs">Values by name.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>All outputs by name.</returns>
        /// <exception cref="LoomException">An input is missing, unknown or of another type (InvalidArgument) or of
        /// another shape (ShapeMismatch).</exception>
        public unsafe IReadOnlyDictionary<string, GraphValue> Run(IReadOnlyDictionary<string, GraphValue> inputs,
            CancellationToken cancellationToken = default)
        {
            if (inputs == null) throw new ArgumentNullException(nameof(inputs));
            Enter();
            try
            {
                using (Pinned memory = new Pinned())
                using (CancelFlag cancel = new CancelFlag(cancellationToken))
                {
                    try
                    {
                        foreach (KeyValuePair<string, GraphValue> input in inputs)
                        {
                            Interop.Tensor tensor = Described(input.Key, input.Value, memory);
                            Native.Check(Abi.GraphSessionBind(Handle, memory.Text(input.Key, nameof(inputs)), &tensor));
                        }
                        Native.Check(Abi.GraphSessionRun(Handle, cancel.Handle), cancellationToken);
                    }
                    finally
                    {
                        Abi.GraphSessionUnbind(Handle);  // before the arrays may move again
                    }
                    Dictionary<string, GraphValue> outputs = new Dictionary<string, GraphValue>();
                    foreach (string name in _outputs)
                    {
                        Interop.Tensor tensor = Interop.Tensor.Create();
                        Native.Check(Abi.GraphSessionOutput(Handle, memory.Text(name, nameof(name)), &tensor));
                        outputs[name] = Copied(&tensor);
                    }
                    return outputs;
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>SHA-256 of all outputs of the last run, 64 hexadecimal digits: equal on every machine, and that of
        /// `loom run`.</summary>
        /// <exception cref="LoomException">There was no run (InvalidState).</exception>
        public unsafe string Hash
        {
            get
            {
                lock (Gate) return TextOf(Abi.GraphSessionHash);
            }
        }

        private unsafe Interop.Tensor Described(string name, GraphValue value, Pinned memory)
        {
            if (value == null) throw new ArgumentException("input " + name + " is null", "inputs");
            Type type = value.Data.GetType().GetElementType();
            int element;
            if (!Elements.TryGetValue(type, out element) || value.Data.Rank != 1)
            {
                throw new ArgumentException("input " + name + " is " + value.Data.GetType().Name +
                    ": expected an array of numbers or bool with one axis", "inputs");
            }
            string expected;
            KeyValuePair<int, Type> code;
            if (_types.TryGetValue(name, out expected) && Codes.TryGetValue(expected, out code) && code.Value == type)
                element = code.Key;
            Array data = value.Data;
            if (type == typeof(bool)) data = Array.ConvertAll((bool[])data, each => each ? (byte)1 : (byte)0);
            ulong[] extents = Native.Extents(value.Shape, "inputs");
            Interop.Tensor tensor = Interop.Tensor.Create();
            tensor.Element = element;
            tensor.Data = memory.Array(data);
            tensor.DataSize = (UIntPtr)(ulong)Buffer.ByteLength(data);
            tensor.Shape = (ulong*)memory.Array(extents);
            tensor.ShapeCount = (UIntPtr)extents.Length;
            return tensor;
        }

        private static unsafe GraphValue Copied(Interop.Tensor* tensor)
        {
            Type type = null;
            foreach (KeyValuePair<Type, int> each in Elements)
                if (each.Value == tensor->Element) type = each.Key;
            foreach (KeyValuePair<int, Type> code in Codes.Values)
                if (code.Key == tensor->Element) type = code.Value;
            if (type == null)
            {
                throw new LoomException("Unsupported", "an output has element " + tensor->Element +
                    ", which this package does not know");
            }
            byte[] bytes = new byte[checked((int)(ulong)tensor->DataSize)];
            if (bytes.Length > 0) Marshal.Copy((IntPtr)tensor->Data, bytes, 0, bytes.Length);
            int[] shape = Native.Shape(tensor->Shape, tensor->ShapeCount);
            if (type == typeof(bool)) return new GraphValue(Array.ConvertAll(bytes, each => each != 0), shape);
            Array data = Array.CreateInstance(type, bytes.Length / Buffer.ByteLength(Array.CreateInstance(type, 1)));
            Buffer.BlockCopy(bytes, 0, data, 0, bytes.Length);
            return new GraphValue(data, shape);
        }
    }
}
