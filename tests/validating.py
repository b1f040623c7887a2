"""Reference data that the tests of `make validate` make up, and the command on them."""

import json
from pathlib import Path

from validation import run

BARS = """\
[linux]
repetitions = 2
[linux.a1_window]
half2_mbps = { rel = 0.02 }
[linux.c_incast]
goodput_mbps = { rel = 0.15 }
[ns3]
repetitions = 1
[ns3.dc]
goodput_mbps = { rel = 0.02 }
drops = { rel = 0.25, or_abs = 20 }
[ns3.incast]
all_done_us = { rel = 0.15 }
[pfabric]
mean = { rel = 0.10 }
"""
WINDOW = "name,RATE,RTT,Q,CC,LOSS,W,CONNS,GAP,T,STALL,half2_mbps,avg_mbps\n"
DUMBBELL = "run,algo,q,rate,rtt_s,buf_pkts,K,n,stagger_s,delack,rcvbuf,ecn,dur_s,warm_s,goodput_mbps,q_mean,drops,marks\n"
INCAST = "algo,q,n,size_B,buf_B,K_pkts,minRto_ms,seed,all_done_us,first_done_us,fct_p50_us,drops,marks,rto_events\n"


def references(folder: Path) -> Path:
    """Creates a folder with the layout of the reference data and made-up rows."""
    files = {
        "bars.toml": BARS,
        "linux/README.md": "Real Linux.\n",
        "linux/raw/x.q.csv": "t_s\n0\n",
        "linux/a1_window.csv": WINDOW
        + "small,20,40000,bfifo limit 50000,reno,,16384,1,,2,,4.1,4.0\nodd,20,40000,sfq,reno,,,1,,2,,4.1,4.0\n",
        "linux/a2_parallel.csv": "name,RATE\nx,1\n",
        "linux/c_incast.csv": "\x00\x01",
        "linux/z_new.csv": "name\nx\n",
        "ns3/dc.csv": DUMBBELL
        + "TcpNewReno_dt20,TcpNewReno,droptail,1Gbps,0.0004,20,65,2,0.001,1,67108864,0,0.05,0.01,900,10,5,0\n",
        "ns3/incast.csv": INCAST + "TcpNewReno,droptail,3,20000,100000,0,200,1,70,60,65,0,0,0\n",
        "ns3/lfn1g.csv": "",
        "pfabric/scheme_0.6.csv.gz": "not read",
        "later/one_run/fct.txt": "1 2 3\n",
    }
    for name, text in files.items():
        path = folder / "reference" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "reference"


def validate(ref: Path, *options: str) -> tuple[int, list[dict]]:
    out = ref.parent / "out"
    code = run.main(["--ref", str(ref), "--out", str(out), "--jobs", "1", *options])
    found = out / "validate.json"
    return code, json.loads(found.read_text()) if found.is_file() else []
