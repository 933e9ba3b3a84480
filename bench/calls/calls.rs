//! Times calls in Rust as calls.c does in C.

use std::time::Instant;
use welvet::{Compute, Form, LoadOptions, Network, Options, SessionOptions, Tensor, LM};

const GROUPS: usize = 300;
const CALLS: usize = 200;
const ANSWERS: usize = 120;
const TOKENS: usize = 16;
const SPEC: &str = r#"{"seed": 1, "layers": [
    {"type": "dense", "input_height": 8, "output_height": 8, "activation": "tanh"},
    {"type": "dense", "input_height": 8, "output_height": 4}]}"#;

fn show(what: &str, mut times: Vec<u128>) {
    times.sort();
    println!("{what} {} {}", times[0], times[times.len() / 2]);
}

fn main() -> welvet::Result<()> {
    let compute = Compute {
        threads: 1,
        ..Default::default()
    };
    let mut session = Network::new(SPEC)?.session(&SessionOptions {
        compute: compute.clone(),
        ..Default::default()
    })?;
    let x = Tensor::new(&[1, 8], vec![0f32; 8])?;
    let mut times = Vec::new();
    for _ in 0..GROUPS {
        let start = Instant::now();
        for _ in 0..CALLS {
            session.forward(&x)?;
        }
        times.push(start.elapsed().as_nanos() / CALLS as u128);
    }
    show("forward", times);
    let path = std::env::args().nth(1).expect("the path of a model");
    let loading = LoadOptions {
        compute,
        ..Default::default()
    };
    let lm = LM::open_with(path, &loading, |_| true)?;
    let options = Options {
        max_tokens: Some(TOKENS as u64),
        form: Form::Raw,
        ..Default::default()
    };
    let (mut times, mut hash) = (Vec::new(), String::new());
    for _ in 0..ANSWERS {
        let start = Instant::now();
        let mut stream = lm.stream("Once upon a time", &options)?;
        for piece in stream.by_ref() {
            piece?;
        }
        hash = stream.result()?.hash;
        drop(stream);
        times.push(start.elapsed().as_nanos() / TOKENS as u128);
    }
    show("token", times);
    println!("hash {}", &hash[..16]);
    Ok(())
}
