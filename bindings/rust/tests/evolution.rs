//! Populations and whole evolutions.

use std::cell::Cell;
use std::path::PathBuf;
use welvet::evolution::{compare, compare_dna, dna, draw_dna, evolve_file, mutate, splice};
use welvet::{evolve, Cancel, Code, Compute, Error, EvolveOptions, Network, Population, RunStart, Tensor};

const SPEC: &str = r#"{"seed": 3, "layers": [
  {"type": "dense", "input_height": 6, "output_height": 16, "activation": "tanh"},
  {"type": "dense", "input_height": 16, "output_height": 3}]}"#;
const CONFIG: &str = r#"{"population": 10, "seed": 2, "mutation": {"node_rate": 0}}"#;
const RUN: &str = r#"{"task": {"name": "csv", "path": "data.csv", "values": true}, "population": 16, "generations": 4,
  "seed": 7, "network": {"seed": 1, "layers": [
    {"type": "dense", "input_height": 2, "output_height": 4, "activation": "tanh"},
    {"type": "dense", "input_height": 4, "output_height": 1}]}}"#;

// By welvet in Python, as are the other hashes of this file: the sixth and the seventh generation, and the best network.
const SIXTH: &str = "3d707e93f8b1e3240e4667e6bf1732511aefa0a17f3a3371e2e24143103a43ee";
const SEVENTH: &str = "56b4127bed1efab963c0fa00c8ccb65039b6d5a17b7c407f62924c8bfccbc207";
const BEST: &str = "716adb4139654de492872bee80b666e2ff2546102a37faf1c7f38402a0249d75";
const RUN_HASH: &str = "27eac0c7837c700c1e45b66e4491ae977edb6da6edf97c6bc1d7bd9577295167";

fn judge(net: &Network) -> welvet::Result<f64> {
    let y = net.forward(&Tensor::new(&[1, 6], vec![1f32; 6])?)?;
    let gap = |(y, target): (&f32, f64)| (f64::from(*y) - target).powi(2);
    Ok(-y.values().iter().zip([0.25, -0.5, 0.125]).map(gap).sum::<f64>())
}

fn hash_of(report: &str) -> &str {
    let place = report.find("\"hash\":\"").expect("a report has a hash") + 8;
    &report[place..place + 64]
}

