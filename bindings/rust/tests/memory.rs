//! Memory over many rounds of making and dropping: a process of its own, whose memory no other test changes.

#![cfg(target_os = "linux")]

use welvet::{Cancel, Network, Targets, Tensor, Trainer};

const SPEC: &str = r#"{"seed": 3, "layers": [{"type": "dense", "input_height": 64, "output_height": 64}]}"#;

/// Resident memory in bytes.
fn resident() -> u64 {
    let fields = std::fs::read_to_string("/proc/self/statm").unwrap();
    fields.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn memory_is_flat_over_a_thousand_rounds() {
    let x = Tensor::new(&[8, 64], vec![0.5f32; 512]).unwrap();
    let round = || {
        let net = Network::new(SPEC).unwrap(); // 16 KiB of weights
        net.forward(&x).unwrap();
        Network::new("{").unwrap_err();
        let mut trainer = Trainer::new(&net, x.shape(), r#"{"loss": "mse"}"#).unwrap();
        trainer.step(&x, Targets::Values(&x)).unwrap();
        Cancel::new().unwrap().cancel();
    };
    (0..200).for_each(|_| round());
    let before = resident();
    (0..1000).for_each(|_| round());
    let grown = resident().saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes more after 1 000 rounds");
}
