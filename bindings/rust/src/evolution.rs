//! Evolution: networks that are judged, mixed and changed, generation by generation.

use crate::error::{Error, Result};
use crate::native::{
    blob, bytes, c_path, check, optional_path, pointer, slice_at, text, text_at, Callback, Cancel, Compute, OneThread,
    Owned,
};
use crate::network::Network;
use crate::sys;
use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Networks that the caller judges, and that are crossed and mutated, generation by generation.
///
/// A number that is greater for better networks is the fitness of a network. Equal configs, shapes and fitnesses give
/// equal generations on every machine.
///
/// ```
/// # fn main() -> welvet::Result<()> {
/// use welvet::{Network, Population, Tensor};
/// let base = Network::new(r#"{"layers": [{"type": "dense", "in_features": 2, "out_features": 1}]}"#)?;
/// let config = r#"{"population": 8, "seed": 1, "mutation": {"node_rate": 0, "layer_toggle_rate": 0}}"#;
/// let mut people = Population::new(&base, &[1, 2], config)?;
/// let x = Tensor::new(&[1, 2], vec![1f32, 1.])?;
/// for _ in 0..20 {
///     people.evolve(|net| -> welvet::Result<f64> { Ok(-f64::from(net.forward(&x)?.values()[0] - 3.).abs()) })?;
/// }
/// assert!(people.best()?.forward(&x)?.values()[0] > 0.);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Population {
    handle: Owned,
    _one_thread: OneThread,
}

impl Population {
    /// Makes the first generation: mutations of a network, which stays as it is.
    ///
    /// The shape is that of its input, samples first. The config is a JSON object with the keys population, elites,
    /// seed, objectives, mutation, splice, species and novelty of docs/guide/evolution.md.
    pub fn new(base: &Network, shape: &[u64], config: &str) -> Result<Self> {
        Self::with(base, shape, config, &Compute::default())
    }

    /// Like [`new`](Population::new), with threads and an instruction set.
    pub fn with(base: &Network, shape: &[u64], config: &str, compute: &Compute) -> Result<Self> {
        Self::made(compute, |raw, to| {
            // SAFETY: shape, config and options last during the call.
            unsafe {
                sys::loom_population_create(
                    base.handle(),
                    shape.as_ptr(),
                    shape.len(),
                    bytes(config.as_bytes()),
                    config.len(),
                    raw,
                    to,
                )
            }
        })
    }

    /// Continues from the bytes of [`snapshot`](Population::snapshot), with the shape and the config of that
    /// population.
    ///
    /// [`crate::Code::CorruptData`] for bytes that are damaged or of another population.
    pub fn restore(snapshot: &[u8], shape: &[u64], config: &str, compute: &Compute) -> Result<Self> {
        Self::made(compute, |raw, to| {
            // SAFETY: snapshot, shape, config and options last during the call.
            unsafe {
                sys::loom_population_restore(
                    bytes(snapshot),
                    snapshot.len(),
                    shape.as_ptr(),
                    shape.len(),
                    bytes(config.as_bytes()),
                    config.len(),
                    raw,
                    to,
                )
            }
        })
    }

    fn made(
        compute: &Compute,
        function: impl FnOnce(*const sys::ComputeOptions, *mut sys::Handle) -> sys::Status,
    ) -> Result<Self> {
        let compute = compute.filled()?;
        Ok(Self {
            handle: Owned::make(|to| function(&compute.raw, to))?,
            _one_thread: PhantomData,
        })
    }

    /// Returns the places of the members that have no fitness yet, for [`network`](Population::network).
    pub fn ask(&mut self) -> Result<Vec<u64>> {
        let (mut places, mut count) = (std::ptr::null(), 0);
        // SAFETY: the places of the results are valid; the list is copied at once.
        unsafe {
            check(sys::loom_population_ask(self.handle.get(), &mut places, &mut count))?;
            Ok(slice_at(places, count).to_vec())
        }
    }

    /// Returns a copy of a member.
    pub fn network(&self, place: u64) -> Result<Network> {
        // SAFETY: the place of the handle is valid.
        Network::made(|to| unsafe { sys::loom_population_network(self.handle.get(), place, to) })
    }

