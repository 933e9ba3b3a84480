using System;
using System.Runtime.InteropServices;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>A pass over the layers of a network.</summary>
    public enum LayerPass
    {
        /// <summary>From inputs to outputs.</summary>
        Forward = Abi.PassForward,

        /// <summary>Gradients.</summary>
        Backward = Abi.PassBackward,

        /// <summary>A tick of a step mesh.</summary>
        Tick = Abi.PassTick,

        /// <summary>Gaps of target propagation.</summary>
        Tween = Abi.PassTween,
    }

    /// <summary>A layer that ran. The figures are those of its output; after a backward pass of the gradient of its
    /// input.</summary>
    public sealed class LayerEvent
    {
        internal unsafe LayerEvent(Interop.LayerEvent* from)
        {
            Pass = (LayerPass)from->Pass;
            Path = Native.Text(from->Path);
            Layer = Native.Text(from->Layer);
            DType = Native.Text(from->Dtype);
            Step = (long)from->Step;
            Mean = from->Mean;
            Deviation = from->Deviation;
            Greatest = from->Greatest;
            Least = from->Least;
            Active = (long)from->Active;
        }

        /// <summary>The pass.</summary>
        public LayerPass Pass { get; }

        /// <summary>Path of the layer, as "layers.3".</summary>
        public string Path { get; }

        /// <summary>Kind of the layer, as "dense".</summary>
        public string Layer { get; }

        /// <summary>Numeric type of its weights.</summary>
        public string DType { get; }

        /// <summary>Step of the call.</summary>
        public long Step { get; }

        /// <summary>Mean of the numbers.</summary>
        public double Mean { get; }

        /// <summary>Their standard deviation.</summary>
        public double Deviation { get; }

        /// <summary>The greatest number.</summary>
        public double Greatest { get; }

        /// <summary>The least number.</summary>
        public double Least { get; }

        /// <summary>How many numbers are above 1e-6 in size.</summary>
        public long Active { get; }
    }

    /// <summary>Layers of a session's passes. It lives as long as the session refers to it.</summary>
    internal sealed unsafe class LayerCallback : Callback
    {
        private static readonly OnLayer Static = Report;
        private static readonly IntPtr StaticPointer = Marshal.GetFunctionPointerForDelegate(Static);
        private readonly Action<LayerEvent> _action;

        public LayerCallback(Action<LayerEvent> action)
            : base(GCHandleType.Weak)
        {
            _action = action;
        }

        /// <summary>The callback as C takes it.</summary>
        public IntPtr Pointer => StaticPointer;

        [MonoPInvokeCallback(typeof(OnLayer))]
        private static int Report(void* user, Interop.LayerEvent* layer)
        {
            LayerCallback callback = (LayerCallback)Of(user);
            if (callback.HasThrown) return 0;
            try
            {
                callback._action(new LayerEvent(layer));
                return 1;
            }
            catch (Exception e)
            {
                return callback.Keep(e);
            }
        }
    }
}
