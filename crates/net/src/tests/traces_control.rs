//! Each congestion control from the start of a flow on, one line per round trip: window, threshold, state, pacing rate (Mb/s of payload) and
//! what it says of itself.

use super::path::{MS, Scenario, Show, expect};
use crate::spec::*;
use crate::testing::linux;
use afflux_units::Span;

/// A bottleneck of 11.7 Mb/s of payload, 50 ms each way: the pipe holds 101 segments, the queue as many.
fn long_path(congestion: CongestionControl, segments: u32, until: u64) -> Scenario {
    let config = TcpConfig {
        congestion,
        handshake: false,
        delayed_ack: None,
        sack_compression: None,
        min_rto: Span::from_ms(200),
        initial_rto: Span::from_s(1),
        ..linux()
    };
    Scenario { unit: MS, delay: 50, room: 100, show: Show::Rounds, until, ..Scenario::new(config, segments) }
}

fn cubic(hystart: HyStart) -> CongestionControl {
    CongestionControl::Cubic(CubicConfig {
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        tcp_friendly: true,
        hystart,
        flavour: CubicFlavour::Linux,
        tick: Span::from_ms(4),
        mss: 1460,
        paced: false,
    })
}

#[test]
fn newreno() {
    expect(
        long_path(CongestionControl::NewReno, 100_000, 2_500),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open
 101    1   12   11   - Open
 204   13   36   23   - Open
 309   37   84   47   - Open
 418   85  180   95   - Open
 535  181  372  191   - Open
 727  373  756  383   - Open
 748  391  794  398 200 Recovery
1130  757  976  200 200 Recovery
1148  794  994  200 200 Open
1331  977 1177  200 200 Open
1532 1178 1379  201 200 Open
1550 1193 1396  200 100 Recovery
1750 1396 1496  100 100 Open
1852 1497 1598  101 100 Open
1955 1599 1701  102 100 Open
2058 1702 1805  103 100 Open
2162 1806 1910  104 100 Open
2267 1911 2016  105 100 Open
2373 2017 2123  106 100 Open
2480 2124 2231  107 100 Open
",
    );
}

#[test]
fn cubic_without_hystart() {
    expect(
        long_path(cubic(HyStart::Off), 100_000, 7_000),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open origin 0 K 0.00
 101    1   12   11   - Open origin 0 K 0.00
 204   13   36   23   - Open origin 0 K 0.00
 309   37   84   47   - Open origin 0 K 0.00
 418   85  180   95   - Open origin 0 K 0.00
 535  181  372  191   - Open origin 0 K 0.00
 727  373  756  383   - Open origin 0 K 0.00
 748  391  794  398 280 Recovery origin 0 K 0.00
1130  757 1056  280 280 Recovery origin 0 K 0.00
1148  794 1074  280 280 Open origin 401 K 6.71
1151  794 1076  277 196 Recovery origin 401 K 6.71
1430 1076 1272  196 196 Open origin 238 K 4.72
1627 1273 1473  200 196 Open origin 238 K 4.72
1828 1474 1678  204 196 Open origin 238 K 4.72
1858 1501 1708  204 143 Recovery origin 238 K 4.72
2155 1685 1944  143 143 Recovery origin 238 K 4.72
2183 1829 1972  143 143 Open origin 174 K 4.26
2299 1945 2090  145 143 Open origin 174 K 4.26
2445 2091 2239  148 143 Open origin 174 K 4.26
2594 2240 2391  151 143 Open origin 174 K 4.26
2746 2392 2546  154 143 Open origin 174 K 4.26
2901 2547 2703  156 143 Open origin 174 K 4.26
3058 2704 2862  158 143 Open origin 174 K 4.26
3217 2863 3023  160 143 Open origin 174 K 4.26
3378 3024 3186  162 143 Open origin 174 K 4.26
3541 3187 3351  164 143 Open origin 174 K 4.26
3706 3352 3518  166 143 Open origin 174 K 4.26
3873 3519 3686  167 143 Open origin 174 K 4.26
4041 3687 3856  169 143 Open origin 174 K 4.26
4211 3857 4027  170 143 Open origin 174 K 4.26
4382 4028 4199  171 143 Open origin 174 K 4.26
4554 4200 4372  172 143 Open origin 174 K 4.26
4727 4373 4546  173 143 Open origin 174 K 4.26
4901 4547 4720  173 143 Open origin 174 K 4.26
5075 4721 4895  174 143 Open origin 174 K 4.26
5250 4896 5070  174 143 Open origin 174 K 4.26
5425 5071 5245  174 143 Open origin 174 K 4.26
5600 5246 5420  174 143 Open origin 174 K 4.26
5775 5421 5595  174 143 Open origin 174 K 4.26
5950 5596 5770  174 143 Open origin 174 K 4.26
6125 5771 5945  174 143 Open origin 174 K 4.26
6300 5946 6120  174 143 Open origin 174 K 4.26
6475 6121 6295  174 143 Open origin 174 K 4.26
6650 6296 6470  174 143 Open origin 174 K 4.26
6825 6471 6645  174 143 Open origin 174 K 4.26
7000 6646 6820  174 143 Open origin 174 K 4.26
",
    );
}

