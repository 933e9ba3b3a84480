using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Text;

/// <summary>Compiles C# by Roslyn, as Welvet.csproj asks, and does the work of LibraryImport's generator.</summary>
/// <remarks>usage: Compile LANGUAGE SYMBOLS REFERENCES OUTPUT.dll SOURCES...; lists are divided by ";". Every warning
/// is an error. Methods with LibraryImport get the second half that .NET's generator writes for signatures without
/// marshalling, and a signature that needs some is an error.</remarks>
public static class Compile
{
    public static int Main(string[] arguments)
    {
        LanguageVersion language;
        if (!LanguageVersionFacts.TryParse(arguments[0], out language)) throw new ArgumentException(arguments[0]);
        CSharpParseOptions parsing = new CSharpParseOptions(language, DocumentationMode.Diagnose,
            SourceCodeKind.Regular, arguments[1].Split(new[] { ';' }, StringSplitOptions.RemoveEmptyEntries));
        List<SyntaxTree> trees = arguments.Skip(4)
            .Select(path => Parsed(File.ReadAllText(path), path, parsing)).ToList();
        CSharpCompilationOptions options = new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary,
            allowUnsafe: true, deterministic: true, generalDiagnosticOption: ReportDiagnostic.Error);
        CSharpCompilation compilation = CSharpCompilation.Create(Path.GetFileNameWithoutExtension(arguments[3]), trees,
            arguments[2].Split(';').Select(path => (MetadataReference)MetadataReference.CreateFromFile(path)), options);
        int halves = 0, faults = 0;
        StringBuilder written = new StringBuilder("using System;\n");
        foreach (SyntaxTree tree in trees)
        {
            SemanticModel model = compilation.GetSemanticModel(tree);
            foreach (MethodDeclarationSyntax each in tree.GetRoot().DescendantNodes().OfType<MethodDeclarationSyntax>())
            {
                IMethodSymbol method = model.GetDeclaredSymbol(each);
                AttributeData import = method.GetAttributes().FirstOrDefault(
                    attribute => attribute.AttributeClass.Name == "LibraryImportAttribute");
                if (import == null) continue;
                faults += Faults(method, each);
                written.AppendLine(SecondHalf(method, import, each));
                ++halves;
            }
        }
        if (halves > 0)
            compilation = compilation.AddSyntaxTrees(Parsed(written.ToString(), "LibraryImports.g.cs", parsing));
        using (FileStream file = File.Create(arguments[3]))
        {
            foreach (Diagnostic diagnostic in compilation.Emit(file).Diagnostics)
            {
                if (diagnostic.Severity != DiagnosticSeverity.Error) continue;
                ++faults;
                Console.WriteLine(diagnostic);
            }
        }
        Console.WriteLine(Path.GetFileName(arguments[3]) + ": C# " + arguments[0] + ", " + trees.Count + " files, " +
            halves + " library imports, " + faults + " errors");
        return faults == 0 ? 0 : 1;
    }

    private static SyntaxTree Parsed(string text, string path, CSharpParseOptions options)
    {
        return CSharpSyntaxTree.ParseText(SourceText.From(text, Encoding.UTF8), options, path);
    }

    /// <summary>Counts what .NET's generator would refuse.</summary>
    private static int Faults(IMethodSymbol method, MethodDeclarationSyntax syntax)
    {
        List<string> faults = new List<string>();
        if (!method.IsStatic || !method.IsPartialDefinition || method.IsGenericMethod)
            faults.Add("is not a static partial method");
        foreach (SyntaxNode parent in syntax.Ancestors())
        {
            TypeDeclarationSyntax type = parent as TypeDeclarationSyntax;
            if (type != null && !type.Modifiers.Any(SyntaxKind.PartialKeyword))
                faults.Add("is in " + type.Identifier + ", which is not partial");
        }
        foreach (IParameterSymbol parameter in method.Parameters)
            if (parameter.RefKind != RefKind.None || !IsPlain(parameter.Type))
                faults.Add("has the parameter " + parameter.Name + ", which needs marshalling");
        if (!method.ReturnsVoid && !IsPlain(method.ReturnType)) faults.Add("returns what needs marshalling");
        foreach (string fault in faults) Console.WriteLine("error: " + method.Name + " " + fault);
        return faults.Count;
    }

    private static bool IsPlain(ITypeSymbol type)
    {
        return type.TypeKind == TypeKind.Pointer || type.TypeKind == TypeKind.FunctionPointer || type.IsUnmanagedType &&
            type.SpecialType != SpecialType.System_Boolean && type.SpecialType != SpecialType.System_Char;
    }

    private static string SecondHalf(IMethodSymbol method, AttributeData import, MethodDeclarationSyntax syntax)
    {
        string entry = import.NamedArguments.First(argument => argument.Key == "EntryPoint").Value.Value.ToString();
        string modifiers = string.Join(" ", method.ContainingType.DeclaringSyntaxReferences[0].GetSyntax()
            .ChildTokens().TakeWhile(token => !token.IsKind(SyntaxKind.ClassKeyword)).Select(token => token.Text));
        return "namespace " + method.ContainingNamespace + " { " + modifiers + " class " + method.ContainingType.Name +
            " { [System.Runtime.InteropServices.DllImport(\"" + import.ConstructorArguments[0].Value +
            "\", EntryPoint = \"" + entry + "\", ExactSpelling = true, " +
            "CallingConvention = System.Runtime.InteropServices.CallingConvention.Cdecl)]" +
            " public static extern partial " + syntax.ReturnType + " " + method.Name + syntax.ParameterList + "; } }";
    }
}
