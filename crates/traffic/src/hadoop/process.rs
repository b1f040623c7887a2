//! Processes: the steps of a task written one after the other, as in process-oriented simulation
//! languages. A process runs until it waits for a [`Signal`]. A signal is given once, by a timer,
//! by a flow's end or by another process. Ready processes run in the order in which they became
//! ready.

use afflux_net::app::{Context, NewFlow};
use afflux_net::record::TaskRecord;
use afflux_net::spec::FlowId;
use afflux_units::{Span, Time};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{self, Poll, Waker};

type Process = Pin<Box<dyn Future<Output = ()> + Send>>;

/// State that all processes share: the time, and the signals that they wait for.
#[derive(Clone, Default)]
pub struct Simulation(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now: Time,
    signals: Vec<Given>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
    /// Number of the running process.
    current: u32,
    born: Vec<Process>,
    orders: Vec<Order>,
    flows: FxHashMap<FlowId, u32>,
}

enum Given {
    NotYet {
        waiting: Option<u32>,
    },
    /// No process waits for the signal any more.
    Unheard,
    At(Time),
}

enum Order {
    Timer { at: Time, signal: u32 },
    Cancel { signal: u32 },
    Flow { flow: NewFlow, at: Time, signal: u32 },
    Record(TaskRecord),
    Done,
}

/// An event that happens once. A process that waits for it receives its time.
#[must_use]
pub struct Signal {
    simulation: Simulation,
    number: u32,
    /// Whether a timer gives the signal.
    timed: bool,
}

impl Future for Signal {
    type Output = Time;
    fn poll(self: Pin<&mut Self>, _: &mut task::Context) -> Poll<Time> {
        let mut state = self.simulation.state();
        let current = state.current;
        match &mut state.signals[self.number as usize] {
            Given::At(time) => Poll::Ready(*time),
            Given::NotYet { waiting } => {
                *waiting = Some(current);
                Poll::Pending
            }
            Given::Unheard => unreachable!("somebody waits"),
        }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        let mut state = self.simulation.state();
        if matches!(state.signals[self.number as usize], Given::At(_)) {
            state.free.push(self.number);
        } else if self.timed {
            // The timer is cancelled, because a run would continue until a timer that no process
            // waits for.
            state.orders.push(Order::Cancel { signal: self.number });
            state.free.push(self.number);
        } else {
            state.signals[self.number as usize] = Given::Unheard;
        }
    }
}

/// The right to give a signal, once.
pub struct Giver(u32);

impl Simulation {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no process panics")
    }

    pub fn now(&self) -> Time {
        self.state().now
    }

    pub fn signal(&self) -> (Giver, Signal) {
        let mut state = self.state();
        let fresh = Given::NotYet { waiting: None };
        let number = match state.free.pop() {
            Some(number) => {
                state.signals[number as usize] = fresh;
                number
            }
            None => {
                state.signals.push(fresh);
                state.signals.len() as u32 - 1
            }
        };
        (Giver(number), Signal { simulation: self.clone(), number, timed: false })
    }

    pub fn give(&self, giver: Giver) {
        let now = self.now();
        self.give_with(giver.0, now);
    }

    fn give_with(&self, number: u32, time: Time) {
        let mut state = self.state();
        match std::mem::replace(&mut state.signals[number as usize], Given::At(time)) {
            Given::NotYet { waiting: Some(process) } => state.ready.push_back(process),
            Given::NotYet { waiting: None } => {}
            Given::Unheard => state.free.push(number),
            Given::At(_) => unreachable!("a signal is given once"),
        }
    }

    /// Starts a new process. The signal is given at its end.
    pub fn spawn(&self, process: impl Future<Output = ()> + Send + 'static) -> Signal {
        let (end, ended) = self.signal();
        let simulation = self.clone();
        self.state().born.push(Box::pin(async move {
            process.await;
            simulation.give(end);
        }));
        ended
    }

    pub fn at(&self, at: Time) -> Signal {
        let (Giver(number), mut signal) = self.signal();
        signal.timed = true;
        self.state().orders.push(Order::Timer { at, signal: number });
        signal
    }

    pub async fn until(&self, at: Time) {
        if at > self.now() {
            self.at(at).await;
        }
    }

    pub async fn sleep(&self, span: Span) {
        self.until(self.now() + span).await;
    }

    /// Returns the result of `work` if it ends before the time-out. Otherwise the work is abandoned:
    /// its flows and disk requests continue, but no process waits for them.
    pub async fn within<T>(
        &self,
        timeout: Option<Span>,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        match timeout {
            Some(timeout) => unless(self.at(self.now() + timeout), work).await,
            None => Some(work.await),
        }
    }

    /// Starts a flow at `at`. The signal is given when all of its bytes have arrived and been read.
    pub fn flow(&self, flow: NewFlow, at: Time) -> Signal {
        let (Giver(number), signal) = self.signal();
        self.state().orders.push(Order::Flow { flow, at, signal: number });
        signal
    }

    pub fn record(&self, task: TaskRecord) {
        self.state().orders.push(Order::Record(task));
    }

    pub fn done(&self) {
        self.state().orders.push(Order::Done);
    }
}

/// Returns the result of `work`, unless `stop` is given first or at the same time. In this case the
/// work is abandoned.
pub async fn unless<T>(stop: Signal, work: impl Future<Output = T>) -> Option<T> {
    let (mut stop, mut work) = (pin!(stop), pin!(work));
    poll_fn(|context| match stop.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => work.as_mut().poll(context).map(Some),
    })
    .await
}

/// Runs the processes of a simulation.
#[derive(Default)]
pub struct Scheduler {
    pub simulation: Simulation,
    processes: Vec<Option<Process>>,
    free: Vec<u32>,
}

impl Scheduler {
    pub fn on_timer(&mut self, context: &mut Context, token: u64) {
        self.simulation.state().now = context.now();
        self.simulation.give_with(token as u32, context.now());
        self.run(context);
    }

    pub fn on_received(&mut self, context: &mut Context, flow: FlowId, read: Time) {
        let number = {
            let mut state = self.simulation.state();
            state.now = context.now();
            state.flows.remove(&flow).expect("each end is told once")
        };
        self.simulation.give_with(number, read);
        self.run(context);
    }

    /// Runs all ready processes until every process waits.
    pub fn run(&mut self, context: &mut Context) {
        loop {
            let born = std::mem::take(&mut self.simulation.state().born);
            for process in born {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.processes.push(None);
                    self.processes.len() as u32 - 1
                });
                self.processes[number as usize] = Some(process);
                self.simulation.state().ready.push_back(number);
            }
            let Some(number) = self.simulation.state().ready.pop_front() else { break };
            self.simulation.state().current = number;
            // Two signals at the same time wake a process twice, and it may end at the first of
            // them.
            let Some(process) = self.processes[number as usize].as_mut() else { continue };
            if process.as_mut().poll(&mut task::Context::from_waker(Waker::noop())).is_ready() {
                self.processes[number as usize] = None;
                self.free.push(number);
            }
        }
        let orders = std::mem::take(&mut self.simulation.state().orders);
        for order in orders {
            match order {
                Order::Timer { at, signal } => context.timer(at, signal.into()),
                Order::Cancel { signal } => context.cancel_timer(signal.into()),
                Order::Flow { flow, at, signal } => {
                    let id = context.start_flow(flow, at);
                    self.simulation.state().flows.insert(id, signal);
                }
                Order::Record(task) => context.record(task),
                Order::Done => context.done(),
            }
        }
    }
}
