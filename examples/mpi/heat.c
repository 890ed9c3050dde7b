/* SPDX-License-Identifier: MIT */
/*
 * Heat spreads over a square plate of TILES times TILES tiles, each of POINTS
 * times POINTS points. Each rank has whole rows of tiles, and each tile has a
 * thread. In a step a tile exchanges its edges with the four tiles beside it,
 * by MPI_Sendrecv, and then computes its points. Only messages connect tiles:
 * no lock and no barrier, so each thread goes on as soon as its neighbours'
 * edges are there.
 *
 *     mpiexec -n 2 weft run --mpi heat TILES POINTS STEPS [--check]
 *
 * --check computes the plate once more on one thread and compares each point.
 */
#include "ranks.h"

/* The plate's surroundings. The upper side is hot. */
enum { COLD = 0, HOT = 100 };

enum side { UP, DOWN, LEFT, RIGHT };

struct tile {
	int row, column;
	/* POINTS + 2 rows of POINTS + 2 points: a border has the neighbours'
	 * edges. A step reads `now` and writes `next`. */
	double *now, *next;
	/* A column of points, which is not contiguous in a tile. */
	double *out, *in;
};

static struct ranks ranks;
static int nr_tiles, nr_points, nr_steps;
static int first_row, nr_rows;
static struct tile *tiles;

static double *at(double *points, int width, int row, int column)
{
	return &points[(size_t)row * (size_t)(width + 2) + (size_t)column];
}

/* The temperature at the start, by the place on the whole plate. */
static double at_start(int row, int column)
{
	return (double)((row * 31 + column * 17) % 101);
}

/* One step of `width` times `width` points. */
static void step(double *now, double *next, int width)
{
	for (int i = 1; i <= width; i++) {
		for (int j = 1; j <= width; j++) {
			double beside = *at(now, width, i - 1, j) +
					*at(now, width, i + 1, j) +
					*at(now, width, i, j - 1) +
					*at(now, width, i, j + 1);

			*at(next, width, i, j) =
				0.5 * *at(now, width, i, j) + 0.125 * beside;
		}
	}
}

/* Points and their border, `row` and `column` of the plate first. */
static double *make_points(int width, int row, int column)
{
	double *points = ranks_alloc((size_t)(width + 2) * (size_t)(width + 2),
				     sizeof(double));

	for (int i = 1; i <= width; i++) {
		for (int j = 1; j <= width; j++)
			*at(points, width, i, j) =
				at_start(row + i - 1, column + j - 1);
	}
	for (int j = 1; row == 0 && j <= width; j++)
		*at(points, width, 0, j) = HOT;
	return points;
}

/* --- a tile and its neighbours ------------------------------------------- */

static int rank_of(int row)
{
	return (int)(((long)(row + 1) * ranks.nr - 1) / nr_tiles);
}

/* The neighbour's rank; MPI_PROC_NULL beyond the plate. */
static int neighbour(const struct tile *t, enum side side, int *ret_tile)
{
	int row = t->row + (side == DOWN) - (side == UP);
	int column = t->column + (side == RIGHT) - (side == LEFT);

	*ret_tile = 0;
	if (row < 0 || row >= nr_tiles || column < 0 || column >= nr_tiles)
		return MPI_PROC_NULL;
	*ret_tile = row * nr_tiles + column;
	return rank_of(row);
}

/* A tag names the tile that receives and the side that the edge is sent to. */
static int tag_of(int tile, enum side side)
{
	return tile * 4 + (int)side;
}

/* Copies a column between a tile and contiguous memory. */
static void copy_column(struct tile *t, int column, double *flat, int is_out)
{
	for (int i = 1; i <= nr_points; i++) {
		double *point = at(t->now, nr_points, i, column);

		if (is_out)
			flat[i - 1] = *point;
		else
			*point = flat[i - 1];
	}
}

