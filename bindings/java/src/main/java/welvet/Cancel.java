package welvet;

import welvet.abi.Abi;

/**
 * Flag that ends long calls from any thread. A call that it ends throws CANCELLED; an answer keeps what it has said so
 * far.
 */
public final class Cancel extends NativeObject {
    /** Makes a flag that is not set. */
    public Cancel() {
        super(Native.make(Abi::cancelCreate));
    }

    /** Ends the calls that use this flag, now and later. */
    public void cancel() {
        set(1);
    }

    /** Clears the flag, for the next call. */
    public void reset() {
        set(0);
    }

    private void set(int value) {
        with(handle -> {
            Native.check(Abi.cancelSet(handle, value));
            return null;
        });
    }

    static long handleOf(Cancel cancel) {
        return cancel == null ? 0 : cancel.live();
    }
}
