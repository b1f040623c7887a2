#!/bin/bash
# Real Linux: senders behind one bridge port, with 100 Mbps on every link (token buckets).
# hosts-flows.sh "CONGESTION …" SECONDS QUEUE ["DELAY …"]
# Prints JSON: goodput, retransmissions and marks of each sender, and the port's counters.
# CONGESTION: one for each sender.
# QUEUE: "drop BYTES", or "step MICROSECONDS", which marks frames that have waited longer (CoDel's
#   ce_threshold; CoDel itself never acts).
# DELAY: netem's delay of the receiver's replies, for each sender. With it each frame on its way to
#   the switch is up to 50 us late (uniform, in order). In virtual time nothing else ends the phase
#   effect. A rate makes netem keep the order of frames.
# A listener grants ECN to DCTCP's SYN only if its own default is DCTCP. Set
# net.ipv4.tcp_congestion_control before, because new namespaces inherit it. Needs root, iproute2,
# ethtool and python3, and for DELAY and step a kernel with netem and CoDel. Removes its namespaces
# at the end.
set -e
read -ra KINDS <<< "${1:-cubic cubic}"; T=${2:-30}; read -r HOW AMOUNT <<< "${3:-drop 151400}"; read -ra DELAYS <<< "$4"
HERE=$(cd "$(dirname "$0")" && pwd); P=hf$$; OUT=$(mktemp -d); N=${#KINDS[@]}
cleanup(){ for i in $(seq 0 $N) s; do ip netns del $P$i 2>/dev/null || true; done; rm -rf "$OUT"; }
trap cleanup EXIT
on(){ local where=$1; shift; ip netns exec $P$where "$@"; }
run(){ on $1 python3 -B "$HERE/hosts_requests.py" "${@:2}"; }
ip netns add ${P}s; ip -n ${P}s link add name swbr type bridge; ip -n ${P}s link set swbr up
for i in $(seq 0 $N); do
  ip netns add $P$i; ip -n ${P}s link add name p$i type veth peer name eth0 netns $P$i
  ip -n ${P}s link set p$i master swbr up; ip -n $P$i link set eth0 up; ip -n $P$i link set lo up
  ip -n $P$i addr add 10.9.0.$((10 + i))/24 dev eth0
  # Offloads are off, so that queues count frames.
  on $i ethtool -K eth0 tso off gso off gro off >/dev/null
  on s ethtool -K p$i tso off gso off gro off >/dev/null
  on $i sysctl -qw net.ipv4.tcp_no_metrics_save=1
  [ $HOW = drop ] || on $i sysctl -qw net.ipv4.tcp_ecn=1
  [ $i = 0 ] || on $i tc qdisc add dev eth0 root handle 1: tbf rate 100mbit burst 1600 limit 20mb
  [ $i = 0 ] || [ -z "${DELAYS[i-1]}" ] && continue
  ip -n ${P}s link add name b$i type bridge; ip -n ${P}s link add name q$i type veth peer name r$i
  ip -n ${P}s link set b$i up; ip -n ${P}s link set p$i master b$i; ip -n ${P}s link set q$i master b$i up; ip -n ${P}s link set r$i master swbr up
  on s ethtool -K q$i tso off gso off gro off >/dev/null; on s ethtool -K r$i tso off gso off gro off >/dev/null
  on s tc qdisc add dev p$i root netem limit 10000 delay ${DELAYS[i-1]}
  on s tc qdisc add dev q$i root netem limit 10000 rate 100gbit delay 25us 25us
done
if [ $HOW = drop ]; then on s tc qdisc add dev p0 root handle 1: tbf rate 100mbit burst 1600 limit $AMOUNT
else
  on s tc qdisc add dev p0 root handle 1: tbf rate 100mbit burst 1600 limit 20mb
  on s tc qdisc add dev p0 parent 1:1 handle 10: codel limit 1000 target 10s interval 20s ecn ce_threshold ${AMOUNT}us
fi
run 0 serve 0 $T > $OUT/received &
sleep 0.7
for i in $(seq 1 $N); do ( sleep 0.00$i; run $i bulk 10.9.0.10 $T ${KINDS[i-1]} > $OUT/sender$i ) & done
wait
on s tc -s -j qdisc show dev p0 > $OUT/port
python3 - "$OUT" "${KINDS[@]}" <<'Q'
import json, sys
folder, *kinds = sys.argv[1:]
read = lambda name: json.load(open(f"{folder}/{name}"))
received = {name.split(":")[0]: mbps for name, mbps in read("received").items()}
flows = [read(f"sender{i}") | {"congestion": kind, "mbps": received[f"10.9.0.{10 + i}"]} for i, kind in enumerate(kinds, 1)]
port = read("port")
print(json.dumps({"flows": flows, "drops": port[0]["drops"], "ce_mark": port[-1].get("ce_mark", 0)}))
Q
