// Not run in Unreal: compiled with stubs of UnrealBuildTool.

using System.IO;
using UnrealBuildTool;

public class Welvet : ModuleRules
{
    public Welvet(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        PublicDependencyModuleNames.AddRange(new[] { "Core", "CoreUObject", "Engine" });
        string loom = Path.Combine(ModuleDirectory, "..", "ThirdParty", "Loom");
        PublicIncludePaths.Add(Path.Combine(loom, "include"));
        string folder = Path.Combine(loom, "lib");
        if (Target.Platform == UnrealTargetPlatform.Win64)
        {
            PublicAdditionalLibraries.Add(Path.Combine(folder, "loom.lib"));
            RuntimeDependencies.Add("$(TargetOutputDir)/loom.dll", Path.Combine(folder, "loom.dll"));
        }
        else
        {
            string name = Target.Platform == UnrealTargetPlatform.Mac ? "libloom.dylib" : "libloom.so";
            PublicAdditionalLibraries.Add(Path.Combine(folder, name));
            RuntimeDependencies.Add("$(TargetOutputDir)/" + name, Path.Combine(folder, name));
        }
    }
}
