using System;
using System.Collections.Generic;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>The outcome of a step of training.</summary>
    public sealed class TrainingStep
    {
        internal unsafe TrainingStep(Interop.TrainingStep* from)
        {
            Loss = from->Loss;
            LearningRate = from->LearningRate;
            GradientNorm = from->GradientNorm;
            Skipped = from->Skipped != 0;
            Why = Native.Text(from->Why, from->WhySize);
        }

        /// <summary>Loss of the batch, before the step.</summary>
        public double Loss { get; }

        /// <summary>Learning rate of the step.</summary>
        public double LearningRate { get; }

        /// <summary>Norm of the gradients, if the config clips by it; else 0.</summary>
        public double GradientNorm { get; }

        /// <summary>True if a loss, a gradient or an update was not finite; everything is then as before.</summary>
        public bool Skipped { get; }

        /// <summary>The layer and the number that were not finite, if the step was skipped; else "".</summary>
        public string Why { get; }
    }

    /// <summary>Training of a network, step by step, with batches of the caller. Calls of several threads take
    /// turns.</summary>
    public sealed class Trainer : LoomObject
    {
        /// <summary>Makes a network ready to learn.</summary>
        /// <param name="network">The network, which learns in place. Nothing else may change it meanwhile.</param>
        /// <param name="shape">Shape of the input of a batch, samples first.</param>
        /// <param name="config">Keys of docs/guide/training.md as JSON: loss, optimizer, learning_rate, schedule and
        /// others.</param>
        /// <param name="options">Threads, instruction set and device; null: defaults.</param>
        /// <exception cref="LoomException">A key is unknown (UnknownKey) or out of range, or the shape does not fit
        /// (ShapeMismatch).</exception>
        public unsafe Trainer(Network network, int[] shape, string config = "{}", ComputeOptions options = null)
        {
            if (network == null) throw new ArgumentNullException(nameof(network));
            using (Pinned memory = new Pinned())
            {
                Interop.ComputeOptions compute = ComputeOptions.ToInterop(options, memory);
                ulong[] extents = Native.Extents(shape, nameof(shape));
                byte[] json = Native.Bytes(config, nameof(config));
                ulong handle;
                int status = Abi.TrainerCreate(network.Handle, memory.Array(json), (UIntPtr)json.Length,
                    (ulong*)memory.Array(extents), (UIntPtr)extents.Length, &compute, &handle);
                GC.KeepAlive(network);
                Native.Check(status);
                Take(handle);
            }
        }

        /// <summary>Describes the training: steps, skipped steps, learning rate, memory in bytes.</summary>
        public unsafe IReadOnlyDictionary<string, object> Info => RecordOf(Abi.TrainerInfo);

        /// <summary>Learns from one batch. A step with numbers that are not finite is skipped.</summary>
        /// <param name="inputs">Numbers [samples, ...].</param>
        /// <param name="targets">Numbers in the shape of the output.</param>
        /// <param name="cancellationToken">Ends the step; everything is then as before.</param>
        /// <returns>The outcome.</returns>
        /// <exception cref="LoomException">Inputs or targets do not fit (ShapeMismatch).</exception>
        public TrainingStep Step(Tensor inputs, Tensor targets, CancellationToken cancellationToken = default)
        {
            if (targets == null) throw new ArgumentNullException(nameof(targets));
            return StepOf(inputs, targets, null, cancellationToken);
        }

        /// <summary>Like Step(inputs, targets), for losses as "softmax_crossentropy".</summary>
        /// <param name="inputs">Numbers [samples, ...].</param>
        /// <param name="classes">An id from 0 per row of the output.</param>
        /// <param name="cancellationToken">Ends the step; everything is then as before.</param>
        /// <returns>The outcome.</returns>
        public TrainingStep Step(Tensor inputs, int[] classes, CancellationToken cancellationToken = default)
        {
            if (classes == null) throw new ArgumentNullException(nameof(classes));
            return StepOf(inputs, null, classes, cancellationToken);
        }

        private unsafe TrainingStep StepOf(Tensor inputs, Tensor targets, int[] classes, CancellationToken token)
        {
            Enter();
            try
            {
                using (Pinned memory = new Pinned())
                using (CancelFlag cancel = new CancelFlag(token))
                {
                    Batch batch = memory.Batch(inputs, targets, classes);
                    Interop.TrainingStep step = Interop.TrainingStep.Create();
                    Native.Check(Abi.TrainerStep(Handle, &batch, cancel.Handle, &step), token);
                    return new TrainingStep(&step);
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Runs the network on a batch without learning.</summary>
        /// <param name="inputs">Numbers [samples, ...].</param>
        /// <param name="targets">Numbers in the shape of the output.</param>
        /// <param name="output">Receives the output.</param>
        /// <returns>The loss.</returns>
        /// <exception cref="LoomException">Inputs or targets do not fit (ShapeMismatch).</exception>
        public unsafe double Evaluate(Tensor inputs, Tensor targets, out Tensor output)
        {
            Enter();
            try
            {
                using (Pinned memory = new Pinned())
                {
                    Batch batch = memory.Batch(inputs, targets, null);
                    double loss;
                    Interop.Tensor result = Interop.Tensor.Create();
                    Native.Check(Abi.TrainerEvaluate(Handle, &batch, &loss, &result));
                    output = InteropTensors.Copy(&result);
                    return loss;
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Sets the epoch, for schedules that count epochs.</summary>
        /// <param name="epoch">Number of the epoch, from 0.</param>
        public void SetEpoch(int epoch)
        {
            int status = Abi.TrainerSetEpoch(Handle, (ulong)Native.InRange(epoch, 0, int.MaxValue, nameof(epoch)));
            GC.KeepAlive(this);
            Native.Check(status);
        }
    }
}
