//! `afflux-fuzz`: examines random scenarios for a given time. Each worker is a separate process, so
//! that its death is detected as a defect.

use afflux_fuzz::examine::{Broken, Figures, Limits, Verdict, examine};
use afflux_fuzz::shrink::shrink;
use afflux_fuzz::{data, generate};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const USAGE: &str = "\
afflux-fuzz run [--seed S] [--from N] [--hops 1e9] [--time 2h] [--jobs 1] [--out out/fuzz]
    Random scenarios until their packet-hops (each scenario counted once) or the time are reached: both engines, the fast one with 1, 2, 3 and 7 threads,
    beyond 20,000 packet-hops with 1 and one of the others.
afflux-fuzz replay FILE.toml|SEED:NUMBER…
    Examines scenarios again.
afflux-fuzz show SEED:NUMBER
    Prints a scenario.
afflux-fuzz shrink FILE.toml
    Prints a smaller scenario that is broken in the same way.";

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match work() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn work() -> Result<bool, Failure> {
    use lexopt::prelude::*;
    let mut arguments = lexopt::Parser::from_env();
    let mut wanted =
        Wanted { seed: 1, from: 0, hops: None, time: None, jobs: 1, out: "out/fuzz".into() };
    let (mut command, mut files) = (None, Vec::new());
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("seed") => wanted.seed = arguments.value()?.parse()?,
            Long("from") => wanted.from = arguments.value()?.parse()?,
            Long("hops") => wanted.hops = Some(arguments.value()?.parse::<f64>()? as u64),
            Long("time") => wanted.time = Some(duration(&arguments.value()?.string()?)?),
            Long("jobs") => wanted.jobs = arguments.value()?.parse::<usize>()?.max(1),
            Long("out") => wanted.out = arguments.value()?.into(),
            Long("help") | Short('h') => {
                println!("{USAGE}");
                return Ok(true);
            }
            Value(word) if command.is_none() => command = Some(word.string()?),
            Value(file) => files.push(file.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    match command.as_deref() {
        Some("run") => run(&wanted),
        Some("replay") => replay(&files),
        Some("show") => {
            for file in &files {
                print!("{}", scenario(file)?.0);
            }
            Ok(true)
        }
        Some("shrink") => {
            for file in &files {
                let (text, path) = scenario(file)?;
                match examine(&text, &path, &Limits::default()) {
                    Verdict::Broken(broken) => print!(
                        "{}",
                        shrink(&text, &path, &broken, &Limits::default(), Duration::from_secs(600))
                    ),
                    other => return Err(format!("{file} is not broken: {other:?}").into()),
                }
            }
            Ok(true)
        }
        Some("worker") => worker(files.first().map_or(Ok(0), |cpu| cpu.parse())?),
        _ => Err(USAGE.into()),
    }
}

/// Parses `90`, `90s`, `30m` or `2h`.
fn duration(text: &str) -> Result<Duration, Failure> {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let factor = match unit {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(format!("--time {text}: write a time as in 90s, 30m or 2h").into()),
    };
    Ok(Duration::try_from_secs_f64(number.parse::<f64>()? * factor)?)
}

/// Returns the text of a file or of `SEED:NUMBER`, and the path to which its file names are
/// relative.
fn scenario(name: &str) -> Result<(String, PathBuf), Failure> {
    if let Some((seed, number)) = name.split_once(':')
        && let (Ok(seed), Ok(number)) = (seed.parse(), number.parse())
    {
        return Ok((generate::numbered(seed, number, &data()), data().join("scenario.toml")));
    }
    Ok((std::fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?, name.into()))
}

fn replay(names: &[String]) -> Result<bool, Failure> {
    let mut sound = true;
    for name in names {
        let (text, path) = scenario(name)?;
        match examine(&text, &path, &Limits::default()) {
            Verdict::Sound(figures) => println!(
                "{name}: sound, {} packet-hops in {} runs: {:.3?}",
                figures.hops, figures.runs, figures.seconds
            ),
            Verdict::Refused(why) => println!("{name}: refused: {why}"),
            Verdict::TooLarge(why) => println!("{name}: too large: {why}"),
            Verdict::Broken(Broken { what, detail }) => {
                println!("{name}: {what}\n{detail}");
                sound = false;
            }
        }
    }
    Ok(sound)
}

struct Wanted {
    seed: u64,
    from: u64,
    hops: Option<u64>,
    time: Option<Duration>,
    jobs: usize,
    out: PathBuf,
}

/// Answer of a worker for one scenario.
#[derive(Serialize, Deserialize)]
struct Answer {
    verdict: Verdict,
    /// A smaller scenario with the same defect, if the scenario is broken.
    smaller: Option<String>,
}

/// Pins this process to one processor, or allows all. Threads that synchronise often run much
/// faster on one processor while other workers are busy, but only on several processors do they run
/// at the same time.
fn keep_to(cpu: usize, all: &CpuSet, one: bool) {
    let mut set = CpuSet::new();
    let here: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
    set.set(here[cpu % here.len()]);
    // A failure only makes the run slower or less thorough.
    let _ = sched_setaffinity(None, if one { &set } else { all });
}

/// Address space of a worker in bytes. A worker that needs more dies, which is reported as a
/// defect, before the machine runs out of memory.
const MEMORY: u64 = 8_000_000_000;

/// Reads lines `seed number` and answers each with a line of JSON.
fn worker(cpu: usize) -> Result<bool, Failure> {
    setrlimit(
        Resource::As,
        Rlimit { current: Some(MEMORY), maximum: getrlimit(Resource::As).maximum },
    )?;
    let all = sched_getaffinity(None)?;
    for (count, line) in std::io::stdin().lines().enumerate() {
        let line = line?;
        keep_to(cpu, &all, count % 4 != 0);
        let (text, path) = scenario(&line.replace(' ', ":"))?;
        let limits = Limits::default();
        let verdict = examine(&text, &path, &limits);
        let smaller = match &verdict {
            Verdict::Broken(broken) => {
                Some(shrink(&text, &path, broken, &limits, Duration::from_secs(120)))
            }
            _ => None,
        };
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &Answer { verdict, smaller })?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(true)
}

/// Totals of a run.
#[derive(Default, Serialize)]
struct Report {
    command: String,
    seed: u64,
    from: u64,
    next: u64,
    seconds: f64,
    scenarios: u64,
    sound: u64,
    refused: u64,
    too_large: u64,
    broken: u64,
    /// Packet-hops of sound scenarios (one run each), and of all runs of these scenarios.
    hops: u64,
    run_hops: u64,
    runs: u64,
    stopped: u64,
    /// Wall time in seconds by engine.
    run_seconds: BTreeMap<String, f64>,
    /// Number of scenarios for each coverage word.
    seen: BTreeMap<String, u64>,
    /// Number of scenarios for each reason of refusal or excessive size. Digits are removed from
    /// the reasons.
    reasons: BTreeMap<String, u64>,
    failures: Vec<String>,
}

fn run(wanted: &Wanted) -> Result<bool, Failure> {
    let failures = wanted.out.join("failures");
    std::fs::create_dir_all(&failures)
        .map_err(|error| format!("{}: {error}", failures.display()))?;
    let began = Instant::now();
    let next = AtomicU64::new(wanted.from);
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let total =
        Mutex::new(Report { command, seed: wanted.seed, from: wanted.from, ..Report::default() });
    let over = || {
        let total = total.lock().expect("no panic");
        wanted.hops.is_some_and(|hops| total.hops >= hops)
            || wanted.time.is_some_and(|time| began.elapsed() >= time)
    };
    let said = Mutex::new(Instant::now());
    std::thread::scope(|scope| {
        for cpu in 0..wanted.jobs {
            let (over, next, total, said, failures) = (&over, &next, &total, &said, &failures);
            scope.spawn(move || {
                let mut worker = Worker::start(cpu);
                while !over() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let answer = worker.ask(wanted.seed, number);
                    let mut total = total.lock().expect("no panic");
                    total.add(wanted.seed, number, answer, failures);
                    total.next = next.load(Ordering::Relaxed);
                    total.seconds = began.elapsed().as_secs_f64();
                    let mut said = said.lock().expect("no panic");
                    if said.elapsed() > Duration::from_secs(10) {
                        *said = Instant::now();
                        eprintln!("{}", total.line());
                        total.write(&wanted.out);
                    }
                }
            });
        }
    });
    let total = total.into_inner()?;
    total.write(&wanted.out);
    print!("{}", total.text());
    println!("written to {}", wanted.out.join("report.json").display());
    Ok(total.broken == 0)
}

