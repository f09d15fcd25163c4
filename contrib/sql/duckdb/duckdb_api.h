/* The part of DuckDB's C API for extensions that this one uses, after duckdb.h and duckdb_extension.h of DuckDB 2.0 (MIT licence,
 * Stichting DuckDB Foundation). The order of the functions is fixed since API v1.2.0; those of no use here are counted only. */
#ifndef CAPBALL_DUCKDB_API_H
#define CAPBALL_DUCKDB_API_H

#include <stdbool.h>
#include <stdint.h>

#define DUCKDB_API_VERSION "v1.2.0" /* as in add_footer.py */

typedef uint64_t idx_t;
typedef enum duckdb_state { DuckDBSuccess = 0, DuckDBError = 1 } duckdb_state;
typedef enum duckdb_type {
  DUCKDB_TYPE_BOOLEAN = 1,
  DUCKDB_TYPE_BIGINT = 5,
  DUCKDB_TYPE_FLOAT = 10,
  DUCKDB_TYPE_DOUBLE = 11,
  DUCKDB_TYPE_VARCHAR = 17
} duckdb_type;

typedef struct duckdb_database_object *duckdb_database;
typedef struct duckdb_connection_object *duckdb_connection;
typedef struct duckdb_extension_info_object *duckdb_extension_info;
typedef struct duckdb_logical_type_object *duckdb_logical_type;
typedef struct duckdb_vector_object *duckdb_vector;
typedef struct duckdb_data_chunk_object *duckdb_data_chunk;
typedef struct duckdb_function_info_object *duckdb_function_info;
typedef struct duckdb_scalar_function_object *duckdb_scalar_function;
typedef struct duckdb_scalar_function_set_object *duckdb_scalar_function_set;
typedef struct duckdb_aggregate_function_object *duckdb_aggregate_function;
typedef struct duckdb_aggregate_function_set_object *duckdb_aggregate_function_set;
typedef struct duckdb_aggregate_state_object *duckdb_aggregate_state;

typedef struct duckdb_list_entry {
  uint64_t offset, length;
} duckdb_list_entry;

/* Short texts are in place. */
typedef struct duckdb_string_t {
  uint32_t length;
  char prefix[4];
  union {
    char *pointer;
    char rest[8];
  } value;
} duckdb_string_t;

typedef void (*duckdb_delete_callback_t)(void *data);
typedef void (*duckdb_scalar_function_t)(duckdb_function_info info, duckdb_data_chunk input,
                                         duckdb_vector output);
typedef idx_t (*duckdb_aggregate_state_size)(duckdb_function_info info);
typedef void (*duckdb_aggregate_init_t)(duckdb_function_info info, duckdb_aggregate_state state);
typedef void (*duckdb_aggregate_destroy_t)(duckdb_aggregate_state *states, idx_t count);
typedef void (*duckdb_aggregate_update_t)(duckdb_function_info info, duckdb_data_chunk input,
                                          duckdb_aggregate_state *states);
typedef void (*duckdb_aggregate_combine_t)(duckdb_function_info info, duckdb_aggregate_state *source,
                                           duckdb_aggregate_state *target, idx_t count);
typedef void (*duckdb_aggregate_finalize_t)(duckdb_function_info info, duckdb_aggregate_state *source,
                                            duckdb_vector result, idx_t count, idx_t offset);

struct duckdb_extension_access {
  void (*set_error)(duckdb_extension_info info, const char *error);
  duckdb_database *(*get_database)(duckdb_extension_info info);
  const void *(*get_api)(duckdb_extension_info info, const char *version);
};

