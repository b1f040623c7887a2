//! Tests the actions of a TCP sender in small named scenarios, line by line.
//!
//! The path has one sender, one receiver, a bottleneck of one segment per microsecond with a short
//! queue, and 5 us in each direction. A line is printed at the first acknowledgement of each round
//! trip, and whenever the sender changes its state, retransmits a segment, announces a reduction or
//! times out.

use super::path::{Scenario, US, expect};
use crate::congestion::d2tcp::WithoutDeadline;
use crate::idle::Idle;
use crate::spec::*;
use crate::testing::{dctcp, tcp};
use crate::transport::tcp::{AckIn, Cause, Sender, SenderSetup};
use afflux_units::Span;

fn config(recovery: Recovery) -> TcpConfig {
    TcpConfig {
        recovery,
        initial_window: 4,
        min_rto: Span::from_us(50),
        initial_rto: Span::from_us(100),
        ..tcp()
    }
}

fn drop_tail(recovery: Recovery) -> Scenario {
    Scenario { memory: 8, ..Scenario::new(config(recovery), 80) }
}

/// The queue overflows in the third round. The holes are filled within one round trip.
#[test]
fn slow_start_into_drop_tail_sack() {
    expect(
        drop_tail(Recovery::Sack),
        "
  us  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  29   12   28   16   - Open: (no room for 27)
  36   16   36   20   - Open: (no room for 35)
  37   17   38   21   - Open: (no room for 37)
  38   18   40   22   - Open: (no room for 39)
  39   19   42   23   - Open: (no room for 41)
  40   20   44   24   - Open: (no room for 43)
  41   21   46   25   - Open: (no room for 45)
  42   22   48   26   - Open: (no room for 47)
  43   23   50   27   - Open: (no room for 49)
  44   24   52   28   - Open: (no room for 51)
  45   25   54   29   - Open: (no room for 53)
  46   26   56   30   - Open: (no room for 55)
  47   27   58   31   - Open: (no room for 57)
  50   27   60   15  15 Recovery: again 27
  61   27   60   15  15 Recovery: again 35
  62   27   60   15  15 Recovery: again 37 again 39
  63   27   60   15  15 Recovery: again 41 again 43
  64   27   60   15  15 Recovery: again 45 again 47
  65   27   60   15  15 Recovery: again 49 again 51
  66   27   61   15  15 Recovery: again 53
  67   27   62   15  15 Recovery: again 55
  75   43   67   15  15 Recovery
  82   55   74   15  15 Recovery: again 57
  96   73   80   16  15 Open
 103   80   80   16  15 Open
",
    );
}

/// The queue overflows in the third round. Without SACK, one hole is filled per round trip.
#[test]
fn slow_start_into_drop_tail_newreno() {
    expect(
        drop_tail(Recovery::NewReno),
        "
  us  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  29   12   28   16   - Open: (no room for 27)
  36   16   36   20   - Open: (no room for 35)
  37   17   38   21   - Open: (no room for 37)
  38   18   40   22   - Open: (no room for 39)
  39   19   42   23   - Open: (no room for 41)
  40   20   44   24   - Open: (no room for 43)
  41   21   46   25   - Open: (no room for 45)
  42   22   48   26   - Open: (no room for 47)
  43   23   50   27   - Open: (no room for 49)
  44   24   52   28   - Open: (no room for 51)
  45   25   54   29   - Open: (no room for 53)
  46   26   56   30   - Open: (no room for 55)
  47   27   58   31   - Open: (no room for 57)
  50   27   60   15  15 Recovery: again 27
  68   35   63   15  15 Recovery: again 35
  79   37   66   15  15 Recovery: again 37
  90   39   70   15  15 Recovery: again 39
 101   41   75   15  15 Recovery: again 41
 112   43   80   15  15 Recovery: again 43
 123   45   80   15  15 Recovery: again 45
 134   47   80   15  15 Recovery: again 47
 145   49   80   15  15 Recovery: again 49
 156   51   80   15  15 Recovery: again 51
 167   53   80   15  15 Recovery: again 53
 178   55   80   15  15 Recovery: again 55
 189   57   80   15  15 Recovery: again 57
 200   80   80   16  15 Open
",
    );
}

