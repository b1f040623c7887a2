//! Tests each congestion control from the start of a flow, with one line per round trip: window,
//! threshold, state, pacing rate (Mb/s of payload) and the control's own state.

use super::path::{MS, Scenario, Show, expect};
use crate::congestion::Flavour;
use crate::congestion::cubic::HyStart;
use crate::spec::*;
use crate::testing::linux;
use afflux_units::Span;

/// The bottleneck has 11.7 Mb/s of payload, and 50 ms in each direction. The pipe holds 101
/// segments, and the queue as many.
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
    Scenario {
        unit: MS,
        delay: 50,
        memory: 100,
        show: Show::Rounds,
        until,
        ..Scenario::new(config, segments)
    }
}

fn cubic(hystart: HyStart) -> CongestionControl {
    CongestionControl::Cubic(CubicConfig {
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        tcp_friendly: true,
        hystart,
        flavour: Flavour::Linux,
        tick: Some(Span::from_ms(4)),
        mss: 1460,
        paced: false,
    })
}

#[test]
fn newreno() {
    expect(
        long_path(crate::testing::newreno(), 100_000, 2_500),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open
 101    1   12   11   - Open
 204   13   36   23   - Open
 309   37   84   47   - Open
 418   85  180   95   - Open
 535  181  370  191   - Open
 725  371  751  381   - Open
 749  392  795  398 201 Recovery
1127  752  974  201 201 Recovery
1149  795  995  201 201 Open
1153  796  999  200 100 Recovery
1353  999 1099  100 100 Open
1455 1100 1201  101 100 Open
1558 1202 1303  102 100 Open
1660 1304 1406  103 100 Open
1763 1407 1510  104 100 Open
1867 1511 1616  105 100 Open
1973 1617 1723  106 100 Open
2080 1724 1830  107 100 Open
2187 1831 1938  108 100 Open
2295 1939 2047  109 100 Open
2404 2048 2157  110 100 Open
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
 535  181  370  191   - Open origin 0 K 0.00
 725  371  751  381   - Open origin 0 K 0.00
 749  392  795  398 281 Recovery origin 0 K 0.00
1127  752 1054  281 281 Recovery origin 0 K 0.00
1149  795 1075  281 281 Open origin 402 K 6.71
1153  796 1079  278 196 Recovery origin 402 K 6.71
1433 1079 1274  196 196 Open origin 238 K 4.72
1629 1275 1474  200 196 Open origin 238 K 4.72
1829 1475 1678  204 196 Open origin 238 K 4.72
1871 1514 1721  204 143 Recovery origin 238 K 4.72
2161 1699 1950  143 143 Recovery origin 238 K 4.72
2196 1842 1985  143 143 Open origin 174 K 4.26
2305 1951 2096  145 143 Open origin 174 K 4.26
2451 2097 2244  148 143 Open origin 174 K 4.26
2599 2245 2395  151 143 Open origin 174 K 4.26
2750 2396 2548  153 143 Open origin 174 K 4.26
2903 2549 2704  156 143 Open origin 174 K 4.26
3059 2705 2862  158 143 Open origin 174 K 4.26
3217 2863 3022  160 143 Open origin 174 K 4.26
3377 3023 3184  162 143 Open origin 174 K 4.26
3539 3185 3348  164 143 Open origin 174 K 4.26
3703 3349 3514  166 143 Open origin 174 K 4.26
3869 3515 3681  167 143 Open origin 174 K 4.26
4036 3682 3849  168 143 Open origin 174 K 4.26
4204 3850 4018  169 143 Open origin 174 K 4.26
4373 4019 4188  170 143 Open origin 174 K 4.26
4543 4189 4359  171 143 Open origin 174 K 4.26
4714 4360 4532  172 143 Open origin 174 K 4.26
4887 4533 4706  173 143 Open origin 174 K 4.26
5061 4707 4880  174 143 Open origin 174 K 4.26
5235 4881 5054  174 143 Open origin 174 K 4.26
5409 5055 5228  174 143 Open origin 174 K 4.26
5583 5229 5402  174 143 Open origin 174 K 4.26
5757 5403 5576  174 143 Open origin 174 K 4.26
5931 5577 5750  174 143 Open origin 174 K 4.26
6105 5751 5924  174 143 Open origin 174 K 4.26
6279 5925 6098  174 143 Open origin 174 K 4.26
6453 6099 6272  174 143 Open origin 174 K 4.26
6627 6273 6446  174 143 Open origin 174 K 4.26
6801 6447 6620  174 143 Open origin 174 K 4.26
6975 6621 6794  174 143 Open origin 174 K 4.26
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
 535  181  314  134 132 Open origin 132 K 0.00
 669  315  455  141 132 Open origin 132 K 0.00
 810  456  603  148 132 Open origin 132 K 0.00
 958  604  759  156 132 Open origin 132 K 0.00
1114  760  923  163 132 Open origin 132 K 0.00
1278  924 1096  172 132 Open origin 132 K 0.00
1451 1097 1276  180 132 Open origin 132 K 0.00
1631 1277 1465  189 132 Open origin 132 K 0.00
1820 1466 1664  199 132 Open origin 132 K 0.00
2019 1665 1873  209 132 Open origin 132 K 0.00
2059 1702 1915  210 147 Recovery origin 132 K 0.00
2370 1891 2163  147 147 Recovery origin 132 K 0.00
2403 2049 2195  147 147 Open origin 211 K 5.43
2518 2164 2314  150 147 Open origin 211 K 5.43
2669 2315 2469  155 147 Open origin 211 K 5.43
2824 2470 2629  160 147 Open origin 211 K 5.43
2984 2630 2793  164 147 Open origin 211 K 5.43
3148 2794 2962  169 147 Open origin 211 K 5.43
3317 2963 3135  173 147 Open origin 211 K 5.43
3490 3136 3312  177 147 Open origin 211 K 5.43
",
    );
}