typedef struct duckdb_functions {
  void (*others1[3])(void);
  duckdb_state (*connect)(duckdb_database database, duckdb_connection *out_connection);
  void (*others2[2])(void);
  void (*disconnect)(duckdb_connection *connection);
  void (*others3[21])(void);
  uint32_t (*string_t_length)(duckdb_string_t string);
  const char *(*string_t_data)(duckdb_string_t *string);
  void (*others4[126])(void);
  duckdb_logical_type (*create_logical_type)(duckdb_type type);
  void (*others5[2])(void);
  duckdb_logical_type (*create_list_type)(duckdb_logical_type type);
  void (*others6[3])(void);
  duckdb_logical_type (*create_struct_type)(duckdb_logical_type *member_types, const char **member_names,
                                            idx_t member_count);
  void (*others7[20])(void);
  void (*destroy_logical_type)(duckdb_logical_type *type);
  void (*others8[5])(void);
  duckdb_vector (*data_chunk_get_vector)(duckdb_data_chunk chunk, idx_t col_idx);
  idx_t (*data_chunk_get_size)(duckdb_data_chunk chunk);
  void (*others9[2])(void);
  void *(*vector_get_data)(duckdb_vector vector);
  uint64_t *(*vector_get_validity)(duckdb_vector vector);
  void (*vector_ensure_validity_writable)(duckdb_vector vector);
  void (*vector_assign_string_element)(duckdb_vector vector, idx_t index, const char *str);
  void (*others10[1])(void);
  duckdb_vector (*list_vector_get_child)(duckdb_vector vector);
  void (*others11[1])(void);
  duckdb_state (*list_vector_set_size)(duckdb_vector vector, idx_t size);
  duckdb_state (*list_vector_reserve)(duckdb_vector vector, idx_t required_capacity);
  duckdb_vector (*struct_vector_get_child)(duckdb_vector vector, idx_t index);
  void (*others12[1])(void);
  bool (*validity_row_is_valid)(uint64_t *validity, idx_t row);
  void (*others13[1])(void);
  void (*validity_set_row_invalid)(uint64_t *validity, idx_t row);
  void (*others14[1])(void);
  duckdb_scalar_function (*create_scalar_function)(void);
  void (*destroy_scalar_function)(duckdb_scalar_function *scalar_function);
  void (*scalar_function_set_name)(duckdb_scalar_function scalar_function, const char *name);
  void (*others15[3])(void);
  void (*scalar_function_add_parameter)(duckdb_scalar_function scalar_function, duckdb_logical_type type);
  void (*scalar_function_set_return_type)(duckdb_scalar_function scalar_function, duckdb_logical_type type);
  void (*scalar_function_set_extra_info)(duckdb_scalar_function scalar_function, void *extra_info,
                                         duckdb_delete_callback_t destroy);
  void (*scalar_function_set_function)(duckdb_scalar_function scalar_function,
                                       duckdb_scalar_function_t function);
  void (*others16[1])(void);
  void *(*scalar_function_get_extra_info)(duckdb_function_info info);
  void (*scalar_function_set_error)(duckdb_function_info info, const char *error);
  duckdb_scalar_function_set (*create_scalar_function_set)(const char *name);
  void (*destroy_scalar_function_set)(duckdb_scalar_function_set *scalar_function_set);
  duckdb_state (*add_scalar_function_to_set)(duckdb_scalar_function_set set, duckdb_scalar_function function);
  duckdb_state (*register_scalar_function_set)(duckdb_connection con, duckdb_scalar_function_set set);
  duckdb_aggregate_function (*create_aggregate_function)(void);
  void (*destroy_aggregate_function)(duckdb_aggregate_function *aggregate_function);
  void (*aggregate_function_set_name)(duckdb_aggregate_function aggregate_function, const char *name);
  void (*aggregate_function_add_parameter)(duckdb_aggregate_function aggregate_function,
                                           duckdb_logical_type type);
  void (*aggregate_function_set_return_type)(duckdb_aggregate_function aggregate_function,
                                             duckdb_logical_type type);
  void (*aggregate_function_set_functions)(duckdb_aggregate_function aggregate_function,
                                           duckdb_aggregate_state_size state_size,
                                           duckdb_aggregate_init_t state_init,
                                           duckdb_aggregate_update_t update,
                                           duckdb_aggregate_combine_t combine,
                                           duckdb_aggregate_finalize_t finalize);
  void (*aggregate_function_set_destructor)(duckdb_aggregate_function aggregate_function,
                                            duckdb_aggregate_destroy_t destroy);
  void (*others17[2])(void);
  void (*aggregate_function_set_extra_info)(duckdb_aggregate_function aggregate_function, void *extra_info,
                                            duckdb_delete_callback_t destroy);
  void *(*aggregate_function_get_extra_info)(duckdb_function_info info);
  void (*aggregate_function_set_error)(duckdb_function_info info, const char *error);
  duckdb_aggregate_function_set (*create_aggregate_function_set)(const char *name);
  void (*destroy_aggregate_function_set)(duckdb_aggregate_function_set *aggregate_function_set);
  duckdb_state (*add_aggregate_function_to_set)(duckdb_aggregate_function_set set,
                                                duckdb_aggregate_function function);
  duckdb_state (*register_aggregate_function_set)(duckdb_connection con, duckdb_aggregate_function_set set);
} duckdb_functions;

#endif