/// Segments are marked from the fifth one in the queue on. The sender reduces its window once per
/// window of data, by half of the marked fraction.
#[test]
fn dctcp_at_a_step() {
    let config = TcpConfig { initial_window: 4, ..dctcp() };
    expect(
        Scenario { mark_above: Some(4), ..Scenario::new(config, 160) },
        "
  us  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  39   19   42   23   - Open
  42   22   46   16  16 Reduced
  51   31   47   16  16 Reduced: CWR on 46
  63   43   59   16  16 Reduced
  73   53   63   10  10 Reduced: CWR on 62
  80   60   70   10  10 Reduced
  84   63   73   10  10 Open
  92   71   81   10  10 Open
 104   82   93   11  10 Open
 116   94  106   12  10 Open
 129  107  120   13  10 Open
 143  121  135   14  10 Open
 158  136  151   15  10 Open
 174  152  160   16  10 Open
 175  153  160   12  12 Reduced
 182  160  160   12  12 Reduced
",
    );
}

/// If the deadline leaves more time than needed, cuts are deeper than DCTCP's. If the deadline is
/// near, they are less deep.
#[test]
fn d2tcp_at_a_step() {
    let d2tcp = D2tcpConfig {
        gain: 0.0625,
        initial_alpha: 0.5,
        least: 0.5,
        most: 2.0,
        without_deadline: WithoutDeadline::Dctcp,
    };
    let config =
        TcpConfig { initial_window: 4, congestion: CongestionControl::D2tcp(d2tcp), ..dctcp() };
    let with = |deadline| Scenario {
        mark_above: Some(4),
        deadline: Some(deadline),
        ..Scenario::new(config.clone(), 160)
    };
    expect(
        with(1_000),
        "
  us  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  39   19   42   23   - Open
  42   22   46   18  18 Reduced
  49   29   47   18  18 Reduced: CWR on 46
  63   43   61   18  18 Reduced
  72   52   65   13  13 Reduced: CWR on 64
  82   62   75   13  13 Reduced
  85   65   78   13  13 Open
  96   76   89   13  13 Open
 110   90  104   14  13 Open
 125  105  120   15  13 Open
 141  121  137   16  13 Open
 142  122  137   12  12 Reduced
 146  126  138   12  12 Reduced: CWR on 137
 158  138  150   12  12 Open
 171  151  160   13  12 Open
 180  160  160   13  12 Open
",
    );
    expect(
        with(150),
        "
  us  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  39   19   42   23   - Open
  42   22   46   20  20 Reduced
  47   27   47   20  20 Reduced: CWR on 46
  63   43   63   20  20 Reduced
  68   48   67   19  19 Reduced: CWR on 66
  84   64   83   19  19 Reduced
  89   69   86   17  17 Reduced: CWR on 85
 104   84  101   17  17 Reduced
 108   88  103   15  15 Reduced: CWR on 102
 122  102  117   15  15 Reduced
 123  103  118   15  15 Open
 138  118  134   16  15 Open
 153  133  148   11  11 Reduced
 155  135  148   11  11 Reduced
 158  138  149   11  11 Reduced: CWR on 148
 169  149  160   11  11 Open
 180  160  160   12  11 Open
",
    );
}

/// With the echo of RFC 3168, the window is halved once, until the receiver has seen the CWR.
#[test]
fn classic_ecn_at_a_step() {
    let config = TcpConfig { ecn: EcnMode::Classic, ..config(Recovery::Sack) };
    expect(
        Scenario { mark_above: Some(4), ..Scenario::new(config, 160) },
        "
  us  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  39   19   42   23   - Open
  42   22   46   12  12 Reduced
  55   35   47   12  12 Reduced: CWR on 46
  63   43   55   12  12 Reduced
  67   47   59   12  12 Open
  76   56   68   12  12 Open
  89   69   82   13  12 Open
 103   83   97   14  12 Open
 118   98  113   15  12 Open
 134  114  130   16  12 Open
 136  116  131    8   8 Reduced
 144  124  132    8   8 Reduced: CWR on 131
 151  131  139    8   8 Reduced
 155  132  140    8   8 Open
 166  140  149    9   8 Open
 178  150  160   10   8 Open
 189  160  160   11   8 Open
",
    );
}