    /// Takes the fitness of every member of [`ask`](Population::ask), in that order, and breeds the next generation.
    ///
    /// NaN and infinities rank last. With several objectives all numbers of a member stand together. Returns a report
    /// of the generation, a JSON object: scores, best, average, worst, hash.
    pub fn tell(&mut self, fitness: &[f64]) -> Result<String> {
        // SAFETY: the numbers last during the call, and the place of the blob is valid.
        text(|to| unsafe { sys::loom_population_tell(self.handle.get(), fitness.as_ptr(), fitness.len(), to) })
    }

    /// Does a generation: [`ask`](Population::ask), a judgement of each of those members by the function,
    /// [`tell`](Population::tell), whose report it returns.
    ///
    /// An error of the function ends the generation and comes back; the population is as before the call. The function
    /// judges by one number: with several objectives use [`ask`](Population::ask) and [`tell`](Population::tell).
    pub fn evolve<E: From<Error>>(
        &mut self,
        mut judge: impl FnMut(&Network) -> std::result::Result<f64, E>,
    ) -> std::result::Result<String, E> {
        let mut fitness = Vec::new();
        for place in self.ask()? {
            fitness.push(judge(&self.network(place)?)?);
        }
        Ok(self.tell(&fitness)?)
    }

    /// Returns a copy of the network with the best score so far.
    ///
    /// [`crate::Code::NoValue`] before the first generation was judged.
    pub fn best(&self) -> Result<Network> {
        // SAFETY: the place of the handle is valid.
        Network::made(|to| unsafe { sys::loom_population_best(self.handle.get(), to) })
    }

    /// Returns a JSON object: generation, best score, members with identity, parents, operations, species.
    pub fn info(&self) -> Result<String> {
        // SAFETY: the place of the blob is valid.
        text(|to| unsafe { sys::loom_population_info(self.handle.get(), to) })
    }

    /// Returns the whole population, for [`restore`](Population::restore) on any machine.
    pub fn snapshot(&self) -> Result<Vec<u8>> {
        // SAFETY: the place of the blob is valid.
        blob(|to| unsafe { sys::loom_population_snapshot(self.handle.get(), to) })
    }
}

/// How a run treats a folder that holds one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunStart {
    /// Begins; a folder that holds a run is an error.
    #[default]
    Fresh,
    /// Continues from the last checkpoint.
    Resume,
    /// Begins again and overwrites the run.
    Overwrite,
}

/// Options of a whole evolution.
#[derive(Clone, Debug, Default)]
pub struct EvolveOptions {
    /// Threads, instruction set and device that judge networks. No result depends on them.
    pub compute: Compute,
    /// Folder of the run, with lineage, checkpoint and the best network; None: none.
    pub out: Option<PathBuf>,
    /// Folder that relative paths of the config start from; None: that of the config file, or the current one.
    pub folder: Option<PathBuf>,
    /// How a run in `out` is treated.
    pub start: RunStart,
    /// Number of generations, in place of the config's; 0: its own.
    pub generations: u64,
    /// Flag that ends the run after the current generation.
    pub cancel: Option<Cancel>,
}

unsafe extern "C" fn on_generation(user: *mut c_void, report: *const c_char) -> i32 {
    // SAFETY: `user` is the callback of the call that runs, and the report lasts during this one.
    unsafe { (*(user as *mut Callback<String>)).call(text_at(report)) }
}

/// Runs a whole evolution by a config in JSON (docs/guide/evolution.md), whose task judges the networks: one of its
/// names, or data of a file.
///
/// The function is called after every generation with a report, a JSON object: done, total, best_score, hash. If it
/// returns false, or the flag of the options is set, the run ends after this generation with `"interrupted": true`, and
/// [`RunStart::Resume`] continues it. Returns the outcome, a JSON object: generations, best, hash.
pub fn evolve(config: &str, options: &EvolveOptions, progress: impl FnMut(&str) -> bool) -> Result<String> {
    run(options, progress, |raw, to| {
        // SAFETY: config and options last during the call.
        unsafe { sys::loom_evolution_run(bytes(config.as_bytes()), config.len(), raw, to) }
    })
}

