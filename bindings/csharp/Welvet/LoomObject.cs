using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>A handle of the library, which the finaliser releases if nobody else did.</summary>
    internal sealed class LoomHandle : SafeHandle
    {
        private ulong _value; // 64 bits on every system, unlike the handle of the base class

        public LoomHandle()
            : base(IntPtr.Zero, true)
        {
        }

        public ulong Value => _value;

        public override bool IsInvalid => handle == IntPtr.Zero;

        /// <summary>Takes over a handle.</summary>
        public void Take(ulong value)
        {
            _value = value;
            SetHandle((IntPtr)1);
        }

        protected override bool ReleaseHandle()
        {
            return Abi.Release(_value) == Abi.Ok;
        }
    }

    /// <summary>Base of objects that own memory of the library. Dispose() releases it; the finaliser does if nobody
    /// called Dispose().</summary>
    public abstract class LoomObject : IDisposable
    {
        private readonly LoomHandle _handle = new LoomHandle();
        private readonly object _gate;
        private bool _isInCall;
        private bool _disposesLater;

        internal LoomObject()
            : this(new object())
        {
        }

        /// <summary>Creates an object whose calls take turns with those of another one.</summary>
        internal LoomObject(object gate)
        {
            Loader.Ready();
            _gate = gate;
        }

        /// <summary>True after Dispose().</summary>
        public bool IsDisposed => _handle.IsClosed;

        internal object Gate => _gate;

        /// <summary>The handle. Keep this object alive until the call has returned.</summary>
        internal ulong Handle
        {
            get
            {
                if (_handle.IsClosed) throw new ObjectDisposedException(GetType().Name);
                return _handle.Value;
            }
        }

        internal void Take(ulong handle)
        {
            _handle.Take(handle);
        }

        /// <summary>Releases the object. It waits for a call of another thread; a call from a callback of the object
        /// takes effect when the outer call ends.</summary>
        public void Dispose()
        {
            lock (_gate)
            {
                if (_isInCall)
                {
                    _disposesLater = true;
                    return;
                }
                if (_handle.IsClosed) return;
                BeforeDispose();
                _handle.Dispose();
            }
        }

        /// <summary>Called once, before the handle is released by Dispose().</summary>
        internal virtual void BeforeDispose()
        {
        }

        /// <summary>Begins a call whose results last until the next one. Leave() ends it.</summary>
        internal void Enter()
        {
            Monitor.Enter(_gate);
            if (_isInCall || _handle.IsClosed)
            {
                bool isInCall = _isInCall;
                Monitor.Exit(_gate);
                if (!isInCall) throw new ObjectDisposedException(GetType().Name);
                throw new LoomException("Busy", "this call was made from a callback of the object");
            }
            _isInCall = true;
        }

        internal void Leave()
        {
            _isInCall = false;
            if (_disposesLater) Dispose();
            Monitor.Exit(_gate);
        }

        /// <summary>Calls a function of the handle that gives a text.</summary>
        internal unsafe string TextOf(Giver function)
        {
            ulong blob;
            int status = function(Handle, &blob);
            GC.KeepAlive(this);
            Native.Check(status);
            return Native.TakeText(blob);
        }

        /// <summary>Like TextOf(), for a JSON object.</summary>
        internal IReadOnlyDictionary<string, object> RecordOf(Giver function)
        {
            return (IReadOnlyDictionary<string, object>)Json.Parse(TextOf(function));
        }

        /// <summary>Replaces a state by the bytes of a snapshot.</summary>
        internal unsafe void RestoreBy(byte[] snapshot, Restorer function)
        {
            if (snapshot == null) throw new ArgumentNullException(nameof(snapshot));
            fixed (byte* first = snapshot)
            {
                int status;
                lock (_gate) status = function(Handle, first, (UIntPtr)snapshot.Length);
                GC.KeepAlive(this);
                Native.Check(status);
            }
        }

        /// <summary>Like TextOf(), for bytes.</summary>
        internal unsafe byte[] BytesOf(Giver function)
        {
            ulong blob;
            int status = function(Handle, &blob);
            GC.KeepAlive(this);
            Native.Check(status);
            return Native.TakeBytes(blob);
        }
    }
}
