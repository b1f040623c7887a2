use super::*;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn result(dir: &Path, force: bool, text: &str) {
    let mut claim = claim(dir, Replace::forced(force)).unwrap();
    claim.text(SUMMARY, text).unwrap();
    claim.complete().unwrap();
}

#[test]
fn appears_only_when_complete() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("out/run-1");
    let mut claim = claim(&dir, Replace::Nothing).unwrap();
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
    let mut claim = claim(&root.path().join("x"), Replace::Nothing).unwrap();
    claim.text("a.txt", "a").unwrap();
    drop(claim);
    assert!(names(root.path()).is_empty());
}

#[test]
fn refuses_what_exists_and_force_replaces_it_at_the_end() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x");
    result(&dir, false, "old");
    let error = claim(&dir, Replace::Nothing).unwrap_err();
    assert!(matches!(error, ResultsError::Exists(_)), "{error}");
    let mut new = claim(&dir, Replace::Intact).unwrap();
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
    assert!(matches!(claim(&home, Replace::Intact), Err(ResultsError::NotAResult(_))));
    assert!(matches!(
        claim(&home.join("thesis.tex"), Replace::Intact),
        Err(ResultsError::NotAResult(_))
    ));
    fs::create_dir(root.path().join("empty")).unwrap();
    result(&root.path().join("empty"), true, "{}");
    assert!(matches!(
        claim(Path::new("/"), Replace::Intact),
        Err(ResultsError::Name(_) | ResultsError::NotAResult(_))
    ));
}

/// Creates the leftovers of a killed writer of `x`.
fn leftovers(root: &Path) {
    fs::create_dir(root.join(".x.partial-12ab")).unwrap();
    fs::write(root.join(".x.partial-12ab/flows.parquet"), "half").unwrap();
    fs::create_dir(root.join(".x.partial-7")).unwrap();
    fs::write(root.join(".x.lock"), "").unwrap();
}

#[test]
fn what_a_killed_writer_left_is_removed_and_a_living_one_is_respected() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x");
    leftovers(root.path());
    // Leftover of another result.
    fs::create_dir(root.path().join(".x-2.partial-3")).unwrap();
    let first = claim(&dir, Replace::Nothing).unwrap();
    let there = names(root.path());
    assert_eq!(there.len(), 3, "{there:?}");
    assert_eq!((there[0].as_str(), there[1].as_str()), (".x-2.partial-3", ".x.lock"));
    let error = claim(&dir, Replace::Nothing).unwrap_err();
    assert!(matches!(error, ResultsError::Busy(_)), "{error}");
    clear(&dir).unwrap();
    assert_eq!(names(root.path()), there);
    drop(first);
    claim(&dir, Replace::Nothing).unwrap();
    leftovers(root.path());
    clear(&dir).unwrap();
    assert_eq!(names(root.path()), [".x-2.partial-3"]);
}

#[test]
fn one_writer_at_a_time_waits_for_the_other() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| result(&dir, true, "{}")));
        }
    });
    assert_eq!(names(root.path()), ["x"]);
}

#[test]
fn below_a_file_there_is_no_directory() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    for below in ["file/x", "file/x/y"] {
        let error = claim(&root.path().join(below), Replace::Intact).unwrap_err();
        assert!(matches!(error, ResultsError::InFile(_)), "{error}");
    }
}

#[test]
fn what_a_link_points_to_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    let (dir, link) = (root.path().join("x"), root.path().join("link"));
    result(&dir, false, "old");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    assert!(matches!(claim(&link, Replace::Nothing), Err(ResultsError::Exists(_))));
    result(&link, true, "new");
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(dir.join(SUMMARY)).unwrap(), "new");
    // A link without a target is not a result.
    std::os::unix::fs::symlink("nowhere", root.path().join("dangling")).unwrap();
    assert!(matches!(
        claim(&root.path().join("dangling"), Replace::Intact),
        Err(ResultsError::NotAResult(_))
    ));
    assert_eq!(names(root.path()), ["dangling", "link", "x"]);
}

#[test]
fn a_result_that_a_kill_left_aside_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x");
    result(&dir, false, "old");
    fs::rename(&dir, root.path().join(".x.old-1")).unwrap();
    clear(&dir).unwrap();
    assert_eq!(fs::read_to_string(dir.join(SUMMARY)).unwrap(), "old");
    // Once a new result exists, the old one is a leftover.
    fs::create_dir(root.path().join(".x.old-1")).unwrap();
    clear(&dir).unwrap();
    assert_eq!(names(root.path()), ["x"]);
}

#[test]
fn a_file_that_appears_during_the_run_is_not_deleted() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x");
    for replace in [Replace::Intact, Replace::Damaged] {
        result(&dir, true, "old");
        let mut new = claim(&dir, replace).unwrap();
        new.text(SUMMARY, "new").unwrap();
        fs::write(dir.join("notes.txt"), "mine").unwrap();
        let error = new.complete().unwrap_err();
        let ResultsError::Appeared { names: appeared, result: other, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(appeared.as_slice(), ["notes.txt"]);
        assert_eq!(fs::read_to_string(other.join(SUMMARY)).unwrap(), "new");
        assert_eq!(
            (fs::read_to_string(dir.join(SUMMARY)).unwrap(), names(&dir).len()),
            ("old".into(), 2)
        );
        fs::remove_file(dir.join("notes.txt")).unwrap();
        fs::remove_dir_all(other).unwrap();
    }
    // The case of a file system that cannot swap directories.
    let place = Place::of(&dir).unwrap();
    let known = Contents::of(&dir).unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    assert_eq!(known.appeared(&dir).unwrap(), ["notes.txt"]);
    assert_eq!(place.other().parent(), Some(place.parent.as_path()));
    // The case of a directory that did not exist before.
    let other = root.path().join("y");
    let mut new = claim(&other, Replace::Intact).unwrap();
    new.text(SUMMARY, "new").unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "years of work").unwrap();
    assert!(matches!(new.complete(), Err(ResultsError::Appeared { .. })));
    assert_eq!(names(&other), ["thesis.tex"]);
}
