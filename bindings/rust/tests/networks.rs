//! Networks and training.

use welvet::{
    train, Cancel, Code, Data, Graph, MeshOptions, Network, Pass, Phase, SessionOptions, StepMesh, Targets, Tensor,
    Ticks, TrainOptions, Trainer, Value,
};

const SPEC: &str = r#"{"seed": 3, "layers": [
  {"type": "dense", "input_height": 6, "output_height": 16, "activation": "tanh"},
  {"type": "dense", "input_height": 16, "output_height": 3}]}"#;

fn values(shape: &[u64], seed: u32) -> Tensor {
    let mut state = seed;
    let count = shape.iter().product::<u64>();
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.
    };
    Tensor::new(shape, (0..count).map(next).collect()).unwrap()
}

#[test]
fn networks_run_and_come_back_from_files() {
    let net = Network::new(SPEC).unwrap();
    let x = values(&[4, 6], 1);
    let y = net.forward(&x).unwrap();
    assert_eq!(y.shape(), [4, 3]);
    assert_eq!(net.prepare(&[9, 6]).unwrap(), [9, 3]);
    let path = std::env::temp_dir().join(format!("welvet-größe-{}.entity", std::process::id()));
    net.save(&path).unwrap();
    let read = Network::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read.forward(&x).unwrap(), y);
    let again = Network::from_bytes(&net.to_bytes().unwrap()).unwrap();
    assert_eq!(again.hash().unwrap(), net.hash().unwrap());
    assert!(net.spec().unwrap().contains("tanh") && net.weights().unwrap().contains("layers.1.weight"));
    let copy = net.try_clone().unwrap();
    let mut weight: Tensor = copy.get("layers.1.weight", &[3, 16]).unwrap();
    weight.values_mut()[0] += 1.;
    copy.set("layers.1.weight", &weight).unwrap();
    assert_eq!(copy.get::<f32>("layers.1.weight", &[3, 16]).unwrap(), weight);
    assert_ne!(copy.hash().unwrap(), net.hash().unwrap());
    copy.morph("int8").unwrap();
    assert!(copy.weights().unwrap().contains("int8"));
}

#[test]
fn wide_networks_take_f64() {
    let net = Network::new(&SPEC.replacen('{', "{\"activations\": \"f64\", ", 1)).unwrap();
    let x = Tensor::new(&[1, 6], vec![0.1f64; 6]).unwrap();
    let mut session = net
        .session(&SessionOptions {
            backward: true,
            ..Default::default()
        })
        .unwrap();
    assert_eq!(session.forward(&x).unwrap().shape(), [1, 3]);
    let gradient = session.backward(&Tensor::new(&[1, 3], vec![1f64; 3]).unwrap()).unwrap();
    assert_eq!(gradient.shape(), [1, 6]);
}

#[test]
fn gradients_are_the_differences() {
    let net = Network::new(SPEC).unwrap();
    let mut session = net
        .session(&SessionOptions {
            backward: true,
            ..Default::default()
        })
        .unwrap();
    let mut x = values(&[1, 6], 2);
    session.forward(&x).unwrap();
    let ones = Tensor::new(&[1, 3], vec![1f32; 3]).unwrap();
    let gradient = session.backward(&ones).unwrap();
    let weight: Tensor = session.gradient("layers.1.weight", &[3, 16]).unwrap();
    assert!(weight.row(0).iter().all(|value| *value != 0.));
    assert_eq!(weight.row(0), weight.row(2)); // of equal output gradients
    let mut sum = |delta: f32| {
        x.values_mut()[2] += delta;
        net.forward(&x).unwrap().values().iter().sum::<f32>()
    };
    let (more, less) = (sum(1e-2), sum(-2e-2));
    assert!(((more - less) / 2e-2 - gradient.values()[2]).abs() < 1e-2);
    session.clear_gradients().unwrap();
    assert_eq!(
        session.gradient::<f32>("layers.1.weight", &[3, 16]).unwrap().values(),
        [0.; 48]
    );
}

