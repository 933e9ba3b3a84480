package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import welvet.abi.Abi;

/** One user of a network: activations, gradients, states. Several may run one network at the same time. */
public final class NetworkSession extends NativeObject {
    NetworkSession(Network network, Compute compute, boolean backward) {
        super(made(network, compute, backward));
    }

    private static long made(Network network, Compute compute, boolean backward) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment raw = Abi.struct(arena, Abi.NETWORK_SESSION_OPTIONS);
            raw.set(ADDRESS, Abi.NETWORK_SESSION_OPTIONS_COMPUTE, compute.filled(arena));
            raw.set(JAVA_INT, Abi.NETWORK_SESSION_OPTIONS_BACKWARD, backward ? 1 : 0);
            return network.child((handle, to) -> Abi.networkSessionCreate(handle, raw, to));
        }
    }

    /**
     * Runs the network on samples.
     *
     * @param input the samples
     * @return the output
     */
    public Tensor forward(Tensor input) {
        return forward(input, null);
    }

    /**
     * Runs the network on samples.
     *
     * @param input the samples
     * @param cancel ends the call with CANCELLED; null: nothing does
     * @return the output
     */
    public Tensor forward(Tensor input, Cancel cancel) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment in = input.filled(arena);
            MemorySegment pass = Abi.struct(arena, Abi.PASS);
            pass.set(JAVA_LONG, Abi.PASS_CANCEL, Cancel.handleOf(cancel));
            return tensor((handle, out) -> Abi.networkSessionForward(handle, in, pass, out));
        }
    }

    /**
     * Runs the backward pass after a forward and adds to the gradients of the weights.
     *
     * @param outputGradient as many values as the last output
     * @return the gradient of the input
     */
    public Tensor backward(Tensor outputGradient) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment in = outputGradient.filled(arena);
            return tensor((handle, out) -> Abi.networkSessionBackward(handle, in, 0, out));
        }
    }

    /**
     * Gives the gradient of a weight, summed since it was last cleared.
     *
     * @param weight its name
     * @param shape its shape
     * @return the gradient
     */
    public Tensor gradient(String weight, long... shape) {
        return weight(weight, shape, Abi::networkSessionGradient);
    }

    /** Sets every gradient to 0. */
    public void clearGradients() {
        run(Abi::networkSessionClearGradients);
    }

    /** Resets every sequence and state. */
    public void reset() {
        run(Abi::networkSessionReset);
    }
}
