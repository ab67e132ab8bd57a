//! Files that appear whole or not at all, and probes that tell before a run whether they can.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;

/// Writes a file under a temporary name and renames it, so that nothing half-written looks like a
/// result. Something that is not a plain file (a pipe, a terminal) is written to directly.
///
/// # Errors
/// [`Error::Unwritable`].
pub fn write(path: &Path, contents: &str) -> Result<(), Error> {
    let written = match plain_target(path) {
        Some(target) => {
            let part = part_name(&target);
            fs::write(&part, contents)
                .and_then(|()| fs::rename(&part, &target))
                .inspect_err(|_| drop(fs::remove_file(&part)))
        }
        None => fs::write(path, contents),
    };
    written.map_err(|why| unwritable(path, why))
}

/// Whether a path means the standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Finds out before any work whether these outputs, each with the flag that names it, can be
/// written after it: each by itself, none over another one, and none over what is read.
///
/// # Errors
/// [`Error::Unwritable`], [`Error::SameFile`] or [`Error::OverInput`].
pub fn probe_all(outputs: &[(&'static str, Option<&Path>)], inputs: &[&Path]) -> Result<(), Error> {
    let inputs: Vec<PathBuf> = inputs.iter().map(|path| identity(path)).collect();
    let mut seen: Vec<(&'static str, PathBuf)> = Vec::new();
    for &(flag, path) in outputs {
        let Some(path) = path else { continue };
        let is = identity(path);
        if let Some((first, _)) = seen.iter().find(|(_, other)| *other == is) {
            return Err(Error::SameFile {
                first,
                second: flag,
                path: path.to_owned(),
            });
        }
        seen.push((flag, is.clone()));
        if is_stdout(path) {
            continue;
        }
        if inputs.contains(&is) {
            return Err(Error::OverInput {
                flag,
                path: path.to_owned(),
            });
        }
        probe(path)?;
    }
    Ok(())
}

/// The same for all names of a file, whether it exists or not.
fn identity(path: &Path) -> PathBuf {
    if is_stdout(path) {
        return path.to_owned();
    }
    let name = path.file_name().unwrap_or_default();
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let dir = fs::canonicalize(parent.unwrap_or(Path::new(".")));
    fs::canonicalize(path)
        .or_else(|_| dir.map(|dir| dir.join(name)))
        .unwrap_or_else(|_| path.to_owned())
}

/// Finds out whether [`write()`] can write this file; leaves everything as it is.
///
/// # Errors
/// [`Error::Unwritable`].
pub fn probe(path: &Path) -> Result<(), Error> {
    let probed = match plain_target(path) {
        Some(target) if target.file_name().is_some() => {
            let part = part_name(&target);
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&part)
                .and_then(|_| fs::remove_file(&part))
        }
        Some(_) => Err(io::ErrorKind::InvalidFilename.into()),
        None if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        None => OpenOptions::new().append(true).open(path).map(drop),
    };
    probed.map_err(|why| unwritable(path, why))
}

/// Finds out whether files can be made in this directory; leaves it as it is.
///
/// # Errors
/// [`Error::OutputDirectory`].
pub fn probe_directory(dir: &Path) -> Result<(), Error> {
    let probed = if dir.is_dir() {
        probe(&dir.join("cubie-probe"))
    } else {
        let why = match fs::metadata(dir) {
            Ok(_) => io::ErrorKind::NotADirectory.into(),
            Err(why) => why,
        };
        Err(unwritable(dir, why))
    };
    probed.map_err(|error| match error {
        Error::Unwritable { why, .. } => Error::OutputDirectory {
            path: dir.to_owned(),
            why,
        },
        other => other,
    })
}

fn unwritable(path: &Path, why: io::Error) -> Error {
    Error::Unwritable {
        path: path.to_owned(),
        why,
    }
}

/// The plain file, existing or not, that `path` names, behind any links; `None` if it is something else.
fn plain_target(path: &Path) -> Option<PathBuf> {
    match fs::metadata(path) {
        Ok(existing) if existing.is_file() => fs::canonicalize(path).ok(),
        Ok(_) => None,
        Err(_) => Some(path.to_owned()),
    }
}

/// A name beside `target` that no other process uses.
fn part_name(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_leaves_everything_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("old.json");
        fs::write(&old, "old").unwrap();
        probe(&old).unwrap();
        probe(&dir.path().join("new.json")).unwrap();
        probe_directory(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_found_out() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(probe(dir.path()).is_err(), "a directory");
        assert!(probe(&dir.path().join("no/file.json")).is_err());
        assert!(probe(&file.join("below.json")).is_err());
        assert!(probe_directory(&file).is_err(), "a file");
        assert!(probe_directory(&dir.path().join("no")).is_err());
    }

    #[test]
    fn one_file_is_not_written_twice_nor_over_what_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("old.json");
        fs::write(&old, "old").unwrap();
        let same = dir.path().join(".").join("old.json");
        let new = dir.path().join("new.json");
        let check = |json: &Path, html: &Path, inputs: &[&Path]| {
            probe_all(&[("--json", Some(json)), ("--html", Some(html))], inputs)
        };
        assert!(matches!(
            check(&old, &same, &[]),
            Err(Error::SameFile { .. })
        ));
        assert!(matches!(
            check(&new, &new, &[]),
            Err(Error::SameFile { .. })
        ));
        let stdout = Path::new("-");
        assert!(matches!(
            check(stdout, stdout, &[]),
            Err(Error::SameFile { .. })
        ));
        assert!(matches!(
            check(&new, &same, &[&old]),
            Err(Error::OverInput { .. })
        ));
        assert!(check(&new, &old, &[]).is_ok());
        assert!(check(stdout, &new, &[&old, &dir.path().join("none")]).is_ok());
        assert_eq!(fs::read_to_string(&old).unwrap(), "old");
    }

    #[test]
    fn writing_replaces_the_file_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.txt");
        write(&path, "first").unwrap();
        write(&path, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
