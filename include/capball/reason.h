/* Why a call failed: one number per sentence.
 *
 * A reason's thousands are its status: 1002 is an EINVAL. Numbers are pinned; new ones are appended to their
 * group, old ones never change their meaning. A program goes by status, reason, argument and row; the
 * sentence is for people, and may change. */
#ifndef CAPBALL_REASON_H
#define CAPBALL_REASON_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cpb_reason {
  CPB_WHY_NONE = 0,

  /* EINVAL */
  CPB_WHY_MISSING = 1001,          /* .. must not be NULL */
  CPB_WHY_DOMAIN = 1002,           /* .. must .., got .. */
  CPB_WHY_CHOICE = 1003,           /* there is no .. .. */
  CPB_WHY_NOT_FINITE = 1004,       /* .. is not finite */
  CPB_WHY_DIMENSION = 1005,        /* a map of dimension .. is not possible */
  CPB_WHY_SIZE_NONE = 1006,        /* .. has size ..: start from .._init */
  CPB_WHY_SIZE_NEWER = 1007,       /* .. has size .., but version .. of the library knows only ..: start .. */
  CPB_WHY_NO_DATA = 1008,          /* .. has .. rows but no data */
  CPB_WHY_ALIGNMENT = 1009,        /* .. is not aligned to its ..-byte elements */
  CPB_WHY_SOURCE_SIZE = 1010,      /* source has size .., wanted .. */
  CPB_WHY_LIFT_NEEDS_D_X = 1011,   /* a lift needs d >= 1, x, v and room for the result */
  CPB_WHY_POLE_LENGTH = 1012,      /* pole v must have length 1, got |v| = .. */
  CPB_WHY_CAP_INCOMPLETE = 1013,   /* cap is not complete: b = .., sigma = .., a = .. */
  CPB_WHY_CAP_NAN = 1014,          /* cap's b is NaN */
  CPB_WHY_CAP_NO_DIRECTION = 1015, /* cap's p is 0 and has no direction */
  CPB_WHY_NORMAL_ZERO = 1016,      /* half-space normal must not be 0 */
  CPB_WHY_NO_CAP_OF_BALL = 1017, /* no double holds the cap of a ball with |c| = .., r = .. at scale s = .. */
  CPB_WHY_NO_CAP_OF_HALFSPACE = 1018,       /* no double holds the cap of a half-space with offset .. at .. */
  CPB_WHY_REGION_AXIS_AND_WHITENING = 1019, /* region has an axis and a W: only one of them */
  CPB_WHY_REGION_KIND = 1020,               /* region has unknown kind .. */
  CPB_WHY_REGION_NOT_ROUND = 1021,          /* region has ..: T3 takes round ones, see T5 and T6 */
  CPB_WHY_REGION_OVERFLOW = 1022,           /* the region of this cap overflows: s = .., a = .. */
  CPB_WHY_NO_CAP_OF_QUADRIC = 1023,         /* no double holds the cap of this quadric at scale s = .. */
  CPB_WHY_QUADRIC_NOT_FINITE = 1024,        /* quadric is not finite: k2 = .., k0 = .. */
  CPB_WHY_QUADRIC_ROOT = 1025,              /* quadric's root .. is not sqrt(|m|^2 - k2 k0) */
  CPB_WHY_QUADRIC_ZERO = 1026,              /* quadric is 0 = 0: no region */
  CPB_WHY_SCALE_SQUARE = 1027,              /* s^2 must be a normal double, got s = .. */
  CPB_WHY_POLE_ACROSS_AXIS = 1028,          /* the pole's u is not along the axis: .. of it lies across */
  CPB_WHY_PROLATE = 1029,                   /* a prolate ellipsoid (.. along its axis, .. across) is no cap */
  CPB_WHY_REGION_NO_AXES = 1030,            /* a region of kind .. has no axes */
  CPB_WHY_REGION_TOO_FAR = 1031,       /* the region is too far from the scale s = .. and the pole's w = .. */
  CPB_WHY_REGION_WHITENED = 1032,      /* region has a whitening W: see T6 */
  CPB_WHY_ROUND_UNDER_POLE = 1033,     /* a round region is no cap under a pole with |u| = .. */
  CPB_WHY_SPHEROID_OTHER_POLE = 1034,  /* the ratio of semi-axes .. is not the pole's |w| = .. */
  CPB_WHY_SPHEROID_TOO_FLAT = 1035,    /* the ratio of semi-axes ../.. is below the smallest double */
  CPB_WHY_NOT_DEFINITE = 1036,         /* metric G is not positive definite: pivot .. is .. */
  CPB_WHY_NOT_SYMMETRIC = 1037,        /* metric G is not symmetric: G[..][..] = .., G[..][..] = .. */
  CPB_WHY_WHITENING_SINGULAR = 1038,   /* whitening W is singular: column .. keeps .. of its length .. */
  CPB_WHY_NO_NUMBERS = 1039,           /* .. must hold .. numbers, got NULL */
  CPB_WHY_DIRECTION_ZERO = 1040,       /* the direction to turn onto e must not be 0 */
  CPB_WHY_POLE_AND_DIRECTION = 1041,   /* a map takes a pole or a direction to turn onto e, not both */
  CPB_WHY_WHITENING_DEPENDENT = 1042,  /* the whitening W must be invertible, but column .. depends on .. */
  CPB_WHY_CAP_NEEDS_MAP_REGION = 1043, /* a cap needs a map, a region and room for its p */
  CPB_WHY_REGION_NEEDS_MAP_CAP = 1044, /* a region needs a map, a cap and room for its c */
  CPB_WHY_REGION_NOT_WHITENED = 1045,  /* under a whitened map only ellipsoids of its whitening are .. */
  CPB_WHY_REGION_OTHER_WHITENING = 1046, /* the ellipsoid's W is not the map's whitening: entry .. is .. */
  CPB_WHY_NO_LARGEST_NORM = 1047,        /* x has 0 rows: there is no largest norm */
  CPB_WHY_NORMS_FAR_APART = 1048,     /* norms from .. to .. are too far apart for interpolation: take bins */
  CPB_WHY_SCALE_RANGE = 1049,         /* scales must be 0 < low < high, got .. and .. */
  CPB_WHY_NORMS_UNKNOWN = 1050,       /* goal .. needs the norms of all rows, which are not known */
  CPB_WHY_NO_SCALE_OF_NORM = 1051,    /* the .. norm about the centre is .., no scale */
  CPB_WHY_NO_SCALE_OF_ROWS = 1052,    /* .. rows with mean norm .. about the centre have no scale */
  CPB_WHY_RECALL_NOT_REACHED = 1053,  /* recall .. is not reached: .. at .. times the mean norm */
  CPB_WHY_COVARIANCE_OVERFLOW = 1054, /* the covariance of columns .. and .. is beyond double */
  CPB_WHY_NO_COVARIANCE = 1055,       /* there are no rows, and so no mean and no covariance */
  CPB_WHY_IDS_NOT_ONCE = 1056, /* .. rows have ids from .. to .., but not each of them once: pieces overlap */
  CPB_WHY_IDS_TWICE = 1057,    /* .. rows have ids from .. to ..: some row was given twice, pieces overlap */
  CPB_WHY_PIECE_COLUMNS = 1058,          /* one piece has .. columns, the other .. */
  CPB_WHY_PIECE_IS_WHOLE = 1059,         /* whole and piece must be two covariances */
  CPB_WHY_ROW_TWICE = 1060,              /* row .. was given twice: pieces overlap */
  CPB_WHY_NO_MEAN = 1061,                /* there are no rows, and so no mean to measure from */
  CPB_WHY_PASS_BEGUN = 1062,             /* pass 2 has begun already */
  CPB_WHY_PASS_ROWS = 1063,              /* pass 1 had .. rows, pass 2 has ..: pieces overlap */
  CPB_WHY_PIECE_CENTRE = 1064,           /* the norms of the pieces are about different centres */
  CPB_WHY_PIECE_DTYPE = 1065,            /* one piece is .., the other .. */
  CPB_WHY_PIECE_PASS = 1066,             /* one piece is of pass 1, the other of pass 2 (with norms) */
  CPB_WHY_PIECE_SAMPLE = 1067,           /* one piece samples .. rows, the other .. */
  CPB_WHY_PIECE_SEED = 1068,             /* one piece has seed .., the other .. */
  CPB_WHY_K_AND_QUERIES = 1069,          /* k and queries must be at least 1, got .. and .. */
  CPB_WHY_CENTER = 1070,                 /* center must be .. finite numbers */
  CPB_WHY_KERNEL_NO_CAP = 1071,          /* a model with a kernel has no cap */
  CPB_WHY_KERNEL_NO_SQL = 1072,          /* a model with a kernel has no short SQL */
  CPB_WHY_KERNEL_NUMBERS = 1073,         /* norm2 and vectors must be finite, norm2 >= 0 */
  CPB_WHY_KERNEL_WITHOUT_VECTORS = 1074, /* a model with a kernel needs its support vectors */
  CPB_WHY_KERNEL_WITH_CENTER = 1075,     /* a model with a kernel has neither center nor whitening */
  CPB_WHY_MULTIPLIERS = 1076,            /* multipliers must be finite */
  CPB_WHY_QUANTILE_COUNT = 1077,         /* quantiles must be none or at least 2 */
  CPB_WHY_QUANTILE_ORDER = 1078,         /* quantile .. is ..: not finite, or below the one before */
  CPB_WHY_SUPPORT_LIST = 1079,           /* .. of .. support vectors are listed, with.. multipliers */
  CPB_WHY_NO_BALL = 1080,                /* x has no rows or no columns */
  CPB_WHY_NU_ROWS = 1081,                /* nu n must be >= 1, got .. times .. rows */
  CPB_WHY_WEIGHT = 1082,                 /* weights row must be >= 0 */
  CPB_WHY_WEIGHTS_ZERO = 1083,           /* all .. weights are 0 */
  CPB_WHY_CORE_EMPTY = 1084,             /* round .. has seen no rows */
  CPB_WHY_NO_SUCH_ROW = 1085,            /* row .. of x does not exist: it has .. */
  CPB_WHY_WEIGHTS_OVERFLOW = 1086,       /* the weights add up to more than a double */
  CPB_WHY_LIST_NAN = 1087,               /* lists[..][..] is NaN */
  CPB_WHY_LIST_ORDER = 1088,      /* lists[..] is not in the order of ..: .. (id ..) comes after .. (id ..) */
  CPB_WHY_INDEX_CALLBACKS = 1089, /* an index needs its callbacks search and row */
  CPB_WHY_INDEX_ERRORS = 1090,    /* the errors of an index must be >= 0, got .. and .. */
  CPB_WHY_INDEX_FOUND_FEW = 1091, /* the index found .. rows of .., wanted at least .. */
  CPB_WHY_INDEX_FOUND_NONE = 1092, /* the index found row .. of .. */
  CPB_WHY_INDEX_ROW = 1093,        /* row .. of the index is no point of the sphere */
  CPB_WHY_BASE_BEGUN = 1094,       /* the base has been offered already: no more queries */
  CPB_WHY_NO_QUERY = 1095,         /* a usual radius needs at least one query */
  CPB_WHY_NO_SCALE_OF_BASE = 1096, /* the mean norm of the base about its mean is .., no scale */
  CPB_WHY_CANDIDATE = 1097,        /* candidate .. is beyond the .. rows of the base */
  CPB_WHY_BATCH = 1098,       /* a batch must have at least .. rows, got ..: bits of fewer rows agree or .. */
  CPB_WHY_MAP_POLE = 1099,    /* the map has a pole of its own, under which Euclidean balls are no caps: .. */
  CPB_WHY_MAP_TURNED = 1100,  /* the map turns a direction of the sphere to e: its rows are .. */
  CPB_WHY_K_OR_LIMITS = 1101, /* either k >= 1 or limits must be given, got k = .. and .. limits */
  CPB_WHY_NEIGHBOURS = 1102,  /* .. neighbours asked of a base of .. rows */
  CPB_WHY_NO_SUCH_QUERY = 1103,     /* there is no query .. among .. */
  CPB_WHY_SEARCH_VOID = 1104,       /* a search whose feed has failed takes no more rows */
  CPB_WHY_TRANSFORM_CENTER = 1105,  /* transform .. takes no centre */
  CPB_WHY_CURVE_POINT = 1106,       /* point .. of the curve is not within 0 .. 1/2 */
  CPB_WHY_FILE_COUNT = 1107,        /* .. rows are more than the header of .. can count, .. */
  CPB_WHY_FILE_NOT_LENT = 1108,     /* its rows do not lie as a view wants them */
  CPB_WHY_FILE_TOO_LARGE = 1109,    /* .. rows of d = .. are more than a file can have */
  CPB_WHY_FILE_EXTENSION = 1110,    /* has no extension that tells its format; name one of .. */
  CPB_WHY_FILE_FORMAT = 1111,       /* there is no format ".."; there are .. */
  CPB_WHY_HDF5_WIDTH = 1112,        /* data sets have at most .. columns, got .. */
  CPB_WHY_LIBSVM_WIDTH = 1113,      /* libsvm files have at most .. columns, got .. */
  CPB_WHY_NO_LOAN = 1114,           /* .. rows cannot be lent */
  CPB_WHY_RANDOM_ACCESS = 1115,     /* .. has no random access here */
  CPB_WHY_FILE_BYTES = 1116,        /* .. bytes are more than a file can have */
  CPB_WHY_PIPE_COUNT = 1117,        /* the header of .. counts the rows: in a pipe their number must be .. */
  CPB_WHY_WRITER_CLOSED = 1118,     /* a write before this one failedis committed already */
  CPB_WHY_WRITER_COMMITTED = 1119,  /* is committed already */
  CPB_WHY_EVIDENCE = 1120,          /* origin.evidence is not JSON: ".." */
  CPB_WHY_NO_ROWS = 1121,           /* there are no rows to fit to */
  CPB_WHY_NO_PAIRS = 1122,          /* there are fewer than 2 pairs of rows with a direction */
  CPB_WHY_SPHERICAL_ALONE = 1123,   /* a spherical map sets scale, centre and pole itself */
  CPB_WHY_CENTER_GIVEN = 1124,      /* a center goes with CPB_CENTRE_GIVEN, and only with it */
  CPB_WHY_NO_MEAN_DIRECTION = 1125, /* the directions cancel out */
  CPB_WHY_STATISTICS_SHAPE = 1126,  /* statistics know no whitening, no direction, and no centre but .. */
  CPB_WHY_NORMS_OF_SOME = 1127,     /* goal .. wants the norms of all .. rows, the statistics hold .. */
  CPB_WHY_WITHOUT_NU = 1128,        /* method, weights and kernel go with nu > 0 */
  CPB_WHY_KERNEL_WHITENED = 1129,   /* a kernel does not go with whitening */
  CPB_WHY_SOURCE_CHANGED = 1130,    /* the source had .. rows, and then .. */
  CPB_WHY_ONE_ROW = 1131,           /* there is one row, and no ball of radius > 0 around it */
  CPB_WHY_RADIUS_ZERO = 1132,       /* the ball has radius 0 */
  CPB_WHY_MAP_NOT_PLAIN = 1133,     /* the map has a ..; a sketch is made from a centre and a scale */
  CPB_WHY_NO_SCALE_OF_TRANSFORM = 1134, /* the largest norm is .., no scale for transform .. */
  CPB_WHY_COLUMN_SINGULAR = 1135,       /* column .. does not vary, or depends: give a ridge */
  CPB_WHY_ROWS_EQUAL = 1136,            /* all rows are equal: there is nothing to whiten by */
  CPB_WHY_FEW_ROWS = 1137,              /* .. rows do not tell the covariance of .. columns: give a ridge */
  CPB_WHY_WHITENING_SIZE = 1138,        /* whitening needs .. x .. numbers in memory: too many */
  CPB_WHY_NOT_BY_NUMBER = 1139,         /* rows of .. files cannot be read by number */
  CPB_WHY_BASE_EMPTY = 1140,            /* the base has no rows */
  CPB_WHY_BASE_FEW = 1141,              /* the base has .. rows, fewer than the .. neighbours asked for */
  CPB_WHY_SCORE_NOT_FINITE = 1142,      /* query .., candidate ..: has the score .. */
  CPB_WHY_SCORE_RANGE = 1143,           /* .. has the score .., outside of what unit vectors have */
  CPB_WHY_SCORE_OF_ROW = 1144,          /* .. has the score .., but its embedded row gives .. */
  CPB_WHY_ID_BEYOND = 1145,             /* query .. names row .., but there are rows 0 .. .. */
  CPB_WHY_ID_TWICE = 1146,              /* query .. names row .. twice */
  CPB_WHY_K_OF_CANDIDATES = 1147,       /* .. neighbours wanted of .. candidates per query */
  CPB_WHY_LABELS = 1148,                /* .. of .. labels are not 0: no AUC */
  CPB_WHY_DUAL_ANSWER = 1149,           /* JSON cannot say the result */
  CPB_WHY_CAP_LENGTH = 1150,            /* cap's p must have length 1, got |p| = .. */
  CPB_WHY_ROUND_ITSELF = 1151,          /* a piece cannot be merged into itself */
  CPB_WHY_ROUND_OPTIONS = 1152,         /* the pieces have different options */
  CPB_WHY_ROUND_OTHER = 1153,           /* one piece is of round .., the other of .. */
  CPB_WHY_ROUND_CENTRE = 1154,          /* the pieces are about different centres */
  CPB_WHY_ROUND_UNSEEN = 1155,          /* rows hold numbers that the first round has not seen */
  CPB_WHY_ROUND_NO_BALL = 1156,         /* no round has ended with a ball yet */
  CPB_WHY_CAP_POLE = 1157,              /* cap's a = .. is not b+<p,v> = .. */
  CPB_WHY_KERNEL_SMALL = 1158,          /* the largest <x,x> is .., no normal double: give the rows .. */
  CPB_WHY_KERNEL_NO_PARTS = 1159,       /* a model with a kernel has no parts by columns */
  CPB_WHY_SEAL_BLOCKS = 1160,           /* rows with a seal do not begin at a multiple of 1024 */
  CPB_WHY_SEAL_OF_PART = 1161,          /* a seal is of all rows: the pass did not come to its end */

  /* ESHAPE */
  CPB_WHY_COLUMNS = 2001,             /* .. has .. columns, wanted .. */
  CPB_WHY_ROWS = 2002,                /* g has .. rows, wanted .. */
  CPB_WHY_NO_COLUMNS = 2003,          /* x has 0 columns, wanted at least 1 */
  CPB_WHY_STRIDE = 2004,              /* .. has stride .., smaller than its .. columns */
  CPB_WHY_TOO_MANY_ROWS = 2005,       /* .. has .. rows of stride .., more than memory can hold */
  CPB_WHY_OVERLAP = 2006,             /* .. and .. overlap in memory */
  CPB_WHY_COORDINATES = 2007,         /* the region has .. coordinates, the map .. */
  CPB_WHY_CORE_DIMENSIONS = 2008,     /* pieces of dimension .. and .. do not merge */
  CPB_WHY_NO_QUERIES = 2009,          /* a search needs queries, got .. of .. columns */
  CPB_WHY_ROWS_BEYOND = 2010,         /* rows .. .. +.. reach beyond its .. row.. */
  CPB_WHY_ROWS_BEYOND_PROMISE = 2011, /* rows .. .. +.. reach beyond the .. rows promised */
  CPB_WHY_ROWS_PROMISED = 2012,       /* .. row.. promised, .. written */
  CPB_WHY_DIRECTION_COLUMNS = 2013,   /* directions want at least 2 columns, got .. */
  CPB_WHY_WEIGHT_COUNT = 2014,        /* there are .. weights for .. rows */
  CPB_WHY_SCORES_SHAPE = 2015,        /* there are .. x .. scores for .. x .. candidates */
  CPB_WHY_CODES_ROWS = 2016,          /* there are .. rows, but .. codes */
  CPB_WHY_STORE_ROW = 2017,           /* row .. is wanted, but there are .. rows */
  CPB_WHY_IMAGES_COUNT = 2018,        /* there are fewer or more rows of the data than embedded ones */

  /* EDTYPE */
  CPB_WHY_UNKNOWN_DTYPE = 3001,  /* .. has unknown dtype .. */
  CPB_WHY_DTYPE_IN = 3002,       /* .. is .., wanted f32, f64, f16, u8 or i8 */
  CPB_WHY_DTYPE_OUT = 3003,      /* .. must be f32 or f64, got .. */
  CPB_WHY_DTYPE_OTHER = 3004,    /* rows are .., wanted .. */
  CPB_WHY_CODES_DTYPE = 3005,    /* codes must be u8, got .. and .. */
  CPB_WHY_BLOCK_DTYPE = 3006,    /* block is .., the file is .. */
  CPB_WHY_FILE_DTYPE = 3007,     /* .. files cannot hold .. */
  CPB_WHY_SOURCE_DTYPE = 3008,   /* a block of the source is .., the source said .. */
  CPB_WHY_EMBEDDED_DTYPE = 3009, /* embedded rows are ..: no points of the sphere */

  /* EROW */
  CPB_WHY_ROW_NAN = 4001,          /* holds NaN */
  CPB_WHY_ROW_INFINITE = 4002,     /* holds inf */
  CPB_WHY_ROW_POLE = 4003,         /* is the pole -v */
  CPB_WHY_ROW_ZERO = 4004,         /* is 0 */
  CPB_WHY_ROW_RANGE = 4005,        /* has an answer too large for the output */
  CPB_WHY_ROW_LONG = 4006,         /* is longer than the longest row allowed */
  CPB_WHY_ROW_KERNEL = 4007,       /* has a k(x,x) too large */
  CPB_WHY_ROW_NO_CAP = 4008,       /* queries row .. has no cap: .. */
  CPB_WHY_ROW_OFF_SPHERE = 4009,   /* rows row .. is no point of the sphere */
  CPB_WHY_ROW_AT_CENTRE = 4010,    /* x row .. is the centre: it has no direction */
  CPB_WHY_ROW_TOO_LONG = 4011,     /* x row .. has length ...., longer than .., the longest row that .. */
  CPB_WHY_ROW_DOES_NOT_FIT = 4012, /* row .., column ..: .. does not fit in .. */
  CPB_WHY_NO_IMAGE = 4013,         /* embedded row .. is no point of the sphere */
  CPB_WHY_NOT_UNIT = 4014,         /* embedded row .. has length .. */
  CPB_WHY_CODE_OF_ROW = 4015,      /* codes row .. is not the code of row .. */
  CPB_WHY_NOT_THE_IMAGE = 4016,    /* lies .. from the image of its row of data */

  /* ENOMEM */
  CPB_WHY_MEMORY = 5001,  /* no memory for .. */
  CPB_WHY_THREADS = 5002, /* the system gave .. of .. threads */

  /* EIO */
  CPB_WHY_SYSTEM = 6001,           /* ..: cannot ..: what the system says */
  CPB_WHY_HDF5_COMPLETE = 6002,    /* HDF5 cannot complete it */
  CPB_WHY_HDF5_CREATE = 6003,      /* HDF5 cannot create data set "..".. */
  CPB_WHY_HDF5_REPLACE = 6004,     /* HDF5 cannot replace data set ".." */
  CPB_WHY_HDF5_WRITE = 6005,       /* HDF5 cannot write rows from .. on */
  CPB_WHY_PIPE_TWICE = 6006,       /* a pipe can be read only once */
  CPB_WHY_NPY_FORTRAN_PIPE = 6007, /* an array in Fortran order cannot be read from a pipe; save it .. */
  CPB_WHY_PIPE_FORMAT_IN = 6008,   /* .. cannot be read from a pipe */
  CPB_WHY_FILE_BUSY = 6009,        /* another program is writing to it: run this again when that has ended */
  CPB_WHY_FILE_WRITTEN_MEANWHILE = 6010, /* another program has written it meanwhile, and it stays as .. */
  CPB_WHY_PIPE_FORMAT_OUT = 6011,        /* .. cannot be written to a pipe */
  CPB_WHY_WRITER_BROKEN = 6012,          /* a write before failed */
  CPB_WHY_PACKED_OUT = 6013,             /* packed files are only read; write to a pipe and pack what comes */
  CPB_WHY_UNPACK = 6014,                 /* cannot unpack it by ..: what the library says */
  CPB_WHY_HDF5_SEAL = 6015,              /* HDF5 cannot write the seal of data set ".." */

  /* EFORMAT */
  CPB_WHY_STATE = 7001,                  /* ..: the state .. */
  CPB_WHY_STATE_CHECKSUM = 7002,         /* ..: its bytes have checksum .., but it says ..: the state is .. */
  CPB_WHY_STATE_FOREIGN = 7003,          /* ..: these are not .. of capball (no .. at the start) */
  CPB_WHY_STATE_VERSION = 7004,          /* ..: the state is of version , wanted  */
  CPB_WHY_FILE_SHORT_HEADER = 7005,      /* has .. bytes, its header alone has .. */
  CPB_WHY_FILE_COLUMNS = 7006,           /* its rows have d = .., wanted 1 .. .. */
  CPB_WHY_FILE_ENDS_EARLY = 7007,        /* its header promises .. row.., but it ends after .. */
  CPB_WHY_FILE_ENDS_IN_ROW = 7008,       /* ends in the middle of row .., after .. of .. bytes */
  CPB_WHY_FILE_PROMISES_TOO_MUCH = 7009, /* its header promises .. row.. of d = .., more bytes than .. */
  CPB_WHY_FILE_ROW_COLUMNS = 7010,       /* row .. has d = .., row 0 has .. */
  CPB_WHY_FILE_ROW_SIZE = 7011,          /* rows of d = .. do not fit in memory */
  CPB_WHY_FILE_SIZE = 7012,       /* its header promises .. row.. of d = .., .. bytes in all, but it has .. */
  CPB_WHY_HDF5_BEGIN = 7013,      /* HDF5 cannot .. it */
  CPB_WHY_HDF5_COLUMNS = 7014,    /* data set ".." has d = .., wanted 1 .. .. */
  CPB_WHY_HDF5_DIMENSIONS = 7015, /* data set ".." has .. dimensions, wanted 2 (rows, columns) or 1 .. */
  CPB_WHY_HDF5_FOREIGN = 7016,    /* is not an HDF5 file */
  CPB_WHY_HDF5_LAYOUT = 7017,     /* HDF5 cannot tell how ".." is stored */
  CPB_WHY_HDF5_NONE = 7018,       /* this capball was built without HDF5 */
  CPB_WHY_HDF5_NOT_A_SET = 7019,  /* ".." is a .. in it and no data set: it stays as it is */
  CPB_WHY_HDF5_NO_ADDING = 7020,  /* is there and not an HDF5 file: a data set cannot be added */
  CPB_WHY_HDF5_NO_SET = 7021,     /* has no data set ".."; it has .. */
  CPB_WHY_HDF5_OPEN = 7022,       /* HDF5 cannot open it */
  CPB_WHY_HDF5_OUTSIDE = 7023,    /* data set ".." ..: files that a file names are read only when that .. */
  CPB_WHY_HDF5_READ = 7024,       /* HDF5 cannot read .. rows from row .. on */
  CPB_WHY_HDF5_TYPE = 7025,       /* data set ".." does not hold integers up to i64 or floats up to f64 */
  CPB_WHY_FILE_ENDS_BEFORE = 7026, /* ends before byte .., where .. more bytes should be */
  CPB_WHY_FILE_GOES_ON = 7027,     /* goes on after .. */
  CPB_WHY_FILE_SHRANK = 7028,      /* became shorter while it was being read: .. bytes are left of .. */
  CPB_WHY_LIBSVM_CHANGED = 7029,   /* has fewer lines than in the first pass */
  CPB_WHY_LIBSVM_EMPTY = 7030,     /* has .. row.. and no index:value in them, so no d */
  CPB_WHY_LIBSVM_FIELD = 7031,     /* line ..: ".." .. */
  CPB_WHY_LINE_TOO_LONG = 7032,    /* line .. has more than .. bytes.. */
  CPB_WHY_NPY_BIG_ENDIAN = 7033, /* its dtype .. is big-endian; only little-endian is read: x.astype('<..') */
  CPB_WHY_NPY_DIMENSIONS = 7034, /* its array has .. dimensions, wanted 2 (rows, columns) or 1 (one column) */
  CPB_WHY_NPY_DTYPE = 7035,      /* its dtype ".." is none of f2 f4 f8 b1 u1 i1 u2 i2 u4 i4 i8; .. */
  CPB_WHY_NPY_FOREIGN = 7036,    /* does not begin like an .npy file */
  CPB_WHY_NPY_HEADER = 7037,     /* its header is not a dict of descr, fortran_order and shape */
  CPB_WHY_NPY_LONG_HEADER = 7038, /* has a header of .. bytes, more than the .. that are read */
  CPB_WHY_NPY_OBJECTS = 7039, /* its dtype is object (pickled Python), which is not read: it could run code */
  CPB_WHY_NPY_RECORDS = 7040, /* its dtype is structured (records), not numbers */
  CPB_WHY_NPY_SHORT_HEADER = 7041, /* ends in its header */
  CPB_WHY_NPY_VERSION = 7042,      /* is .npy version .., wanted 1, 2 or 3 */
  CPB_WHY_TEXT_BINARY = 7043,      /* line .., column ..: ".." is binary, not text */
  CPB_WHY_TEXT_EMPTY = 7044,       /* is empty: without a line there is no d */
  CPB_WHY_TEXT_FIELDS = 7045,      /* line .. has .. field.., the first line has .. */
  CPB_WHY_TEXT_NUMBER = 7046,      /* line .., column ..: ".." is not a number that a double holds.. */
  CPB_WHY_TEXT_QUOTE = 7047,       /* line .., column ..: a quote is not closed before the separator */
  CPB_WHY_TEXT_SEPARATOR = 7048,   /* its only line begins like numbers, but is no row of ..: is the .. */
  CPB_WHY_TEXT_WIDTH = 7049,       /* line 1 has .. fields, at most .. are read */
  CPB_WHY_VECS_COLUMNS = 7050,     /* row 0 has d = .., wanted d >= 1 */
  CPB_WHY_VECS_EMPTY = 7051,       /* is empty: without a row there is no d */
  CPB_WHY_VECS_SHORT = 7052,       /* ends after .. bytes, in the d of row 0 */
  CPB_WHY_VECS_TRUNCATED = 7053,   /* .. bytes are .. row.. of d = .. and .. bytes of a truncated row */
  CPB_WHY_JSON_CHECKSUM = 7054,    /* its numbers have checksum .., but it says ".." */
  CPB_WHY_JSON_COUNT = 7055,       /* ".." must be a whole number  ..  */
  CPB_WHY_JSON_ELEMENT = 7056,     /* ".."[..] is not a number */
  CPB_WHY_JSON_KIND = 7057,        /* holds a "..", wanted a ".." */
  CPB_WHY_JSON_NO_CHECKSUM = 7058, /* has no "checksum" */
  CPB_WHY_JSON_NO_KIND = 7059,     /* has no "capball": {"kind": ..} */
  CPB_WHY_JSON_NUMBER = 7060,      /* ".." must be a number */
  CPB_WHY_JSON_NUMBERS = 7061,     /* ".." must be null or .. numbers, got .. */
  CPB_WHY_JSON_SYNTAX = 7062,      /* line .., column ..: .. */
  CPB_WHY_JSON_VALUE = 7063,       /* values that the object refuses */
  CPB_WHY_JSON_VERSION = 7064,     /* is not of version .. */
  CPB_WHY_JSON_KERNEL = 7065,      /* "kernel" must have a "kind": linear, rbf or polynomial */
  CPB_WHY_JSON_METHOD = 7066,      /* method must be ball, exact, cap-svm or cap-svm-paper, got ".." */
  CPB_WHY_JSON_ROW_NUMBER = 7067,  /* "rows"[..] is not a whole number >= 0 */
  CPB_WHY_JSON_ROW_NUMBERS = 7068, /* "rows" must be null or .. numbers */
  CPB_WHY_JSON_CURVE = 7069,       /* "curve" must be an array */
  CPB_WHY_JSON_CURVE_POINT = 7070, /* "curve"[..] is not [steps, mean, worst] */
  CPB_WHY_JSON_SEED = 7071,        /* "seed" must be the digits of a number below 2^64 */
  CPB_WHY_JSON_VARIANT = 7072, /* "variant" must be embedded, centred, random-embedded or random-centred */
  CPB_WHY_DUAL_LINE = 7073,    /* what is wrong with a line of JSON */
  CPB_WHY_TEXT_COLUMN = 7074,  /* .. files have no columns of text: ids and labels are for csv and tsv */
  CPB_WHY_COLUMN_NONE = 7075,  /* there is no column ".."; it has .. columns */
  CPB_WHY_COLUMN_TWICE = 7076, /* column .. is wanted twice */
  CPB_WHY_COLUMNS_ALL_DROPPED = 7077, /* no column is left of .. */
  CPB_WHY_UNPACK_NONE = 7078,         /* this capball was built without zlib, or without libzstd */
  CPB_WHY_JSON_TEXTS = 7079,          /* ".." must be null or .. texts, got .. */
  CPB_WHY_FILE_PARQUET = 7080,        /* Parquet and Arrow files are read through Python */
  CPB_WHY_SEAL_KEY = 7081,            /* its ".." is not that of a seal */
  CPB_WHY_SEAL_FOREIGN = 7082,        /* rows of another map or transform, or in the other role */

  /* ESTOPPED */
  CPB_WHY_STOPPED = 8001, /* stopped by the caller */
} cpb_reason;

#ifdef __cplusplus
}
#endif
#endif
