//! Images of kernels: directories that `afflux kernel build` makes.

use super::KernelError;
use std::path::{Path, PathBuf};

/// Returns the directory of all images: `AFFLUX_KERNELS`, or `afflux/kernels` in the user's cache.
pub fn directory() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(dir) = set("AFFLUX_KERNELS") {
        return dir.into();
    }
    let home = set("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let cache = set("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
    cache.join("afflux").join("kernels")
}

/// A kernel and the programs that every guest has.
#[derive(Debug, Clone)]
pub struct Image {
    pub program: PathBuf,
    pub busybox: PathBuf,
    /// The programs of afflux, one file with several names.
    pub guest: PathBuf,
}

impl Image {
    /// Finds an image by its version.
    pub fn find(images: &Path, version: &str) -> Result<Image, KernelError> {
        let dir = images.join(version);
        let image = Image {
            program: dir.join("linux"),
            busybox: dir.join("busybox"),
            guest: dir.join("guest"),
        };
        let all = [&image.program, &image.busybox, &image.guest];
        if all.iter().all(|file| file.is_file()) {
            return Ok(image);
        }
        Err(KernelError::NoImage { version: version.into(), dir: images.to_path_buf() })
    }
}
