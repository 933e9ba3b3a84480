package welvet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Names of models: paths, and hub ids in huggingface_hub's cache. */
public final class Hub {
    private static final int LONGEST = 200; // characters of an id
    private static final List<String> FILES =
        List.of(".gguf", ".entity", ".safetensors", ".json", ".onnx", ".bin", ".pt", ".pth"); // no ends of ids

    private Hub() {}

    /**
     * Finds a model by its path or hub id. Nothing is downloaded.
     *
     * @param name a path, or an id as "HuggingFaceTB/SmolLM2-360M-Instruct"
     * @return its path
     * @throws LoomException NOT_FOUND, whose text has the command that fetches a hub id
     */
    public static String findModel(String name) {
        if (name.isEmpty()) {
            throw Native.wrong("the name of a model is empty");
        }
        String missing = name + ": no such file or folder";
        try {
            if (Files.exists(Path.of(name))) {
                return name;
            }
        } catch (InvalidPathException e) {
            throw new LoomException(ErrorCode.NOT_FOUND, missing);
        }
        if (!isId(name)) {
            throw new LoomException(ErrorCode.NOT_FOUND, missing);
        }
        Path cache = cache();
        for (Path snapshot : snapshots(cache.resolve("models--" + name.replace("/", "--")))) {
            if (Files.isRegularFile(snapshot.resolve("config.json"))) {
                return snapshot.toString();
            }
            List<Path> files = entries(snapshot).stream().filter(path -> path.toString().endsWith(".gguf")).toList();
            if (files.size() > 1) {
                throw Native.wrong(
                    name + ": " + snapshot + " has " + files.size() + " GGUF files: give the path of one");
            }
            if (files.size() == 1) {
                return files.get(0).toString();
            }
        }
        throw new LoomException(ErrorCode.NOT_FOUND,
            missing + ", and it is not in " + cache + "; to fetch it: hf download " + name);
    }

    private static boolean isId(String name) {
        String[] parts = name.split("/", -1);
        return parts.length <= 2 && Stream.of(parts).noneMatch(String::isEmpty) && ".~-".indexOf(name.charAt(0)) < 0
            && name.length() <= LONGEST && FILES.stream().noneMatch(name.toLowerCase(Locale.ROOT)::endsWith);
    }

    private static Path cache() {
        String hub = System.getenv("HF_HUB_CACHE");
        if (hub != null && !hub.isEmpty()) {
            return Path.of(hub);
        }
        String home = System.getenv("HF_HOME");
        if (home != null && !home.isEmpty()) {
            return Path.of(home, "hub");
        }
        String cache = System.getenv("XDG_CACHE_HOME");
        boolean isSet = cache != null && !cache.isEmpty();
        Path folder = isSet ? Path.of(cache) : Path.of(System.getProperty("user.home"), ".cache");
        return folder.resolve("huggingface").resolve("hub");
    }

    /** Lists the snapshots of a model, that of its main revision first, then the newest. */
    private static List<Path> snapshots(Path folder) {
        List<Path> out = new ArrayList<>();
        try {
            String revision = Files.readString(folder.resolve("refs").resolve("main")).strip();
            out.add(folder.resolve("snapshots").resolve(revision));
        } catch (IOException e) {
            // no main revision
        }
        entries(folder.resolve("snapshots")).stream()
            .sorted(Comparator.comparing(Hub::time).reversed())
            .forEach(out::add);
        return out;
    }

    private static FileTime time(Path path) {
        try {
            return Files.getLastModifiedTime(path);
        } catch (IOException e) {
            return FileTime.fromMillis(0);
        }
    }

    private static List<Path> entries(Path folder) {
        try (Stream<Path> found = Files.list(folder)) {
            return found.toList();
        } catch (IOException e) {
            return List.of();
        }
    }
}
