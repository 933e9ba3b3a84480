using System;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Welvet.Interop;

namespace Welvet
{
    /// <summary>Finds the native library: WELVET_LIBRARY, runtimes/RID/native, beside the assembly, then where the
    /// system looks.</summary>
    internal static class Loader
    {
        private static readonly object Gate = new object();
        private static volatile bool s_isReady;
        private static string s_path = null; // the system looks the library up

        /// <summary>Loads the library before its first call.</summary>
        public static void Ready()
        {
            if (!s_isReady) Load();
        }

        private static void Load()
        {
            lock (Gate)
            {
                if (s_isReady) return;
#if !UNITY_5_3_OR_NEWER // Unity looks into its own folders of plugins
                s_path = Find();
                if (s_path != null && IsMono) InsertIntoMono(s_path);
                else if (s_path != null) SetResolver();
#endif
                int version;
                try
                {
                    version = AbiVersion();
                }
                catch (DllNotFoundException e)
                {
                    throw new DllNotFoundException("welvet: its library " + FileName() + " cannot be loaded: put it " +
                        "beside the program, or set WELVET_LIBRARY to its path (" + e.Message + ")", e);
                }
                if (version != Abi.AbiVersion)
                {
                    throw new DllNotFoundException("welvet: " + (s_path ?? FileName()) + " has version " + version +
                        " of the C interface, this package needs " + Abi.AbiVersion +
                        ": install the package and its library from one release");
                }
                s_isReady = true;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)] // Mono resolves functions when it compiles their caller
        private static int AbiVersion()
        {
            return Abi.LibraryAbiVersion();
        }

        private static bool IsWindows => Path.DirectorySeparatorChar == '\\';

        private static bool IsMac => !IsWindows && File.Exists("/System/Library/CoreServices/SystemVersion.plist");

        private static string FileName()
        {
            return IsWindows ? "loom.dll" : IsMac ? "libloom.dylib" : "libloom.so";
        }

#if !UNITY_5_3_OR_NEWER
        private const string Name = "loom"; // of the DllImport attributes

        private static bool IsMono => Type.GetType("Mono.Runtime") != null; // its NativeLibrary does nothing

        /// <summary>The path of the library; null: the system looks it up.</summary>
        private static string Find()
        {
            string given = Environment.GetEnvironmentVariable("WELVET_LIBRARY");
            if (!string.IsNullOrEmpty(given))
            {
                if (!File.Exists(given))
                    throw new DllNotFoundException("welvet: WELVET_LIBRARY is " + given + ": no such file");
                return Path.GetFullPath(given);
            }
            string beside = null;
            try
            {
                beside = Path.GetDirectoryName(typeof(Loader).Assembly.Location);
            }
            catch (Exception e) when (e is NotSupportedException || e is ArgumentException)
            {
                // An assembly inside of a single file has no location.
            }
            foreach (string folder in new[] { AppDomain.CurrentDomain.BaseDirectory, beside })
            {
                if (string.IsNullOrEmpty(folder)) continue;
                string packaged = Path.Combine(folder, "runtimes", RuntimeIdentifier(), "native", FileName());
                if (File.Exists(packaged)) return packaged;
                string plain = Path.Combine(folder, FileName());
                if (File.Exists(plain)) return plain;
            }
            return null;
        }

        /// <summary>Name of this system as NuGet has it, as "linux-x64".</summary>
        private static string RuntimeIdentifier()
        {
            string system = IsWindows ? "win" : IsMac ? "osx" : "linux";
            Type about = Type.GetType("System.Runtime.InteropServices.RuntimeInformation") ?? Type.GetType(
                "System.Runtime.InteropServices.RuntimeInformation, System.Runtime.InteropServices.RuntimeInformation");
            object processor = about?.GetProperty("ProcessArchitecture")?.GetValue(null, null);
            return system + "-" + (processor == null ? IntPtr.Size == 8 ? "x64" : "x86"
                : processor.ToString().ToLowerInvariant());
        }

        /// <summary>Gives .NET (Core 3.0 or later) the path by a resolver; reflection, since netstandard2.0 has no
        /// such class.</summary>
        private static void SetResolver()
        {
#if NETCOREAPP3_0_OR_GREATER
            NativeLibrary.SetDllImportResolver(typeof(Loader).Assembly, Resolve);
#else
            Type library = Type.GetType("System.Runtime.InteropServices.NativeLibrary") ?? Type.GetType(
                "System.Runtime.InteropServices.NativeLibrary, System.Runtime.InteropServices");
            MethodInfo set = library?.GetMethod("SetDllImportResolver");
            if (set == null)
            {
                if (IsWindows) LoadLibrary(s_path); // .NET Framework: Windows then finds it by its name
                return;
            }
            MethodInfo resolve = typeof(Loader).GetMethod(nameof(Resolve),
                BindingFlags.NonPublic | BindingFlags.Static);
            Delegate resolver = Delegate.CreateDelegate(set.GetParameters()[1].ParameterType, resolve);
            s_load = (Func<string, IntPtr>)Delegate.CreateDelegate(
                typeof(Func<string, IntPtr>), library.GetMethod("Load", new[] { typeof(string) }));
            set.Invoke(null, new object[] { typeof(Loader).Assembly, resolver });
#endif
        }

#if NETCOREAPP3_0_OR_GREATER
        private static IntPtr Resolve(string name, Assembly assembly, DllImportSearchPath? places)
        {
            return name == Name ? NativeLibrary.Load(s_path) : IntPtr.Zero;
        }
#else
        private static Func<string, IntPtr> s_load;

        private static IntPtr Resolve(string name, Assembly assembly, DllImportSearchPath? places)
        {
            return name == Name ? s_load(s_path) : IntPtr.Zero;
        }
#endif

#if !NETCOREAPP3_0_OR_GREATER
        [DllImport("kernel32", EntryPoint = "LoadLibraryW", CharSet = CharSet.Unicode)]
        private static extern IntPtr LoadLibrary(string path);
#endif

        /// <summary>Gives Mono the path.</summary>
        private static void InsertIntoMono(string path)
        {
            try
            {
                mono_dllmap_insert(IntPtr.Zero, Name, null, path, null);
            }
            catch (Exception e) when (e is EntryPointNotFoundException || e is DllNotFoundException)
            {
                // Then the system looks the library up by its name.
            }
        }

        [DllImport("__Internal", CallingConvention = CallingConvention.Cdecl, CharSet = CharSet.Ansi)]
        private static extern void mono_dllmap_insert(IntPtr image, string dll, string function, string toDll,
            string toFunction);
#endif
    }
}
