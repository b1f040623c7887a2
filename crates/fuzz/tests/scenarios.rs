//! Random scenarios, as many as `make test` has time for: both engines and 1, 2, 3 and 7 threads agree, and no check of a run fails.

use afflux_fuzz::examine::{Limits, Verdict, examine};
use afflux_fuzz::{data, generate};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Packet-hops of all scenarios together, each counted once though it runs five times.
const HOPS: u64 = 2_000_000;
/// None alone may take most of them: many small ones see more.
const LARGEST: u64 = 20_000;
const SEED: u64 = 20;
/// Most of what is drawn is valid; far more than this many would mean that hardly anything is.
const MOST: u64 = 2_000;
/// A machine that is busy with other things ends early, but not before it has seen some; a run that takes long there is stopped, and not compared.
const WALL: Duration = Duration::from_secs(15);
const LEAST: u64 = 20;

#[test]
fn random_scenarios_hold_in_both_engines() {
    let limits = Limits { wall: Duration::from_secs(3), hops: LARGEST, ..Limits::default() };
    let (began, mut hops, mut sound, mut refused) = (Instant::now(), 0, 0_u64, 0_u64);
    for number in 0..MOST {
        let text = generate::numbered(SEED, number, &data());
        match examine(&text, &data().join("scenario.toml"), &limits) {
            Verdict::Sound(figures) => (hops, sound) = (hops + figures.hops, sound + 1),
            Verdict::Refused(_) => refused += 1,
            Verdict::TooLarge(_) => {}
            Verdict::Broken(broken) => panic!("`afflux-fuzz replay {SEED}:{number}`: {}\n{}", broken.what, broken.detail),
        }
        if hops >= HOPS || (sound >= LEAST && began.elapsed() > WALL) {
            break;
        }
    }
    println!("{sound} sound, {refused} refused, {hops} packet-hops, {:.1} s", began.elapsed().as_secs_f64());
    assert!(sound >= LEAST && sound > 4 * refused, "{sound} scenarios were valid, {refused} were not");
}

/// Scenarios that have broken, made small.
#[test]
fn what_was_found_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/found");
    let mut seen = 0;
    for entry in fs::read_dir(&folder).expect("the folder of found scenarios") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a scenario");
        let verdict = examine(&text, &path, &Limits { wall: Duration::from_secs(60), ..Limits::default() });
        assert!(matches!(verdict, Verdict::Sound(_)), "{}: {verdict:?}", path.display());
        seen += 1;
    }
    assert!(seen >= 3);
}