#[test]
fn trainers_learn() {
    let net = Network::new(SPEC).unwrap();
    let (x, y) = (values(&[8, 6], 1), values(&[8, 3], 7));
    let config = r#"{"loss": "mse", "optimizer": "adam", "learning_rate": 0.02}"#;
    let mut trainer = Trainer::new(&net, x.shape(), config).unwrap();
    let losses: Vec<f64> = (0..60)
        .map(|_| trainer.step(&x, Targets::Values(&y)).unwrap().loss)
        .collect();
    assert!(losses[59] < losses[0] / 4., "{losses:?}");
    let (loss, output) = trainer.evaluate(&x, Targets::Values(&y)).unwrap();
    assert!(loss < losses[0] / 4. && output.shape() == [8, 3]);
    assert!(trainer.info().unwrap().contains("\"steps\":60"));
    let cancel = Cancel::new().unwrap();
    cancel.cancel();
    let before = net.hash().unwrap();
    let ended = trainer.step_with(&x, Targets::Values(&y), Some(&cancel)).unwrap_err();
    assert_eq!(ended.code(), Code::Cancelled);
    assert_eq!(net.hash().unwrap(), before);
}

#[test]
fn whole_trainings_report_stop_and_panic() {
    let x = values(&[60, 6], 1);
    let classes: Vec<i32> = (0..60)
        .map(|i| i32::from(x.row(i)[0] > 0.) + i32::from(x.row(i)[1] > 0.))
        .collect();
    let config = r#"{"epochs": 8, "batch_size": 20, "loss": "softmax_crossentropy", "optimizer": "adam",
                     "learning_rate": 0.02}"#;
    let samples = Some((&x, Targets::Classes(&classes)));
    let mut hashes = Vec::new();
    for threads in [1, 2] {
        let net = Network::new(SPEC).unwrap();
        let mut options = TrainOptions::default();
        options.compute.threads = threads;
        let mut epochs = 0;
        let run = train(config, Some(&net), samples, &options, |event| {
            epochs += i32::from(event.phase == Phase::EpochEnd);
            true
        })
        .unwrap();
        assert!(run.outcome.contains("\"finished\""), "{}", run.outcome);
        assert_eq!(epochs, 8);
        hashes.push(net.hash().unwrap());
    }
    assert_eq!(hashes[0], hashes[1]);
    let net = Network::new(SPEC).unwrap();
    let options = TrainOptions::default();
    let stopped = train(config, Some(&net), samples, &options, |event| event.epoch < 3).unwrap();
    assert!(stopped.outcome.contains("\"stopped\""), "{}", stopped.outcome);
    let panic = std::panic::catch_unwind(|| {
        let _ = train(config, Some(&Network::new(SPEC).unwrap()), samples, &options, |_| {
            panic!("mine")
        });
    });
    assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
    let cancel = Cancel::new().unwrap();
    cancel.cancel();
    let options = TrainOptions {
        cancel: Some(cancel),
        ..Default::default()
    };
    let cancelled = train(config, Some(&net), samples, &options, |_| true).unwrap();
    assert!(cancelled.outcome.contains("\"stopped\""), "{}", cancelled.outcome);
}

