# Functions for scripts that start several processes, to be read with `.`.
# mpis BUILD: the names of the MPIs, openmpi and mpich, that are installed and that BUILD can use.
mpis() {
  for mpi in openmpi mpich; do
    [ -e "$1/bin/libondine_mpi_$mpi.so" ] && command -v "mpirun.$mpi" >/dev/null && echo "$mpi"
  done
  true
}

# run_ranks MPI RANKS COMMAND...: also as root and with more ranks than cores.
run_ranks() {
  mpi=$1 count=$2
  shift 2
  if [ "$mpi" = openmpi ]; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
      OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_rmaps_base_oversubscribe=1 \
      OMPI_MCA_mpi_yield_when_idle=1 \
      mpirun.openmpi -n "$count" "$@"
  else
    mpirun.mpich -n "$count" "$@"
  fi
}
