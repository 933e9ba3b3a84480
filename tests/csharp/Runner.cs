using System;
using System.Diagnostics;
using System.IO;
using System.Reflection;

/// <summary>Runs the public static methods of the classes Test*, each named by the behaviour that it tests.</summary>
public static class Runner
{
    /// <summary>Model of the README, from LOOM_DATA.</summary>
    public static readonly string Model = Path.Combine(Environment.GetEnvironmentVariable("LOOM_DATA") ?? ".",
        "llm", "SmolLM2-135M-Instruct.Q4_1.gguf");

    public static int Main(string[] arguments)
    {
        int failed = 0, run = 0;
        foreach (Type type in typeof(Runner).Assembly.GetTypes())
        {
            if (!type.Name.StartsWith("Test", StringComparison.Ordinal)) continue;
            foreach (MethodInfo method in type.GetMethods(BindingFlags.Public | BindingFlags.Static |
                                                          BindingFlags.DeclaredOnly))
            {
                string name = type.Name.Substring(4) + "." + method.Name;
                if (arguments.Length > 0 && !Array.Exists(arguments, part => name.Contains(part))) continue;
                ++run;
                if (!Passes(method, name)) ++failed;
            }
        }
        Console.WriteLine(run + " tests, " + failed + " failed");
        return failed == 0 && run > 0 ? 0 : 1;
    }

    private static bool Passes(MethodInfo method, string name)
    {
        Stopwatch watch = Stopwatch.StartNew();
        try
        {
            method.Invoke(null, null);
            Console.WriteLine("ok " + name + " (" + watch.ElapsedMilliseconds + " ms)");
            return true;
        }
        catch (TargetInvocationException e)
        {
            Console.WriteLine("FAILED " + name + ": " + e.InnerException);
            return false;
        }
    }
}

/// <summary>Checks of tests.</summary>
public static class Expect
{
    public static void True(bool value, string what)
    {
        if (!value) throw new Exception("expected: " + what);
    }

    public static void Equal<T>(T expected, T got)
    {
        if (!Equals(expected, got)) throw new Exception("expected " + expected + ", got " + got);
    }

    /// <summary>Runs code that must throw this exception, and returns it.</summary>
    public static T Throws<T>(Action code)
        where T : Exception
    {
        try
        {
            code();
        }
        catch (T e)
        {
            return e;
        }
        throw new Exception("expected a " + typeof(T).Name + ", and nothing was thrown");
    }

    /// <summary>Runs code that must throw a LoomException of this code, and returns it.</summary>
    public static Welvet.LoomException Fails(string code, Action run)
    {
        Welvet.LoomException e = Throws<Welvet.LoomException>(run);
        Equal(code, e.Code);
        True(e.Text.Length > 0 && e.Message == e.Code + ": " + e.Text, "a message with code and text");
        return e;
    }
}
