//! Errors and warnings of a scenario, and the one place that turns them into text.

use afflux_config::tree::{NotToml, Origin, Tree, Wrong};
use std::path::{Path, PathBuf};

/// A wrong scenario. `Display` gives the whole message for a person: file, line, key, what was
/// found, what is allowed, nearest spelling.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ScenarioError {
    pub message: String,
    pub file: Option<PathBuf>,
    pub line: Option<usize>,
    pub key: Option<String>,
}

/// A valid key that has no effect, or another effect than its name suggests. `Display` gives the
/// whole line for a person, as for an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub message: String,
    pub file: PathBuf,
    /// Line of the key, from 1; `None` for a key that a command-line option sets.
    pub line: Option<usize>,
    pub key: String,
    /// Text of the warning without place and key.
    pub text: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// Longest message in characters. Longer messages lose their middle, because a value in a file may
/// have any length.
const LONGEST: usize = 1_200;

/// Returns a message on one line, of limited length, without characters that a terminal would act
/// on.
fn tidy(message: &str) -> String {
    let visible = |c: char| {
        if afflux_traffic::names::is_hidden(c) {
            c.escape_default().collect::<String>()
        } else {
            c.to_string()
        }
    };
    let count = message.chars().count();
    if count <= LONGEST {
        return message.chars().map(visible).collect();
    }
    let (first, last) = (LONGEST * 2 / 3, LONGEST / 3);
    let start = message.chars().take(first).map(visible);
    let end = message.chars().skip(count - last).map(visible);
    start.chain([" … ".to_string()]).chain(end).collect()
}

impl ScenarioError {
    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        ScenarioError {
            message: tidy(&format!("{}: cannot be read: {error}", path.display())),
            file: Some(path.to_path_buf()),
            line: None,
            key: None,
        }
    }

    pub(crate) fn no_text(path: &Path, line: usize, message: &str) -> Self {
        ScenarioError {
            message: tidy(&format!("{}:{line}: {message}", path.display())),
            file: Some(path.to_path_buf()),
            line: Some(line),
            key: None,
        }
    }

    pub(crate) fn not_toml(path: &Path, error: NotToml) -> Self {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        ScenarioError {
            message: tidy(&format!("{}{line}: not TOML: {}", path.display(), error.message)),
            file: Some(path.to_path_buf()),
            line: error.line,
            key: None,
        }
    }

    pub(crate) fn option(path: &Path, option: &str, key: &str, message: &str) -> Self {
        ScenarioError {
            message: tidy(&format!("{}: {option}: {message}", path.display())),
            file: Some(path.to_path_buf()),
            line: None,
            key: Some(key.to_string()),
        }
    }

    /// Creates an error that names file, line (or command-line option) and key.
    pub(crate) fn wrong(path: &Path, tree: &Tree, wrong: Wrong) -> Self {
        let line = match tree.origin_of(&wrong.key) {
            Origin::Line(line) if !wrong.key.is_top() => Some(line),
            _ => None,
        };
        let origin = match tree.origin_of(&wrong.key) {
            Origin::Line(line) if !wrong.key.is_top() => format!("{}:{line}", path.display()),
            Origin::Line(_) => path.display().to_string(),
            Origin::Option(option) => format!("{}: {option}", path.display()),
        };
        let key = (!wrong.key.is_top()).then(|| wrong.key.to_string());
        let text = tree.as_written(&wrong);
        if let Some((file, line)) = wrong.input {
            let place = line.map_or(String::new(), |line| format!(":{line}"));
            let named =
                key.as_deref().map_or(String::new(), |key| format!(" (key {key}, {origin})"));
            return ScenarioError {
                message: tidy(&format!("{}{place}: {text}{named}", file.display())),
                file: Some(file),
                line,
                key,
            };
        }
        let message = match &key {
            Some(key) => format!("{origin}: key {key}: {text}"),
            None => format!("{origin}: {text}"),
        };
        ScenarioError { message: tidy(&message), file: Some(path.to_path_buf()), line, key }
    }
}

impl Warning {
    pub(crate) fn new(path: &Path, tree: &Tree, wrong: Wrong) -> Self {
        let (key, text) = (wrong.key.to_string(), tree.as_written(&wrong));
        let ScenarioError { message, line, .. } = ScenarioError::wrong(path, tree, wrong);
        Warning { message, file: path.to_path_buf(), line, key, text }
    }
}
