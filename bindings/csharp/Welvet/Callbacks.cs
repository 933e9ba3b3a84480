using System;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Marks static functions that C calls, by the name that Mono's and IL2CPP's compilers look for.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    internal sealed class MonoPInvokeCallbackAttribute : Attribute
    {
        public MonoPInvokeCallbackAttribute(Type type)
        {
        }
    }

    /// <summary>A callback of one call, and the exception that ended it.</summary>
    internal abstract unsafe class Callback : IDisposable
    {
        private GCHandle _self;
        private ExceptionDispatchInfo _thrown;

        /// <summary>Creates a callback. Type of its handle: Normal keeps it alive until Dispose(); Weak leaves that to
        /// the object that refers to it.</summary>
        protected Callback(GCHandleType type = GCHandleType.Normal)
        {
            _self = GCHandle.Alloc(this, type);
        }

        ~Callback()
        {
            if (_self.IsAllocated) _self.Free();
        }

        /// <summary>First argument of the callback in C.</summary>
        public void* User => (void*)GCHandle.ToIntPtr(_self);

        /// <summary>The callback that C was given.</summary>
        protected static object Of(void* user)
        {
            return GCHandle.FromIntPtr((IntPtr)user).Target;
        }

        /// <summary>Keeps an exception, which must not unwind through C, and ends the call.</summary>
        public int Keep(Exception e)
        {
            _thrown = ExceptionDispatchInfo.Capture(e);
            return 0;
        }

        /// <summary>True after an exception: the callback is then not called again.</summary>
        protected bool HasThrown => _thrown != null;

        /// <summary>Throws the exception of the callback.</summary>
        public void Rethrow()
        {
            ExceptionDispatchInfo thrown = _thrown;
            _thrown = null;
            thrown?.Throw();
        }

        public void Dispose()
        {
            if (_self.IsAllocated) _self.Free();
            GC.SuppressFinalize(this);
        }
    }

    /// <summary>Progress of a call, from 0 to 1.</summary>
    internal sealed unsafe class ProgressCallback : Callback
    {
        private static readonly OnProgress Static = Report;
        private static readonly IntPtr StaticPointer = Marshal.GetFunctionPointerForDelegate(Static);
        private readonly IProgress<double> _progress;

        public ProgressCallback(IProgress<double> progress)
        {
            _progress = progress;
        }

        /// <summary>The callback as C takes it; none if nobody listens.</summary>
        public IntPtr Pointer => _progress == null ? IntPtr.Zero : StaticPointer;

        [MonoPInvokeCallback(typeof(OnProgress))]
        private static int Report(void* user, double fraction)
        {
            ProgressCallback callback = (ProgressCallback)Of(user);
            if (callback.HasThrown) return 0;
            try
            {
                callback._progress.Report(fraction);
                return 1;
            }
            catch (Exception e)
            {
                return callback.Keep(e);
            }
        }
    }
}
