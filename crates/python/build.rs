//! Names the build: `0.3.0+g1234abc`, and `0.3.0+g1234abc.dirty` if a tracked file differed from the commit. `afflux --version` and `summary.json` show it.
//!
//! In a checkout, git reports the commit. In a source distribution (which has a `PKG-INFO`), the
//! file `COMMIT` contains it (.ci/dist.sh). In all other cases, also without git, the build is
//! named by the bare version.
//!
//! This script belongs to this crate because no other crate depends on it: a new commit recompiles
//! only this crate and none of the large ones.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).expect("cargo sets it");
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap_or(root);
    let commit = if root.join("PKG-INFO").exists() { written(&root) } else { checked_out(&root) };
    let commit = commit
        .filter(|commit| commit.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.'))
        .map(|commit| format!("+g{commit}"));
    println!(
        "cargo::rustc-env=AFFLUX_BUILD={}{}",
        variable("CARGO_PKG_VERSION"),
        commit.unwrap_or_default()
    );
}

/// Returns the commit from which a source distribution was made.
fn written(root: &Path) -> Option<String> {
    let file = root.join("COMMIT");
    let text = fs::read_to_string(&file).ok()?;
    println!("cargo::rerun-if-changed={}", file.display());
    Some(text.trim().to_owned()).filter(|commit| !commit.is_empty())
}

/// Returns the commit of the checkout at `root`. `None` if git is missing, or if `root` is merely
/// inside the repository of another project.
fn checked_out(root: &Path) -> Option<String> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root {
        return None;
    }
    let commit = git(root, &["rev-parse", "--short=7", "HEAD"])?;
    let dirty = !git(root, &["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    watch(root);
    Some(commit + if dirty { ".dirty" } else { "" })
}

/// Makes cargo rerun this script after a commit, a checkout, a change of the index, or a change to
/// any tracked file.
fn watch(root: &Path) {
    let place =
        |name: &str| git(root, &["rev-parse", "--git-path", name]).map(|path| root.join(path));
    let branch = git(root, &["symbolic-ref", "--quiet", "HEAD"]);
    let of_git =
        ["HEAD", "logs/HEAD", "index"].into_iter().chain(branch.as_deref()).filter_map(place);
    // A missing file makes cargo run the script every time. This is correct for a deleted file of
    // the tree, but not for files of git.
    let of_git = of_git.filter(|path| path.exists());
    let tracked = git(root, &["ls-files", "-z"]).unwrap_or_default();
    // Cargo follows a link to a folder, in which Python's caches change all the time. Such links
    // are skipped, because the files of the folder are tracked themselves.
    let tracked = tracked
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(|path| root.join(path))
        .filter(|path| !path.is_symlink());
    for path in of_git.chain(tracked) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Returns git's output without the line break. git takes no locks and ignores variables that a
/// hook has set for another repository. The checkout may belong to another user, as in containers.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let owned = format!("safe.directory={}", root.display());
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(["-c", &owned, "--no-optional-locks"]).args(arguments);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let done = command.output().ok().filter(|done| done.status.success())?;
    Some(String::from_utf8(done.stdout).ok()?.trim_end_matches('\n').to_owned())
}
