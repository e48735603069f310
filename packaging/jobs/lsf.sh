#!/bin/bash
#BSUB -J halftrip -o halftrip-%J.txt -n 2 -R span[ptile=1] -x -W 10
# bsub < lsf.sh: two hosts, a rank on each. The MPI that is loaded starts them.
halftrip --version || exit                # activate its environment before bsub, or here
mpiexec -n 2 halftrip run -t mpi,tcp -s 8,1K,64K,1M -o "halftrip-$LSB_JOBID.jsonl"
# Without MPI, by ssh, to the hosts of $LSB_DJOB_HOSTFILE:
#   halftrip run --hosts "$(sort -u "$LSB_DJOB_HOSTFILE" | paste -sd,)" -t tcp -s 8,1K,64K,1M