#[test]
fn cubic_with_hystart() {
    expect(
        long_path(cubic(HyStart::Linux), 100_000, 3_500),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open origin 0 K 0.00
 101    1   12   11   - Open origin 0 K 0.00
 204   13   36   23   - Open origin 0 K 0.00
 309   37   84   47   - Open origin 0 K 0.00
 418   85  180   95   - Open origin 0 K 0.00
 535  181  315  134 132 Open origin 132 K 0.00
 670  316  457  141 132 Open origin 132 K 0.00
 812  458  606  148 132 Open origin 132 K 0.00
 961  607  763  156 132 Open origin 132 K 0.00
1118  764  928  164 132 Open origin 132 K 0.00
1283  929 1101  172 132 Open origin 132 K 0.00
1456 1102 1283  181 132 Open origin 132 K 0.00
1638 1284 1474  190 132 Open origin 132 K 0.00
1829 1475 1674  199 132 Open origin 132 K 0.00
2029 1675 1884  209 132 Open origin 132 K 0.00
2059 1702 1915  210 147 Recovery origin 132 K 0.00
2370 1891 2163  147 147 Recovery origin 132 K 0.00
2403 2049 2196  147 147 Open origin 211 K 5.43
2518 2164 2314  150 147 Open origin 211 K 5.43
2669 2315 2470  155 147 Open origin 211 K 5.43
2825 2471 2631  160 147 Open origin 211 K 5.43
2986 2632 2796  164 147 Open origin 211 K 5.43
3151 2797 2966  169 147 Open origin 211 K 5.43
3321 2967 3140  173 147 Open origin 211 K 5.43
3495 3141 3318  177 147 Open origin 211 K 5.43
",
    );
}

#[test]
fn cubic_with_hystart_plus_plus() {
    expect(
        long_path(cubic(HyStart::PlusPlus), 100_000, 2_000),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open slow start origin 0 K 0.00
 101    1   12   11   - Open slow start origin 0 K 0.00
 204   13   36   23   - Open slow start origin 0 K 0.00
 309   37   84   47   - Open slow start origin 0 K 0.00
 418   85  180   95   - Open slow start origin 0 K 0.00
 535  181  366  185   - Open slow start origin 0 K 0.00
 721  367  679  312   - Open conservative 0 origin 0 K 0.00
 754  397  718  316 223 Recovery origin 0 K 0.00
1122  683  991  223 223 Recovery origin 0 K 0.00
1150  796 1019  223 223 Open origin 319 K 6.21
1157  800 1025  220 156 Recovery origin 319 K 6.21
1379 1025 1181  156 156 Open origin 189 K 4.35
1536 1182 1341  159 156 Open origin 189 K 4.35
1696 1342 1504  162 156 Open origin 189 K 4.35
1859 1505 1670  165 156 Open origin 189 K 4.35
",
    );
}

