using System;
using System.Reflection;
using System.Threading;

namespace UnityEngine
{
    /// <summary>Stub of Unity's class.</summary>
    public class MonoBehaviour
    {
    }

    /// <summary>Stub of Unity's attribute.</summary>
    [AttributeUsage(AttributeTargets.Field)]
    public sealed class SerializeField : Attribute
    {
    }

    /// <summary>Stub of Unity's class.</summary>
    public static class Debug
    {
        /// <summary>Prints a message.</summary>
        public static void LogError(object message)
        {
            Console.WriteLine("error: " + message);
        }
    }
}

/// <summary>Calls the sample as Unity does: Start, Update in each frame, OnDestroy.</summary>
public static class Game
{
    private static void Call(object target, string name)
    {
        target.GetType().GetMethod(name, BindingFlags.NonPublic | BindingFlags.Instance).Invoke(target, null);
    }

    public static int Main(string[] arguments)
    {
        NPCController character = new NPCController();
        int pieces = 0, frames = 0;
        character.Piece += piece =>
        {
            ++pieces;
            Console.Write(piece);
        };
        character.UseModel(arguments[0]);
        Call(character, "Start");
        character.Talk("Hello");
        for (; character.IsTalking && frames < 6000; ++frames)
        {
            Call(character, "Update");
            Thread.Sleep(10);
        }
        Console.WriteLine("\n" + (pieces > 0 ? "answered" : "silent"));
        character.Talk("Tell me a story");
        Call(character, "OnDestroy");
        for (; character.IsTalking && frames < 6000; ++frames)
        {
            Call(character, "Update");
            Thread.Sleep(10);
        }
        Console.WriteLine(frames < 6000 ? "ended" : "did not end");
        return 0;
    }
}
