//! Tests how Linux's TCP distinguishes losses, reordering and time-outs, in small named scenarios,
//! line by line.
//!
//! The path carries one segment per millisecond, with 5 ms in each direction, so a round trip takes
//! 11 ms. Times are in milliseconds.

use super::path::{MS, Scenario, Show, expect};
use crate::spec::*;
use crate::testing::linux;
use afflux_units::{Bytes, Span};

/// Linux's times on an open connection, with every segment acknowledged at once.
pub fn open() -> TcpConfig {
    TcpConfig {
        initial_window: 4,
        handshake: false,
        delayed_ack: None,
        sack_compression: None,
        min_rto: Span::from_ms(200),
        initial_rto: Span::from_s(1),
        ..linux()
    }
}

pub fn scenario(config: TcpConfig, segments: u32) -> Scenario {
    Scenario { unit: MS, ..Scenario::new(config, segments) }
}

/// The queue overflows. The window falls over a round trip, by one segment for every two that
/// arrive, and the holes are filled meanwhile.
#[test]
fn slow_start_into_drop_tail() {
    expect(
        Scenario { memory: 8, ..scenario(open(), 80) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  29   12   28   16   - Open: (no room for 27)
  37   17   37   21   - Open: (no room for 36)
  38   18   40   22   - Open: (no room for 38) (no room for 39)
  39   19   40   23   - Open
  40   20   44   24   - Open: (no room for 42) (no room for 43)
  42   22   47   26   - Open: (no room for 46)
  43   23   50   27   - Open: (no room for 48) (no room for 49)
  45   25   53   29   - Open: (no room for 52)
  46   26   56   30   - Open: (no room for 54) (no room for 55)
  48   27   56   28  15 Recovery: again 27
  56   27   59   23  15 Recovery: again 36
  58   27   59   20  15 Recovery: again 38
  60   27   59   17  15 Recovery: again 39
  62   27   59   15  15 Recovery: again 42 again 43 again 46
  63   27   59   15  15 Recovery: again 48
  64   27   59   15  15 Recovery: again 49 again 52
  65   36   60   15  15 Recovery: again 54 again 55
  71   42   66   15  15 Recovery
  80   59   73   15  15 Open
  88   67   80   15  15 Open
 101   80   80   16  15 Open
",
    );
}

/// Everything in flight is lost. The probe is new data. Its acknowledgement reveals the losses.
#[test]
fn lost_tail_probed_with_new_data() {
    expect(
        Scenario { lost: &[4, 5, 6, 7, 8, 9, 10, 11], ..scenario(open(), 20) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open: (4 lost) (5 lost)
  12    2    8    6   - Open: (6 lost) (7 lost)
  13    3   10    7   - Open: (8 lost) (9 lost)
  14    4   12    8   - Open: (10 lost) (11 lost)
  39    4   13    8   - Open: timer
  50    4   13    1   4 Recovery: again 4
  61    5   13    2   4 Recovery: again 5 again 6
  72    6   13    3   4 Recovery: again 7 again 8
  73    7   13    4   4 Recovery: again 9 again 10
  83    8   13    4   4 Recovery: again 11
  94   13   17    4   4 Open
  95   14   18    4   4 Open
 107   19   20    5   4 Open
 108   20   20    5   4 Open
",
    );
}

/// The last three segments are lost. There are no more data, so the probe retransmits the last
/// segment.
#[test]
fn lost_tail_probed_with_a_repetition() {
    expect(
        Scenario { lost: &[7, 8, 9], ..scenario(open(), 10) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  12    2    8    6   - Open: (7 lost)
  13    3   10    7   - Open: (8 lost) (9 lost)
  24    7   10   11   - Open
  49    7   10   11   - Open: timer again 9
  60    7   10    1   5 Recovery: again 7
  71    8   10    2   5 Recovery: again 8
  82   10   10    5   5 Open
",
    );
}

/// The receive window is one segment. The probe waits longer, because an acknowledgement may be
/// delayed. It repairs the loss, and the window is halved when a segment sent later is
/// acknowledged.
#[test]
fn probe_that_repairs() {
    let receive = Receive::Window(Bytes(1460));
    expect(
        Scenario { lost: &[2], show: Show::All, ..scenario(TcpConfig { receive, ..open() }, 5) },
        "
  ms  una next cwnd ssth state
   0    0    1    4   - Open: 0
   6  < 1
  11    1    2    4   - Open: 1
  17  < 2
  22    2    3    4   - Open: 2 (2 lost)
 233    2    3    4   - Open: timer again 2
 239  < 3
 244    3    4    4   - Open: 3
 250  < 4
 255    4    5    2   2 Open: 4
 261  < 5
 266    5    5    2   2 Open
",
    );
}

/// The network pauses. The segment that the probe retransmitted had arrived. The receiver reports
/// that, and nothing is reduced.
#[test]
fn probe_that_was_needless() {
    let receive = Receive::Window(Bytes(6 * 1460));
    expect(
        Scenario { outage: Some((12, 60)), ..scenario(TcpConfig { receive, ..open() }, 20) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  39    4   10    8   - Open: timer again 9
  65    7   13   11   - Open
  79   14   20   12   - Open
  90   20   20   12   - Open
",
    );
}

/// A segment is lost, and its retransmission, too. A segment sent later arrives first, so the loss
/// is detected without a time-out.
#[test]
fn lost_repetition() {
    expect(
        Scenario { lost: &[4, 19], ..scenario(TcpConfig { initial_window: 10, ..open() }, 40) },
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open: (4 lost)
  11    1   12   11   - Open
  18    4   19   12   7 Recovery: again 4 (4 lost)
  32    4   26    7   7 Recovery: again 4
  43   25   32    7   7 Open
  55   33   40    8   7 Open
  65   40   40    9   7 Open
",
    );
}

/// No segment is lost or retransmitted, but the window does not grow with the segment that arrived
/// too early.
#[test]
fn two_segments_swapped() {
    expect(
        Scenario {
            late: &[(4, 2)],
            show: Show::All,
            ..scenario(TcpConfig { initial_window: 8, ..open() }, 8)
        },
        "
  ms  una next cwnd ssth state
   0    0    8    8   - Open: 0 1 2 3 4 5 6 7
   6  < 1
   7  < 2
   8  < 3
   9  < 4
  11  < 4 [(5, 6)]
  11    1    8    9   - Open
  12  < 6
  12  < 7
  12    2    8   10   - Open
  13  < 8
  13    3    8   11   - Open
  14    4    8   12   - Open
  16    4    8   12   - Open
  17    6    8   13   - Open
  17    7    8   14   - Open
  18    8    8   15   - Open
",
    );
}

/// A segment is four places late. It is regarded as lost, and the reduction is undone when the
/// original arrives. From then on, the sender waits for a quarter of a round trip. Another segment,
/// two places late, is not retransmitted.
#[test]
fn reordering() {
    expect(
        Scenario {
            late: &[(4, 4), (30, 2)],
            ..scenario(TcpConfig { initial_window: 10, ..open() }, 60)
        },
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open
  11    1   12   11   - Open
  18    4   19   12   7 Recovery: again 4
  19    8   23   15   - Open
  24   13   33   20   - Open
  46   34   60   40   - Open
  72   60   60   65   - Open
",
    );
}

/// The network pauses. The segment that the time-out retransmitted had arrived, and the first
/// acknowledgement reveals that.
#[test]
fn needless_time_out() {
    expect(
        Scenario { outage: Some((20, 264)), ..scenario(open(), 40) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  49    7   19   11   - Open: timer
 261    7   19    1   5 Loss: time-out again 7
 269    8   20   12   - Open
 269   19   40   23   - Open
 300   40   40   44   - Open
",
    );
}

/// A longer pause: the acknowledgement arrives when it could belong to the retransmission, so
/// segments sent before seem late as well. They are retransmitted until the next acknowledgement
/// reveals originals (as in Linux, which does not look at timestamps there).
#[test]
fn needless_time_outs() {
    expect(
        Scenario { outage: Some((20, 700)), ..scenario(open(), 40) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  49    7   19   11   - Open: timer
 261    7   19    1   5 Loss: time-out again 7
 684    7   19    1   5 Loss: time-out again 7
 705    8   19    1   5 Recovery: again 8
 705    9   21   12   - Open
 705   19   40   22   - Open
 737   40   40   42   - Open
",
    );
}

/// Everything is lost, including the probe. New data are sent first after the time-out, and are
/// acknowledged before the data that they overtook.
#[test]
fn time_out_in_earnest() {
    expect(
        Scenario { lost: &[4, 5, 6, 7, 8, 9, 10, 11, 12], ..scenario(open(), 30) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open: (4 lost) (5 lost)
  12    2    8    6   - Open: (6 lost) (7 lost)
  13    3   10    7   - Open: (8 lost) (9 lost)
  14    4   12    8   - Open: (10 lost) (11 lost)
  39    4   13    8   - Open: timer (12 lost)
 251    4   13    1   4 Loss: time-out again 4
 273    5   15    2   4 Loss: again 5
 274    5   15    2   4 Loss: again 6
 284    6   15    3   4 Loss: again 7 again 8
 285    7   15    4   4 Loss: again 9 again 10
 295    8   15    4   4 Loss: again 11
 296    9   15    4   4 Loss: again 12
 307   15   20    5   4 Open
 308   16   21    5   4 Open
 321   22   28    6   4 Open
 334   29   30    7   4 Open
 335   30   30    7   4 Open
",
    );
}

/// The window is reduced once per window of data, over a round trip. The CWR is sent with the first
/// new segment while the queue is still long, so the mark of this segment causes another reduction.
#[test]
fn classic_ecn() {
    expect(
        Scenario {
            mark_above: Some(4),
            ..scenario(TcpConfig { ecn: EcnMode::Classic, ..open() }, 120)
        },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open
  11    1    6    5   - Open
  24    7   18   11   - Open
  39   19   40   23   - Open
  42   22   45   23  12 Reduced: CWR on 44
  61   41   54   13  12 Reduced
  65   45   56   11   6 Reduced: CWR on 55
  75   55   61    6   6 Reduced
  76   56   62    6   6 Open
  87   62   69    7   6 Open
 100   70   78    8   6 Open
 113   79   88    9   6 Open
 127   89   99   10   6 Open
 141  100  111   11   6 Open
 155  112  120   12   6 Open
 164  120  120   13   6 Open
",
    );
}

#[test]
fn dctcp_under_proportional_reduction() {
    let config =
        TcpConfig { congestion: crate::testing::dctcp().congestion, ecn: EcnMode::Dctcp, ..open() };
    expect(
        Scenario { mark_above: Some(4), show: Show::Rounds, ..scenario(config, 160) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open alpha 1024
  11    1    6    5   - Open alpha 960
  24    7   18   11   - Open alpha 900
  39   19   40   23   - Open alpha 844
  42   22   45   23  16 Reduced alpha 797
  61   41   57   16  16 Reduced alpha 797
  78   58   68   10  10 Reduced alpha 812
  80   60   70   10  10 Open alpha 817
  90   69   80   11  10 Open alpha 766
 103   81   93   12  10 Open alpha 719
 117   94  106   13  10 Open alpha 675
 130  107  120   14  10 Open alpha 633
 144  121  136   15  10 Open alpha 557
 160  137  153   16  10 Open alpha 523
 174  151  160   11  13 Reduced alpha 491
 177  154  160   11  13 Reduced alpha 491
 183  160  160   11  13 Reduced alpha 490
",
    );
}