#[test]
fn errors_name_the_place() {
    let error = Network::new(r#"{"layers": [{"type": "dens"}]}"#).unwrap_err();
    assert!(error.text().contains("/layers/0/type"), "{error}");
    let net = Network::new(SPEC).unwrap();
    let wrong = net.forward(&values(&[1, 5], 1)).unwrap_err();
    assert_eq!(wrong.code(), Code::ShapeMismatch);
    let wide = net.forward(&Tensor::new(&[1, 6], vec![0f64; 6]).unwrap()).unwrap_err();
    assert!(!wide.text().is_empty(), "{wide}");
    let weight = net.get::<f32>("layers.1.weight", &[16, 3]).unwrap_err();
    assert_eq!(weight.code(), Code::ShapeMismatch);
    assert!(net
        .get::<f32>("layers.9.weight", &[3])
        .unwrap_err()
        .text()
        .contains("layers.9.weight"));
    let shape = Tensor::new(&[2, 3], vec![0f32; 5]).unwrap_err();
    assert_eq!(shape.to_string(), "ShapeMismatch: the shape [2, 3] has 6 values, got 5");
    let huge = net.get::<f32>("layers.1.weight", &[u64::MAX, 2]).unwrap_err();
    assert_eq!(huge.code(), Code::SizeOverflow);
    assert!(Trainer::new(&net, &[1, 6], r#"{"losss": "mse"}"#)
        .unwrap_err()
        .text()
        .contains("losss"));
}

#[test]
fn passes_end_by_a_flag() {
    let net = Network::new(SPEC).unwrap();
    let pass = Pass {
        cancel: Some(Cancel::new().unwrap()),
        ..Default::default()
    };
    let mut session = net.session(&SessionOptions::default()).unwrap();
    let x = values(&[1, 6], 1);
    let y = session.forward_with(&x, &pass).unwrap();
    pass.cancel.as_ref().unwrap().cancel();
    assert_eq!(session.forward_with(&x, &pass).unwrap_err().code(), Code::Cancelled);
    pass.cancel.as_ref().unwrap().reset();
    assert_eq!(session.forward_with(&x, &pass).unwrap(), y);
}

#[test]
fn threads_share_a_network_and_move_sessions() {
    let net = Network::new(SPEC).unwrap();
    let x = values(&[4, 6], 1);
    let expected = net.forward(&x).unwrap();
    let mut session = net.session(&SessionOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..50).for_each(|_| assert_eq!(net.forward(&x).unwrap(), expected)));
        }
        scope.spawn(|| assert_eq!(session.forward(&x).unwrap(), expected));
    });
}

#[test]
fn the_library_says_what_it_is() {
    assert_eq!(welvet::version(), env!("CARGO_PKG_VERSION"));
    assert!(welvet::system_info().unwrap().starts_with('{'));
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync>() {}
    is_send::<welvet::Stream>();
    is_send::<welvet::Chat>();
    is_send::<welvet::Session>();
    is_send::<Trainer>();
    is_shared::<welvet::LM>();
    is_shared::<Network>();
    is_shared::<Cancel>();
    is_shared::<welvet::Error>();
}

const MESH_HASH: &str = "2c5312e62e006752eff7a7ddcfa6e856597965b9cf5f97276aae5a48b588113e"; // by welvet in Python: the state after two ticks
const GRAPH_HASH: &str = "c79b1b6f63f75619c08cc1b93b79302565545197f926d6b443e1a1b6f705a69a"; // the outputs of Silero VAD, likewise

#[test]
fn meshes_move_in_ticks() {
    let net = Network::new(SPEC).unwrap();
    let x = values(&[1, 6], 1);
    let options = MeshOptions {
        history: 4,
        backward: true,
        keep_inputs: true,
        ..Default::default()
    };
    let mesh = StepMesh::new(&net, &[1, 6], &options).unwrap();
    assert!(mesh.info().unwrap().contains("cells"));
    let mut state = mesh.state().unwrap();
    assert_eq!(state.output::<f32>(None).unwrap_err().code(), Code::NoValue);
    let short = values(&[1, 5], 1);
    assert_eq!(state.set_input(&short, true).unwrap_err().code(), Code::ShapeMismatch);
    state.set_input(&x, true).unwrap();
    let captured = Ticks {
        count: 2,
        capture: true,
        ..Default::default()
    };
    mesh.step(&[&state], &captured).unwrap();
    // The input has come through both layers.
    assert_eq!(state.output::<f32>(None).unwrap(), net.forward(&x).unwrap());
    assert_eq!(state.ticks().unwrap(), 2);
    assert_eq!(state.hash().unwrap(), MESH_HASH);
    let mut copy = state.fork().unwrap();
    mesh.step(&[&state, &copy], &Ticks { count: 1, ..captured }).unwrap();
    assert_eq!(copy.hash().unwrap(), state.hash().unwrap());
    copy.reset().unwrap();
    let snapshot = state.snapshot().unwrap();
    copy.restore(&snapshot).unwrap();
    assert_eq!(copy.hash().unwrap(), state.hash().unwrap());
    assert_eq!(copy.restore(&snapshot[..40]).unwrap_err().code(), Code::CorruptData);
    let dy = Tensor::new(&[1, 3], vec![1f32; 3]).unwrap();
    mesh.backward(&state, &dy, 0).unwrap();
    let gradient: Tensor = mesh.gradient("layers.1.weight", &[3, 16]).unwrap();
    assert_eq!(gradient.row(0), gradient.row(2)); // of equal output gradients
    assert_ne!(gradient.values()[0], 0.);
    mesh.clear_gradients().unwrap();
}

