// The sum of the products of four signed bytes, by the function of the language: one instruction where the card has it.
fn dot_bytes(a: u32, b: u32) -> i32 { return dot4I8Packed(a, b); }
