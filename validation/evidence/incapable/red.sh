#!/bin/bash
# init of one kernel that has all hosts as network namespaces behind a bridge, with Linux's own RED
# at the port to host 1. Variables of the kernel's command line: DIR (of this file and conns) CASE
# CC FALLBACK ECN2 RATE (Mbps) SEED BYTES COUNT GAP AT END CONNS PASS (nodrop). Example:
# linux mem=256M root=/dev/root rootfstype=hostfs rootflags=/ ro init=$DIR/red.sh con=null con0=null,fd:1 time-travel=inf-cpu DIR=$DIR RATE=100 CASE=push SEED=1
#   BYTES=400000 COUNT=20 GAP=0.5 AT=3 END=18 CONNS=28
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /tmp; mount -t tmpfs run /run; mkdir -p /run/netns
C=$DIR/conns
now() { local u _; read u _ < /proc/uptime; echo ${u%.*}; }
# Namespaces start with the default of the first namespace.
V4=/proc/sys/net/ipv4
echo ${CC:-htcp} > $V4/tcp_congestion_control
read release < /proc/sys/kernel/osrelease
echo "kernel $release case $CASE seed $SEED"
ip link add br0 type bridge; ip link set br0 up
for i in 1 2 3 4 5 6; do
  ip netns add h$i
  ip link add p$i type veth peer name eth0 netns h$i address 02:00:00:00:00:0$i
  ip link set p$i master br0 up gso_max_segs 1
  ip -n h$i link set lo up; ip -n h$i link set eth0 up gso_max_segs 1
  ip -n h$i addr add 10.0.0.$i/24 dev eth0
  # tbf is driven by timers, so it has a credit of a frame and a half. Otherwise late timers would
  # lose capacity.
  ip netns exec h$i tc qdisc add dev eth0 root tbf rate ${RATE}mbit burst 3200 limit 10000000
  ip netns exec h$i bash -c "echo 1 > $V4/tcp_ecn; echo ${FALLBACK:-1} > $V4/tcp_ecn_fallback; echo 1 > $V4/tcp_no_metrics_save
    echo 4096 131072 6291456 > $V4/tcp_rmem; echo 4096 16384 4194304 > $V4/tcp_wmem; echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
    read cc < $V4/tcp_congestion_control; read ecn < $V4/tcp_ecn; read back < $V4/tcp_ecn_fallback; echo host $i: \$cc, tcp_ecn \$ecn, fallback \$back"
done
[ -n "$ECN2" ] && ip netns exec h2 bash -c "echo $ECN2 > $V4/tcp_ecn"
for i in 1 2 3 4 5 6; do for j in 1 2 3 4 5 6; do [ $i != $j ] && ip -n h$i neigh replace 10.0.0.$j lladdr 02:00:00:00:00:0$j dev eth0; done; done
tc qdisc add dev p1 root handle 1: tbf rate ${RATE}mbit burst 3200 limit 10000000
tc qdisc add dev p1 parent 1:1 handle 10: red limit 4000000 min 176000 max 352000 avpkt 1500 burst 118 probability 0.05 bandwidth ${RATE}mbit ecn $PASS
echo "ready at $(now)"
in_() { ip netns exec h$1 $C ${@:2}; }
in_ 1 sink 5001 $END > /tmp/sink &
case $CASE in
read) in_ 2 serve 5002 $END > /tmp/serve & in_ 1 read 10.0.0.2 5002 $END $COUNT $AT.0$((SEED*13)) $GAP $BYTES > /tmp/own & ;;
reverse) in_ 2 sink 5002 $END > /tmp/serve & in_ 1 push 10.0.0.2 5002 $END $COUNT $AT.0$((SEED*13)) $GAP $BYTES > /tmp/own & ;;
push) in_ 2 push 10.0.0.1 5001 $END $COUNT $AT.0$((SEED*13)) $GAP $BYTES > /tmp/own & ;;
esac
for i in 3 4 5 6; do in_ $i bulk 10.0.0.1 5001 $END $CONNS 0.$((500+i*7)) 0.011 1.0$((i*SEED*13%90+10)) > /tmp/bulk$i & done
# Samples the queue from AT to a second before END.
( while [ $(now) -lt $AT ]; do sleep 0.1; done
  while [ $(now) -lt $((END-1)) ]; do tc -s qdisc show dev p1; sleep 0.097; done > /tmp/queue ) &
wait
cat /tmp/own /tmp/serve 2>/dev/null
tc -s qdisc show dev p1
for h in 1 2; do echo "h$h: $(ip netns exec h$h nstat -az | grep -E 'TcpRetransSegs|TCPTimeouts|TCPSynRetrans' | awk '{printf "%s=%s ", $1, $2}')"; done
echo "bulk: $(cat /tmp/bulk? | awk '{r+=$8; t+=$9; e+=$6; n++} END {print n, "connections,", e, "with ECN,", r, "retransmissions,", t, "time-outs"}')"
awk '/^qdisc/{red=$2=="red"} red&&/backlog/{q=$2; f=1; if(q~/K/)f=1024; sub(/[A-Za-z]+/,"",q); q*=f; s+=q; n++; if(q>352000)a++} END {print "queue mean", s/n, "above", a/n, "samples", n}' /tmp/queue
echo "done at $(now)"
$C off
