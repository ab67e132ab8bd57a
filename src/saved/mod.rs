//! JSON that cubie wrote, read back: each document says in `schema` what it is.

pub mod run;

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The version of all schemas: raised when a key goes or changes its meaning.
const VERSION: &str = "1";

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The results of `cubie hpcg`.
    Hpcg,
    /// Those of `cubie stream`.
    Stream,
    /// Those of `cubie net`.
    Net,
    /// Those of `cubie explain`.
    Explain,
}

impl Kind {
    /// The command that writes such documents.
    pub fn command(self) -> &'static str {
        match self {
            Self::Hpcg => "hpcg",
            Self::Stream => "stream",
            Self::Net => "net",
            Self::Explain => "explain",
        }
    }

    /// What stands in `schema`.
    pub fn schema(self) -> String {
        format!("cubie {} {VERSION}", self.command())
    }
}

/// Why a document is of no use; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// The file cannot be read.
    #[error("cannot read '{}': {why}; name a file that --json of `cubie {}` wrote", path.display(), kind.command())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What was wanted.
        kind: Kind,
        /// What the system says.
        why: std::io::Error,
    },
    /// It is no JSON, or only the beginning of one.
    #[error("'{}' is not whole JSON ({why}); write it anew with `cubie {} --json`", path.display(), kind.command())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was wanted.
        kind: Kind,
        /// What is wrong, and where.
        why: serde_json::Error,
    },
    /// It is JSON, but a part of it is missing or is something else.
    #[error("'{}' says that it is '{}', but is not made like one ({why}); write it anew with `cubie {} --json`", path.display(), kind.schema(), kind.command())]
    Different {
        /// The file.
        path: PathBuf,
        /// What was wanted.
        kind: Kind,
        /// What is different.
        why: String,
    },
    /// Something else wrote it, or another version.
    #[error("'{}' is {found}, but '{}' is needed; write it with this version's `cubie {} --json`", path.display(), kind.schema(), kind.command())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What was wanted.
        kind: Kind,
        /// What it says it is.
        found: String,
    },
}

/// `value` as a document of this kind.
pub fn document(kind: Kind, value: Value) -> Value {
    let mut document = serde_json::Map::new();
    document.insert("schema".into(), kind.schema().into());
    document.insert("cubie".into(), env!("CARGO_PKG_VERSION").into());
    if let Value::Object(value) = value {
        document.extend(value);
    }
    Value::Object(document)
}

/// `value` as the text of a document of this kind.
pub fn text(kind: Kind, value: Value) -> String {
    format!("{:#}\n", document(kind, value))
}

/// Reads a document.
///
/// # Errors
/// If it cannot be read, is no whole JSON, or is not of this kind and version.
pub fn read<T: DeserializeOwned>(path: &Path, kind: Kind) -> Result<T, SavedError> {
    let text = fs::read_to_string(path).map_err(|why| SavedError::Unreadable {
        path: path.to_owned(),
        kind,
        why,
    })?;
    let malformed = |why| SavedError::Malformed {
        path: path.to_owned(),
        kind,
        why,
    };
    let value: Value = serde_json::from_str(&text).map_err(malformed)?;
    match value["schema"].as_str() {
        Some(schema) if schema == kind.schema() => {
            serde_json::from_value(value).map_err(|why| SavedError::Different {
                path: path.to_owned(),
                kind,
                why: why.to_string(),
            })
        }
        schema => Err(SavedError::Foreign {
            path: path.to_owned(),
            kind,
            found: schema.map_or_else(|| "not cubie's".into(), |schema| format!("'{schema}'")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_ours_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        let refused = |text: &str| {
            fs::write(&path, text).unwrap();
            let error = read::<Value>(&path, Kind::Hpcg).unwrap_err().to_string();
            assert!(error.contains("cubie hpcg"), "{error}");
            error
        };
        assert!(refused("{}").contains("not cubie's"));
        assert!(refused("[1]").contains("not cubie's"));
        assert!(refused("{\"schema\": \"cubie hpcg 1\",").contains("not whole JSON"));
        assert!(refused("{\"schema\": \"cubie hpcg 0\"}").contains("'cubie hpcg 0'"));
        assert!(refused("{\"schema\": \"cubie stream 1\"}").contains("'cubie stream 1'"));
        fs::write(&path, text(Kind::Hpcg, json!({ "a": 1 }))).unwrap();
        assert_eq!(read::<Value>(&path, Kind::Hpcg).unwrap()["a"], 1);
        let missing = dir.path().join("no.json");
        let error = read::<Value>(&missing, Kind::Hpcg).unwrap_err();
        assert!(error.to_string().contains("cannot read"), "{error}");
    }
}
