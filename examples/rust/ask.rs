//! Asks a language model a question and prints its answer as it comes:
//!
//!     cd bindings/rust
//!     WELVET_LIBRARY=$PWD/../../build/libloom.so cargo run --example ask -- MODEL "What is the capital of France?"

use std::io::Write;

fn ask(model: &str, question: &str) -> welvet::Result<()> {
    let lm = welvet::LM::open(model)?;
    let mut stream = lm.stream(question, &welvet::Options::default())?;
    for piece in stream.by_ref() {
        print!("{}", piece?);
        let _ = std::io::stdout().flush();
    }
    println!("\nhash {}", &stream.result()?.hash[..16]);
    Ok(())
}

fn main() {
    let given: Vec<String> = std::env::args().collect();
    let [_, model, question] = given.as_slice() else {
        eprintln!("usage: ask MODEL QUESTION");
        std::process::exit(2);
    };
    if let Err(error) = ask(model, question) {
        eprintln!("ask: {error}");
        std::process::exit(1);
    }
}
