using System;
using System.Collections.Generic;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>A file that Loom reads.</summary>
    public enum SchemaKind
    {
        /// <summary>The spec of a network.</summary>
        Network = Abi.SchemaNetwork,

        /// <summary>The config of a training.</summary>
        Training = Abi.SchemaTraining,

        /// <summary>The config of an evolution.</summary>
        Evolution = Abi.SchemaEvolution,
    }

    /// <summary>Options of Files.Export().</summary>
    public sealed class ExportOptions
    {
        /// <summary>Shape of one sample, for ONNX; null: that of the network.</summary>
        public int[] InputShape { get; set; }

        /// <summary>True writes integer weights of a network as float32.</summary>
        public bool Dequantize { get; set; }

        /// <summary>Numeric type of the matrices of a language model, as "float16"; null: as they are.</summary>
        public string DType { get; set; }

        /// <summary>A JSON file about bare tensors (docs/reference/formats.md); null: none.</summary>
        public string Hints { get; set; }

        /// <summary>True replaces a file of another kind than the one that is written, too.</summary>
        public bool Overwrite { get; set; }

        /// <summary>Receives the part that is done, from 0 to 1, on the calling thread. Null: nobody.</summary>
        public IProgress<double> Progress { get; set; }
    }

    /// <summary>Options of Files.Convert() and Files.Quantize().</summary>
    public sealed class ConvertOptions
    {
        /// <summary>Numeric type of the matrices, as "int8"; null: as stored. Quantize() takes it by itself.</summary>
        public string DType { get; set; }

        /// <summary>Folder of an adapter that Convert() merges; null: none.</summary>
        public string Adapter { get; set; }

        /// <summary>Workers of Convert(), 1 to 256; null: one per physical core. No result depends on it.</summary>
        public int? Threads { get; set; }

        /// <summary>True replaces a file of another kind than the one that is written, too.</summary>
        public bool Overwrite { get; set; }

        /// <summary>Receives the part that is done, from 0 to 1, on the calling thread; an exception of it ends the
        /// call. Null: nobody.</summary>
        public IProgress<double> Progress { get; set; }
    }

    /// <summary>Model and network files.</summary>
    public static class Files
    {
        private unsafe delegate int Converter(FileConvertOptions* options, ulong* report);

        private unsafe delegate int Exporter(byte* target, FileExportOptions* options, ulong* report);

        /// <summary>Describes a file of a language model or network, or a checkpoint, without loading it.</summary>
        /// <param name="path">The file or folder.</param>
        /// <param name="tensors">True lists the tensors of a model.</param>
        /// <returns>Format, types, sizes and more.</returns>
        /// <exception cref="LoomException">There is no such file (NotFound), it is of another kind (Unsupported) or
        /// damaged (CorruptData).</exception>
        public static unsafe IReadOnlyDictionary<string, object> Inspect(string path, bool tensors = false)
        {
            fixed (byte* first = Native.Terminated(path, nameof(path)))
            {
                byte* name = first;
                return Native.Report(facts => Abi.FileInspect(name, tensors ? 1 : 0, facts));
            }
        }

        /// <summary>Returns the SHA-256 by which receipts name a file or the folder of a model.</summary>
        /// <param name="path">The file or folder.</param>
        /// <returns>64 hexadecimal digits; of an .entity its root hash.</returns>
        /// <exception cref="LoomException">There is no such file or folder (NotFound).</exception>
        public static unsafe string Hash(string path)
        {
            fixed (byte* first = Native.Terminated(path, nameof(path)))
            {
                byte* name = first;
                return Native.TakeText(Native.Make(hash => Abi.FileHash(name, hash)));
            }
        }

        /// <summary>Returns the JSON Schema of a file that Loom reads.</summary>
        /// <param name="kind">The file.</param>
        /// <returns>The schema.</returns>
        public static unsafe IReadOnlyDictionary<string, object> Schema(SchemaKind kind = SchemaKind.Network)
        {
            return Native.Report(json => Abi.FileSchema((int)kind, json));
        }

        /// <summary>Opens a network file, a language model, a text encoder or an ONNX graph, by its contents.</summary>
        /// <param name="path">The file or folder.</param>
        /// <param name="dtype">Numeric type that the matrices of a model or an encoder are quantised to, as "int8";
        /// null: as stored.</param>
        /// <param name="threads">Workers of a model, an encoder or a graph; null: one per physical core.</param>
        /// <param name="hints">A JSON file about bare tensors (docs/reference/formats.md); null: none.</param>
        /// <param name="progress">Receives the part of a language model that is loaded, from 0 to 1, on the calling
        /// thread; an exception of it ends the call. Null: nobody.</param>
        /// <param name="cancellationToken">Ends the loading of a language model.</param>
        /// <returns>A Network, a LanguageModel, an Encoder or a Graph.</returns>
        /// <exception cref="LoomException">There is no such file (NotFound), it is something else (Unsupported) or
        /// damaged (CorruptData), or its kind does not use dtype or threads (InvalidArgument).</exception>
        public static unsafe LoomObject Open(string path, string dtype = null, int? threads = null, string hints = null,
            IProgress<double> progress = null, CancellationToken cancellationToken = default)
        {
            using (Pinned memory = new Pinned())
            using (CancelFlag cancel = new CancelFlag(cancellationToken))
            using (ProgressCallback told = new ProgressCallback(progress))
            {
                ComputeOptions workers = new ComputeOptions { Threads = threads };
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(workers, memory);
                FileOpenOptions options = FileOpenOptions.Create();
                options.Compute = &compute;
                options.Hints = memory.Text(hints, nameof(hints));
                options.Dtype = memory.Text(dtype, nameof(dtype));
                options.Cancel = cancel.Handle;
                options.Progress = told.Pointer;
                options.User = told.User;
                byte* name = memory.Text(path ?? throw new ArgumentNullException(nameof(path)), nameof(path));
                FileOpenOptions* given = &options;
                ulong opened = 0;
                ulong* place = &opened;
                Native.Report(report => Abi.FileOpen(name, given, place, report), told, cancellationToken);
                return Owner(opened, threads);
            }
        }

        private static unsafe LoomObject Owner(ulong handle, int? threads)
        {
            int kind;
            Native.Check(Abi.KindOf(handle, &kind));
            switch (kind)
            {
                case Abi.KindNetwork: return new Network(handle);
                case Abi.KindModel: return new LanguageModel(handle, new LanguageModelOptions { Threads = threads });
                case Abi.KindEncoder: return new Encoder(handle);
                default: return new Graph(handle, new GraphOptions { Threads = threads });
            }
        }

        /// <summary>Writes a language model of any format as .entity, whole or not at all.</summary>
        /// <param name="source">The model.</param>
        /// <param name="target">The .entity, which is replaced if it holds a language model.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <returns>A report.</returns>
        /// <exception cref="LoomException">There is no such file (NotFound), it is no language model (Unsupported) or
        /// damaged (CorruptData), or the target is a file of another kind (InvalidArgument).</exception>
        public static unsafe IReadOnlyDictionary<string, object> Convert(string source, string target,
            ConvertOptions options = null)
        {
            options = options ?? new ConvertOptions();
            using (Pinned memory = new Pinned())
            {
                byte* from = memory.Text(source ?? throw new ArgumentNullException(nameof(source)), nameof(source));
                byte* to = memory.Text(target ?? throw new ArgumentNullException(nameof(target)), nameof(target));
                byte* dtype = memory.Text(options.DType, nameof(options.DType));
                return Convert((given, report) =>
                {
                    given->Dtype = dtype;
                    return Abi.FileConvert(from, to, given, report);
                }, options, memory);
            }
        }

        /// <summary>Writes a GGUF file with the matrices of another one in another type.</summary>
        /// <param name="source">A GGUF file.</param>
        /// <param name="target">The GGUF file that is written, and replaced if it is one.</param>
        /// <param name="dtype">Type of the matrices, as "q4_0".</param>
        /// <param name="options">Options, without DType; null: defaults.</param>
        /// <returns>A report.</returns>
        /// <exception cref="LoomException">There is no such file (NotFound) or type (UnknownName), or the target is a
        /// file of another kind (InvalidArgument).</exception>
        public static unsafe IReadOnlyDictionary<string, object> Quantize(string source, string target, string dtype,
            ConvertOptions options = null)
        {
            options = options ?? new ConvertOptions();
            if (options.DType != null) throw new ArgumentException("options.DType is set: give dtype", nameof(options));
            using (Pinned memory = new Pinned())
            {
                byte* from = memory.Text(source ?? throw new ArgumentNullException(nameof(source)), nameof(source));
                byte* to = memory.Text(target ?? throw new ArgumentNullException(nameof(target)), nameof(target));
                byte* type = memory.Text(dtype ?? throw new ArgumentNullException(nameof(dtype)), nameof(dtype));
                return Convert((given, report) => Abi.FileQuantize(from, to, type, given, report), options, memory);
            }
        }

        private static unsafe IReadOnlyDictionary<string, object> Convert(Converter converter, ConvertOptions options,
            Pinned memory)
        {
            using (ProgressCallback told = new ProgressCallback(options.Progress))
            {
                ComputeOptions workers = new ComputeOptions { Threads = options.Threads };
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(workers, memory);
                FileConvertOptions values = FileConvertOptions.Create();
                if (options.Threads != null) values.Compute = &compute;
                values.Adapter = memory.Text(options.Adapter, nameof(options.Adapter));
                values.Progress = told.Pointer;
                values.User = told.User;
                values.Overwrite = options.Overwrite ? 1 : 0;
                FileConvertOptions* given = &values;
                return Native.Report(report => converter(given, report), told);
            }
        }

        /// <summary>Writes a network with its present weights in a format of other programs.</summary>
        /// <param name="network">The network.</param>
        /// <param name="target">FILE.onnx or FILE.safetensors.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>A report.</returns>
        /// <exception cref="LoomException">The format cannot express a part of the network (Unsupported; the message
        /// names it), or the target is a file of another kind (InvalidArgument).</exception>
        public static unsafe IReadOnlyDictionary<string, object> Export(Network network, string target,
            ExportOptions options = null, CancellationToken cancellationToken = default)
        {
            if (network == null) throw new ArgumentNullException(nameof(network));
            ulong handle = network.Handle;
            try
            {
                return Export((to, given, report) => Abi.NetworkExport(handle, to, given, report), target, options,
                    cancellationToken);
            }
            finally
            {
                GC.KeepAlive(network);
            }
        }

        /// <summary>Writes a file of a network or language model in a format of other programs.</summary>
        /// <param name="source">The file.</param>
        /// <param name="target">FILE.onnx or FILE.safetensors of a network; FILE.gguf of a language model, or a folder
        /// as Hugging Face has it.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>A report.</returns>
        /// <exception cref="LoomException">There is no such file (NotFound), the format cannot express a part of it
        /// (Unsupported; the message names it), or the target is a file of another kind (InvalidArgument).</exception>
        public static unsafe IReadOnlyDictionary<string, object> Export(string source, string target,
            ExportOptions options = null, CancellationToken cancellationToken = default)
        {
            fixed (byte* first = Native.Terminated(source, nameof(source)))
            {
                byte* from = first;
                return Export((to, given, report) => Abi.FileExport(from, to, given, report), target, options,
                    cancellationToken);
            }
        }

        private static unsafe IReadOnlyDictionary<string, object> Export(Exporter exporter, string target,
            ExportOptions options, CancellationToken token)
        {
            options = options ?? new ExportOptions();
            using (Pinned memory = new Pinned())
            using (CancelFlag cancel = new CancelFlag(token))
            using (ProgressCallback told = new ProgressCallback(options.Progress))
            {
                FileExportOptions values = FileExportOptions.Create();
                if (options.InputShape != null)
                {
                    values.InputShape = (ulong*)memory.Array(
                        Native.Extents(options.InputShape, nameof(options.InputShape)));
                    values.InputShapeCount = (UIntPtr)options.InputShape.Length;
                }
                values.Dequantize = options.Dequantize ? 1 : 0;
                values.Hints = memory.Text(options.Hints, nameof(options.Hints));
                values.Dtype = memory.Text(options.DType, nameof(options.DType));
                values.Cancel = cancel.Handle;
                values.Progress = told.Pointer;
                values.User = told.User;
                values.Overwrite = options.Overwrite ? 1 : 0;
                byte* to = memory.Text(target ?? throw new ArgumentNullException(nameof(target)), nameof(target));
                FileExportOptions* given = &values;
                return Native.Report(report => exporter(to, given, report), told, token);
            }
        }
    }

    /// <summary>Proofs of results.</summary>
    public static class Receipts
    {
        /// <summary>Computes the result that a receipt names again, and compares it bit by bit.</summary>
        /// <param name="receipt">A receipt as JSON, of TextStream.Receipt(), Chat.Receipt() or
        /// `loom generate --receipt`.</param>
        /// <param name="model">Path of the model on this machine; null: the path in the receipt.</param>
        /// <param name="folder">Folder that relative paths of the receipt start from; null: the current one.</param>
        /// <param name="device">"cpu" or a card of <see cref="Library.GpuReport"/>, with the same bits; null: that of
        /// the receipt if this machine has it.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>equal (a bool) and difference (the first one, a text, or null).</returns>
        /// <exception cref="LoomException">A file is missing (NotFound), or the receipt is damaged
        /// (CorruptData).</exception>
        public static unsafe IReadOnlyDictionary<string, object> Replay(string receipt, string model = null,
            string folder = null, string device = null, CancellationToken cancellationToken = default)
        {
            byte[] json = Native.Bytes(receipt, nameof(receipt));
            using (Pinned memory = new Pinned())
            using (CancelFlag cancel = new CancelFlag(cancellationToken))
            {
                void* text = memory.Array(json);
                byte* path = memory.Text(model, nameof(model)), start = memory.Text(folder, nameof(folder));
                byte* where = memory.Text(device, nameof(device));
                ulong flag = cancel.Handle;
                return Native.Report(report => Abi.ReceiptReplay(text, (UIntPtr)json.Length, path, start, where, flag,
                    report), null, cancellationToken);
            }
        }
    }
}
