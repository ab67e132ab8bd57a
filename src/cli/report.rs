//! Flags of `cubie report`.

use std::path::PathBuf;

use clap::Args;

/// Flags of `cubie report`.
#[derive(Clone, Debug, Args)]
pub struct ReportFlags {
    /// What `cubie hpcg --json` wrote, one file a run
    #[arg(value_name = "JSON", required = true)]
    pub runs: Vec<PathBuf>,
    /// Print comma-separated values instead of the table
    #[arg(long)]
    pub csv: bool,
    /// Write one page with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// What `cubie stream --json` wrote on the same device: the page then tells how far the bound is
    #[arg(long, value_name = "JSON", requires = "html")]
    pub stream: Option<PathBuf>,
}
