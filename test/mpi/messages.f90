! SPDX-License-Identifier: MIT
! 8 threads of each rank exchange messages, and the ranks reduce. The test puts
! the lines of one of MPI's three Fortran interfaces in place of @USE@ and so on.
program messages
  @USE@
  implicit none
  @INCLUDE@
  integer :: rank, level, err, i, value, total, wrong
  @COMM@ :: comm
  @STATUS@
  comm = MPI_COMM_WORLD
  wrong = 0
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level, err)
  call MPI_Comm_rank(comm, rank, err)
  !$omp parallel do num_threads(8) private(value, status, err) reduction(+:wrong)
  do i = 1, 80
    value = i
    if (rank == 0) call MPI_Send(value, 1, MPI_INTEGER, 1, i, comm, err)
    value = 0
    call MPI_Recv(value, 1, MPI_INTEGER, 1 - rank, i, comm, status, err)
    if (value /= i .or. @TAG@ /= i) wrong = wrong + 1
    if (rank == 1) call MPI_Send(value, 1, MPI_INTEGER, 0, i, comm, err)
  end do
  call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, comm, err)
  call MPI_Barrier(comm, err)
  if (total /= 3) wrong = wrong + 1
  if (rank == 0) print '(a, i0)', "wrong ", wrong
  call MPI_Finalize(err)
end program
