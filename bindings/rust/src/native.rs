//! Handles, errors, texts and arrays at the border to the library.

use crate::codes::Code;
use crate::error::{Error, Result};
use crate::sys;
use std::any::Any;
use std::cell::Cell;
use std::ffi::{c_char, c_void, CStr, CString};
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keeps an object from being used by two threads at the same time.
pub(crate) type OneThread = PhantomData<Cell<()>>;

/// Turns the status of a call into a result. The text of an error belongs to the thread of the call.
pub(crate) fn check(status: sys::Status) -> Result<()> {
    if status == sys::OK {
        return Ok(());
    }
    // SAFETY: the library returns a text that lasts until the next failure on this thread.
    let text = unsafe { text_at(sys::loom_last_error()) };
    Err(Error::new(Code::from(status), text))
}

/// Copies a text that ends with a NUL.
///
/// # Safety
/// The pointer must be one that the library gave, and not NULL.
pub(crate) unsafe fn text_at(text: *const c_char) -> String {
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Looks at an array that the library owns.
///
/// # Safety
/// The pointer and the count must be what the library gave together, and the array must outlive the slice.
pub(crate) unsafe fn slice_at<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(data, count) }
}

/// Owner of one handle, which it releases when it is dropped.
#[derive(Debug)]
pub(crate) struct Owned(sys::Handle);

impl Owned {
    /// Makes an object by a function that fills a handle.
    pub(crate) fn make(function: impl FnOnce(*mut sys::Handle) -> sys::Status) -> Result<Self> {
        // SAFETY: the function has no arguments.
        let found = unsafe { sys::loom_library_abi_version() };
        if found != sys::ABI_VERSION {
            let text = format!(
                "the library has version {found} of the C interface, this crate needs {}: install the library of the \
                 same release",
                sys::ABI_VERSION
            );
            return Err(Error::new(Code::Unsupported, text));
        }
        let mut handle = 0;
        check(function(&mut handle))?;
        Ok(Self(handle))
    }

    pub(crate) fn get(&self) -> sys::Handle {
        self.0
    }

    /// Counts one more owner of the same object.
    pub(crate) fn retain(&self) -> Result<Self> {
        // SAFETY: handles are numbers; a wrong one is an error.
        check(unsafe { sys::loom_retain(self.0) })?;
        Ok(Self(self.0))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: handles are numbers; the library keeps the object while a call uses it.
        unsafe { sys::loom_release(self.0) };
    }
}

/// Copies the bytes of a blob that a function makes.
pub(crate) fn blob(function: impl FnOnce(*mut sys::Blob) -> sys::Status) -> Result<Vec<u8>> {
    let blob = Owned::make(function)?;
    let (mut data, mut size) = (std::ptr::null(), 0);
    // SAFETY: both places are valid; the bytes last until the blob is released.
    unsafe {
        check(sys::loom_blob_view(blob.get(), &mut data, &mut size))?;
        Ok(slice_at(data as *const u8, size).to_vec())
    }
}

/// Copies the text of a blob that a function makes.
pub(crate) fn text(function: impl FnOnce(*mut sys::Blob) -> sys::Status) -> Result<String> {
    Ok(String::from_utf8_lossy(&blob(function)?).into_owned())
}

/// Makes a text that ends with a NUL.
pub(crate) fn c_text(text: &str, what: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::new(Code::InvalidArgument, format!("{what} has a NUL in it")))
}

/// Makes such a text of an option; the empty one is no value.
pub(crate) fn optional(text: &Option<String>, what: &str) -> Result<Option<CString>> {
    text.as_ref().map(|text| c_text(text, what)).transpose()
}

/// Makes such a text of a path.
pub(crate) fn c_path(path: &Path, what: &str) -> Result<CString> {
    match path.to_str() {
        Some(text) => c_text(text, what),
        None => Err(Error::new(
            Code::InvalidArgument,
            format!("{what} {} is not UTF-8: rename it", path.display()),
        )),
    }
}

/// Makes such a text of an optional path.
pub(crate) fn optional_path(path: &Option<PathBuf>, what: &str) -> Result<Option<CString>> {
    path.as_ref().map(|path| c_path(path, what)).transpose()
}

/// Returns the pointer of an optional text, or NULL.
pub(crate) fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Returns the pointer that a parameter of bytes takes.
pub(crate) fn bytes(data: &[u8]) -> *const c_void {
    data.as_ptr() as *const c_void
}

/// Flag that ends long calls from any thread; clones share it.
///
/// A call that it ends returns [`Code::Cancelled`]; an answer keeps what it has said so far.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<Owned>);

impl Cancel {
    /// Makes a flag that is not set.
    pub fn new() -> Result<Self> {
        // SAFETY: the place of the handle is valid.
        let handle = Owned::make(|to| unsafe { sys::loom_cancel_create(to) })?;
        Ok(Self(Arc::new(handle)))
    }