#[test]
fn cubic_with_hystart_plus_plus() {
    expect(
        long_path(cubic(HyStart::Plusplus), 100_000, 2_000),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open slow start origin 0 K 0.00
 101    1   12   11   - Open slow start origin 0 K 0.00
 204   13   36   23   - Open slow start origin 0 K 0.00
 309   37   84   47   - Open slow start origin 0 K 0.00
 418   85  180   95   - Open slow start origin 0 K 0.00
 535  181  364  185   - Open slow start origin 0 K 0.00
 719  365  675  311   - Open conservative 0 origin 0 K 0.00
 755  398  718  315 223 Recovery origin 0 K 0.00
1118  679  987  223 223 Recovery origin 0 K 0.00
1149  795 1017  223 223 Open origin 319 K 6.21
1158  801 1025  219 156 Recovery origin 319 K 6.21
1379 1025 1181  156 156 Open origin 189 K 4.35
1536 1182 1341  159 156 Open origin 189 K 4.35
1696 1342 1504  162 156 Open origin 189 K 4.35
1859 1505 1669  165 156 Open origin 189 K 4.35
",
    );
}

#[test]
fn htcp() {
    expect(
        long_path(
            CongestionControl::Htcp(HtcpConfig {
                rtt_scaling: true,
                bandwidth_switch: true,
                tick: Span::from_ms(4),
            }),
            100_000,
            6_000,
        ),
        "
  ms  una next cwnd ssth state
   0    0   10   10   - Open alpha 1.00 beta 0.50
 101    1   12   11   - Open alpha 1.00 beta 0.50
 204   13   36   23   - Open alpha 1.00 beta 0.50
 309   37   84   47   - Open alpha 1.00 beta 0.50
 418   85  180   95   - Open alpha 1.00 beta 0.50
 535  181  370  191   - Open alpha 1.00 beta 0.50
 725  371  751  381   - Open alpha 1.00 beta 0.50
 749  392  795  398 201 Recovery alpha 1.00 beta 0.50
1127  752  974  201 201 Recovery alpha 1.00 beta 0.50
1149  795  995  201 201 Open alpha 1.00 beta 0.50
1153  796  999  200 103 Recovery alpha 0.97 beta 0.52
1353  999 1101  103 103 Open alpha 0.97 beta 0.52
1456 1102 1205  103 103 Open alpha 0.97 beta 0.52
1560 1206 1310  104 103 Open alpha 0.97 beta 0.52
1665 1311 1416  105 103 Open alpha 0.97 beta 0.52
1771 1417 1522  106 103 Open alpha 0.97 beta 0.52
1877 1523 1629  107 103 Open alpha 0.97 beta 0.52
1984 1630 1737  108 103 Open alpha 0.97 beta 0.52
2092 1738 1846  109 103 Open alpha 0.97 beta 0.52
2201 1847 1956  110 103 Open alpha 0.97 beta 0.52
2311 1957 2068  111 103 Open alpha 0.97 beta 0.52
2423 2069 2181  112 103 Open alpha 0.97 beta 0.52
2536 2182 2294  113 103 Open alpha 1.94 beta 0.52
2649 2295 2410  116 103 Open alpha 2.91 beta 0.52
2765 2411 2529  119 103 Open alpha 3.88 beta 0.52
2884 2530 2653  124 103 Open alpha 5.81 beta 0.52
3008 2654 2783  130 103 Open alpha 7.75 beta 0.52
3138 2784 2920  137 103 Open alpha 8.72 beta 0.52
3275 2921 3066  146 103 Open alpha 10.66 beta 0.52
3421 3067 3222  156 103 Open alpha 11.62 beta 0.52
3577 3223 3390  167 103 Open alpha 13.56 beta 0.52
3745 3391 3571  180 103 Open alpha 16.47 beta 0.52
3926 3572 3766  194 103 Open alpha 18.41 beta 0.52
4121 3767 3978  211 103 Open alpha 20.34 beta 0.52
4202 3845 4064  216 108 Recovery alpha 22.00 beta 0.50
4461 3988 4215  108 108 Recovery alpha 22.00 beta 0.50
4499 4145 4253  108 108 Open alpha 22.00 beta 0.50
4570 4216 4325  109 108 Open alpha 1.00 beta 0.50
4680 4326 4436  110 108 Open alpha 1.00 beta 0.50
4791 4437 4547  111 108 Open alpha 1.00 beta 0.50
4902 4548 4659  112 108 Open alpha 1.00 beta 0.50
5014 4660 4772  113 108 Open alpha 1.00 beta 0.50
5127 4773 4886  114 108 Open alpha 1.00 beta 0.50
5241 4887 5001  115 108 Open alpha 1.00 beta 0.50
5356 5002 5117  116 108 Open alpha 1.00 beta 0.50
5472 5118 5234  117 108 Open alpha 1.00 beta 0.50
5589 5235 5352  118 108 Open alpha 1.00 beta 0.50
5707 5353 5471  119 108 Open alpha 2.00 beta 0.50
5826 5472 5593  122 108 Open alpha 3.00 beta 0.50
5948 5594 5720  126 108 Open alpha 5.00 beta 0.50
",
    );
}

