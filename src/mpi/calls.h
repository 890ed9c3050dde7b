/* SPDX-License-Identifier: MIT */
/*
 * The MPI functions that the library replaces, by the way in which they wait.
 *
 *     #define NAME(name, ...) "PMPI_" #name,
 *     static const char *const names[] = { WF_MPI_CALLS(NAME, NAME) };
 *
 * A row has the function's name, the number of its arguments, how it waits, the
 * non-blocking function, and the place of the latter's extra argument:
 *
 *   FORM    the non-blocking form; its last argument is a request
 *   STATUS  the same; the blocking function's last argument is a status
 *   TEST    a function that is repeated until its flag is set; the flag is
 *           the argument at that place
 *   COUNT   the same, and the flag is an argument of the blocking function
 *   BOUND   a kernel thread: there is no non-blocking form
 *   and functions of their own for the four that are like no other.
 *
 * C stands for functions that also exist with large counts, as MPI_Send_c.
 */
#ifndef WEFT_MPI_CALLS_H
#define WEFT_MPI_CALLS_H

/* clang-format off */
#define WF_MPI_CALLS(X, C) \
	C(Send, 6, FORM, Isend, 6) \
	C(Ssend, 6, FORM, Issend, 6) \
	C(Bsend, 6, FORM, Ibsend, 6) \
	C(Rsend, 6, FORM, Irsend, 6) \
	X(Barrier, 1, FORM, Ibarrier, 1) \
	C(Bcast, 5, FORM, Ibcast, 5) \
	C(Gather, 8, FORM, Igather, 8) \
	C(Gatherv, 9, FORM, Igatherv, 9) \
	C(Scatter, 8, FORM, Iscatter, 8) \
	C(Scatterv, 9, FORM, Iscatterv, 9) \
	C(Allgather, 7, FORM, Iallgather, 7) \
	C(Allgatherv, 8, FORM, Iallgatherv, 8) \
	C(Alltoall, 7, FORM, Ialltoall, 7) \
	C(Alltoallv, 9, FORM, Ialltoallv, 9) \
	C(Alltoallw, 9, FORM, Ialltoallw, 9) \
	C(Reduce, 7, FORM, Ireduce, 7) \
	C(Allreduce, 6, FORM, Iallreduce, 6) \
	C(Reduce_scatter, 6, FORM, Ireduce_scatter, 6) \
	C(Reduce_scatter_block, 6, FORM, Ireduce_scatter_block, 6) \
	C(Scan, 6, FORM, Iscan, 6) \
	C(Exscan, 6, FORM, Iexscan, 6) \
	C(Neighbor_allgather, 7, FORM, Ineighbor_allgather, 7) \
	C(Neighbor_allgatherv, 8, FORM, Ineighbor_allgatherv, 8) \
	C(Neighbor_alltoall, 7, FORM, Ineighbor_alltoall, 7) \
	C(Neighbor_alltoallv, 9, FORM, Ineighbor_alltoallv, 9) \
	C(Neighbor_alltoallw, 9, FORM, Ineighbor_alltoallw, 9) \
	C(Recv, 7, STATUS, Irecv, 6) \
	C(Mrecv, 5, STATUS, Imrecv, 4) \
	X(Wait, 2, TEST, Test, 1) \
	X(Waitall, 3, TEST, Testall, 2) \
	X(Waitany, 4, TEST, Testany, 3) \
	X(Waitsome, 5, COUNT, Testsome, 2) \
	X(Probe, 4, TEST, Iprobe, 3) \
	X(Mprobe, 5, TEST, Improbe, 3) \
	X(Win_wait, 1, TEST, Win_test, 1) \
	C(Sendrecv, 12, SENDRECV, Irecv, 0) \
	C(Sendrecv_replace, 9, REPLACE, Irecv, 0) \
	X(Init, 2, START, Query_thread, 0) \
	X(Init_thread, 4, START, Query_thread, 0) \
	X(Finalize, 0, FINISH, Query_thread, 0) \
	C(Buffer_detach, 2, BOUND, , 0) \
	X(Comm_dup, 2, BOUND, , 0) \
	X(Comm_dup_with_info, 3, BOUND, , 0) \
	X(Comm_split, 4, BOUND, , 0) \
	X(Comm_split_type, 5, BOUND, , 0) \
	X(Comm_create, 3, BOUND, , 0) \
	X(Comm_create_group, 4, BOUND, , 0) \
	X(Comm_free, 1, BOUND, , 0) \
	X(Comm_disconnect, 1, BOUND, , 0) \
	X(Comm_accept, 5, BOUND, , 0) \
	X(Comm_connect, 5, BOUND, , 0) \
	X(Comm_join, 2, BOUND, , 0) \
	X(Comm_spawn, 8, BOUND, , 0) \
	X(Comm_spawn_multiple, 9, BOUND, , 0) \
	X(Intercomm_create, 6, BOUND, , 0) \
	X(Intercomm_merge, 3, BOUND, , 0) \
	X(Cart_create, 6, BOUND, , 0) \
	X(Cart_sub, 3, BOUND, , 0) \
	X(Graph_create, 6, BOUND, , 0) \
	X(Dist_graph_create, 9, BOUND, , 0) \
	X(Dist_graph_create_adjacent, 10, BOUND, , 0) \
	C(Win_create, 6, BOUND, , 0) \
	C(Win_allocate, 6, BOUND, , 0) \
	C(Win_allocate_shared, 6, BOUND, , 0) \
	X(Win_create_dynamic, 3, BOUND, , 0) \
	X(Win_free, 1, BOUND, , 0) \
	X(Win_fence, 2, BOUND, , 0) \
	X(Win_start, 3, BOUND, , 0) \
	X(Win_complete, 1, BOUND, , 0) \
	X(Win_lock, 4, BOUND, , 0) \
	X(Win_lock_all, 2, BOUND, , 0) \
	X(Win_unlock, 2, BOUND, , 0) \
	X(Win_unlock_all, 1, BOUND, , 0) \
	X(Win_flush, 2, BOUND, , 0) \
	X(Win_flush_all, 1, BOUND, , 0) \
	X(Win_flush_local, 2, BOUND, , 0) \
	X(Win_flush_local_all, 1, BOUND, , 0) \
	X(File_open, 5, BOUND, , 0) \
	X(File_close, 1, BOUND, , 0) \
	X(File_delete, 2, BOUND, , 0) \
	X(File_set_size, 2, BOUND, , 0) \
	X(File_preallocate, 2, BOUND, , 0) \
	X(File_set_info, 2, BOUND, , 0) \
	X(File_set_view, 6, BOUND, , 0) \
	X(File_set_atomicity, 2, BOUND, , 0) \
	X(File_sync, 1, BOUND, , 0) \
	X(File_seek_shared, 3, BOUND, , 0) \
	X(File_get_position_shared, 2, BOUND, , 0) \
	C(File_read, 5, BOUND, , 0) \
	C(File_read_all, 5, BOUND, , 0) \
	C(File_read_at, 6, BOUND, , 0) \
	C(File_read_at_all, 6, BOUND, , 0) \
	C(File_read_shared, 5, BOUND, , 0) \
	C(File_read_ordered, 5, BOUND, , 0) \
	C(File_write, 5, BOUND, , 0) \
	C(File_write_all, 5, BOUND, , 0) \
	C(File_write_at, 6, BOUND, , 0) \
	C(File_write_at_all, 6, BOUND, , 0) \
	C(File_write_shared, 5, BOUND, , 0) \
	C(File_write_ordered, 5, BOUND, , 0) \
	C(File_read_all_begin, 4, BOUND, , 0) \
	X(File_read_all_end, 3, BOUND, , 0) \
	C(File_read_at_all_begin, 5, BOUND, , 0) \
	X(File_read_at_all_end, 3, BOUND, , 0) \
	C(File_read_ordered_begin, 4, BOUND, , 0) \
	X(File_read_ordered_end, 3, BOUND, , 0) \
	C(File_write_all_begin, 4, BOUND, , 0) \
	X(File_write_all_end, 3, BOUND, , 0) \
	C(File_write_at_all_begin, 5, BOUND, , 0) \
	X(File_write_at_all_end, 3, BOUND, , 0) \
	C(File_write_ordered_begin, 4, BOUND, , 0) \
	X(File_write_ordered_end, 3, BOUND, , 0)

