#!/bin/bash
#flux: --job-name=halftrip --output=halftrip-{{id}}.txt
#flux: -N 2 --exclusive --time-limit=10m
# flux batch flux.sh: two hosts, a rank on each. Open MPI needs flux run -o pmi=pmix.
halftrip --version || exit                # activate its environment before flux batch, or here
flux run -N 2 -n 2 halftrip run -t mpi,tcp -s 8,1K,64K,1M -o "halftrip-$(flux getattr jobid).jsonl"
