// Asks a language model a question and prints its answer as it comes:
//
//   rustc --edition 2021 --crate-type rlib --crate-name loom_sys bindings/rust/lib.rs
//   rustc --edition 2021 --extern loom_sys -L . -L FOLDER_OF_LIBLOOM examples/rust/ask.rs && ./ask MODEL "What is the capital of France?"

use loom_sys::*;
use std::ffi::{c_char, c_void, CStr, CString};
use std::io::Write;

fn text(words: *const c_char) -> String {
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

fn check(status: Status) -> Result<(), String> {
    match status {
        OK => Ok(()),
        bad => Err(unsafe { format!("{}: {}", text(loom_status_name(bad)), text(loom_last_error())) }),
    }
}

// The bytes of a text or an array that the library owns.
unsafe fn bytes<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 { &[] } else { std::slice::from_raw_parts(data, count) }
}

unsafe extern "C" fn progress(calls: *mut c_void, _fraction: f64) -> i32 {
    *(calls as *mut u64) += 1;
    1
}

unsafe fn ask(path: &CStr, question: &str) -> Result<(), String> {
    let (mut model, mut session, mut generator) = (0, 0, 0);
    let mut calls = 0u64;
    let options = ModelOptions {
        progress: Some(progress),
        user: &mut calls as *mut u64 as *mut c_void,
        ..Default::default()
    };
    check(loom_model_open(path.as_ptr(), &options, &mut model))?;
    check(loom_session_create(model, std::ptr::null(), &mut session))?;
    let words = question.as_bytes();
    check(loom_generator_from_text(
        session, words.as_ptr() as *const c_void, words.len(), PROMPT_AUTO, std::ptr::null(), &mut generator))?;
    let mut step = Step::default();
    while step.stop == STOP_NOT_YET {
        check(loom_generator_next(generator, 0, &mut step))?;
        let _ = std::io::stdout().write_all(bytes(step.text as *const u8, step.text_size));
    }
    let mut answer = Generation::default();
    check(loom_generator_result(generator, &mut answer))?;
    print!("\nhash ");
    answer.hash.iter().take(8).for_each(|byte| print!("{byte:02x}"));
    println!("\n{}", if calls > 0 { "progress was shown" } else { "no progress was shown" });
    for handle in [generator, session, model] {
        check(loom_release(handle))?;
    }
    Ok(())
}

fn main() {
    let given: Vec<String> = std::env::args().collect();
    if given.len() != 3 {
        eprintln!("usage: ask MODEL QUESTION");
        std::process::exit(2);
    }
    let path = CString::new(given[1].as_str()).unwrap();
    if let Err(words) = unsafe { ask(&path, &given[2]) } {
        eprintln!("ask: {words}");
        std::process::exit(1);
    }
}
