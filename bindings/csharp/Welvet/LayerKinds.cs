using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Names the operations of a pass through a layer of a kind of one's own.</summary>
    /// <param name="layer">The layer.</param>
    /// <param name="x">What comes in: the input, or in a backward pass the gradient of the output.</param>
    /// <returns>What goes out: the output, or the gradient of the input.</returns>
    public delegate LayerTensor LayerFunction(LayerContext layer, LayerTensor x);

    /// <summary>Layer kinds of one's own (docs/internals/adding.md). A layer of such a kind has the same bits on every
    /// machine, in every type of weights, and learns.</summary>
    public static class LayerKinds
    {
        private static readonly List<KeyValuePair<string, KindCallback>> Registered =
            new List<KeyValuePair<string, KindCallback>>();

        /// <summary>Adds a layer kind to those of this process. Its functions run once for each shape, not in every
        /// pass, and on any thread that makes or plans a network. An exception in one ends the call that asked with a
        /// LoomException, whose InnerException it is.</summary>
        /// <param name="name">Name of the kind, as "my_kind".</param>
        /// <param name="forward">Gives the output.</param>
        /// <param name="backward">Gives the gradient of the input, and adds to those of the weights; null: layers of
        /// the kind do not learn.</param>
        /// <param name="declare">Declares the weights; null: there are none.</param>
        /// <param name="settings">A JSON list of objects: key, type ("integer", "number", "boolean", "choice" or
        /// "activation"), default, min, max, choices, help.</param>
        /// <param name="help">Text for documentation.</param>
        /// <param name="shapes">Text about the shapes, for documentation.</param>
        /// <param name="widthKey">Key of the setting that is the width of the output; "": none.</param>
        /// <param name="sampleAxes">Number of axes of a sample; 0: any.</param>
        /// <exception cref="LoomException">The name is taken, or a setting is wrong (InvalidArgument).</exception>
        public static unsafe void Register(string name, LayerFunction forward, LayerFunction backward = null,
            Action<LayerContext> declare = null, string settings = "[]", string help = "", string shapes = "",
            string widthKey = "", int sampleAxes = 0)
        {
            if (name == null) throw new ArgumentNullException(nameof(name));
            if (forward == null) throw new ArgumentNullException(nameof(forward));
            Dictionary<string, object> description = new Dictionary<string, object>
            {
                { "name", name }, { "help", help }, { "shapes", shapes }, { "width_key", widthKey },
                { "sample_axes", (long)sampleAxes }, { "settings", Json.Parse(settings) }
            };
            byte[] json = Native.Bytes(Json.Write(description), nameof(name));
            lock (Registered)
            {
                KindCallback callback = new KindCallback(forward, backward, declare);
                KindCallbacks functions = callback.Functions;
                KindCallbacks* given = &functions;
                int status;
                fixed (byte* first = json)
                {
                    byte* text = first;
                    status = Native.First(() => Abi.LayerKindRegister(text, (UIntPtr)json.Length, given));
                }
                if (status != Abi.Ok) callback.Dispose();
                Native.Check(status);
                Registered.Add(new KeyValuePair<string, KindCallback>(Folded(name), callback));
            }
        }

        /// <summary>Removes a layer kind of Register().</summary>
        /// <param name="name">Name of the kind.</param>
        /// <exception cref="LoomException">There is no such kind (UnknownName), or a network with a layer of it exists
        /// (InvalidState).</exception>
        public static unsafe void Unregister(string name)
        {
            lock (Registered)
            {
                fixed (byte* first = Native.Terminated(name, nameof(name)))
                {
                    byte* text = first;
                    Native.Check(Native.First(() => Abi.LayerKindUnregister(text)));
                }
                string folded = Folded(name);
                foreach (KeyValuePair<string, KindCallback> each in Registered)
                    if (each.Key == folded) each.Value.Dispose();
                Registered.RemoveAll(each => each.Key == folded);
            }
        }

        /// <summary>The rule by which C compares names: MyKind is my_kind.</summary>
        private static string Folded(string name)
        {
            return name.Replace("_", "").Replace("-", "").ToLowerInvariant();
        }
    }

    /// <summary>A tensor while a function of a layer kind runs: a shape without numbers. The operators take tensors of
    /// the same shape, and numbers.</summary>
    public sealed class LayerTensor
    {
        internal LayerTensor(LayerContext layer, ulong id)
        {
            Layer = layer;
            Id = id;
        }

        internal LayerContext Layer { get; }

        internal ulong Id { get; }

        /// <summary>The extents, samples first.</summary>
        public unsafe int[] Shape
        {
            get
            {
                ulong* extents = stackalloc ulong[16];
                ulong rank;
                Native.Check(Abi.LayerShape(Layer.Handle, Id, extents, (UIntPtr)16, &rank));
                return Native.Shape(extents, (UIntPtr)rank);
            }
        }

        /// <summary>Adds element by element.</summary>
        /// <param name="left">A tensor.</param>
        /// <param name="right">One of the same shape.</param>
        public static unsafe LayerTensor operator +(LayerTensor left, LayerTensor right)
        {
            return left.Layer.Of(y => Abi.LayerAdd(left.Layer.Handle, left.Id, right.Id, y));
        }

        /// <summary>Adds a number to each element.</summary>
        /// <param name="left">A tensor.</param>
        /// <param name="right">The number.</param>
        public static unsafe LayerTensor operator +(LayerTensor left, double right)
        {
            return left + left.Layer.Of(y => Abi.LayerFill(left.Layer.Handle, left.Id, right, y));
        }

        /// <summary>Subtracts element by element.</summary>
        /// <param name="left">A tensor.</param>
        /// <param name="right">One of the same shape.</param>
        public static LayerTensor operator -(LayerTensor left, LayerTensor right)
        {
            return left + right * -1;
        }

        /// <summary>Subtracts a number from each element.</summary>
        /// <param name="left">A tensor.</param>
        /// <param name="right">The number.</param>
        public static LayerTensor operator -(LayerTensor left, double right)
        {
            return left + -right;
        }

        /// <summary>Multiplies element by element.</summary>
        /// <param name="left">A tensor.</param>
        /// <param name="right">One of the same shape.</param>
        public static unsafe LayerTensor operator *(LayerTensor left, LayerTensor right)
        {
            return left.Layer.Of(y => Abi.LayerMultiply(left.Layer.Handle, left.Id, right.Id, y));
        }

        /// <summary>Multiplies each element by a number.</summary>
        /// <param name="left">A tensor.</param>
        /// <param name="right">The number.</param>
        public static unsafe LayerTensor operator *(LayerTensor left, double right)
        {
            return left.Layer.Of(y => Abi.LayerScale(left.Layer.Handle, left.Id, right, y));
        }
    }

    /// <summary>A layer of a kind of one's own while one of its functions runs. Its operations take tensors and names
    /// of weights; each is a function of docs/reference/c-abi.md.</summary>
    public sealed unsafe class LayerContext
    {
        private delegate int Named(byte* first, byte* second, ulong* y);

        internal LayerContext(ulong handle)
        {
            Handle = handle;
        }

        internal ulong Handle { get; }

        /// <summary>A setting of the layer: a number, 0 or 1, or the index of a choice.</summary>
        /// <param name="key">Its key.</param>
        public double this[string key]
        {
            get
            {
                double value;
                fixed (byte* text = Native.Terminated(key, nameof(key)))
                    Native.Check(Abi.LayerSetting(Handle, text, &value));
                return value;
            }
        }

        /// <summary>Adds a weight, in the function `declare` of a kind.</summary>
        /// <param name="name">Name of the weight.</param>
        /// <param name="extents">Number of elements of a vector, or outputs and inputs of a matrix.</param>
        /// <param name="init">Initialiser of its values, as "uniform"; null: glorot for matrices, zeros for
        /// vectors.</param>
        /// <param name="size">Number that the initialiser takes.</param>
        public void Declare(string name, int[] extents, string init = null, double size = 0)
        {
            ulong[] numbers = Native.Extents(extents, nameof(extents));
            using (Pinned memory = new Pinned())
            {
                Native.Check(Abi.LayerDeclareWeight(Handle,
                    memory.Text(name ?? throw new ArgumentNullException(nameof(name)), nameof(name)),
                    (ulong*)memory.Array(numbers), (UIntPtr)numbers.Length, memory.Text(init, nameof(init)), size));
            }
        }

        /// <summary>Keeps tensors for the backward pass.</summary>
        /// <param name="tensors">The tensors.</param>
        public void Keep(params LayerTensor[] tensors)
        {
            foreach (LayerTensor tensor in tensors) Native.Check(Abi.LayerKeep(Handle, tensor.Id));
        }

        /// <summary>Returns tensors that the forward pass kept, the last ones that were not taken yet. Every kept
        /// tensor must be taken.</summary>
        /// <param name="count">Number of tensors.</param>
        /// <returns>The tensors, in the order in which they were kept.</returns>
        public LayerTensor[] Kept(int count)
        {
            LayerTensor[] tensors = new LayerTensor[Native.InRange(count, 0, 1 << 16, nameof(count))];
            for (int i = count; i-- > 0;) tensors[i] = Of(tensor => Abi.LayerKept(Handle, tensor));
            return tensors;
        }

        /// <summary>Computes W x + b along the last axis.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="weight">Name of the weight W.</param>
        /// <param name="bias">Name of the weight b; null: none.</param>
        /// <returns>The result.</returns>
        public LayerTensor Matmul(LayerTensor x, string weight, string bias = null)
        {
            return Of(weight, bias, (w, b, y) => Abi.LayerMatmul(Handle, x.Id, w, b, y));
        }

        /// <summary>Computes the gradient of the input of Matmul(), and adds to those of W and b.</summary>
        /// <param name="x">The input of Matmul().</param>
        /// <param name="dy">The gradient of its output.</param>
        /// <param name="weight">Name of the weight W.</param>
        /// <param name="bias">Name of the weight b; null: none.</param>
        /// <returns>The gradient of x.</returns>
        public LayerTensor MatmulGradient(LayerTensor x, LayerTensor dy, string weight, string bias = null)
        {
            return Of(weight, bias, (w, b, dx) => Abi.LayerMatmulGradient(Handle, x.Id, dy.Id, w, b, dx));
        }

        /// <summary>Multiplies over the last two axes; the axes before are equal.</summary>
        /// <param name="a">The first tensor.</param>
        /// <param name="b">The second one.</param>
        /// <param name="transposeA">True transposes the last two axes of the first one.</param>
        /// <param name="transposeB">True transposes the last two axes of the second one.</param>
        /// <returns>The product.</returns>
        public LayerTensor Product(LayerTensor a, LayerTensor b, bool transposeA = false, bool transposeB = false)
        {
            return Of(y => Abi.LayerProduct(Handle, a.Id, transposeA ? 1 : 0, b.Id, transposeB ? 1 : 0, y));
        }

        /// <summary>Computes activation(x).</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="activation">Key of a setting of the type "activation", or name of an activation.</param>
        /// <returns>A tensor of the same shape.</returns>
        public LayerTensor Activate(LayerTensor x, string activation)
        {
            return Of(activation, null, (name, none, y) => Abi.LayerActivate(Handle, x.Id, name, y));
        }

        /// <summary>Computes dy times the derivative of the activation at x.</summary>
        /// <param name="x">The input of Activate().</param>
        /// <param name="dy">The gradient of its output.</param>
        /// <param name="activation">Key of a setting of the type "activation", or name of an activation.</param>
        /// <returns>The gradient of x.</returns>
        public LayerTensor ActivateGradient(LayerTensor x, LayerTensor dy, string activation)
        {
            return Of(activation, null, (name, none, dx) => Abi.LayerActivateGradient(Handle, x.Id, dy.Id, name, dx));
        }

        /// <summary>Computes activation(gate) times up.</summary>
        /// <param name="gate">The tensor that is activated.</param>
        /// <param name="up">The other factor.</param>
        /// <param name="activation">Key of a setting of the type "activation", or name of an activation.</param>
        /// <returns>A tensor of the same shape.</returns>
        public LayerTensor Gated(LayerTensor gate, LayerTensor up, string activation)
        {
            return Of(activation, null, (name, none, y) => Abi.LayerGated(Handle, gate.Id, up.Id, name, y));
        }

        /// <summary>Computes the gradients of Gated().</summary>
        /// <param name="gate">The first input of Gated().</param>
        /// <param name="up">The second one.</param>
        /// <param name="dy">The gradient of its output.</param>
        /// <param name="activation">Key of a setting of the type "activation", or name of an activation.</param>
        /// <param name="upGradient">Receives the gradient of up.</param>
        /// <returns>The gradient of gate.</returns>
        public LayerTensor GatedGradient(LayerTensor gate, LayerTensor up, LayerTensor dy, string activation,
            out LayerTensor upGradient)
        {
            ulong second = 0;
            ulong* place = &second;
            LayerTensor first = Of(activation, null,
                (name, none, dx) => Abi.LayerGatedGradient(Handle, gate.Id, up.Id, dy.Id, name, dx, place));
            upGradient = new LayerTensor(this, second);
            return first;
        }

        /// <summary>Computes softmax(x / temperature) along the last axis.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="temperature">Divisor of x.</param>
        /// <returns>The probabilities.</returns>
        public LayerTensor Softmax(LayerTensor x, double temperature = 1)
        {
            return Of(p => Abi.LayerSoftmax(Handle, x.Id, temperature, p));
        }

        /// <summary>Computes the gradient of Softmax().</summary>
        /// <param name="p">The output of Softmax().</param>
        /// <param name="dy">Its gradient.</param>
        /// <param name="temperature">Divisor of x.</param>
        /// <returns>The gradient of x.</returns>
        public LayerTensor SoftmaxGradient(LayerTensor p, LayerTensor dy, double temperature = 1)
        {
            return Of(dx => Abi.LayerSoftmaxGradient(Handle, p.Id, dy.Id, temperature, dx));
        }

        /// <summary>Computes x / sqrt(mean of x^2 + eps) * gamma along the last axis.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="gamma">Name of the weight gamma; null: 1.</param>
        /// <param name="eps">Number that is added to the mean.</param>
        /// <returns>A tensor of the same shape.</returns>
        public LayerTensor RmsNorm(LayerTensor x, string gamma = null, double eps = 1e-6)
        {
            return Of(gamma, null, (name, none, y) => Abi.LayerRmsNorm(Handle, x.Id, name, eps, y));
        }

        /// <summary>Computes the gradient of RmsNorm(), and adds to that of gamma.</summary>
        /// <param name="x">The input of RmsNorm().</param>
        /// <param name="dy">The gradient of its output.</param>
        /// <param name="gamma">Name of the weight gamma; null: 1.</param>
        /// <param name="eps">Number that is added to the mean.</param>
        /// <returns>The gradient of x.</returns>
        public LayerTensor RmsNormGradient(LayerTensor x, LayerTensor dy, string gamma = null, double eps = 1e-6)
        {
            return Of(gamma, null, (name, none, dx) => Abi.LayerRmsNormGradient(Handle, x.Id, dy.Id, name, eps, dx));
        }

        /// <summary>Computes (x - mean) / sqrt(variance + eps) * gamma + beta along the last axis.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="gamma">Name of the weight gamma; null: 1.</param>
        /// <param name="beta">Name of the weight beta; null: 0.</param>
        /// <param name="eps">Number that is added to the variance.</param>
        /// <returns>A tensor of the same shape.</returns>
        public LayerTensor LayerNorm(LayerTensor x, string gamma = null, string beta = null, double eps = 1e-5)
        {
            return Of(gamma, beta, (g, b, y) => Abi.LayerLayerNorm(Handle, x.Id, g, b, eps, y));
        }

        /// <summary>Computes the gradient of LayerNorm(), and adds to those of gamma and beta.</summary>
        /// <param name="x">The input of LayerNorm().</param>
        /// <param name="dy">The gradient of its output.</param>
        /// <param name="gamma">Name of the weight gamma; null: 1.</param>
        /// <param name="beta">Name of the weight beta; null: 0.</param>
        /// <param name="eps">Number that is added to the variance.</param>
        /// <returns>The gradient of x.</returns>
        public LayerTensor LayerNormGradient(LayerTensor x, LayerTensor dy, string gamma = null, string beta = null,
            double eps = 1e-5)
        {
            return Of(gamma, beta, (g, b, dx) => Abi.LayerLayerNormGradient(Handle, x.Id, dy.Id, g, b, eps, dx));
        }

        /// <summary>Reorders the axes of a tensor; samples stay first.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="axes">The axes of x in their new order.</param>
        /// <returns>A tensor of the same numbers.</returns>
        public LayerTensor Permute(LayerTensor x, params int[] axes)
        {
            ulong[] numbers = Native.Extents(axes, nameof(axes));
            fixed (ulong* first = numbers)
            {
                ulong* place = first;
                return Of(y => Abi.LayerPermute(Handle, x.Id, place, (UIntPtr)numbers.Length, y));
            }
        }

        /// <summary>Changes the extents of a tensor; samples stay first.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="extents">The new extents, with the same product.</param>
        /// <returns>A tensor of the same numbers.</returns>
        public LayerTensor Reshape(LayerTensor x, params int[] extents)
        {
            ulong[] numbers = Native.Extents(extents, nameof(extents));
            fixed (ulong* first = numbers)
            {
                ulong* place = first;
                return Of(y => Abi.LayerReshape(Handle, x.Id, place, (UIntPtr)numbers.Length, y));
            }
        }

        /// <summary>Takes a part of an axis. Its gradient is Pad(), and the reverse.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="axis">The axis.</param>
        /// <param name="first">Index of the first element.</param>
        /// <param name="count">Number of elements.</param>
        /// <returns>The part.</returns>
        public LayerTensor Slice(LayerTensor x, int axis, int first, int count)
        {
            ulong[] at = Native.Extents(new[] { axis, first, count }, nameof(axis));
            return Of(y => Abi.LayerSlice(Handle, x.Id, at[0], at[1], at[2], y));
        }

        /// <summary>Puts a tensor between zeros along an axis.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="axis">The axis.</param>
        /// <param name="first">Index of the first element of x in the new axis.</param>
        /// <param name="extent">Extent of the new axis.</param>
        /// <returns>The tensor with zeros.</returns>
        public LayerTensor Pad(LayerTensor x, int axis, int first, int extent)
        {
            ulong[] at = Native.Extents(new[] { axis, first, extent }, nameof(axis));
            return Of(y => Abi.LayerPad(Handle, x.Id, at[0], at[1], at[2], y));
        }

        /// <summary>Repeats a tensor along an axis of extent 1. Its gradient is Mean(), times as often.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="axis">The axis.</param>
        /// <param name="times">New extent of the axis.</param>
        /// <returns>The repeated tensor.</returns>
        public LayerTensor Repeat(LayerTensor x, int axis, int times)
        {
            ulong[] at = Native.Extents(new[] { axis, times }, nameof(axis));
            return Of(y => Abi.LayerRepeat(Handle, x.Id, at[0], at[1], y));
        }

        /// <summary>Computes the mean along an axis.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="axis">The axis, whose extent becomes 1.</param>
        /// <returns>The means.</returns>
        public LayerTensor Mean(LayerTensor x, int axis)
        {
            ulong[] at = Native.Extents(new[] { axis }, nameof(axis));
            return Of(y => Abi.LayerMean(Handle, x.Id, at[0], y));
        }

        /// <summary>Sets elements to 0 while a network trains. Its gradient is the same of the gradient.</summary>
        /// <param name="x">The tensor.</param>
        /// <param name="rate">Part of the elements, 0 to 1.</param>
        /// <param name="which">Number of the dropout, if a layer has several.</param>
        /// <returns>A tensor of the same shape.</returns>
        public LayerTensor Dropout(LayerTensor x, double rate, int which = 0)
        {
            uint number = (uint)Native.InRange(which, 0, int.MaxValue, nameof(which));
            return Of(y => Abi.LayerDropout(Handle, x.Id, rate, number, y));
        }

        /// <summary>Returns the values of a weight, in each sample of a tensor.</summary>
        /// <param name="name">Name of the weight.</param>
        /// <param name="like">Tensor with the shape of the result.</param>
        /// <returns>The values.</returns>
        public LayerTensor Weight(string name, LayerTensor like)
        {
            return Of(name, null, (text, none, y) => Abi.LayerWeight(Handle, text, like.Id, y));
        }

        /// <summary>Adds the sum of the samples of a tensor to the gradient of a weight.</summary>
        /// <param name="name">Name of the weight.</param>
        /// <param name="tensor">The gradient in each sample, as Weight() gives the values.</param>
        public void AddGradient(string name, LayerTensor tensor)
        {
            fixed (byte* text = Native.Terminated(name, nameof(name)))
                Native.Check(Abi.LayerAddGradient(Handle, text, tensor.Id));
        }

        /// <summary>The tensor that a function gives.</summary>
        internal LayerTensor Of(Maker function)
        {
            ulong id;
            Native.Check(function(&id));
            return new LayerTensor(this, id);
        }

        private LayerTensor Of(string first, string second, Named function)
        {
            using (Pinned memory = new Pinned())
            {
                byte* one = memory.Text(first, nameof(first)), other = memory.Text(second, nameof(second));
                return Of(y => function(one, other, y));
            }
        }
    }

    /// <summary>Functions of a layer kind, which C may call as long as the kind is registered.</summary>
    internal sealed unsafe class KindCallback : Callback
    {
        private static readonly LayerRule StaticDeclare = Declare, StaticForward = Forward, StaticBackward = Backward;
        private static readonly IntPtr DeclarePointer = Marshal.GetFunctionPointerForDelegate(StaticDeclare);
        private static readonly IntPtr ForwardPointer = Marshal.GetFunctionPointerForDelegate(StaticForward);
        private static readonly IntPtr BackwardPointer = Marshal.GetFunctionPointerForDelegate(StaticBackward);
        private readonly LayerFunction _forward, _backward;
        private readonly Action<LayerContext> _declare;

        public KindCallback(LayerFunction forward, LayerFunction backward, Action<LayerContext> declare)
        {
            _forward = forward;
            _backward = backward;
            _declare = declare;
        }

        /// <summary>The functions as C takes them.</summary>
        public KindCallbacks Functions
        {
            get
            {
                KindCallbacks functions = KindCallbacks.Create();
                functions.Declare = _declare == null ? IntPtr.Zero : DeclarePointer;
                functions.Forward = ForwardPointer;
                functions.Backward = _backward == null ? IntPtr.Zero : BackwardPointer;
                functions.User = User;
                return functions;
            }
        }

        [MonoPInvokeCallback(typeof(LayerRule))]
        private static int Declare(void* user, ulong layer)
        {
            try
            {
                ((KindCallback)Of(user))._declare(new LayerContext(layer));
                return Abi.Ok;
            }
            catch (Exception e) // it must not unwind through C
            {
                return Native.KeepCause(e);
            }
        }

        [MonoPInvokeCallback(typeof(LayerRule))]
        private static int Forward(void* user, ulong layer)
        {
            return Pass(layer, ((KindCallback)Of(user))._forward);
        }

        [MonoPInvokeCallback(typeof(LayerRule))]
        private static int Backward(void* user, ulong layer)
        {
            return Pass(layer, ((KindCallback)Of(user))._backward);
        }

        private static int Pass(ulong handle, LayerFunction function)
        {
            try
            {
                LayerContext layer = new LayerContext(handle);
                LayerTensor y = function(layer, layer.Of(x => Abi.LayerInput(handle, x)));
                if (y == null) throw new InvalidOperationException("the function returned no tensor");
                Native.Check(Abi.LayerResult(handle, y.Id));
                return Abi.Ok;
            }
            catch (Exception e) // it must not unwind through C
            {
                return Native.KeepCause(e);
            }
        }
    }
}
