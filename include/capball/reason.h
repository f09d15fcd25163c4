/* Why a call failed, as a number.
 *
 * The thousands digit of a reason is its status: 1002 is an EINVAL. Numbers are fixed: new ones are appended to their
 * group, and numbers of removed reasons are not reused. Programs should test status, reason, argument and row; the
 * argument names the parameter or member a general reason is about. The message is for people and may change. */
#ifndef CAPBALL_REASON_H
#define CAPBALL_REASON_H

typedef enum cpb_reason {
  CPB_WHY_NONE = 0,

  /* EINVAL */
  CPB_WHY_MISSING = 1001,            /* .. must not be NULL, or has no data */
  CPB_WHY_DOMAIN = 1002,             /* .. must .., got .. */
  CPB_WHY_CHOICE = 1003,             /* there is no such ..: an unknown enum value or name */
  CPB_WHY_NOT_FINITE = 1004,         /* .. is NaN or infinite */
  CPB_WHY_DIMENSION = 1005,          /* a map of dimension .. is not possible */
  CPB_WHY_SIZE_NONE = 1006,          /* the member size of .. is not set */
  CPB_WHY_SIZE_NEWER = 1007,         /* .. is larger than this version of the library supports */
  CPB_WHY_ALIGNMENT = 1009,          /* .. is not aligned to its ..-byte elements */
  CPB_WHY_CAP_INCOMPLETE = 1013,     /* the numbers of a cap are inconsistent */
  CPB_WHY_BEYOND_DOUBLE = 1017,      /* no double can hold the result */
  CPB_WHY_REGION_METRIC = 1021,      /* the metric of a region is not that of the map or the pole */
  CPB_WHY_NOT_DEFINITE = 1036,       /* metric G is not symmetric and positive definite */
  CPB_WHY_WHITENING_SINGULAR = 1038, /* the whitening W is not invertible */
  CPB_WHY_EXCLUSIVE = 1041,          /* options that cannot be combined */
  CPB_WHY_NORMS_UNKNOWN = 1050,      /* goal .. needs the norms of all rows, which are not known */
  CPB_WHY_NO_SCALE = 1051,           /* the norms give no scale: all rows are at the centre */
  CPB_WHY_RECALL_NOT_REACHED = 1053, /* recall .. is not reached: .. at .. times the mean norm */
  CPB_WHY_PIECES = 1058,             /* pieces cannot be merged: their options, rounds or centres differ */
  CPB_WHY_ROW_TWICE = 1060,          /* a row was given twice */
  CPB_WHY_CALL_ORDER = 1062,         /* this call is not allowed after the previous one */
  CPB_WHY_NOT_WITH_KERNEL = 1071,    /* a model with a kernel has no .. */
  CPB_WHY_WEIGHT = 1082,             /* weights must be >= 0, and not all 0 */
  CPB_WHY_NO_SUCH_ROW = 1085,        /* there is no row or query .. */
  CPB_WHY_LIST_ORDER = 1088,         /* .. is not sorted */
  CPB_WHY_INDEX_ROW = 1093,          /* row .. of the index is not a point of the sphere */
  CPB_WHY_MAP_POLE = 1099,          /* under a map with a pole or a reflection Euclidean balls are not caps */
  CPB_WHY_NEIGHBOURS = 1102,        /* more neighbours asked for than there are rows or candidates */
  CPB_WHY_FILE_LIMIT = 1107,        /* more rows, columns or bytes than the format can hold */
  CPB_WHY_FILE_EXTENSION = 1110,    /* the extension does not determine the format; name one of .. */
  CPB_WHY_RANDOM_ACCESS = 1115,     /* the rows of this file cannot be read or written by number */
  CPB_WHY_PIPE_COUNT = 1117,        /* the header of .. counts the rows: in a pipe their number must be .. */
  CPB_WHY_EVIDENCE = 1120,          /* origin.evidence is not JSON: ".." */
  CPB_WHY_NO_ROWS = 1121,           /* there are no rows, or too few to compute .. */
  CPB_WHY_NO_MEAN_DIRECTION = 1125, /* the directions cancel out */
  CPB_WHY_SOURCE_CHANGED = 1130,    /* the source had .. rows, and then .. */
  CPB_WHY_NO_RADIUS = 1131,         /* the rows have no ball of radius > 0 */
  CPB_WHY_COLUMN_SINGULAR = 1135,   /* columns are constant or depend on each other: use a ridge */
  CPB_WHY_WHITENING_SIZE = 1138,    /* whitening needs .. x .. numbers in memory: too many */
  CPB_WHY_SCORE = 1143,             /* a score that is impossible for its row */
  CPB_WHY_LABELS = 1148,            /* .. of .. labels are not 0: no AUC */
  CPB_WHY_DUAL_ANSWER = 1149,       /* the result cannot be represented in JSON */

  /* ESHAPE */
  CPB_WHY_COLUMNS = 2001,       /* .. has .. columns, expected .. */
  CPB_WHY_ROWS = 2002,          /* .. has .. rows, expected .. */
  CPB_WHY_STRIDE = 2004,        /* .. has stride .., smaller than its .. columns */
  CPB_WHY_TOO_MANY_ROWS = 2005, /* .. has .. rows of stride .., more than memory can hold */
  CPB_WHY_OVERLAP = 2006,       /* .. and .. overlap in memory */
  CPB_WHY_NO_QUERIES = 2009,    /* a search needs queries, got .. of .. columns */
  CPB_WHY_ROWS_BEYOND = 2010,   /* rows .. are beyond the last row */

  /* EDTYPE */
  CPB_WHY_UNKNOWN_DTYPE = 3001, /* .. has unknown dtype .. */
  CPB_WHY_DTYPE_IN = 3002,      /* .. is .., expected another element type */
  CPB_WHY_DTYPE_OUT = 3003,     /* .. must be f32 or f64, got .. */
  CPB_WHY_DTYPE_OTHER = 3004,   /* .. is .., the rows before were .. */
  CPB_WHY_FILE_DTYPE = 3007,    /* .. files cannot hold .. */

  /* EROW */
  CPB_WHY_ROW_NAN = 4001,        /* holds NaN */
  CPB_WHY_ROW_INFINITE = 4002,   /* holds inf */
  CPB_WHY_ROW_POLE = 4003,       /* is the pole -v */
  CPB_WHY_ROW_ZERO = 4004,       /* is 0, or the centre: it has no direction */
  CPB_WHY_ROW_RANGE = 4005,      /* has a result too large for the output */
  CPB_WHY_ROW_LONG = 4006,       /* is longer than the longest row allowed */
  CPB_WHY_ROW_NO_CAP = 4008,     /* queries row .. has no cap: .. */
  CPB_WHY_ROW_OFF_SPHERE = 4009, /* is not a point of the sphere */
  CPB_WHY_CODE_OF_ROW = 4015,    /* codes row .. is not the code of row .. */
  CPB_WHY_NOT_THE_IMAGE = 4016,  /* an embedded row is not the image of its row of the data */

  /* ENOMEM */
  CPB_WHY_MEMORY = 5001,  /* no memory for .. */
  CPB_WHY_THREADS = 5002, /* only .. of .. threads could be started */

  /* EIO */
  CPB_WHY_SYSTEM = 6001,        /* ..: cannot ..: the system's message */
  CPB_WHY_HDF5_WRITE = 6005,    /* HDF5 cannot write it */
  CPB_WHY_PIPE_TWICE = 6006,    /* a pipe can be read only once */
  CPB_WHY_PIPE_FORMAT = 6008,   /* .. cannot be read from a pipe, or written to one */
  CPB_WHY_FILE_BUSY = 6009,     /* another program is writing to it, or has done so in the meantime */
  CPB_WHY_WRITER_BROKEN = 6012, /* an earlier write failed */
  CPB_WHY_PACKED_OUT = 6013,    /* compressed files can only be read; write to a pipe and compress that */
  CPB_WHY_UNPACK = 6014,        /* .. cannot decompress it: the library's message */

  /* EFORMAT */
  CPB_WHY_STATE = 7001,             /* ..: the state .. */
  CPB_WHY_CHECKSUM = 7002,          /* its checksum is missing, or not that of its contents */
  CPB_WHY_FOREIGN = 7003,           /* it is not a file of this kind */
  CPB_WHY_FILE_VERSION = 7004,      /* it is of version .., expected .. */
  CPB_WHY_FILE_SHORT_HEADER = 7005, /* it ends in its header */
  CPB_WHY_FILE_COLUMNS = 7006,      /* its rows have d = .., which cannot be read */
  CPB_WHY_FILE_ENDS_EARLY = 7007,   /* it ends before its last row */
  CPB_WHY_FILE_ROW_COLUMNS = 7010,  /* row .. has .. columns, the first one has .. */
  CPB_WHY_FILE_SIZE = 7012,         /* its size does not match its header */
  CPB_WHY_FILE_DIMENSIONS = 7015,   /* its array has .. dimensions, expected 2 or 1 */
  CPB_WHY_BUILT_WITHOUT = 7018,     /* this capball was built without the library that reads it */
  CPB_WHY_HDF5_NO_SET = 7021,       /* there is no data set of that name */
  CPB_WHY_HDF5_OPEN = 7022,         /* HDF5 cannot read it */
  CPB_WHY_HDF5_OUTSIDE = 7023,      /* data set ".." ..: files that a file names are read only when that .. */
  CPB_WHY_FILE_CHANGED = 7028,      /* it changed while it was being read */
  CPB_WHY_LIBSVM_FIELD = 7031,      /* line ..: ".." .. */
  CPB_WHY_LINE_TOO_LONG = 7032,     /* line .. has more than .. bytes.. */
  CPB_WHY_FILE_ELEMENTS = 7035,     /* its element type is not supported */
  CPB_WHY_NPY_HEADER = 7037,        /* its header is not that of an .npy file */
  CPB_WHY_TEXT_BINARY = 7043,       /* line .., column ..: ".." is binary, not text */
  CPB_WHY_FILE_EMPTY = 7044,        /* it has no rows, and so no d */
  CPB_WHY_TEXT_NUMBER = 7046,       /* line .., column ..: ".." is not a number, or is out of range.. */
  CPB_WHY_TEXT_QUOTE = 7047,        /* line .., column ..: a quote is not closed before the separator */
  CPB_WHY_TEXT_SEPARATOR = 7048,    /* its only line starts like a row but is none: is the separator .. */
  CPB_WHY_JSON_SYNTAX = 7062,       /* line .., column ..: .. */
  CPB_WHY_JSON_VALUE = 7063,        /* a member is missing or has a value that is not allowed */
  CPB_WHY_DUAL_LINE = 7073,         /* a line of JSON is invalid */
  CPB_WHY_TEXT_COLUMN = 7074,       /* .. files have no text columns: ids and labels are for csv and tsv */
  CPB_WHY_COLUMN_NONE = 7075,       /* there is no column ".."; it has .. columns */
  CPB_WHY_COLUMN_TWICE = 7076,      /* column .. is selected twice */
  CPB_WHY_COLUMNS_ALL_DROPPED = 7077, /* no column is left of .. */
  CPB_WHY_FILE_PARQUET = 7080,        /* Parquet and Arrow files are read through Python */
  CPB_WHY_SEAL_KEY = 7081,            /* its ".." is not that of a seal */
  CPB_WHY_SEAL_FOREIGN = 7082,        /* rows of another map or transform, or in the other role */

  /* ESTOPPED */
  CPB_WHY_STOPPED = 8001, /* stopped by the caller */
} cpb_reason;

#endif
