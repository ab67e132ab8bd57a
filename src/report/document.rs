//! The report's file format: lines `a::b::key=value`, where a heading has an empty value.

use std::fmt::Display;

use crate::number::g;

/// A report being written.
#[derive(Debug, Default)]
pub(super) struct Document(String);

/// What may stand behind the `=`.
pub(super) trait Value {
    /// As the report shows it.
    fn show(&self) -> String;
}

impl Value for f64 {
    fn show(&self) -> String {
        g(*self)
    }
}

impl Value for u64 {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for str {
    fn show(&self) -> String {
        self.replace(['\n', '\r'], " ")
    }
}

impl Document {
    /// A line that stands alone.
    pub(super) fn line(&mut self, line: impl Display) {
        self.0 += &format!("{line}\n");
    }

    /// A heading, and the group of lines below it.
    pub(super) fn group(&mut self, path: &str) -> Group<'_> {
        self.line(format_args!("{path}="));
        Group {
            document: self,
            path: path.to_owned(),
        }
    }

    /// A banner over several groups.
    pub(super) fn banner(&mut self, title: &str) {
        self.line(format_args!("########## {title} ##########="));
    }

    /// The finished report.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Lines that share a path.
#[derive(Debug)]
pub(super) struct Group<'a> {
    document: &'a mut Document,
    path: String,
}

impl Group<'_> {
    /// Adds `path::key=value`.
    pub(super) fn add<V: Value + ?Sized>(&mut self, key: &str, value: &V) -> &mut Self {
        let line = format!("{}::{key}={}", self.path, value.show());
        self.document.line(line);
        self
    }

    /// A group inside this one.
    pub(super) fn group(&mut self, key: &str) -> Group<'_> {
        self.document.group(&format!("{}::{key}", self.path))
    }
}
