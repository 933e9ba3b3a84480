package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import welvet.abi.Abi;

/**
 * Networks that the caller judges, and that are crossed and mutated, generation by generation. The fitness of a network
 * is a number that is greater for better ones. Equal configs, shapes and fitnesses give equal generations on every
 * machine. Threads that share a population take turns.
 */
public final class Population extends NativeObject {
    /**
     * Judges networks.
     *
     * @param <E> what it throws; RuntimeException if nothing
     */
    @FunctionalInterface
    public interface Judge<E extends Exception> {
        /**
         * Gives the fitness of a network.
         *
         * @param network a member, which is closed after the call
         * @return a number that is greater for better networks; NaN and infinities rank last
         * @throws E what ends the generation
         */
        double judge(Network network) throws E;
    }

    private final ReentrantLock evolving = new ReentrantLock();
    private long told; // calls of tell()

    private Population(long handle) {
        super(handle);
    }

    /**
     * Makes the first generation: mutations of a network, which stays as it is.
     *
     * @param base the network
     * @param shape shape of its input, samples first
     * @param config JSON with the keys population, elites, seed, objectives, mutation, splice, species and novelty of
     *     docs/guide/evolution.md
     */
    public Population(Network base, long[] shape, String config) {
        this(base, shape, config, Compute.DEFAULT);
    }

    /**
     * Makes the first generation.
     *
     * @param base the network
     * @param shape shape of its input, samples first
     * @param config JSON of docs/guide/evolution.md
     * @param compute threads and instruction set
     */
    public Population(Network base, long[] shape, String config, Compute compute) {
        super(create(base, shape, config, compute));
    }

    private static long create(Network base, long[] shape, String config, Compute compute) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment extents = Native.longs(arena, shape);
            MemorySegment data = Native.bytes(arena, Native.utf8(config));
            MemorySegment raw = compute.filled(arena);
            return base.child((network, to) -> Abi.populationCreate(network, extents, shape.length, data,
                data.byteSize(), raw, to));
        }
    }

    /**
     * Continues from a snapshot.
     *
     * @param snapshot bytes of snapshot()
     * @param shape shape of the input of that population
     * @param config config of that population
     * @return the population
     * @throws LoomException CORRUPT_DATA for bytes that are damaged or of another population
     */
    public static Population restore(byte[] snapshot, long[] shape, String config) {
        return restore(snapshot, shape, config, Compute.DEFAULT);
    }

    /**
     * Continues from a snapshot.
     *
     * @param snapshot bytes of snapshot()
     * @param shape shape of the input of that population
     * @param config config of that population
     * @param compute threads and instruction set
     * @return the population
     * @throws LoomException CORRUPT_DATA for bytes that are damaged or of another population
     */
    public static Population restore(byte[] snapshot, long[] shape, String config, Compute compute) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment saved = Native.bytes(arena, snapshot);
            MemorySegment extents = Native.longs(arena, shape);
            MemorySegment data = Native.bytes(arena, Native.utf8(config));
            MemorySegment raw = compute.filled(arena);
            return new Population(Native.make(to -> Abi.populationRestore(saved, saved.byteSize(), extents,
                shape.length, data, data.byteSize(), raw, to)));
        }
    }

    /**
     * Lists the members that have no fitness yet.
     *
     * @return their places, for network()
     */
    public long[] ask() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment places = arena.allocate(ADDRESS);
            MemorySegment count = arena.allocate(JAVA_LONG);
            return alone(population -> {
                Native.check(Abi.populationAsk(population, places, count));
                return Native.longsAt(places.get(ADDRESS, 0), count.get(JAVA_LONG, 0));
            });
        }
    }

    /**
     * Copies a member.
     *
     * @param place place of the member, from ask()
     * @return the copy
     */
    public synchronized Network network(long place) {
        return new Network(child((population, to) -> Abi.populationNetwork(population, place, to)));
    }

    /**
     * Takes the fitness of every member of ask(), in that order, and breeds the next generation.
     *
     * @param fitness a number per member, more is better, NaN and infinities rank last; with several objectives all
     *     numbers of a member stand together
     * @return a report of the generation, a JSON object: scores, best, average, worst, hash
     */
    public synchronized String tell(double... fitness) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment numbers = arena.allocateFrom(JAVA_DOUBLE, fitness);
            String report = text((population, to) -> Abi.populationTell(population, numbers, fitness.length, to));
            told++;
            return report;
        }
    }

    private synchronized String tell(double[] fitness, long expected) {
        if (told != expected) {
            throw new LoomException(ErrorCode.INVALID_STATE, "another call of tell() bred the next generation while "
                + "this one was judged: call evolve() again");
        }
        return tell(fitness);
    }

    /**
     * Does a generation: ask(), a judgement of each of those members, tell(). An exception of the judge ends the
     * generation; the population is then as before the call. Calls of evolve() wait for each other. The judge gives one
     * number: with several objectives use ask() and tell().
     *
     * @param <E> what the judge throws
     * @param judge gives the fitness of a network
     * @return the report of tell()
     * @throws E what the judge throws
     * @throws LoomException INVALID_STATE if something else called tell() meanwhile
     */
    public <E extends Exception> String evolve(Judge<E> judge) throws E {
        evolving.lock();
        try {
            long before;
            long[] places;
            synchronized (this) {
                before = told;
                places = ask();
            }
            double[] fitness = new double[places.length];
            for (int i = 0; i < places.length; i++) {
                try (Network member = network(places[i])) {
                    fitness[i] = judge.judge(member);
                }
            }
            return tell(fitness, before);
        } finally {
            evolving.unlock();
        }
    }

    /**
     * Copies the network with the best score so far.
     *
     * @return the copy
     * @throws LoomException NO_VALUE before the first generation was judged
     */
    public synchronized Network best() {
        return new Network(child(Abi::populationBest));
    }

    /**
     * Describes the population.
     *
     * @return a JSON object: generation, best score, members with identity, parents, operations, species
     */
    public synchronized String info() {
        return text(Abi::populationInfo);
    }

    /**
     * Gives the whole population.
     *
     * @return bytes for restore(), on any machine
     */
    public synchronized byte[] snapshot() {
        return with(population -> Native.blob(to -> Abi.populationSnapshot(population, to)));
    }
}
