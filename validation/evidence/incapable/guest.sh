# Script of each User-Mode kernel. Host 1 receives, host 2 is the other end of the connections in
# question, hosts 3 to N send with CONNS connections each. Variables of the kernel's command line:
# HOSTID NHOSTS DIR (of this file and conns) CC ECN (of all) ECN2 (of host 2) FALLBACK CASE BYTES
# COUNT GAP AT END CONNS.
sysctl -qw net.ipv4.tcp_congestion_control=${CC:-htcp} net.ipv4.tcp_ecn=${ECN:-1} net.ipv4.tcp_ecn_fallback=${FALLBACK:-1} net.ipv4.tcp_no_metrics_save=1 \
  net.ipv6.conf.all.disable_ipv6=1 net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_wmem="4096 16384 4194304"
[ $HOSTID = 2 ] && [ -n "$ECN2" ] && sysctl -qw net.ipv4.tcp_ecn=$ECN2
# Static neighbours, so that no host waits for ARP.
for i in $(seq 1 $NHOSTS); do [ $i != $HOSTID ] && ip neigh replace 10.0.0.$i lladdr 02:00:00:00:00:$(printf %02x $i) dev eth0; done
if [ $HOSTID = 1 ]; then
  $DIR/conns sink 5001 $END > /tmp/sink &
  case $CASE in
  read) $DIR/conns read 10.0.0.2 5002 $END $COUNT $AT $GAP $BYTES > /tmp/own & ;;
  reverse) $DIR/conns push 10.0.0.2 5002 $END $COUNT $AT $GAP $BYTES > /tmp/own & ;;
  esac
  wait; cat /tmp/own 2>/dev/null; echo "sinks $(grep -c sink /tmp/sink)"
elif [ $HOSTID = 2 ]; then
  case $CASE in
  read) $DIR/conns serve 5002 $END ;;
  reverse) $DIR/conns sink 5002 $END ;;
  push) $DIR/conns push 10.0.0.1 5001 $END $COUNT $AT $GAP $BYTES ;;
  esac
else
  # All connect before any of them sends, so that no SYN is lost at the port.
  $DIR/conns bulk 10.0.0.1 5001 $END $CONNS 0.$((500+HOSTID*7)) 0.011 1.0$((HOSTID*13%90+10)) > /tmp/bulk; cat /tmp/bulk
fi
nstat -az | grep -E 'TcpRetransSegs|TCPTimeouts|TCPSynRetrans|TCPLossProbes|TCPSpuriousRTOs'
echo "done at $(cut -d" " -f1 /proc/uptime) s"
$DIR/conns off