impl Report {
    fn add(&mut self, seed: u64, number: u64, answer: Answer, failures: &Path) {
        self.scenarios += 1;
        let reason =
            |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).take(150).collect::<String>();
        match answer.verdict {
            Verdict::Sound(Figures { hops, run_hops, runs, stopped, seconds, seen }) => {
                self.sound += 1;
                (self.hops, self.run_hops, self.runs) =
                    (self.hops + hops, self.run_hops + run_hops, self.runs + runs);
                self.stopped += stopped;
                seconds.into_iter().for_each(|(engine, seconds)| {
                    *self.run_seconds.entry(engine).or_default() += seconds
                });
                seen.into_iter().for_each(|word| *self.seen.entry(word).or_default() += 1);
            }
            Verdict::Refused(why) => {
                self.refused += 1;
                *self.reasons.entry(format!("refused: {}", reason(&why))).or_default() += 1;
            }
            Verdict::TooLarge(why) => {
                self.too_large += 1;
                *self.reasons.entry(format!("too large: {}", reason(&why))).or_default() += 1;
            }
            Verdict::Broken(Broken { what, detail }) => {
                self.broken += 1;
                let name = failures.join(format!("{seed}-{number}.toml"));
                eprintln!(
                    "BROKEN {seed}:{number}: {what}\n{detail}\n  again: afflux-fuzz replay {}",
                    name.display()
                );
                let _ = std::fs::write(&name, generate::numbered(seed, number, &data()));
                let _ = std::fs::write(name.with_extension("txt"), format!("{what}\n{detail}\n"));
                if let Some(smaller) = answer.smaller {
                    let _ = std::fs::write(
                        failures.join(format!("{seed}-{number}.small.toml")),
                        smaller,
                    );
                }
                self.failures.push(format!("{seed}:{number} {what}"));
            }
        }
    }

    fn line(&self) -> String {
        let Report { scenarios, sound, refused, too_large, broken, seconds, .. } = self;
        let hops = self.hops as f64 / 1e6;
        format!(
            "{seconds:.0} s: {scenarios} scenarios ({sound} sound, {refused} refused, {too_large} too large, {broken} broken), {hops:.1} M packet-hops, next {}:{}",
            self.seed, self.next
        )
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.line());
        let share = |part: u64| 100.0 * part as f64 / self.scenarios.max(1) as f64;
        text += &format!(
            "{} runs of {:.1} M packet-hops compared, {} stopped for their time\n",
            self.runs,
            self.run_hops as f64 / 1e6,
            self.stopped
        );
        text += &format!(
            "{:.1} % refused, {:.1} % too large\n",
            share(self.refused),
            share(self.too_large)
        );
        let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (word, count) in &self.seen {
            let (kind, word) = word.split_once('=').unwrap_or(("", word));
            kinds.entry(kind).or_default().push(format!("{word} {count}"));
        }
        for (kind, words) in kinds {
            text += &format!("  {kind}: {}\n", words.join(", "));
        }
        for failure in &self.failures {
            text += &format!("BROKEN {failure}\n");
        }
        text
    }

    fn write(&self, out: &Path) {
        let text = serde_json::to_string_pretty(self).expect("numbers and texts");
        if let Err(error) = std::fs::write(out.join("report.json"), text + "\n") {
            eprintln!("error: {}: {error}", out.join("report.json").display());
        }
    }
}

