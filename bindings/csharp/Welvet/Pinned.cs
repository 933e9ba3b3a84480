using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Welvet
{
    /// <summary>Managed memory whose addresses stay where they are for the length of a call.</summary>
    internal sealed unsafe class Pinned : IDisposable
    {
        private readonly List<GCHandle> _handles = new List<GCHandle>();

        /// <summary>Address of an array; null for none and for an empty one.</summary>
        public void* Array(Array values)
        {
            if (values == null || values.Length == 0) return null;
            GCHandle handle = GCHandle.Alloc(values, GCHandleType.Pinned);
            _handles.Add(handle);
            return (void*)handle.AddrOfPinnedObject();
        }

        /// <summary>Address of a text with a NUL at its end; null for none.</summary>
        public byte* Text(string text, string name)
        {
            return (byte*)Array(Native.OptionalText(text, name));
        }

        /// <summary>Addresses of texts.</summary>
        public byte** Texts(IReadOnlyList<string> texts, string name)
        {
            if (texts == null || texts.Count == 0) return null;
            IntPtr[] places = new IntPtr[texts.Count];
            for (int i = 0; i < places.Length; ++i) places[i] = (IntPtr)Array(Native.Terminated(texts[i], name));
            return (byte**)Array(places);
        }

        /// <summary>A tensor as C takes it; null for none.</summary>
        public Interop.Tensor* Tensor(Tensor tensor)
        {
            if (tensor == null) return null;
            ulong[] extents = Native.Extents(tensor.Shape, nameof(tensor));
            return Place(InteropTensors.Of((float*)Array(tensor.Values), tensor.Values.Length,
                (ulong*)Array(extents), extents.Length));
        }

        /// <summary>Samples with their targets or classes as C takes them.</summary>
        public Interop.Batch Batch(Tensor inputs, Tensor targets, int[] classes)
        {
            if (inputs == null) throw new ArgumentNullException(nameof(inputs));
            if ((targets == null) == (classes == null))
                throw new ArgumentException("a batch has targets or classes: expected one of them");
            Interop.Batch batch = Interop.Batch.Create();
            batch.Inputs = Tensor(inputs);
            batch.Targets = targets != null ? Tensor(targets)
                : Place(InteropTensors.Of((int*)Array(classes), classes.Length));
            return batch;
        }

        private Interop.Tensor* Place(Interop.Tensor tensor)
        {
            GCHandle handle = GCHandle.Alloc(new[] { tensor }, GCHandleType.Pinned);
            _handles.Add(handle);
            return (Interop.Tensor*)handle.AddrOfPinnedObject();
        }

        public void Dispose()
        {
            foreach (GCHandle handle in _handles) handle.Free();
            _handles.Clear();
        }
    }
}
