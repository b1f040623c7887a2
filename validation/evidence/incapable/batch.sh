#!/bin/bash
# batch.sh RATE CASES SEEDS, for example batch.sh 100M "push read" "1 2 3"
# Writes results to RUNS/RATE-CASE-SEED. UMLSIM is the program patched by port.diff, DIR the folder
# with guest.sh and conns (outside /tmp, which guests mount over), RUNS the folder for results.
set -u
for seed in $3; do for case in $2; do
  case $1 in
  100M) net="delay_ms=0.04 rate_mbps=100 nic_gbps=0.1 jit_ns=50000 from=3 to=29 until=30.3" size=400000 count=24 gap=0.5 at=3 end=30 ;;
  1G) net="delay_ms=0.01 rate_mbps=1000 nic_gbps=1 jit_ns=20000 from=2 to=13 until=14.3" size=2000000 count=12 gap=0.4 at=2 end=14 ;;
  esac
  case $case in reverse*) size=4000000000 count=4 ;; esac
  case $case in
  push) own= guest="CASE=push" ;;
  read) own= guest="CASE=read" ;;
  nofallback) own= guest="CASE=push FALLBACK=0" ;;
  pass) own="pass=1" guest="CASE=push" ;;
  plain) own= guest="CASE=push ECN2=0" ;;
  reverse) own= guest="CASE=reverse" ;;
  reversepass) own="pass=1" guest="CASE=reverse" ;;
  cubic) own= guest="CASE=push CC=cubic" ;;
  cubicread) own= guest="CASE=read CC=cubic" ;;
  dctcp) own= guest="CASE=push CC=dctcp" ;;
  esac
  # All runs use the same folder name, because the kernel mixes its command line into its random
  # numbers.
  "$UMLSIM" hosts=6 $net queue=4e6 kmin=176000 kmax=352000 pmax=0.05 phase=$seed seed=$seed snap=64 $own dir=/tmp/umlsim \
    "append=SCEN=$DIR/guest.sh DIR=$DIR CONNS=16 BYTES=$size COUNT=$count GAP=$gap AT=$at END=$end $guest" > "$RUNS/out" 2>&1
  mkdir -p "$RUNS/$1-$case-$seed"
  mv "$RUNS/out" "$RUNS/$1-$case-$seed/out"
  cp /tmp/umlsim/h*.log "$RUNS/$1-$case-$seed/"
done; done