#[test]
fn htcp() {
    expect(
        long_path(CongestionControl::Htcp(HtcpConfig { rtt_scaling: true, bandwidth_switch: true, tick: Span::from_ms(4) }), 100_000, 6_000),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open alpha 1.00 beta 0.50
 101    1   12   11   - Open alpha 1.00 beta 0.50
 204   13   36   23   - Open alpha 1.00 beta 0.50
 309   37   84   47   - Open alpha 1.00 beta 0.50
 418   85  180   95   - Open alpha 1.00 beta 0.50
 535  181  372  191   - Open alpha 1.00 beta 0.50
 727  373  756  383   - Open alpha 1.00 beta 0.50
 748  391  794  398 200 Recovery alpha 1.00 beta 0.50
1130  757  976  200 200 Recovery alpha 1.00 beta 0.50
1148  794  994  200 200 Open alpha 1.00 beta 0.50
1331  977 1177  200 200 Open alpha 1.00 beta 0.50
1532 1178 1379  201 200 Open alpha 1.00 beta 0.50
1552 1195 1398  200 100 Recovery alpha 1.00 beta 0.50
1752 1398 1498  100 100 Open alpha 1.00 beta 0.50
1854 1499 1600  101 100 Open alpha 1.00 beta 0.50
1957 1601 1703  102 100 Open alpha 1.00 beta 0.50
2060 1704 1807  103 100 Open alpha 1.00 beta 0.50
2164 1808 1912  104 100 Open alpha 1.00 beta 0.50
2269 1913 2018  105 100 Open alpha 1.00 beta 0.50
2375 2019 2125  106 100 Open alpha 1.00 beta 0.50
2482 2126 2233  107 100 Open alpha 1.00 beta 0.50
2590 2234 2342  108 100 Open alpha 1.00 beta 0.50
2699 2343 2452  109 100 Open alpha 1.00 beta 0.50
2809 2453 2563  110 100 Open alpha 1.00 beta 0.50
2920 2564 2675  111 100 Open alpha 2.00 beta 0.50
3032 2676 2789  113 100 Open alpha 3.00 beta 0.50
3146 2790 2907  117 100 Open alpha 4.00 beta 0.50
3264 2908 3029  121 100 Open alpha 6.00 beta 0.50
3386 3030 3157  127 100 Open alpha 8.00 beta 0.50
3514 3158 3293  135 100 Open alpha 9.00 beta 0.50
3650 3294 3437  143 100 Open alpha 11.00 beta 0.50
3794 3438 3591  153 100 Open alpha 12.00 beta 0.50
3948 3592 3757  165 100 Open alpha 14.00 beta 0.50
4114 3758 3936  178 100 Open alpha 17.00 beta 0.50
4293 3937 4130  193 100 Open alpha 18.00 beta 0.50
4487 4131 4340  209 100 Open alpha 21.00 beta 0.50
4592 4233 4452  216 108 Recovery alpha 22.00 beta 0.50
4839 4349 4591  108 108 Recovery alpha 22.00 beta 0.50
4887 4531 4639  108 108 Open alpha 22.00 beta 0.50
4948 4592 4701  109 108 Open alpha 1.00 beta 0.50
5058 4702 4812  110 108 Open alpha 1.00 beta 0.50
5169 4813 4924  111 108 Open alpha 1.00 beta 0.50
5281 4925 5037  112 108 Open alpha 1.00 beta 0.50
5394 5038 5151  113 108 Open alpha 1.00 beta 0.50
5508 5152 5266  114 108 Open alpha 1.00 beta 0.50
5623 5267 5382  115 108 Open alpha 1.00 beta 0.50
5739 5383 5499  116 108 Open alpha 1.00 beta 0.50
5856 5500 5617  117 108 Open alpha 1.00 beta 0.50
5974 5618 5736  118 108 Open alpha 1.00 beta 0.50
",
    );
}

#[test]
fn bbr() {
    let config = BbrConfig { probe_rtt_interval: Span::from_s(2), probe_rtt_time: Span::from_ms(200), send_quantum: None };
    expect(
        long_path(CongestionControl::Bbr(config), 100_000, 5_000),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open 3.30 Startup
 101    1   12   11   - Open 3.30 Startup
 209   13   34   23   - Open 3.60 Startup
 314   35   70   45   - Open 6.91 Startup
 417   71  138   81   - Open 11.37 Startup
 519  139  282  149   - Open 22.27 Startup
 663  283  576  293   - Open 33.37 Startup
 774  391  691  295   - Recovery 33.38 Startup
1066  577  979  293   - Recovery 33.38 Startup
1071  691  989  298   - Open 33.38 Startup
1177  794 1094  295   - Recovery 33.38 Startup
1469  980 1228  293 108 Recovery 3.97 Drain
1474 1094 1230  299 108 Open 3.97 Drain
1580 1197 1308  108 108 Recovery 11.56 ProbeBandwidth 7
1688 1308 1417  219 108 Open 14.45 ProbeBandwidth 0
1798 1418 1549  218 108 Open 8.67 ProbeBandwidth 1
1930 1550 1657  218 108 Open 11.56 ProbeBandwidth 2
2038 1658 1727    4 108 Open 11.56 ProbeRtt
2205 1728 1732    4 108 Open 11.56 ProbeRtt
2307 1733 1737  210 108 Open 11.56 ProbeBandwidth 6
2409 1738 1839  210 108 Open 11.56 ProbeBandwidth 7
2512 1840 1941  212 108 Open 14.45 ProbeBandwidth 0
2615 1942 2067  212 108 Open 14.45 ProbeBandwidth 0
2741 2068 2177  210 108 Open 8.67 ProbeBandwidth 1
2851 2178 2285  210 108 Open 11.56 ProbeBandwidth 3
2959 2286 2391  210 108 Open 11.56 ProbeBandwidth 4
3065 2392 2497  210 108 Open 11.56 ProbeBandwidth 5
3171 2498 2601  210 108 Open 11.56 ProbeBandwidth 6
3275 2602 2705  210 108 Open 11.56 ProbeBandwidth 7
3379 2706 2813  212 108 Open 14.45 ProbeBandwidth 0
3487 2814 2947  212 108 Open 14.45 ProbeBandwidth 0
3621 2948 3055  210 108 Open 11.56 ProbeBandwidth 2
3729 3056 3163  210 108 Open 11.56 ProbeBandwidth 3
3837 3164 3269  210 108 Open 11.56 ProbeBandwidth 4
3943 3270 3375  210 108 Open 11.56 ProbeBandwidth 5
4049 3376 3479  210 108 Open 11.56 ProbeBandwidth 6
4153 3480 3583  210 108 Open 11.56 ProbeBandwidth 7
4257 3584 3699  212 108 Open 14.45 ProbeBandwidth 0
4373 3700 3761    4 108 Open 11.56 ProbeRtt
4532 3762 3766    4 108 Open 11.56 ProbeRtt
4634 3767 3771  212 108 Open 14.45 ProbeBandwidth 0
4736 3772 3897  212 108 Open 14.45 ProbeBandwidth 0
4862 3898 4007  210 108 Open 8.67 ProbeBandwidth 1
4972 4008 4115  210 108 Open 11.56 ProbeBandwidth 3
",
    );
}

