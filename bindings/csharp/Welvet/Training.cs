using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>How a training treats a folder that holds a run.</summary>
    public enum RunStart
    {
        /// <summary>Begins; a folder that holds a run is an error.</summary>
        Fresh = Abi.RunFresh,

        /// <summary>Continues from the last checkpoint, or begins where there is none.</summary>
        Resume = Abi.RunResume,

        /// <summary>Begins again and overwrites the run.</summary>
        Overwrite = Abi.RunOverwrite,
    }

    /// <summary>The place in a training that an event reports.</summary>
    public enum TrainingPhase
    {
        /// <summary>Before the first epoch.</summary>
        Begin = Abi.TrainingBegin,

        /// <summary>Before an epoch.</summary>
        EpochBegin = Abi.TrainingEpochBegin,

        /// <summary>Before a batch.</summary>
        BatchBegin = Abi.TrainingBatchBegin,

        /// <summary>After a batch.</summary>
        BatchEnd = Abi.TrainingBatchEnd,

        /// <summary>After a validation.</summary>
        ValidationEnd = Abi.TrainingValidationEnd,

        /// <summary>After a checkpoint.</summary>
        Checkpoint = Abi.TrainingCheckpoint,

        /// <summary>After an epoch.</summary>
        EpochEnd = Abi.TrainingEpochEnd,

        /// <summary>After the last epoch.</summary>
        End = Abi.TrainingEnd,
    }

    /// <summary>An event of a training.</summary>
    public sealed class TrainingEvent
    {
        internal unsafe TrainingEvent(Interop.TrainingEvent* from)
        {
            Phase = (TrainingPhase)from->Phase;
            Epoch = (long)from->Epoch;
            Epochs = (long)from->Epochs;
            Batch = (long)from->Batch;
            Batches = (long)from->Batches;
            Loss = from->Loss;
            LearningRate = from->LearningRate;
            Validation = from->Validation == null ? null : Native.Text(from->Validation);
        }

        /// <summary>The place in the training.</summary>
        public TrainingPhase Phase { get; }

        /// <summary>Number of the epoch, from 0.</summary>
        public long Epoch { get; }

        /// <summary>Number of epochs of the training.</summary>
        public long Epochs { get; }

        /// <summary>Number of the batch in its epoch, from 0.</summary>
        public long Batch { get; }

        /// <summary>Number of batches of an epoch.</summary>
        public long Batches { get; }

        /// <summary>Loss of the last batch; at EpochEnd the mean of the epoch.</summary>
        public double Loss { get; }

        /// <summary>Learning rate of the last step.</summary>
        public double LearningRate { get; }

        /// <summary>Metrics after a validation, a JSON object; else null.</summary>
        public string Validation { get; }
    }

    /// <summary>Options of a whole training.</summary>
    public sealed class TrainingOptions : ComputeOptions
    {
        /// <summary>Folder of the run, with journal, checkpoint, model and report; null: none.</summary>
        public string Out { get; set; }

        /// <summary>Folder that relative paths of the config start from; null: the current one.</summary>
        public string Folder { get; set; }

        /// <summary>How a folder that holds a run is treated.</summary>
        public RunStart Start { get; set; }

        /// <summary>Number of epochs in place of the config's; null: its own.</summary>
        public int? Epochs { get; set; }

        /// <summary>Receives every event on the calling thread. An exception of it ends the training and comes out of
        /// the call. Null: nobody.</summary>
        public IProgress<TrainingEvent> Progress { get; set; }
    }

    /// <summary>Whole trainings: data, epochs, validation, checkpoints, journal.</summary>
    public static class Training
    {
        /// <summary>Runs a whole training.</summary>
        /// <param name="config">Keys of docs/guide/training.md as JSON.</param>
        /// <param name="network">A network, which learns in place; null: the config names one.</param>
        /// <param name="inputs">Samples [samples, ...] in place of the config's data; null: it names files.</param>
        /// <param name="targets">Targets of the samples, in the shape of the output; null: none.</param>
        /// <param name="classes">In place of targets, an id from 0 per row of the output; null: none.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <param name="cancellationToken">Ends the run after the current step, with its checkpoint; the outcome has
        /// the stop_reason "stopped".</param>
        /// <returns>The outcome: stop_reason, loss_history, hash, metrics.</returns>
        /// <exception cref="LoomException">A file is missing (NotFound), the config has an unknown key (UnknownKey),
        /// the samples do not fit (ShapeMismatch), or Out holds a run and Start is Fresh (InvalidArgument).</exception>
        public static unsafe IReadOnlyDictionary<string, object> Run(string config, Network network = null,
            Tensor inputs = null, Tensor targets = null, int[] classes = null, TrainingOptions options = null,
            CancellationToken cancellationToken = default)
        {
            byte[] json = Native.Bytes(config, nameof(config));
            using (Pinned memory = new Pinned())
            {
                Batch batch = inputs == null ? default : memory.Batch(inputs, targets, classes);
                Batch* samples = inputs == null ? null : &batch;
                void* text = memory.Array(json);
                ulong learner = network?.Handle ?? 0;
                try
                {
                    return Run((given, outcome) => Abi.TrainingRun(text, (UIntPtr)json.Length, learner, samples, null,
                        given, outcome), options, cancellationToken);
                }
                finally
                {
                    GC.KeepAlive(network);
                }
            }
        }

        /// <summary>Like Run(), for a config file, which names its network and data.</summary>
        /// <param name="path">The file.</param>
        /// <param name="options">Options; null: defaults.</param>
        /// <param name="cancellationToken">Ends the run after the current step, with its checkpoint.</param>
        /// <returns>The outcome.</returns>
        /// <exception cref="LoomException">A file is missing (NotFound), or the config has an unknown key
        /// (UnknownKey).</exception>
        public static unsafe IReadOnlyDictionary<string, object> RunFile(string path, TrainingOptions options = null,
            CancellationToken cancellationToken = default)
        {
            fixed (byte* first = Native.Terminated(path, nameof(path)))
            {
                byte* name = first;
                return Run((given, outcome) => Abi.TrainingRunFile(name, given, outcome), options, cancellationToken);
            }
        }

        /// <summary>Runs the training of a journal again, and compares every hash, loss and metric.</summary>
        /// <param name="run">Folder of the run.</param>
        /// <param name="options">Threads, instruction set, device, Folder and Progress; null: defaults.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        /// <returns>The outcome.</returns>
        /// <exception cref="LoomException">There is no such run (NotFound), or a line of the journal differs; the
        /// message has the first one.</exception>
        public static unsafe IReadOnlyDictionary<string, object> Replay(string run, TrainingOptions options = null,
            CancellationToken cancellationToken = default)
        {
            fixed (byte* first = Native.Terminated(run, nameof(run)))
            {
                byte* name = first;
                return Run((given, report) => Abi.TrainingReplay(name, given, report), options, cancellationToken);
            }
        }

        private unsafe delegate int Runner(Interop.TrainingOptions* options, ulong* outcome);

        private static unsafe IReadOnlyDictionary<string, object> Run(Runner runner, TrainingOptions options,
            CancellationToken token)
        {
            options = options ?? new TrainingOptions();
            using (Pinned memory = new Pinned())
            using (CancelFlag cancel = new CancelFlag(token))
            using (TrainingCallback progress = new TrainingCallback(options.Progress))
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                Interop.TrainingOptions values = Interop.TrainingOptions.Create();
                values.Compute = &compute;
                values.Out = memory.Text(options.Out, nameof(options.Out));
                values.Folder = memory.Text(options.Folder, nameof(options.Folder));
                values.Start = (int)options.Start;
                if (options.Epochs != null)
                    values.Epochs = (ulong)Native.InRange(options.Epochs.Value, 1, 1000000, nameof(options.Epochs));
                values.Cancel = cancel.Handle;
                values.Progress = progress.Pointer;
                values.User = progress.User;
                Interop.TrainingOptions* given = &values;
                return Native.Report(outcome => runner(given, outcome), progress, token);
            }
        }
    }

    /// <summary>Events of a training.</summary>
    internal sealed unsafe class TrainingCallback : Callback
    {
        private static readonly OnTraining Static = Report;
        private static readonly IntPtr StaticPointer = Marshal.GetFunctionPointerForDelegate(Static);
        private readonly IProgress<TrainingEvent> _progress;

        public TrainingCallback(IProgress<TrainingEvent> progress)
        {
            _progress = progress;
        }

        /// <summary>The callback as C takes it; none if nobody listens.</summary>
        public IntPtr Pointer => _progress == null ? IntPtr.Zero : StaticPointer;

        [MonoPInvokeCallback(typeof(OnTraining))]
        private static int Report(void* user, Interop.TrainingEvent* training)
        {
            TrainingCallback callback = (TrainingCallback)Of(user);
            if (callback.HasThrown) return 0;
            try
            {
                callback._progress.Report(new TrainingEvent(training));
                return 1;
            }
            catch (Exception e)
            {
                return callback.Keep(e);
            }
        }
    }
}
