#!/bin/bash
# Real Linux: effect of the queue that a host has in front of its link. One sender with a link of
# 100 Mbps (token bucket) sends bulk flows to host b and requests of 20 kB to host c. Both are
# behind a bridge whose ports have no limit.
# hosts-qdisc.sh "QDISC WITH ARGUMENTS" BULK-FLOWS new|persistent SEED [REQUESTS] [DELAY]
# Prints one JSON object. DELAY: delay of the replies of b and c (netem), if the kernel has it.
# Needs root, iproute2, ethtool and python3. Removes its namespaces at the end.
set -e
QDISC=${1:-fq_codel}; BULK=${2:-1}; KIND=${3:-new}; SEED=${4:-1}; COUNT=${5:-300}; DELAY=$6; CC=${CC:-cubic}
HERE=$(cd "$(dirname "$0")" && pwd); P=hq$$; OUT=$(mktemp -d); WARM=2; LAST=$((WARM + COUNT / 10 + 1))
cleanup(){ for i in a b c s; do ip netns del $P$i 2>/dev/null || true; done; rm -rf "$OUT"; }
trap cleanup EXIT
on(){ local where=$1; shift; ip netns exec $P$where "$@"; }
run(){ on $1 python3 -B "$HERE/hosts_requests.py" "${@:2}"; }
ip netns add ${P}s; ip -n ${P}s link add name swbr type bridge; ip -n ${P}s link set swbr up
n=1
for i in a b c; do
  ip netns add $P$i; ip -n ${P}s link add name p$i type veth peer name eth0 netns $P$i
  ip -n ${P}s link set p$i master swbr up; ip -n $P$i link set eth0 up; ip -n $P$i link set lo up
  ip -n $P$i addr add 10.9.0.1$n/24 dev eth0; n=$((n + 1))
  # Offloads are off, so that queues count frames.
  on $i ethtool -K eth0 tso off gso off gro off >/dev/null
  on s ethtool -K p$i tso off gso off gro off >/dev/null
  on $i sysctl -qw net.ipv4.tcp_no_metrics_save=1
  [ $i = a ] || [ -z "$DELAY" ] || on $i tc qdisc add dev eth0 root netem delay $DELAY limit 10000
done
on a tc qdisc add dev eth0 root handle 1: tbf rate 100mbit burst 1600 limit 20mb
on a tc qdisc add dev eth0 parent 1:1 handle 10: $QDISC
[ -z "$SETTINGS" ] || { on a tc -d qdisc show dev eth0; on a sysctl net.ipv4.tcp_{wmem,rmem,limit_output_bytes,ecn}; uname -r; } >&2
run b serve $WARM $LAST > $OUT/b & run c serve 0 $((LAST + 1)) > /dev/null & servers=$!
sleep 0.7
for i in $(seq 1 $BULK); do ( sleep 0.0$i; run a bulk 10.9.0.12 $LAST $CC > $OUT/bulk$i ) & done
run a sample eth0 $WARM $LAST ${EVERY:-0.05} > $OUT/queue &
sleep $WARM
run a requests 10.9.0.13 $COUNT $SEED $KIND $CC > $OUT/requests
wait
python3 - "$OUT" "$QDISC" $BULK $KIND $SEED <<'Q'
import json, os, sys
folder, qdisc, bulk, kind, seed = sys.argv[1:]
read = lambda name: json.load(open(f"{folder}/{name}"))
flows = [read(name) for name in sorted(os.listdir(folder)) if name.startswith("bulk")]
print(json.dumps({"qdisc": qdisc, "bulk": int(bulk), "connection": kind, "seed": int(seed), "mbps": read("b"), "flows": flows, "queue": read("queue")} | read("requests")))
Q
