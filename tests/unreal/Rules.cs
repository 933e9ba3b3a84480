using System;
using System.Collections.Generic;

namespace UnrealBuildTool
{
    /// <summary>Stubs of the classes that Welvet.Build.cs uses.</summary>
    public enum UnrealTargetPlatform
    {
        Win64, Linux, Mac
    }

    public class ReadOnlyTargetRules
    {
        public UnrealTargetPlatform Platform;
    }

    public class Dependencies
    {
        public readonly List<string> Sources = new List<string>();

        public void Add(string path, string source)
        {
            Sources.Add(source);
        }
    }

    public class ModuleRules
    {
        public enum PCHUsageMode
        {
            UseExplicitOrSharedPCHs
        }

        public PCHUsageMode PCHUsage;
        public readonly string ModuleDirectory = "Welvet";
        public readonly List<string> PublicDependencyModuleNames = new List<string>();
        public readonly List<string> PublicIncludePaths = new List<string>();
        public readonly List<string> PublicAdditionalLibraries = new List<string>();
        public readonly Dependencies RuntimeDependencies = new Dependencies();

        public ModuleRules(ReadOnlyTargetRules target)
        {
        }
    }

    public static class Rules
    {
        public static void Main()
        {
            foreach (UnrealTargetPlatform platform in Enum.GetValues(typeof(UnrealTargetPlatform)))
            {
                var made = new Welvet(new ReadOnlyTargetRules { Platform = platform });
                Console.WriteLine(platform + " " + string.Join(" ", made.PublicAdditionalLibraries) + " " +
                                  string.Join(" ", made.RuntimeDependencies.Sources));
            }
        }
    }
}