#[test]
fn meshes_learn_by_targets() {
    let net = Network::new(SPEC).unwrap();
    let options = MeshOptions {
        keep_inputs: true,
        ..Default::default()
    };
    let mesh = StepMesh::new(&net, &[1, 6], &options).unwrap();
    let mut states: Vec<_> = (0..4).map(|_| mesh.state().unwrap()).collect();
    for (i, state) in states.iter_mut().enumerate() {
        state.set_input(&values(&[1, 6], i as u32), true).unwrap();
    }
    let states: Vec<_> = states.iter().collect();
    let targets = Tensor::new(&[4, 3], [0.5f32, -0.5, 0.].repeat(4)).unwrap();
    let mut tween = mesh.tween(r#"{"mode": "layerwise"}"#, 0).unwrap();
    let gap = || -> f32 {
        let ticks = Ticks {
            count: 2,
            ..Default::default()
        };
        mesh.step(&states, &ticks).unwrap();
        let outputs = states.iter().map(|state| state.output::<f32>(None).unwrap());
        let far = |(i, y): (usize, Tensor)| -> f32 {
            y.values()
                .iter()
                .zip(targets.row(i))
                .map(|(a, b)| (a - b) * (a - b))
                .sum()
        };
        outputs.enumerate().map(far).sum()
    };
    let before = gap();
    for _ in 0..50 {
        tween.step(&states, &targets, 0.1).unwrap();
        gap();
    }
    assert!(gap() < before / 4.);
    let few = values(&[1, 5], 1);
    assert_eq!(tween.step(&states, &few, 0.1).unwrap_err().code(), Code::ShapeMismatch);
}

#[test]
fn graphs_run_by_name() {
    let path = std::path::Path::new(&std::env::var("LOOM_DATA").unwrap()).join("vad/silero_vad.onnx");
    let graph = Graph::open(&path, 0).unwrap();
    assert!(graph.info().unwrap().contains("\"sr\""));
    let mut session = graph.session(&Default::default()).unwrap();
    assert_eq!(session.output("output").unwrap_err().code(), Code::InvalidState);
    let sound = (0..512).map(|i| (i * 7919 % 201 - 100) as f32 / 250.).collect();
    let sound = Value::new(&[1, 512], Data::F32(sound));
    let zeros = Value::new(&[2, 1, 128], Data::F32(vec![0.; 256]));
    let rate = Value::new(&[], Data::I64(vec![16000]));
    session
        .run(&[("input", &sound), ("state", &zeros), ("sr", &rate)])
        .unwrap();
    assert_eq!(session.hash().unwrap(), GRAPH_HASH);
    let output = session.output("output").unwrap();
    assert_eq!(output.shape, [1, 1]);
    let again = Graph::from_bytes(&std::fs::read(&path).unwrap(), 0).unwrap();
    let mut other = again.session(&Default::default()).unwrap();
    other
        .run(&[("input", &sound), ("state", &zeros), ("sr", &rate)])
        .unwrap();
    assert_eq!(other.output("output").unwrap(), output);
    let wrong = Value::new(&[], Data::F32(vec![1.]));
    for inputs in [
        vec![("input", &sound)],
        vec![("other", &sound)],
        vec![("input", &sound), ("state", &zeros), ("sr", &wrong)],
    ] {
        assert_eq!(session.run(&inputs).unwrap_err().code(), Code::InvalidArgument);
    }
}
