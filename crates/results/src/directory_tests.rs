use super::*;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn result(dir: &Path, force: bool, text: &str) {
    let claim = claim(dir, force).unwrap();
    claim.text(SUMMARY, text).unwrap();
    claim.complete().unwrap();
}

#[test]
fn appears_only_when_complete() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("out/run-1");
    let claim = claim(&dir, false).unwrap();
    claim.text("a.txt", "a").unwrap();
    claim.text(SUMMARY, "{}").unwrap();
    assert!(!dir.exists());
    claim.complete().unwrap();
    assert!(is_complete(&dir));
    assert_eq!(names(&dir), ["a.txt", "summary.json"]);
    assert_eq!(names(dir.parent().unwrap()), ["run-1"]);
}

#[test]
fn a_dropped_claim_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let claim = claim(&root.path().join("x"), false).unwrap();
    claim.text("a.txt", "a").unwrap();
    drop(claim);
    assert!(names(root.path()).is_empty());
}

#[test]
fn refuses_what_exists_and_force_replaces_it_at_the_end() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x");
    result(&dir, false, "old");
    let error = claim(&dir, false).unwrap_err();
    assert!(matches!(error, ResultsError::Exists(_)) && error.is_usage(), "{error}");
    let new = claim(&dir, true).unwrap();
    new.text(SUMMARY, "new").unwrap();
    assert_eq!(fs::read_to_string(dir.join(SUMMARY)).unwrap(), "old");
    new.complete().unwrap();
    assert_eq!(fs::read_to_string(dir.join(SUMMARY)).unwrap(), "new");
    assert_eq!(names(root.path()), ["x"]);
}

#[test]
fn force_keeps_its_hands_off_what_is_no_result() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("thesis.tex"), "years of work").unwrap();
    assert!(matches!(claim(&home, true), Err(ResultsError::NotAResult(_))));
    assert!(matches!(claim(&home.join("thesis.tex"), true), Err(ResultsError::NotAResult(_))));
    fs::create_dir(root.path().join("empty")).unwrap();
    result(&root.path().join("empty"), true, "{}");
    assert!(matches!(claim(Path::new("/"), true), Err(ResultsError::Name(_) | ResultsError::NotAResult(_))));
}

#[test]
fn what_a_killed_run_left_is_removed_and_a_living_one_is_respected() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x");
    for (pid, lock) in [(i32::MAX, false), (i32::MAX - 1, true)] {
        let left = root.path().join(format!(".x.partial-{pid}"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("flows.parquet"), "half").unwrap();
        if lock {
            fs::write(left.join(LOCK), "").unwrap();
        }
    }
    fs::create_dir(root.path().join(".x-2.partial-3")).unwrap();
    let first = claim(&dir, false).unwrap();
    assert_eq!(names(root.path()), [".x-2.partial-3".to_owned(), format!(".x.partial-{}", std::process::id())]);
    assert!(matches!(claim(&dir, false), Err(ResultsError::Busy { .. })));
    drop(first);
    claim(&dir, false).unwrap();
}

#[test]
fn exchanges_without_help_from_the_file_system() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (root.path().join("a"), root.path().join("b"));
    for (dir, text) in [(&a, "a"), (&b, "b")] {
        fs::create_dir(dir).unwrap();
        fs::write(dir.join("name"), text).unwrap();
    }
    exchange(&a, &b).unwrap();
    assert_eq!(fs::read_to_string(a.join("name")).unwrap(), "b");
    assert_eq!(fs::read_to_string(b.join("name")).unwrap(), "a");
}
