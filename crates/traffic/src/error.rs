//! Errors of traffic files and parameters.

use std::fmt;
use std::path::{Path, PathBuf};

/// A wrong file or parameter. `Display` gives the whole message: place, what was found, what is
/// allowed, nearest spelling.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrafficError {
    #[error("{}: cannot be read: {reason}", file.display())]
    Unreadable { file: PathBuf, reason: String },
    #[error(transparent)]
    Input(Box<InputError>),
    /// `key` has its name in scenario files.
    #[error("`{key}`: found {found}, allowed is {allowed}{}", Suggestion(nearest))]
    Parameter { key: &'static str, found: String, allowed: String, nearest: Option<String> },
}

/// An error at one place of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: found {found}, expected {expected}{}", Suggestion(nearest))]
pub struct InputError {
    pub place: Place,
    pub found: String,
    pub expected: String,
    /// Valid spelling that is nearest to what was found.
    pub nearest: Option<String>,
}

/// Place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    /// Line or row number, from 1. `None` means the whole file.
    pub line: Option<u64>,
    /// Whether `line` counts rows of data (Parquet) instead of lines of text.
    pub row: bool,
    pub column: Option<String>,
}

struct Suggestion<'a>(&'a Option<String>);

impl TrafficError {
    /// Returns the file that the error is about, if any.
    pub fn file(&self) -> Option<&Path> {
        match self {
            TrafficError::Unreadable { file, .. } => Some(file),
            TrafficError::Input(input) => Some(&input.place.file),
            TrafficError::Parameter { .. } => None,
        }
    }
    /// Returns the line of text that the error is about, from 1.
    pub fn line(&self) -> Option<u64> {
        match self {
            TrafficError::Input(input) if !input.place.row => input.place.line,
            _ => None,
        }
    }
    /// Returns the parameter that the error is about.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            TrafficError::Parameter { key, .. } => Some(key),
            _ => None,
        }
    }
    pub(crate) fn parameter(
        key: &'static str,
        found: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        TrafficError::Parameter {
            key,
            found: found.to_string(),
            allowed: allowed.into(),
            nearest: None,
        }
    }
    pub(crate) fn input(
        place: Place,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        TrafficError::Input(Box::new(InputError {
            place,
            found: found.into(),
            expected: expected.into(),
            nearest: None,
        }))
    }
    pub(crate) fn nearest(mut self, found: Option<String>) -> Self {
        if let TrafficError::Input(input) = &mut self {
            input.nearest = found;
        }
        self
    }
    /// Adds the nearest of the allowed spellings to the message, if one is near.
    pub(crate) fn near(mut self, word: &str, spellings: &[&str]) -> Self {
        let best = crate::spelling::nearest(word, spellings).map(str::to_string);
        match &mut self {
            TrafficError::Parameter { nearest, .. } => *nearest = best,
            TrafficError::Input(input) => input.nearest = best,
            TrafficError::Unreadable { .. } => {}
        }
        self
    }
}

impl Place {
    pub(crate) fn line(file: &Path, line: u64) -> Self {
        Place { file: file.to_path_buf(), line: Some(line), row: false, column: None }
    }
    pub(crate) fn whole(file: &Path) -> Self {
        Place { file: file.to_path_buf(), line: None, row: false, column: None }
    }
    pub(crate) fn row(file: &Path, row: u64) -> Self {
        Place { file: file.to_path_buf(), line: Some(row), row: true, column: None }
    }
    pub(crate) fn column(mut self, column: &str) -> Self {
        self.column = Some(column.to_string());
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{}{line}", if self.row { ", row " } else { ":" })?;
        }
        match &self.column {
            Some(column) => write!(f, ", column `{column}`"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(nearest) => write!(f, " (did you mean `{nearest}`?)"),
            None => Ok(()),
        }
    }
}