#[test]
fn ledbatpp() {
    let mut scenario =
        long_path(CongestionControl::Ledbatpp(crate::testing::ledbatpp()), 100_000, 3_500);
    scenario.config.initial_window = 2;
    expect(
        scenario,
        "
  ms  una next cwnd ssth state
   0    0    2    2   - Open first 1/16 0.0
 101    1    3    2   - Open first 1/2 0.0
 203    4    8    4   - Open first 1/2 0.0
 306    9   15    6   - Open first 1/2 0.0
 505   16   26   10   - Open first 1/2 0.0
 608   27   42   15   - Open first 1/2 0.0
 711   43   65   23   - Open first 1/2 0.0
 814   66  101   35   - Open first 1/2 1.0
 920  102  155   53   - Open first 1/2 3.0
1028  156  235   80   - Open first 1/2 5.0
1139  236  355  120   - Open first 1/2 8.0
1259  356  536  180   - Open first 1/2 17.0
1440  537  751  214 214 Open normal 1/2 77.0
1504  598  786  185  93 Recovery normal 1/2 98.0
1689  786  878    2  93 Open frozen 1/2 64.0
1889  879  881    2  93 Open frozen 1/2 0.0
1991  882  884    2  93 Open frozen 1/2 0.0
2192  885  888    3  93 Open ramp 1/2 0.0
2294  889  893    5  93 Open ramp 1/2 0.0
2396  894  902    8  93 Open ramp 1/2 0.0
2500  903  914   12  93 Open ramp 1/2 1.0
2604  915  932   18  93 Open ramp 1/2 2.0
2709  933  960   27  93 Open ramp 1/2 3.0
2817  961 1002   41  93 Open ramp 1/2 5.0
2929 1003 1064   62  93 Open ramp 1/2 9.0
3045 1065 1157   93  93 Open normal 1/2 14.0
3169 1158 1250   93  93 Open normal 1/2 22.0
3271 1251 1344   94  93 Open normal 1/2 0.0
3374 1345 1439   94  93 Open normal 1/2 0.0
3477 1440 1534   95  93 Open normal 1/2 0.0
",
    );
}

#[test]
fn bbr() {
    let config = BbrConfig {
        flavour: Flavour::Linux,
        probe_rtt_interval: Span::from_s(2),
        probe_rtt_time: Span::from_ms(200),
        send_quantum: None,
    };
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
    let config = Bbr3Config {
        flavour: None,
        probe_rtt_interval: Span::from_s(5),
        probe_rtt_time: Span::from_ms(200),
        send_quantum: None,
        ecn: false,
    };
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
