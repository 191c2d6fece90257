// Indexes a folder of images, and searches it for others.
//
//     rustc search.rs -L FOLDER-OF-THE-LIBRARY -l lookalike
//     ./search CATALOG FOLDER IMAGE…
use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr::null;

#[repr(C)]
struct Source {
    path: *const c_char,
    bytes: *const c_void,
    size: usize,
    image: *const c_void,
    print: *const f32,
}

extern "C" {
    fn lookalike_error() -> *const c_char;
    fn lookalike_string_free(string: *mut c_char);
    fn lookalike_indexer_open(path: *const c_char, model: *const c_void, options: *const c_char) -> *mut c_void;
    fn lookalike_indexer_index_path(to: *mut c_void, path: *const c_char, options: *const c_char) -> *mut c_char;
    fn lookalike_indexer_free(indexer: *mut c_void);
    fn lookalike_catalog_open(path: *const c_char, model: *const c_void, threads: i32) -> *mut c_void;
    fn lookalike_catalog_search(of: *const c_void, query: *const Source, options: *const c_char) -> *mut c_char;
    fn lookalike_catalog_free(catalog: *mut c_void);
}

/// What a call returned, or why it failed.
fn checked<T>(pointer: *mut T) -> Result<*mut T, String> {
    if !pointer.is_null() {
        return Ok(pointer);
    }
    Err(unsafe { CStr::from_ptr(lookalike_error()) }.to_string_lossy().into_owned())
}

/// The JSON that a call returned.
fn json(pointer: *mut c_char) -> Result<String, String> {
    let text = unsafe { CStr::from_ptr(checked(pointer)?) }.to_string_lossy().into_owned();
    unsafe { lookalike_string_free(pointer) };
    Ok(text)
}

fn main() -> Result<(), String> {
    let words: Vec<CString> = std::env::args().skip(1).map(|word| CString::new(word).unwrap()).collect();
    let [folder, images, queries @ ..] = &words[..] else { return Err("search CATALOG FOLDER IMAGE…".into()) };
    unsafe {
        let indexer = checked(lookalike_indexer_open(folder.as_ptr(), null(), null()))?;
        let report = json(lookalike_indexer_index_path(indexer, images.as_ptr(), null()));
        lookalike_indexer_free(indexer);
        println!("{}", report?);
        let catalog = checked(lookalike_catalog_open(folder.as_ptr(), null(), 0))?;
        for path in queries {
            let query = Source { path: path.as_ptr(), bytes: null(), size: 0, image: null(), print: null() };
            println!("{}", json(lookalike_catalog_search(catalog, &query, null())).unwrap_or_else(|error| error));
        }
        lookalike_catalog_free(catalog);
    }
    Ok(())
}