/* Sends the edge at `side` and receives that from the opposite side. */
static void exchange(struct tile *t, enum side side, enum side opposite,
		     double *edge, double *border)
{
	int own = t->row * nr_tiles + t->column, to_tile, from_tile;
	int to = neighbour(t, side, &to_tile);
	int from = neighbour(t, opposite, &from_tile);

	MPI_Sendrecv(edge, nr_points, MPI_DOUBLE, to, tag_of(to_tile, side),
		     border, nr_points, MPI_DOUBLE, from, tag_of(own, side),
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange_column(struct tile *t, enum side side, enum side opposite,
			    int edge, int border)
{
	int from_tile;

	copy_column(t, edge, t->out, 1);
	exchange(t, side, opposite, t->out, t->in);
	if (neighbour(t, opposite, &from_tile) != MPI_PROC_NULL)
		copy_column(t, border, t->in, 0);
}

static void *work(void *arg)
{
	struct tile *t = &tiles[(intptr_t)arg];
	int n = nr_points;

	for (int i = 0; i < nr_steps; i++) {
		double *done = t->next;

		exchange(t, UP, DOWN, at(t->now, n, 1, 1),
			 at(t->now, n, n + 1, 1));
		exchange(t, DOWN, UP, at(t->now, n, n, 1), at(t->now, n, 0, 1));
		exchange_column(t, LEFT, RIGHT, 1, n + 1);
		exchange_column(t, RIGHT, LEFT, n, 0);
		step(t->now, t->next, n);
		t->next = t->now;
		t->now = done;
	}
	return NULL;
}

/* --- the plate ----------------------------------------------------------- */

static void make_tiles(void)
{
	while (rank_of(first_row) < ranks.own)
		first_row++;
	while (first_row + nr_rows < nr_tiles &&
	       rank_of(first_row + nr_rows) == ranks.own)
		nr_rows++;
	tiles = ranks_alloc((size_t)(nr_rows * nr_tiles), sizeof(*tiles));
	for (int i = 0; i < nr_rows * nr_tiles; i++) {
		struct tile *t = &tiles[i];
		size_t n = (size_t)nr_points;

		t->row = first_row + i / nr_tiles;
		t->column = i % nr_tiles;
		t->now = make_points(nr_points, t->row * nr_points,
				     t->column * nr_points);
		t->next = make_points(nr_points, t->row * nr_points,
				      t->column * nr_points);
		t->out = ranks_alloc(n, sizeof(double));
		t->in = ranks_alloc(n, sizeof(double));
	}
}

static int differs(struct tile *t, double *plate)
{
	for (int i = 1; i <= nr_points; i++) {
		for (int j = 1; j <= nr_points; j++) {
			double wanted = *at(plate, nr_tiles * nr_points,
					    t->row * nr_points + i,
					    t->column * nr_points + j);

			if (*at(t->now, nr_points, i, j) != wanted)
				return 1;
		}
	}
	return 0;
}

/* Returns the number of tiles of all ranks that one thread computes
 * otherwise. */
static int check(void)
{
	int width = nr_tiles * nr_points, nr_wrong = 0, all;
	double *now = make_points(width, 0, 0);
	double *next = make_points(width, 0, 0);

	for (int i = 0; i < nr_steps; i++) {
		double *done = next;

		step(now, next, width);
		next = now;
		now = done;
	}
	for (int i = 0; i < nr_rows * nr_tiles; i++)
		nr_wrong += differs(&tiles[i], now);
	free(now);
	free(next);
	MPI_Allreduce(&nr_wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

static void free_tiles(void)
{
	for (int i = 0; i < nr_rows * nr_tiles; i++) {
		free(tiles[i].now);
		free(tiles[i].next);
		free(tiles[i].out);
		free(tiles[i].in);
	}
	free(tiles);
}

static void use_arguments(int argc, char **argv)
{
	nr_tiles = argc >= 4 ? atoi(argv[1]) : 0;
	nr_points = argc >= 4 ? atoi(argv[2]) : 0;
	nr_steps = argc >= 4 ? atoi(argv[3]) : 0;
	if (argc > 5 || nr_tiles < 1 || nr_points < 1 || nr_steps < 1 ||
	    (argc == 5 && strcmp(argv[4], "--check") != 0))
		ranks_fail("usage", "heat TILES POINTS STEPS [--check]");
	if (nr_tiles < ranks.nr)
		ranks_fail("heat", "each rank needs a row of tiles: raise "
				   "TILES or start fewer ranks");
	if (nr_tiles > 10000 || nr_points > 10000 ||
	    (long)nr_tiles * nr_tiles * 4 > ranks.tag_max)
		ranks_fail("heat", "TILES is too large for this MPI's tags, or "
				   "POINTS is over 10000");
}

int main(int argc, char **argv)
{
	int nr_wrong = 0;
	double start;

	ranks = ranks_init(&argc, &argv);
	use_arguments(argc, argv);
	make_tiles();
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	threads_join(threads_start(nr_rows * nr_tiles, work),
		     nr_rows * nr_tiles);
	MPI_Barrier(MPI_COMM_WORLD);
	if (ranks.own == 0)
		printf("%d tiles on %d ranks, %d steps: %.3f s\n",
		       nr_tiles * nr_tiles, ranks.nr, nr_steps,
		       MPI_Wtime() - start);
	if (argc == 5) {
		nr_wrong = check();
		if (ranks.own == 0 && nr_wrong == 0)
			printf("equal to one thread's\n");
		else if (ranks.own == 0)
			printf("%d tiles differ from one thread's\n", nr_wrong);
	}
	free_tiles();
	MPI_Finalize();
	return nr_wrong != 0;
}