#[test]
fn bbr3() {
    let config = Bbr3Config { probe_rtt_interval: Span::from_s(5), probe_rtt_time: Span::from_ms(200), send_quantum: None, ecn: false };
    expect(
        long_path(CongestionControl::Bbr3(config), 100_000, 6_500),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open 3.18 Startup -/-
 101    1   12   11   - Open 3.18 Startup -/-
 209   13   34   23   - Open 3.46 Startup -/-
 315   35   68   40   - Open 6.63 Startup -/-
 416   69  132   69   - Open 10.75 Startup -/-
 518  133  262  133   - Open 20.21 Startup -/-
 648  263  475  212   - Open 31.92 Startup -/-
 814  426  642  213   - Recovery 32.07 Startup -/-
1049  501  842  206 102 Recovery 3.98 Drain 200/-
1236  851  950  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
1338  951 1050  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
1439 1051 1150  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
1540 1151 1250  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
1641 1251 1350  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
1742 1351 1450  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
1843 1451 1550  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
1944 1551 1650  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2045 1651 1750  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2146 1751 1850  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2247 1851 1950  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2348 1951 2050  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2449 2051 2150  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2550 2151 2250  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2651 2251 2350  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2752 2351 2450  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2853 2451 2550  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
2954 2551 2650  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
3055 2651 2750  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
3156 2751 2850  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
3257 2851 2950  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
3358 2951 3050  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
3459 3051 3150  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
3560 3151 3250  190 102 Open 11.56 ProbeBandwidth Refill 200/-
3661 3251 3356  200 102 Open 14.45 ProbeBandwidth Up 200/-
3768 3357 3488  200 102 Open 14.45 ProbeBandwidth Up 200/-
3900 3489 3652  200 102 Open 14.45 ProbeBandwidth Up 200/-
4064 3653 3842  200 102 Open 10.48 ProbeBandwidth Down 200/-
4254 3843 4012  200 102 Open 10.48 ProbeBandwidth Down 200/-
4424 4013 4164  200 102 Open 10.48 ProbeBandwidth Down 200/-
4576 4165 4300  200 102 Open 10.48 ProbeBandwidth Down 200/-
4712 4301 4422  200 102 Open 10.48 ProbeBandwidth Down 200/-
4834 4423 4532  200 102 Open 10.48 ProbeBandwidth Down 200/-
4944 4533 4634  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
5046 4635 4690   51 102 Open 11.56 ProbeRtt 200/-
5152 4691 4742   51 102 Open 11.56 ProbeRtt 200/-
5254 4743 4794  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
5356 4795 4896  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
5458 4897 4996  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
5559 4997 5096  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
5660 5097 5196  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
5761 5197 5296  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
5862 5297 5396  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
5963 5397 5496  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
6064 5497 5596  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
6165 5597 5696  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
6266 5697 5796  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
6367 5797 5896  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
6468 5897 5996  171 102 Open 11.56 ProbeBandwidth Cruise 200/-
",
    );
}