/// Folder with the data of RUN, which ends with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("welvet-évolution-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("data.csv"), "a,b,y\n0,0,0\n0,1,1\n1,0,1\n1,1,2\n").unwrap();
        Self(path)
    }

    fn options(&self) -> EvolveOptions {
        EvolveOptions {
            folder: Some(self.0.clone()),
            ..Default::default()
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn populations_have_the_hashes_of_python() {
    let base = Network::new(SPEC).unwrap();
    for threads in [1, 2] {
        let compute = Compute {
            threads,
            ..Default::default()
        };
        let mut people = Population::with(&base, &[1, 6], CONFIG, &compute).unwrap();
        assert_eq!(people.best().unwrap_err().code(), Code::NoValue);
        assert_eq!(people.ask().unwrap(), (0..10).collect::<Vec<_>>());
        let reports: Vec<_> = (0..6).map(|_| people.evolve(judge).unwrap()).collect();
        assert_eq!(hash_of(&reports[5]), SIXTH);
        let best = people.best().unwrap();
        assert_eq!(best.hash().unwrap(), BEST);
        assert!(judge(&best).unwrap() > judge(&base).unwrap());
        assert!(people.info().unwrap().contains("\"generation\":6"));
        let saved = people.snapshot().unwrap();
        let mut again = Population::restore(&saved, &[1, 6], CONFIG, &compute).unwrap();
        assert_eq!(hash_of(&again.evolve(judge).unwrap()), SEVENTH);
        let fitness: Vec<_> = people
            .ask()
            .unwrap()
            .iter()
            .map(|&at| judge(&people.network(at).unwrap()).unwrap())
            .collect();
        assert_eq!(hash_of(&people.tell(&fitness).unwrap()), SEVENTH);
        let other = CONFIG.replace("10", "12");
        for (bytes, config) in [(&saved[..saved.len() - 1], CONFIG), (&saved[..], other.as_str())] {
            let refused = Population::restore(bytes, &[1, 6], config, &compute).unwrap_err();
            assert!(matches!(refused.code(), Code::CorruptData), "{refused}");
        }
    }
}

#[derive(Debug)]
enum Mine {
    Library(Error),
    Own(&'static str),
}

impl From<Error> for Mine {
    fn from(error: Error) -> Self {
        Mine::Library(error)
    }
}

#[test]
fn errors_of_judges_come_back() {
    let base = Network::new(SPEC).unwrap();
    let mut people = Population::new(&base, &[1, 6], CONFIG).unwrap();
    let judged = Cell::new(0);
    let own = people.evolve(|net| {
        judged.set(judged.get() + 1);
        match judged.get() {
            3 => Err(Mine::Own("tired")),
            _ => Ok(judge(net)?),
        }
    });
    assert!(matches!(own.unwrap_err(), Mine::Own("tired")));
    assert_eq!(judged.get(), 3);
    let wrong = people.evolve(|net| -> Result<f64, Mine> {
        net.forward(&Tensor::new(&[1, 5], vec![1f32; 5])?)?;
        Ok(0.)
    });
    assert!(matches!(wrong.unwrap_err(), Mine::Library(error) if error.code() == Code::ShapeMismatch));
    assert_eq!(people.ask().unwrap().len(), 10); // as before both
    assert!(people.tell(&[1., 2.]).unwrap_err().text().contains("10"));
    assert_eq!(people.network(10).unwrap_err().code(), Code::OutOfRange);
    let unknown = Population::new(&base, &[1, 6], r#"{"populations": 3}"#).unwrap_err();
    assert_eq!(unknown.code(), Code::UnknownKey);
    assert!(unknown.text().contains("populations"), "{unknown}");
    let shape = Population::new(&base, &[1, 5], CONFIG).unwrap_err();
    assert_eq!(shape.code(), Code::ShapeMismatch);
}

#[test]
fn evolutions_by_data_are_saved_and_continued() {
    let folder = Folder::new("data");
    let mut told = Vec::new();
    let whole = evolve(RUN, &folder.options(), |report| {
        told.push(report.to_string());
        true
    })
    .unwrap();
    assert_eq!(hash_of(&whole), RUN_HASH);
    assert!(
        told.len() == 4 && told[3].contains("\"done\":4") && told[3].contains("best_score"),
        "{told:?}"
    );
    let saved = EvolveOptions {
        out: Some(folder.0.join("run")),
        ..folder.options()
    };
    let cut = evolve(RUN, &saved, |report| !report.contains("\"done\":2")).unwrap();
    assert!(
        cut.contains("\"interrupted\":true") && cut.contains("\"generations\":2"),
        "{cut}"
    );
    let refused = evolve(RUN, &saved, |_| true).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    let resumed = EvolveOptions {
        start: RunStart::Resume,
        ..saved.clone()
    };
    assert_eq!(hash_of(&evolve(RUN, &resumed, |_| true).unwrap()), RUN_HASH);
    let best = Network::open(folder.0.join("run/best.entity")).unwrap();
    assert_eq!(best.prepare(&[4, 2]).unwrap(), [4, 1]);
    std::fs::write(folder.0.join("run.json"), RUN).unwrap();
    let again = EvolveOptions {
        start: RunStart::Overwrite,
        generations: 2,
        folder: None, // that of the file
        ..saved
    };
    let short = evolve_file(folder.0.join("run.json"), &again, |_| true).unwrap();
    assert_eq!(hash_of(&short), hash_of(&cut));
    let missing = evolve_file(folder.0.join("none.json"), &again, |_| true).unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
}

#[test]
fn evolutions_end_by_a_flag_and_by_a_panic() {
    let folder = Folder::new("end");
    let long = RUN.replace("\"generations\": 4", "\"generations\": 100000000");
    let cancel = Cancel::new().unwrap();
    let options = EvolveOptions {
        cancel: Some(cancel.clone()),
        ..folder.options()
    };
    let ended = std::thread::scope(|scope| {
        let run = scope.spawn(|| evolve(&long, &options, |_| true));
        std::thread::sleep(std::time::Duration::from_millis(20));
        cancel.cancel();
        run.join().unwrap().unwrap()
    });
    assert!(ended.contains("\"interrupted\":true"), "{ended}");
    let panic = std::panic::catch_unwind(|| evolve(RUN, &folder.options(), |_| panic!("mine")));
    assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
}

#[test]
fn single_operations_have_the_hashes_of_python() {
    let base = Network::new(SPEC).unwrap();
    let mut people = Population::new(&base, &[1, 6], CONFIG).unwrap();
    for _ in 0..6 {
        people.evolve(judge).unwrap();
    }
    let child = splice(&base, &people.best().unwrap(), r#"{"mode": "uniform", "seed": 1}"#).unwrap();
    assert_eq!(
        child.hash().unwrap(),
        "622452c5866e516d6b2d092ef6adeb3defdd363c05b2283cb159643bdfd414cc"
    );
    let changed = base.try_clone().unwrap();
    let report = mutate(&changed, &[1, 6], r#"{"seed": 5}"#).unwrap();
    assert!(report.contains("\"perturb\":2"), "{report}");
    assert_eq!(
        changed.hash().unwrap(),
        "8c8445664bc95b3894cf9fc12994a91d56aaed13fe9d164cca762867f5a36446"
    );
    assert!(dna(&base, false).unwrap().starts_with('['));
    assert!(compare_dna(&base, &changed, false).unwrap().contains("overall_overlap"));
    assert!(draw_dna(&base, &changed, false).unwrap().contains("<svg"));
    assert!(compare(&base, &base).unwrap().contains("\"equal\":true"));
    assert!(compare(&base, &changed).unwrap().contains("\"equal\":false"));
    let unknown = splice(&base, &changed, r#"{"modes": "point"}"#).unwrap_err();
    assert_eq!(unknown.code(), Code::UnknownKey);
}

#[test]
fn populations_move_to_other_threads() {
    fn is_send<T: Send>() {}
    is_send::<Population>();
    let base = Network::new(SPEC).unwrap();
    let mut people = Population::new(&base, &[1, 6], CONFIG).unwrap();
    drop(base);
    let report = std::thread::spawn(move || people.evolve(judge)).join().unwrap();
    assert!(report.unwrap().contains("\"generation\":0"));
}
