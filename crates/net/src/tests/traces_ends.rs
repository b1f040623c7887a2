//! Tests Linux's TCP in small named scenarios, line by line: times of acknowledgements, windows,
//! pacing and bursts, handshakes.
//!
//! The path is that of [`super::traces_linux`].

use super::path::{Scenario, Show, expect};
use super::traces_linux::{open, scenario};
use crate::spec::*;
use afflux_units::{Bytes, Span};

/// With a window of one segment, two acknowledgements are sent at once, and each further one after
/// 40 ms. The acknowledgement of the last segment is not delayed.
#[test]
fn quick_then_delayed() {
    let delayed_ack = Some(DelayedAck { segments: 2, timeout: Span::from_ms(40), quick: 2 });
    expect(
        Scenario {
            show: Show::All,
            ..scenario(
                TcpConfig { delayed_ack, max_window: Some(1), initial_window: 1, ..open() },
                5,
            )
        },
        "
  ms  una next cwnd ssth state
   0    0    1    1   - Open: 0
   6  < 1
  11    1    2    1   - Open: 1
  17  < 2
  22    2    3    1   - Open: 2
  68  < 3 delayed
  73    3    4    1   - Open: 3
 119  < 4 delayed
 124    4    5    1   - Open: 4
 130  < 5
 135    5    5    1   - Open
",
    );
}

