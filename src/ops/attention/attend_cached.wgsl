
// A query whose own key and value are in the cache already, like all others that it sees.
const is_own = 0u;
fn bits_own_key(i: u32) -> u32 { return 0u; }
fn bits_own_value(i: u32) -> u32 { return 0u; }
fn keep_own(block: u32, p: u32, kv: u32, thread: u32) {}
