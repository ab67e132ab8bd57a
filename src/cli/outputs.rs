//! Flags that tell where results go.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::Error;
use crate::file;

/// Where the results go.
#[derive(Clone, Debug, Args)]
pub struct Outputs {
    /// Directory for the report and the log
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// Write the results as JSON too; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write one page with plots too, - as above; on one rank the memory is measured for it after
    /// the run
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// No progress, no table: one line with the rating
    #[arg(long)]
    pub quiet: bool,
}

impl Outputs {
    /// Finds out before the run whether everything can be written after it.
    ///
    /// # Errors
    /// The first path that cannot.
    pub fn probe(&self) -> Result<(), Error> {
        file::probe_directory(&self.output)?;
        let outputs = [
            ("--json", self.json.as_deref()),
            ("--html", self.html.as_deref()),
        ];
        file::probe_all(&outputs, &[Path::new("hpcg.dat")])
    }
}