/* The parameters and the arguments of functions with that many. */
#define WF_MPI_P0 void
#define WF_MPI_P1 wf_mpi_word a1
#define WF_MPI_P2 WF_MPI_P1, wf_mpi_word a2
#define WF_MPI_P3 WF_MPI_P2, wf_mpi_word a3
#define WF_MPI_P4 WF_MPI_P3, wf_mpi_word a4
#define WF_MPI_P5 WF_MPI_P4, wf_mpi_word a5
#define WF_MPI_P6 WF_MPI_P5, wf_mpi_word a6
#define WF_MPI_P7 WF_MPI_P6, wf_mpi_word a7
#define WF_MPI_P8 WF_MPI_P7, wf_mpi_word a8
#define WF_MPI_P9 WF_MPI_P8, wf_mpi_word a9
#define WF_MPI_P10 WF_MPI_P9, wf_mpi_word a10
#define WF_MPI_P11 WF_MPI_P10, wf_mpi_word a11
#define WF_MPI_P12 WF_MPI_P11, wf_mpi_word a12
#define WF_MPI_A0 0
#define WF_MPI_A1 a1
#define WF_MPI_A2 WF_MPI_A1, a2
#define WF_MPI_A3 WF_MPI_A2, a3
#define WF_MPI_A4 WF_MPI_A3, a4
#define WF_MPI_A5 WF_MPI_A4, a5
#define WF_MPI_A6 WF_MPI_A5, a6
#define WF_MPI_A7 WF_MPI_A6, a7
#define WF_MPI_A8 WF_MPI_A7, a8
#define WF_MPI_A9 WF_MPI_A8, a9
#define WF_MPI_A10 WF_MPI_A9, a10
#define WF_MPI_A11 WF_MPI_A10, a11
#define WF_MPI_A12 WF_MPI_A11, a12
/* clang-format on */

#endif
