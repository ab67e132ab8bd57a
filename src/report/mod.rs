//! Reports: what [`crate::Results`] look like as text, log, JSON and in the terminal.

mod chart;
pub mod compare;
pub mod devices;
mod document;
pub mod explain;
pub mod html;
pub mod json;
pub mod kernels;
pub mod log;
pub mod net;
mod own;
pub mod plan;
pub mod stream;
pub mod table;
pub mod text;

use std::path::{Path, PathBuf};

use crate::{Error, Results, file};
pub use chart::bar_chart;

/// A field of comma-separated values.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into()
    }
}

/// Writes the official report and the log into `dir`; returns the report's path. Where a run that
/// began in the same second has left files of these names, `-2`, `-3` and so on is added.
///
/// # Errors
/// If a file cannot be written.
pub fn write(results: &Results, dir: &Path) -> Result<PathBuf, Error> {
    file::write(
        &unused(dir.join(log::file_name(results))),
        &log::log(results),
    )?;
    let report = unused(dir.join(text::file_name(results)));
    file::write(&report, &text::text(results))?;
    Ok(report)
}

/// `path`, or the first numbered variant of it that does not exist.
fn unused(path: PathBuf) -> PathBuf {
    let numbered = |n: u32| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        path.with_file_name(format!("{stem}-{n}.txt"))
    };
    match path.exists() {
        false => path,
        true => (2..)
            .map(numbered)
            .find(|path| !path.exists())
            .expect("a free number"),
    }
}
