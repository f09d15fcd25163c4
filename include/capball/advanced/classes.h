/* Classes as balls: a linear classifier on the sphere, as an object and as a file.
 *
 * Rows z = W(x-m), or g(x-m) with a number per column, are embedded, y = S(z) (T1). Each plane k has a value
 *
 *   f_k = <w_k,y> + w0_k,
 *
 * and belongs to one class; a class may have several planes, its sub-classes. f_k >= f_l is a cap, so between two sub-classes
 * the boundary is a sphere of the z: a ball, the complement of one, or a half-space (T3). */
#ifndef CAPBALL_ADVANCED_CLASSES_H
#define CAPBALL_ADVANCED_CLASSES_H

#include "capball/exec.h"
#include "capball/view.h"

CPB_BEGIN

/** How the values of planes become those of classes, and their probabilities. Values are fixed. */
typedef enum cpb_class_rule {
  CPB_CLASS_SOFTMAX =
      0, /* score = log sum exp f_k over the planes of the class; p is the softmax of the scores */
  CPB_CLASS_ONE_VS_REST =
      1, /* one plane per class: score = f, p = 1/(1+exp(-f)), divided by the sum over the classes */
  CPB_CLASS_LARGEST = 2, /* score = the largest f_k of the class; there are no probabilities */
} cpb_class_rule;
enum { CPB_CLASS_RULES = 3 };

/** "softmax", "one-vs-rest", "largest"; a view, never NULL. */
CPB_API const char *cpb_class_rule_name(cpb_class_rule rule);

/** The definition of a classifier; pointers are borrowed for the call of cpb_classes_new, and views into the object when
 *  returned by cpb_classes_describe. Start from cpb_classes_options_init. */
typedef struct cpb_classes_options {
  size_t size;                /* sizeof(cpb_classes_options) */
  size_t d;                   /* columns of the data, >= 1 */
  double s;                   /* scale of S, > 0 */
  const double *center;       /* m: d coordinates in the unit of the data; NULL = 0 */
  const double *factors;      /* g: d numbers; NULL = 1 */
  const double *whiten;       /* W: d*d row-major, invertible; NULL = I. Not with factors */
  size_t planes;              /* >= classes */
  const double *w;            /* planes rows of d+1 */
  const double *w0;           /* planes numbers */
  const uint64_t *owners;     /* the class of each plane, ascending; each class has one at least */
  size_t classes;             /* >= 2 */
  const char *const *labels;  /* their names */
  cpb_class_rule rule;        /* default CPB_CLASS_SOFTMAX */
  const char *const *columns; /* d column names; NULL: none */
  uint64_t rows;              /* of the training data; 0: unknown */
} cpb_classes_options;
CPB_API void cpb_classes_options_init(cpb_classes_options *options, size_t size);

typedef struct cpb_classes cpb_classes;

/** Creates *classes, owned by the caller. All options are checked; EINVAL names the invalid value. */
CPB_CALL cpb_status cpb_classes_new(const cpb_classes_options *options, cpb_classes **classes,
                                    cpb_error *error);
CPB_API void cpb_classes_free(cpb_classes *classes);
CPB_API void cpb_classes_describe(const cpb_classes *classes, cpb_classes_options *options);

/** The score of every row for every class; the class of a row is the one with the largest.
 *  x       n rows of d, any dtype
 *  scores  n rows of `classes` numbers, f32 or f64
 *  A row with NaN or inf gives NaN: EROW. Thread-safe; the same bits for any number of threads. */
CPB_CALL cpb_status cpb_classes_scores(const cpb_classes *classes, cpb_view x, cpb_out scores,
                                       const cpb_exec *exec, cpb_error *error);

/** The class of a row with these scores, the first of the largest; `classes` if one is NaN. 0 for NULL. */
CPB_API size_t cpb_classes_verdict(const cpb_classes *classes, const double *scores);

/** Turns n rows of scores into probabilities, in place: they sum to 1. EINVAL if the rule has none. */
CPB_CALL cpb_status cpb_classes_probabilities(const cpb_classes *classes, double *scores, size_t n,
                                              cpb_error *error);

/** The class of a row as an SQL expression, a subquery whose value is the label (a number if all labels are integers), for
 *  SQLite, PostgreSQL and DuckDB; with several planes per class it needs their function exp.
 *  columns  d names, or NULL for those of the classifier, or x0, x1, ..
 *  *text is 0-terminated; free it with cpb_free. */
CPB_CALL cpb_status cpb_classes_to_sql(const cpb_classes *classes, const char *const *columns, char **text,
                                       cpb_error *error);

/** The same as a function of C, "int NAME(const double x[D])": the number of the class, from 0 in the order of the labels,
 *  -1 for rows with NaN. With several planes per class it needs exp of math.h.
 *  name     an identifier of C, or NULL for "class_of"
 *  *text is 0-terminated; free it with cpb_free. */
CPB_CALL cpb_status cpb_classes_to_c(const cpb_classes *classes, const char *name, char **text,
                                     cpb_error *error);

/** The content of a file: JSON with keys "capball", "dim", "columns" (if columns have names), "classes", "rule", "rows",
 *  "scale", "center", "factors", "whiten", "planes", "checksum". Free *text with cpb_free. */
CPB_CALL cpb_status cpb_classes_to_json(const cpb_classes *classes, char **text, cpb_error *error);

/** Reads that text back, bit for bit, into a new *classes. Any defect gives EFORMAT with a message.
 *  name  how messages refer to the file; NULL = "classes" */
CPB_CALL cpb_status cpb_classes_from_json(const char *text, size_t length, const char *name,
                                          cpb_classes **classes, cpb_error *error);

/** Load and save a file of that format; save replaces the file atomically, "-" is standard output. */
CPB_CALL cpb_status cpb_classes_load(const char *path, cpb_classes **classes, cpb_error *error);
CPB_CALL cpb_status cpb_classes_save(const cpb_classes *classes, const char *path, cpb_error *error);

CPB_END
#endif