/// Like [`evolve`], for a config file.
pub fn evolve_file(
    path: impl AsRef<Path>,
    options: &EvolveOptions,
    progress: impl FnMut(&str) -> bool,
) -> Result<String> {
    let path = c_path(path.as_ref(), "the path of the config")?;
    run(options, progress, |raw, to| {
        // SAFETY: path and options last during the call.
        unsafe { sys::loom_evolution_run_file(path.as_ptr(), raw, to) }
    })
}

fn run(
    options: &EvolveOptions,
    mut progress: impl FnMut(&str) -> bool,
    function: impl FnOnce(*const sys::EvolutionOptions, *mut sys::Blob) -> sys::Status,
) -> Result<String> {
    let compute = options.compute.filled()?;
    let (out, folder) = (
        optional_path(&options.out, "out")?,
        optional_path(&options.folder, "folder")?,
    );
    let mut told = |report: String| progress(&report);
    let mut callback = Callback::new(&mut told);
    let raw = sys::EvolutionOptions {
        compute: &compute.raw,
        out: pointer(&out),
        folder: pointer(&folder),
        start: match options.start {
            RunStart::Fresh => sys::RUN_FRESH,
            RunStart::Resume => sys::RUN_RESUME,
            RunStart::Overwrite => sys::RUN_OVERWRITE,
        },
        generations: options.generations,
        cancel: Cancel::handle_of(options.cancel.as_ref()),
        progress: Some(on_generation),
        user: callback.user(),
        ..Default::default()
    };
    let outcome = text(|to| function(&raw, to));
    callback.finish();
    outcome
}

/// Changes a network at random; its output keeps its shape.
///
/// The config is the object `mutation` of docs/guide/evolution.md, with seed, generation and individual. Returns a JSON
/// object: what was done, and what was skipped.
pub fn mutate(network: &Network, shape: &[u64], config: &str) -> Result<String> {
    // SAFETY: shape and config last during the call.
    text(|to| unsafe {
        sys::loom_network_mutate(
            network.handle(),
            shape.as_ptr(),
            shape.len(),
            bytes(config.as_bytes()),
            config.len(),
            to,
        )
    })
}

/// Makes a child of two networks.
///
/// The config is a JSON object: mode ("blend", "point" or "uniform"), blend_alpha, split_ratio, fitness_a, fitness_b,
/// seed.
pub fn splice(first: &Network, second: &Network, config: &str) -> Result<Network> {
    // SAFETY: the config lasts during the call.
    Network::made(|to| unsafe {
        sys::loom_network_splice(
            first.handle(),
            second.handle(),
            bytes(config.as_bytes()),
            config.len(),
            to,
        )
    })
}

/// Returns the signatures of a network, a JSON list with the direction of each layer's weights: key, type, weights.
///
/// `nested` includes layers inside of layers.
pub fn dna(network: &Network, nested: bool) -> Result<String> {
    // SAFETY: the place of the blob is valid.
    text(|to| unsafe { sys::loom_dna_extract(network.handle(), i32::from(nested), to) })
}

/// Compares the signatures of two networks. Returns a JSON object: overlaps, logic shifts, layers of one alone.
pub fn compare_dna(first: &Network, second: &Network, nested: bool) -> Result<String> {
    // SAFETY: the place of the blob is valid.
    text(|to| unsafe { sys::loom_dna_compare(first.handle(), second.handle(), i32::from(nested), to) })
}

/// Draws the comparison of [`compare_dna`] as SVG.
pub fn draw_dna(first: &Network, second: &Network, nested: bool) -> Result<String> {
    // SAFETY: the place of the blob is valid.
    text(|to| unsafe { sys::loom_dna_draw(first.handle(), second.handle(), i32::from(nested), to) })
}

/// Compares the specs and weights of two networks. Returns a JSON object of the differences; `equal` is true or false.
pub fn compare(first: &Network, second: &Network) -> Result<String> {
    // SAFETY: the place of the blob is valid.
    text(|to| unsafe { sys::loom_network_compare(first.handle(), second.handle(), to) })
}