/// A process that examines scenarios.
struct Worker {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<String>,
    cpu: usize,
}

/// Longest time for a scenario, including shrinking. After it, the worker counts as hung.
const PATIENCE: Duration = Duration::from_secs(1_200);

impl Worker {
    fn start(cpu: usize) -> Worker {
        let program = std::env::current_exe().expect("this program has a place");
        let mut child = Command::new(program)
            .args(["worker", &cpu.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("another of this program starts");
        let (orders, said) = (
            child.stdin.take().expect("piped"),
            BufReader::new(child.stdout.take().expect("piped")),
        );
        let (send, answers) = channel();
        std::thread::spawn(move || {
            said.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Worker { child, orders, answers, cpu }
    }

    fn ask(&mut self, seed: u64, number: u64) -> Answer {
        let asked = writeln!(self.orders, "{seed} {number}").and_then(|()| self.orders.flush());
        let answered = if asked.is_ok() {
            self.answers.recv_timeout(PATIENCE)
        } else {
            Err(RecvTimeoutError::Disconnected)
        };
        let what = if answered == Err(RecvTimeoutError::Timeout) {
            "the process hangs"
        } else {
            "the process dies"
        };
        answered.ok().and_then(|line| serde_json::from_str(&line).ok()).unwrap_or_else(|| {
            let _ = self.child.kill();
            let status = self
                .child
                .wait()
                .map_or_else(|error| error.to_string(), |status| status.to_string());
            *self = Worker::start(self.cpu);
            Answer {
                verdict: Verdict::Broken(Broken { what: what.into(), detail: status }),
                smaller: None,
            }
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
