//! Finds the library: by the variable WELVET_LIBRARY, by pkg-config, or where the linker looks.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=WELVET_LIBRARY");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    match std::env::var("WELVET_LIBRARY") {
        Ok(path) if !path.is_empty() => search(folder_of(Path::new(&path))),
        _ => folders_of_pkg_config()
            .iter()
            .for_each(|folder| search(Path::new(folder))),
    }
}

/// Returns the folder of a library that is named by its path.
fn folder_of(path: &Path) -> &Path {
    const NAMES: [&str; 4] = ["libloom.so", "libloom.dylib", "loom.dll", "libloom.dll"];
    let name = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if !path.is_file() || !NAMES.contains(&name.as_str()) {
        panic!(
            "WELVET_LIBRARY is {}: expected the path of a file with one of the names {}",
            path.display(),
            NAMES.join(", ")
        );
    }
    path.parent().expect("a file has a folder")
}

fn folders_of_pkg_config() -> Vec<String> {
    let found = Command::new("pkg-config").args(["--libs-only-L", "loom"]).output();
    match found {
        Ok(found) if found.status.success() => String::from_utf8_lossy(&found.stdout)
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("-L").map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

fn search(folder: &Path) {
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:libdir={}", folder.display());
    if cfg!(unix) {
        // For the tests and examples of this crate; a program that depends on it chooses its own way.
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.display());
    }
}
