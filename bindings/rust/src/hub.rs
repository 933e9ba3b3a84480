//! Names of models: paths, and hub ids in huggingface_hub's cache.

use crate::codes::Code;
use crate::error::{Error, Result};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const LONGEST: usize = 200; // bytes of an id
const FILES: [&str; 8] = [
    ".gguf",
    ".entity",
    ".safetensors",
    ".json",
    ".onnx",
    ".bin",
    ".pt",
    ".pth",
]; // no ends of ids

/// Finds a model by its path or hub id ("HuggingFaceTB/SmolLM2-360M-Instruct"). Nothing is downloaded.
///
/// [`Code::NotFound`] when there is none; the text has the command that fetches a hub id.
pub fn find_model(name: impl AsRef<Path>) -> Result<PathBuf> {
    let path = name.as_ref();
    if path.as_os_str().is_empty() {
        return Err(Error::new(Code::InvalidArgument, "the name of a model is empty"));
    }
    if path.exists() {
        return Ok(path.to_path_buf());
    }
    let missing = |words: &str| {
        let text = format!("{}: no such file or folder{words}", path.display());
        Error::new(Code::NotFound, text)
    };
    let id = path.to_str().ok_or_else(|| missing(""))?;
    let parts: Vec<&str> = id.split('/').collect();
    let is_file = FILES.iter().any(|end| id.to_lowercase().ends_with(end));
    let is_id = parts.len() <= 2 && parts.iter().all(|part| !part.is_empty());
    if !is_id || is_file || id.starts_with(['.', '~', '-']) || id.len() > LONGEST {
        return Err(missing(""));
    }
    let cache = cache_folder();
    for snapshot in snapshots(&cache.join(format!("models--{}", parts.join("--")))) {
        if snapshot.join("config.json").is_file() {
            return Ok(snapshot);
        }
        let mut files = ggufs(&snapshot);
        if files.len() > 1 {
            let text = format!(
                "{id}: {} has {} GGUF files: give the path of one",
                snapshot.display(),
                files.len()
            );
            return Err(Error::new(Code::InvalidArgument, text));
        }
        if let Some(file) = files.pop() {
            return Ok(file);
        }
    }
    let words = format!(", and it is not in {}; to fetch it: hf download {id}", cache.display());
    Err(missing(&words))
}

fn cache_folder() -> PathBuf {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = || set("HOME").or_else(|| set("USERPROFILE")).unwrap_or_default();
    set("HF_HUB_CACHE").unwrap_or_else(|| {
        set("HF_HOME")
            .unwrap_or_else(|| {
                set("XDG_CACHE_HOME")
                    .unwrap_or_else(|| user().join(".cache"))
                    .join("huggingface")
            })
            .join("hub")
    })
}

/// Lists the snapshots of a model, the one of its main revision first, then the newest.
fn snapshots(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(std::time::SystemTime, PathBuf)> = entries(&folder.join("snapshots"))
        .into_iter()
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    let main = fs::read_to_string(folder.join("refs").join("main"))
        .ok()
        .map(|revision| folder.join("snapshots").join(revision.trim()));
    main.into_iter()
        .chain(found.into_iter().map(|(_, path)| path))
        .collect()
}

fn ggufs(snapshot: &Path) -> Vec<PathBuf> {
    entries(snapshot)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "gguf"))
        .collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .map(|found| found.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}