    /// Ends the calls that use this flag, now and later.
    pub fn cancel(&self) {
        // SAFETY: handles are numbers.
        unsafe { sys::loom_cancel_set(self.0.get(), 1) };
    }

    /// Clears the flag, for the next call.
    pub fn reset(&self) {
        // SAFETY: handles are numbers.
        unsafe { sys::loom_cancel_set(self.0.get(), 0) };
    }

    pub(crate) fn handle_of(cancel: Option<&Cancel>) -> sys::Cancel {
        cancel.map_or(0, |cancel| cancel.0.get())
    }
}

/// Threads, instruction set and device of a call or an object. No result depends on them.
#[derive(Clone, Debug, Default)]
pub struct Compute {
    /// Workers, 1 to 256; 0: one per physical core.
    pub threads: u32,
    /// Instruction set, as "avx2"; None: the best one of this processor.
    pub isa: Option<String>,
    /// "cpu" (or None), "auto", or a graphics card, as "gpu".
    pub device: Option<String>,
    /// Most bytes of activations; 0: no limit.
    pub max_bytes: u64,
}

/// Texts of a [`Compute`], as long as C needs them.
pub(crate) struct FilledCompute {
    pub(crate) raw: sys::ComputeOptions,
    _texts: [Option<CString>; 2],
}

impl Compute {
    pub(crate) fn filled(&self) -> Result<FilledCompute> {
        let texts = [optional(&self.isa, "isa")?, optional(&self.device, "device")?];
        let thread_count = i32::try_from(self.threads).map_err(|_| {
            Error::new(
                Code::InvalidArgument,
                format!("threads is {}: expected 0 to 256", self.threads),
            )
        })?;
        let raw = sys::ComputeOptions {
            thread_count,
            isa: pointer(&texts[0]),
            device: pointer(&texts[1]),
            max_bytes: self.max_bytes,
            ..Default::default()
        };
        Ok(FilledCompute { raw, _texts: texts })
    }
}

/// Function of the caller that C calls. A panic in it ends the call and goes on after it.
pub(crate) struct Callback<'a, E> {
    function: &'a mut dyn FnMut(E) -> bool,
    panic: Option<Box<dyn Any + Send>>,
}

impl<'a, E> Callback<'a, E> {
    pub(crate) fn new(function: &'a mut dyn FnMut(E) -> bool) -> Self {
        Self { function, panic: None }
    }

    /// Calls the function; a panic is kept, since it must not unwind through C.
    pub(crate) fn call(&mut self, event: E) -> i32 {
        if self.panic.is_some() {
            return 0;
        }
        match catch_unwind(AssertUnwindSafe(|| (self.function)(event))) {
            Ok(goes_on) => i32::from(goes_on),
            Err(panic) => {
                self.panic = Some(panic);
                0
            }
        }
    }

    pub(crate) fn user(&mut self) -> *mut c_void {
        self as *mut Self as *mut c_void
    }

    /// Lets a panic of the function go on.
    pub(crate) fn finish(self) {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
    }
}

/// Returns the version of the library, "0.1.0".
pub fn version() -> String {
    // SAFETY: the text is static.
    unsafe { text_at(sys::loom_version()) }
}

/// Returns a JSON object: version, CPU, instruction sets, cores.
pub fn system_info() -> Result<String> {
    // SAFETY: the place of the blob is valid.
    text(|to| unsafe { sys::loom_system_info(to) })
}

/// Runs the golden set, which takes seconds, and returns its digest, equal on every machine.
pub fn verify(compute: &Compute) -> Result<String> {
    let filled = compute.filled()?;
    // SAFETY: options and place are valid.
    text(|to| unsafe { sys::loom_verify(&filled.raw, to) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(handle: sys::Handle) -> Result<()> {
        let mut kind = 0;
        // SAFETY: handles are numbers, and the place is valid.
        check(unsafe { sys::loom_kind_of(handle, &mut kind) })
    }

    #[test]
    fn the_last_owner_ends_an_object() {
        let cancel = Cancel::new().unwrap();
        let handle = cancel.0.get();
        let (clone, second) = (cancel.clone(), cancel.0.retain().unwrap());
        drop(cancel);
        drop(clone);
        kind_of(handle).unwrap();
        drop(second);
        assert_eq!(kind_of(handle).unwrap_err().code(), Code::BadHandle);
    }

    #[test]
    fn a_panic_waits_for_the_end_of_the_call() {
        let mut panics = |_: i32| -> bool { panic!("mine") };
        let mut callback = Callback::new(&mut panics);
        assert_eq!((callback.call(1), callback.call(2)), (0, 0));
        let panic = catch_unwind(AssertUnwindSafe(|| callback.finish())).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"mine"));
    }
}
