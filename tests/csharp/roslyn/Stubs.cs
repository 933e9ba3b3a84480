// Attributes of .NET 7 that CoreCLR 3.1 lacks, for compilations against it.
namespace System.Runtime.InteropServices
{
    [AttributeUsage(AttributeTargets.Method)]
    internal sealed class LibraryImportAttribute : Attribute
    {
        public LibraryImportAttribute(string libraryName)
        {
            LibraryName = libraryName;
        }

        public string LibraryName { get; }

        public string EntryPoint { get; set; }
    }

    [AttributeUsage(AttributeTargets.Method)]
    internal sealed class UnmanagedCallConvAttribute : Attribute
    {
        public Type[] CallConvs;
    }
}
