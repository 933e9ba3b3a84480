using System;
using System.Collections.Generic;
using System.IO;

namespace Welvet
{
    /// <summary>Names of models: paths, and hub ids in huggingface_hub's cache.</summary>
    internal static class Hub
    {
        private static readonly string[] Files =
            { ".gguf", ".entity", ".safetensors", ".json", ".onnx", ".bin", ".pt", ".pth" }; // no ends of ids

        /// <summary>Finds a model by its path or hub id. Nothing is downloaded.</summary>
        /// <param name="name">Path of a file or folder, or a hub id.</param>
        /// <returns>The path; of a hub id that of its newest snapshot.</returns>
        public static string Find(string name)
        {
            if (name == null) throw new ArgumentNullException(nameof(name));
            if (name.Length == 0) throw new ArgumentException("the name of a model is empty", nameof(name));
            if (File.Exists(name) || Directory.Exists(name)) return name;
            string[] parts = name.Split('/');
            if (!IsId(name, parts)) throw new LoomException("NotFound", name + ": no such file or folder");
            string folder = Path.Combine(Cache(), "models--" + string.Join("--", parts));
            foreach (string snapshot in Snapshots(folder))
            {
                if (File.Exists(Path.Combine(snapshot, "config.json"))) return snapshot;
                string[] files = Directory.Exists(snapshot) ? Directory.GetFiles(snapshot, "*.gguf") : new string[0];
                if (files.Length == 1) return files[0];
                if (files.Length > 1)
                {
                    throw new ArgumentException(name + ": " + snapshot + " has " + files.Length +
                        " GGUF files: give the path of one", nameof(name));
                }
            }
            throw new LoomException("NotFound", name + ": no such file or folder, and it is not in " + Cache() +
                "; to fetch it: hf download " + name);
        }

        private static bool IsId(string name, string[] parts)
        {
            if (parts.Length > 2 || name.Length > 200 || name[0] == '.' || name[0] == '~' || name[0] == '-')
                return false;
            foreach (string part in parts)
            {
                if (part.Length == 0) return false;
            }
            foreach (string end in Files)
            {
                if (name.EndsWith(end, StringComparison.OrdinalIgnoreCase)) return false;
            }
            return name.IndexOfAny(Path.GetInvalidPathChars()) < 0;
        }

        private static string Cache()
        {
            string given = Environment.GetEnvironmentVariable("HF_HUB_CACHE");
            if (!string.IsNullOrEmpty(given)) return given;
            string home = Environment.GetEnvironmentVariable("HF_HOME");
            if (!string.IsNullOrEmpty(home)) return Path.Combine(home, "hub");
            string cache = Environment.GetEnvironmentVariable("XDG_CACHE_HOME");
            if (string.IsNullOrEmpty(cache))
                cache = Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".cache");
            return Path.Combine(cache, "huggingface", "hub");
        }

        /// <summary>The snapshot of the branch main, then all others, the newest first.</summary>
        private static IEnumerable<string> Snapshots(string folder)
        {
            string main = Path.Combine(folder, "refs", "main"), snapshots = Path.Combine(folder, "snapshots");
            if (File.Exists(main)) yield return Path.Combine(snapshots, File.ReadAllText(main).Trim());
            if (!Directory.Exists(snapshots)) yield break;
            string[] all = Directory.GetDirectories(snapshots);
            Array.Sort(all, (a, b) => Directory.GetLastWriteTimeUtc(b).CompareTo(Directory.GetLastWriteTimeUtc(a)));
            foreach (string each in all) yield return each;
        }
    }
}
