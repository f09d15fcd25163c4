#include "pg_error.h"

#include <catalog/pg_type.h>
#include <mb/pg_wchar.h>
#include <miscadmin.h>

#include "sql_error.h"

/* A message may quote a part of its input that ends within a character. */
static void make_printable(char *text) {
  if (pg_verifymbstr(text, (int)strlen(text), true)) return;
  for (; *text != 0; text++)
    if ((unsigned char)*text >= 0x80) *text = '?';
}

void pg_report(cpb_error *error) {
  const char *state = sql_state(error);
  if (error->status == CPB_ESTOPPED) CHECK_FOR_INTERRUPTS();
  sql_message(error);
  make_printable(error->text);
  ereport(ERROR, (errcode(MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4])),
                  errmsg_internal("%s", error->text)));
  pg_unreachable();
}

cpb_view pg_vector(ArrayType *array, const char *name) {
  Oid type = ARR_ELEMTYPE(array);
  if (ARR_NDIM(array) != 1)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s must be a one-dimensional array that is not empty", name)));
  if (type != FLOAT4OID && type != FLOAT8OID)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s must be an array of real or double precision", name)));
  if (array_contains_nulls(array))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not contain NULL", name)));
  return cpb_rows(ARR_DATA_PTR(array), type == FLOAT4OID ? CPB_F32 : CPB_F64, 1, (size_t)ARR_DIMS(array)[0]);
}