/// Four acknowledgements are sent at once, then one for every second segment.
#[test]
fn every_second_segment() {
    let delayed_ack = Some(DelayedAck { segments: 2, timeout: Span::from_ms(40), quick: 4 });
    expect(
        Scenario { show: Show::All, ..scenario(TcpConfig { delayed_ack, ..open() }, 15) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open: 0 1 2 3
   6  < 1
   7  < 2
   8  < 3
   9  < 4
  11    1    6    5   - Open: 4 5
  12    2    8    6   - Open: 6 7
  13    3   10    7   - Open: 8 9
  14    4   12    8   - Open: 10 11
  18  < 6
  20  < 8
  22  < 10
  23    6   15   10   - Open: 12 13 14
  24  < 12
  25    8   15   12   - Open
  27   10   15   14   - Open
  29   12   15   16   - Open
  30  < 14
  31  < 15
  35   14   15   16   - Open
  36   15   15   16   - Open
",
    );
}

/// Three duplicates are sent at once, then one per 4 ms.
#[test]
fn compressed_selective_acknowledgements() {
    let sack_compression = Some(SackCompression { part: 2, most: Span::from_ms(4), segments: 44 });
    expect(
        Scenario {
            lost: &[1],
            show: Show::All,
            ..scenario(TcpConfig { sack_compression, initial_window: 16, ..open() }, 16)
        },
        "
  ms  una next cwnd ssth state
   0    0   16   16   - Open: 0 1 (1 lost) 2 3 4 5 6 7 8 9 10 11 12 13 14 15
   6  < 1
   8  < 1 [(2, 3)]
   9  < 1 [(2, 4)]
  10  < 1 [(2, 5)]
  11    1   16   17   - Open
  13    1   16   17   - Open
  14    1   16   17   - Open
  15  < 1 delayed [(2, 9)]
  15    1   16   12   8 Recovery: again 1
  19  < 1 delayed [(2, 13)]
  20    1   16    8   8 Recovery
  22  < 16
  24    1   16    8   8 Recovery
  27   16   16    8   8 Open
",
    );
}

/// The application reads for 20 ms and sleeps for 700 ms. The sender probes the window with
/// back-off. The receiver opens it.
#[test]
fn buffer_closes_and_opens() {
    let receive = Receive::Buffer(ReceiveBuffer {
        initial: Bytes(6 * 1460),
        most: Bytes(6 * 1460),
        share: 256,
    });
    let reader = Some(Reader::Turns { read: Span::from_ms(20), sleep: Span::from_ms(700) });
    expect(
        Scenario { show: Show::All, ..scenario(TcpConfig { receive, reader, ..open() }, 18) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open: 0 1 2 3
   6  < 1 room 6
   7  < 2 room 6
   8  < 3 room 6
   9  < 4 room 6
  11    1    6    5   - Open: 4 5
  12    2    8    6   - Open: 6 7
  13    3    8    7   - Open
  14    4   10    8   - Open: 8 9
  17  < 5 room 6
  18  < 6 room 6
  19  < 7 room 6
  20  < 8 room 5
  21  < 9 room 4
  22  < 10 room 3
  22    5   11    9   - Open: 10
  23    6   11   10   - Open
  24    7   13   11   - Open: 11 12
  25    8   13   12   - Open
  26    9   13   12   - Open
  27   10   13   12   - Open
  28  < 11 room 2
  30  < 12 room 1
  31  < 13 room 0
  33   11   13   12   - Open
  35   12   13   12   - Open
  36   13   13   12   - Open
 247   13   13   12   - Open: asks for the window
 252  < 13 delayed room 0
 257   13   13   12   - Open
 681   13   13   12   - Open: asks for the window
 686  < 13 delayed room 0
 691   13   13   12   - Open
 720  < 13 delayed room 6
 725   13   17    4   - Open: 13 14 15 16
 731  < 14 room 6
 732  < 15 room 6
 733  < 16 room 6
 734  < 17 room 6
 736   14   18    5   - Open: 17
 737   15   18    6   - Open
 738   16   18    7   - Open
 739   17   18    8   - Open
 742  < 18
 747   18   18    8   - Open
",
    );
}

/// The first ten segments are not paced. Then the pace is twice the window per round trip.
#[test]
fn paced() {
    let pacing = Some(Pacing { most: None, slow_start_percent: 200, avoidance_percent: 120 });
    expect(
        Scenario {
            show: Show::All,
            ..scenario(TcpConfig { pacing, initial_window: 10, ..open() }, 26)
        },
        "
     ms  una next cwnd ssth state
   0.00    0   10   10   - Open: 0 1 2 3 4 5 6 7 8 9
   6.00  < 1
   7.00  < 2
   8.00  < 3
   9.00  < 4
  10.00  < 5
  11.00  < 6
  11.00    1   12   11   - Open: 10 11
  12.00  < 7
  12.00    2   14   12   - Open: 12 13
  13.00  < 8
  13.00    3   16   13   - Open: 14 15
  14.00  < 9
  14.00    4   18   14   - Open: 16 17
  15.00  < 10
  15.00    5   20   15   - Open: 18 19
  16.00    6   22   16   - Open: 20 21
  17.00  < 11
  17.00    7   24   17   - Open: 22 23
  18.00  < 12
  18.00    8   26   18   - Open: 24 25
  19.00  < 13
  19.00    9   26   19   - Open
  20.00  < 14
  20.00   10   26   20   - Open
  21.00  < 15
  22.00  < 16
  22.00   11   26   21   - Open
  23.00  < 17
  23.00   12   26   22   - Open
  24.00  < 18
  24.00   13   26   23   - Open
  25.00  < 19
  25.00   14   26   24   - Open
  26.00  < 20
  26.00   15   26   25   - Open
  27.00  < 21
  27.00   16   26   26   - Open
  28.00  < 22
  28.00   17   26   27   - Open
  29.00  < 23
  29.00   18   26   28   - Open
  30.00  < 24
  30.00   19   26   29   - Open
  31.00  < 25
  31.00   20   26   30   - Open
  32.00  < 26
  32.00   21   26   31   - Open
  33.00   22   26   32   - Open
  34.00   23   26   33   - Open
  35.00   24   26   34   - Open
  36.00   25   26   35   - Open
  37.00   26   26   36   - Open
",
    );
}

/// Segments leave four at a time, or a third of the window at a time while that is less.
#[test]
fn in_bursts() {
    expect(
        Scenario {
            show: Show::All,
            ..scenario(TcpConfig { burst: Burst::Segments(4), initial_window: 8, ..open() }, 30)
        },
        "
  ms  una next cwnd ssth state
   0    0    8    8   - Open: 0 1 2 3 4 5 6 7
   6  < 1
   7  < 2
   8  < 3
   9  < 4
  10  < 5
  11  < 6
  11    1    8    9   - Open
  12  < 7
  12    2   11   10   - Open: 8 9 10
  13  < 8
  13    3   14   11   - Open: 11 12 13
  14    4   14   12   - Open
  15    5   18   13   - Open: 14 15 16 17
  16    6   18   14   - Open
  17    7   22   15   - Open: 18 19 20 21
  18  < 9
  18    8   22   16   - Open
  19  < 10
  20  < 11
  21  < 12
  22  < 13
  23  < 14
  23    9   26   17   - Open: 22 23 24 25
  24  < 15
  24   10   26   18   - Open
  25  < 16
  25   11   30   19   - Open: 26 27 28 29
  26  < 17
  26   12   30   20   - Open
  27  < 18
  27   13   30   21   - Open
  28  < 19
  28   14   30   22   - Open
  29  < 20
  29   15   30   23   - Open
  30  < 21
  30   16   30   24   - Open
  31  < 22
  31   17   30   25   - Open
  32  < 23
  32   18   30   26   - Open
  33  < 24
  33   19   30   27   - Open
  34  < 25
  34   20   30   28   - Open
  35  < 26
  35   21   30   29   - Open
  36  < 27
  36   22   30   30   - Open
  37  < 28
  37   23   30   31   - Open
  38  < 29
  38   24   30   32   - Open
  39  < 30
  39   25   30   33   - Open
  40   26   30   34   - Open
  41   27   30   35   - Open
  42   28   30   36   - Open
  43   29   30   37   - Open
  44   30   30   38   - Open
",
    );
}

/// The lost SYN requested ECN. The next SYN does not, so there is no ECN.
#[test]
fn lost_syn() {
    let config = TcpConfig { handshake: true, ecn: EcnMode::Classic, ..open() };
    expect(
        Scenario { lost_syns: &[0], mark_above: Some(1), ..scenario(config, 12) },
        "
  ms  una next cwnd ssth state
   0    0    0    4   - Open: SYN with ECN (lost)
1000    0    0    4   - Open: SYN
1010    0    4    4   - Open: connected
1021    1    6    5   - Open
1034    7   12   11   - Open
1039   12   12   16   - Open
",
    );
}

#[test]
fn no_lost_syn() {
    let config = TcpConfig { handshake: true, ecn: EcnMode::Classic, ..open() };
    expect(
        Scenario { mark_above: Some(1), ..scenario(config, 12) },
        "
  ms  una next cwnd ssth state
   0    0    0    4   - Open: SYN with ECN
  10    0    4    4   - Open: connected with ECN
  21    1    6    5   - Open
  23    3    8    6   3 Reduced
  24    4    9    5   3 Reduced: CWR on 8
  34    7   10    3   3 Reduced
  36    9   12    3   3 Open
  46   11   12    4   3 Open
  47   12   12    4   3 Open
",
    );
}

/// After two lost SYNs, the first window is one segment.
#[test]
fn two_lost_syns() {
    expect(
        Scenario { lost_syns: &[0, 1], ..scenario(TcpConfig { handshake: true, ..open() }, 6) },
        "
  ms  una next cwnd ssth state
   0    0    0    4   - Open: SYN (lost)
1000    0    0    4   - Open: SYN (lost)
3000    0    0    4   - Open: SYN
3010    0    1    1   - Open: connected
3021    1    3    2   - Open
3043    4    6    5   - Open
3045    6    6    6   - Open
",
    );
}

/// The receive buffer grows with the data read per round trip. The round trip is estimated from the
/// segments' echoes, and bounded by the time of a window.
#[test]
fn buffer_grows() {
    let receive = Receive::Buffer(ReceiveBuffer {
        initial: Bytes(40 * 1460),
        most: Bytes(400 * 1460),
        share: 128,
    });
    expect(
        Scenario { show: Show::All, ..scenario(TcpConfig { receive, ..open() }, 40) },
        "
  ms  una next cwnd ssth state
   0    0    4    4   - Open: 0 1 2 3
   6  < 1 room 20
   7  < 2 room 20
   8  < 3 room 20
   9  < 4 room 20
  11    1    6    5   - Open: 4 5
  12    2    8    6   - Open: 6 7
  13    3   10    7   - Open: 8 9
  14    4   12    8   - Open: 10 11
  17  < 5 room 20
  18  < 6 room 20
  19  < 7 room 20
  20  < 8 room 20
  21  < 9 room 20
  22  < 10 room 20
  22    5   14    9   - Open: 12 13
  23  < 11 room 20
  23    6   16   10   - Open: 14 15
  24  < 12 room 20
  24    7   18   11   - Open: 16 17
  25    8   20   12   - Open: 18 19
  26    9   22   13   - Open: 20 21
  27   10   24   14   - Open: 22 23
  28  < 13 room 20
  28   11   26   15   - Open: 24 25
  29  < 14 room 20
  29   12   28   16   - Open: 26 27
  30  < 15 room 20
  31  < 16 room 20
  32  < 17 room 20
  33  < 18 room 20
  33   13   30   17   - Open: 28 29
  34  < 19 room 20
  34   14   32   18   - Open: 30 31
  35  < 20 room 20
  35   15   34   19   - Open: 32 33
  36  < 21 room 20
  36   16   34   20   - Open
  37  < 22 room 20
  37   17   37   21   - Open: 34 35 36
  38  < 23 room 20
  38   18   37   22   - Open
  39  < 24 room 20
  39   19   39   23   - Open: 37 38
  40  < 25 room 20
  40   20   40   24   - Open: 39
  41  < 26 room 20
  41   21   40   25   - Open
  42  < 27 room 79
  42   22   40   26   - Open
  43  < 28 room 79
  43   23   40   27   - Open
  44  < 29 room 79
  44   24   40   28   - Open
  45  < 30 room 79
  45   25   40   29   - Open
  46  < 31 room 79
  46   26   40   30   - Open
  47  < 32 room 79
  47   27   40   31   - Open
  48  < 33 room 79
  48   28   40   32   - Open
  49  < 34 room 79
  49   29   40   33   - Open
  50  < 35 room 79
  50   30   40   34   - Open
  51  < 36 room 79
  51   31   40   35   - Open
  52  < 37 room 79
  52   32   40   36   - Open
  53  < 38 room 79
  53   33   40   37   - Open
  54  < 39 room 79
  54   34   40   38   - Open
  55  < 40
  55   35   40   38   - Open
  56   36   40   38   - Open
  57   37   40   38   - Open
  58   38   40   38   - Open
  59   39   40   38   - Open
  60   40   40   38   - Open
",
    );
}
