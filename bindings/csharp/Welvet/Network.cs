using System;
using System.Collections.Generic;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>A grid of layers with their weights. Inputs and outputs have the samples first, [samples, ...]; weights
    /// of dense layers are [outputs, inputs].</summary>
    public sealed class Network : LoomObject
    {
        private Session _session;

        /// <summary>Makes a network of a spec. Weights that it does not hold are drawn from its seed.</summary>
        /// <param name="spec">A JSON text (docs/reference/layers.md); Json.Write() makes one of dictionaries.</param>
        /// <param name="strict">True refuses unknown keys; false lists them in Info["warnings"].</param>
        /// <exception cref="LoomException">The spec describes no network; the message begins with the place, as
        /// "/layers/0/type".</exception>
        public unsafe Network(string spec, bool strict = true)
        {
            byte[] json = Native.Bytes(spec, nameof(spec));
            Make(json, strict, (data, size, options, handle) => Abi.NetworkFromJson(data, size, options, handle));
        }

        internal Network(ulong handle)
        {
            Take(handle);
        }

        private unsafe delegate int Reader(byte* data, UIntPtr size, NetworkOptions* options, ulong* network);

        private unsafe void Make(byte[] data, bool strict, Reader reader)
        {
            NetworkOptions options = NetworkOptions.Create();
            options.Lenient = strict ? 0 : 1;
            NetworkOptions* given = &options;
            fixed (byte* first = data)
            {
                byte* place = first;
                Take(Native.Make(handle => reader(place, (UIntPtr)data.Length, given, handle)));
            }
        }

        private unsafe Network(byte[] data, bool strict, Reader reader)
        {
            Make(data, strict, reader);
        }

        /// <summary>Reads a network file: an .entity, a spec or checkpoint in JSON, a file of Loom 0.8x, or an ONNX
        /// file as a network of one cell.</summary>
        /// <param name="path">The file.</param>
        /// <param name="strict">True refuses unknown keys of a spec.</param>
        /// <returns>The network.</returns>
        /// <exception cref="LoomException">There is no such file (NotFound), it is no network (Unsupported) or damaged
        /// (CorruptData).</exception>
        public static unsafe Network FromFile(string path, bool strict = true)
        {
            return new Network(Native.Terminated(path, nameof(path)), strict,
                (name, size, options, handle) => Abi.NetworkOpen(name, options, handle));
        }

        /// <summary>Reads the contents of a network file, as ToBytes() returns them.</summary>
        /// <param name="data">The contents.</param>
        /// <param name="strict">True refuses unknown keys of a spec.</param>
        /// <returns>The network.</returns>
        /// <exception cref="LoomException">They are no network (Unsupported) or damaged (CorruptData).</exception>
        public static unsafe Network FromBytes(byte[] data, bool strict = true)
        {
            if (data == null) throw new ArgumentNullException(nameof(data));
            return new Network(data, strict,
                (first, size, options, handle) => Abi.NetworkFromMemory(first, size, options, handle));
        }

        /// <summary>Copies the network.</summary>
        /// <returns>A network that shares nothing with this one that can change.</returns>
        public unsafe Network Clone()
        {
            ulong copy;
            int status = Abi.NetworkClone(Handle, &copy);
            GC.KeepAlive(this);
            Native.Check(status);
            return new Network(copy);
        }

        /// <summary>Writes the network into a file, whole or not at all.</summary>
        /// <param name="path">The file; .json becomes a checkpoint in JSON, any other an .entity.</param>
        /// <param name="keepMaster">True keeps exact masters beside packed weights, for further training.</param>
        public unsafe void Save(string path, bool keepMaster = false)
        {
            fixed (byte* name = Native.Terminated(path, nameof(path)))
            {
                int status = Abi.NetworkSave(Handle, name, keepMaster ? 1 : 0);
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }

        /// <summary>Returns the contents of the .entity that Save() would write.</summary>
        /// <param name="keepMaster">True keeps exact masters beside packed weights, for further training.</param>
        /// <returns>The contents, for FromBytes().</returns>
        public unsafe byte[] ToBytes(bool keepMaster = false)
        {
            return BytesOf((handle, blob) => Abi.NetworkToBytes(handle, Abi.FormatEntity, keepMaster ? 1 : 0, blob));
        }

        /// <summary>The spec as JSON, without weights: every setting that is not the default.</summary>
        public unsafe string Spec => TextOf(Abi.NetworkSpec);

        /// <summary>Describes the network: grid, layers, types, memory in bytes, shapes, warnings.</summary>
        public unsafe IReadOnlyDictionary<string, object> Info => RecordOf(Abi.NetworkInfo);

        /// <summary>SHA-256 of all weights, 64 hexadecimal digits. Equal networks have equal hashes on every
        /// machine.</summary>
        public unsafe string Hash => TextOf(Abi.NetworkHash);

        /// <summary>The weights in the order of their paths: a name, as "layers.0.weight", and its shape.</summary>
        public unsafe IReadOnlyList<KeyValuePair<string, int[]>> Weights
        {
            get
            {
                List<KeyValuePair<string, int[]>> weights = new List<KeyValuePair<string, int[]>>();
                foreach (object each in (List<object>)Json.Parse(TextOf(Abi.NetworkWeights)))
                {
                    Dictionary<string, object> weight = (Dictionary<string, object>)each;
                    List<object> extents = (List<object>)weight["shape"];
                    int[] shape = new int[extents.Count];
                    for (int i = 0; i < shape.Length; ++i) shape[i] = checked((int)(long)extents[i]);
                    weights.Add(new KeyValuePair<string, int[]>((string)weight["name"], shape));
                }
                return weights;
            }
        }

        /// <summary>Returns a copy of the values of a weight; codes of a packed weight are decoded.</summary>
        /// <param name="name">Name of the weight, as "layers.0.weight".</param>
        /// <returns>The values in the shape of the weight.</returns>
        /// <exception cref="KeyNotFoundException">The network has no such weight.</exception>
        public unsafe Tensor GetWeight(string name)
        {
            Tensor values = ZerosLike(name);
            fixed (float* first = values.Values)
            fixed (byte* text = Native.Terminated(name, nameof(name)))
            {
                Interop.Tensor to = InteropTensors.Of(first, values.Values.Length);
                int status = Abi.NetworkGetWeight(Handle, text, &to);
                GC.KeepAlive(this);
                Native.Check(status);
            }
            return values;
        }

        /// <summary>Replaces the values of a weight. A packed weight encodes them.</summary>
        /// <param name="name">Name of the weight, as "layers.0.weight".</param>
        /// <param name="values">Numbers in the shape of the weight.</param>
        /// <exception cref="KeyNotFoundException">The network has no such weight.</exception>
        /// <exception cref="LoomException">The shape is another one (ShapeMismatch), or a value is not finite
        /// (NonFinite).</exception>
        public unsafe void SetWeight(string name, Tensor values)
        {
            ShapeOf(name);
            ulong[] extents = Native.Extents(values.Shape, nameof(values));
            fixed (float* first = values.Values)
            fixed (ulong* shape = extents)
            fixed (byte* text = Native.Terminated(name, nameof(name)))
            {
                Interop.Tensor from = InteropTensors.Of(first, values.Values.Length, shape, extents.Length);
                int status = Abi.NetworkSetWeight(Handle, text, &from);
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }

        /// <summary>Zeros in the shape of a weight.</summary>
        internal Tensor ZerosLike(string name)
        {
            int[] shape = ShapeOf(name);
            long count = 1;
            foreach (int extent in shape) count *= extent;
            return new Tensor(new float[count], shape);
        }

        private int[] ShapeOf(string name)
        {
            foreach (KeyValuePair<string, int[]> weight in Weights)
            {
                if (weight.Key == name) return weight.Value;
            }
            throw new KeyNotFoundException("the network has no weight " + name);
        }

        /// <summary>Changes the numeric type of matrices.</summary>
        /// <param name="dtype">The type, as "int8".</param>
        /// <param name="path">Path of a layer, which counts with all layers in it, as "layers.3"; null: all.</param>
        /// <exception cref="LoomException">There is no such type (UnknownName) or layer (NotFound).</exception>
        public unsafe void Morph(string dtype, string path = null)
        {
            using (Pinned memory = new Pinned())
            {
                int status = Abi.NetworkMorph(Handle, memory.Text(path, nameof(path)),
                    memory.Text(dtype ?? throw new ArgumentNullException(nameof(dtype)), nameof(dtype)));
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }

        /// <summary>Excludes layers from training, or lets them learn again.</summary>
        /// <param name="path">Path of a layer, which counts with all layers in it; null: all.</param>
        /// <param name="frozen">False lets them learn again.</param>
        public unsafe void Freeze(string path = null, bool frozen = true)
        {
            using (Pinned memory = new Pinned())
            {
                int status = Abi.NetworkFreeze(Handle, memory.Text(path, nameof(path)), frozen ? 1 : 0);
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }

        /// <summary>Draws the grid.</summary>
        /// <param name="title">Title of the picture; null: the name of the network.</param>
        /// <returns>The picture, SVG.</returns>
        public unsafe string Draw(string title = null)
        {
            using (Pinned memory = new Pinned())
            {
                byte* text = memory.Text(title, nameof(title));
                return TextOf((handle, blob) => Abi.NetworkDraw(handle, text, blob));
            }
        }

        /// <summary>Runs the network in a session of its own.</summary>
        /// <param name="x">Numbers [samples, ...].</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The output.</returns>
        /// <exception cref="LoomException">The shape does not fit the first layer (ShapeMismatch).</exception>
        public Tensor Forward(Tensor x, CancellationToken cancellationToken = default)
        {
            Session session;
            lock (Gate) session = _session ?? (_session = new Session(this));
            return session.Forward(x, null, cancellationToken);
        }

        internal override void BeforeDispose()
        {
            _session?.Dispose();
        }
    }

    /// <summary>Numbers of the caller as C takes them.</summary>
    internal static unsafe class InteropTensors
    {
        /// <summary>A tensor without extents has the shape that the call expects.</summary>
        public static Interop.Tensor Of(float* values, int count, ulong* shape = null, int rank = 0)
        {
            Interop.Tensor tensor = Interop.Tensor.Create();
            tensor.Element = Abi.ElementFloat32;
            tensor.Data = values;
            tensor.DataSize = (UIntPtr)((ulong)count * sizeof(float));
            tensor.Shape = shape;
            tensor.ShapeCount = (UIntPtr)rank;
            return tensor;
        }

        public static Interop.Tensor Of(double* values, int count, ulong* shape, int rank)
        {
            Interop.Tensor tensor = Of((float*)values, 2 * count, shape, rank);
            tensor.Element = Abi.ElementFloat64;
            return tensor;
        }

        public static Interop.Tensor Of(int* values, int count)
        {
            Interop.Tensor tensor = Of((float*)values, count);
            tensor.Element = Abi.ElementInt32;
            return tensor;
        }

        /// <summary>A copy of a tensor that the library gives; double precision is rounded to single.</summary>
        public static Tensor Copy(Interop.Tensor* from)
        {
            int[] shape = Native.Shape(from->Shape, from->ShapeCount);
            if (from->Element != Abi.ElementFloat64)
                return new Tensor(Native.Copy((float*)from->Data, CountOf(from)), shape);
            float[] values = new float[checked((int)((ulong)from->DataSize / sizeof(double)))];
            for (int i = 0; i < values.Length; ++i) values[i] = (float)((double*)from->Data)[i];
            return new Tensor(values, shape);
        }

        /// <summary>How many numbers of single precision a tensor has.</summary>
        public static UIntPtr CountOf(Interop.Tensor* tensor)
        {
            return (UIntPtr)((ulong)tensor->DataSize / sizeof(float));
        }
    }
}