/// Segmentation offload as in Linux: new segments wait until the window has space for a third of
/// itself, or for the rest of the 44 segments that the application put into one buffer. They do not
/// wait if the next acknowledgement is far off.
#[test]
fn bursts_as_linux() {
    let config = TcpConfig {
        initial_window: 9,
        max_window: Some(9),
        burst: Burst::Linux,
        ..config(Recovery::Sack)
    };
    assert_eq!((65_536 - 257) / u32::from(config.mss), 44);
    let setup = SenderSetup {
        flow: 0,
        transport: 0,
        node: 0,
        dst: 1,
        hash: 0,
        priority: 0,
        segments: 1_000,
        // The application may have more data.
        ends: u32::MAX,
        idle: Idle { round_trip: 11 * US, ..Idle::default() },
        deadline: None,
        ecn: EcnMode::Off,
        explain: false,
        random: afflux_engine::random::Stream::new(1, 1, 1),
    };
    let mut sender = Sender::new(setup, 0, &config);
    let sent = |sender: &mut Sender, now: u64, cause: Cause| {
        std::iter::from_fn(|| sender.transmit(now, cause, &config)).count()
    };
    assert_eq!(sent(&mut sender, 0, Cause::Start), 9);
    let mut after = |cumulative: u32, now: u64| {
        let ack = AckIn { cumulative, trigger: cumulative - 1, ..AckIn::default() };
        let cause = sender.on_ack(now, &ack, &config);
        sent(&mut sender, now, cause)
    };
    // An acknowledgement arrives each microsecond, at the pace of the bottleneck.
    let bursts: Vec<usize> =
        (1..=35).map(|n| after(n, (10 + n as u64 + 2 * (n as u64 / 9)) * US)).collect();
    let threes = [0, 0, 3].repeat(11);
    assert_eq!(bursts[..33], threes[..]);
    // 42 segments have left, so two are left of the first buffer.
    assert_eq!(bursts[33..], [0, 2]);
    // The oldest outstanding segment has only just been sent, so its acknowledgement is most of a
    // round trip away.
    assert_eq!(after(43, 53 * US), 8);
    assert_eq!(after(44, 53 * US), 1);
}

/// No segment follows the last ones, so nothing reveals their loss. The first retransmission is
/// lost, too.
#[test]
fn lost_tail() {
    expect(
        Scenario { lost: &[8, 9, 10], ..Scenario::new(config(Recovery::Sack), 10) },
        "
  us  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  13    3   10    7   - Open: (8 lost) (9 lost)
  24    7   10   11   - Open
  75    8   10    1   6 Loss: time-out again 8 (8 lost)
 175    8   10    1   6 Loss: time-out again 8
 186    9   10    2   6 Loss: again 9
 197   10   10    3   6 Open
",
    );
}

/// The time-out was spurious: the retransmitted segments had arrived, and the duplicates must not
/// look like another loss.
#[test]
fn needless_time_out_newreno() {
    let config = TcpConfig {
        initial_window: 8,
        initial_rto: Span::from_us(10),
        min_rto: Span::from_us(10),
        ..config(Recovery::NewReno)
    };
    expect(
        Scenario::new(config, 30),
        "
  us  una next cwnd ssth state
   0    0    8    8   - Open
  10    0    8    1   4 Loss: time-out again 0
  11    1    8    2   4 Loss: again 1 again 2
  12    2    8    3   4 Loss: again 3 again 4
  13    3    8    4   4 Loss: again 5 again 6
  14    4    8    4   4 Loss: again 7
  29    9   21    5   4 Open
  47   22   29    7   4 Open
  59   30   30    8   4 Open
",
    );
}
