#!/bin/bash
#PBS -N halftrip -j oe -l select=2:ncpus=1:mpiprocs=1 -l place=scatter:excl -l walltime=00:10:00
# qsub pbs.sh: two hosts, a rank on each. The MPI that is loaded starts them.
cd "$PBS_O_WORKDIR" || exit
halftrip --version || exit                # activate its environment before qsub -V, or here
mpiexec -n 2 halftrip run -t mpi,tcp -s 8,1K,64K,1M -o "halftrip-${PBS_JOBID%%.*}.jsonl"
# Without MPI, by ssh:
#   halftrip run --hosts all -t tcp -s 8,1K,64K,1M
