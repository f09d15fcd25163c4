/* The entries of a table that grid.h provides. */
.reach = reach, .grid = grid, .flip = flip,
