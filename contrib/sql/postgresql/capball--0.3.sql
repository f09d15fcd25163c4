\echo Use "CREATE EXTENSION capball" to load this file. \quit

-- Scalar functions: NULL for NULL. Maps, models and regions are JSON as text, as the command writes them.

CREATE FUNCTION capball_version() RETURNS text
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;

CREATE FUNCTION capball_embed(map text, x real[]) RETURNS real[]
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_unembed(map text, y real[]) RETURNS real[]
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_query(map text, q real[], radius double precision) RETURNS real[]
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 40;

CREATE FUNCTION capball_cap(map text, c real[], r double precision, OUT p real[], OUT b double precision)
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 40;

CREATE FUNCTION capball_distance(map text, y real[], q real[]) RETURNS double precision
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 30;

CREATE FUNCTION capball_score(model text, x real[]) RETURNS double precision
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_why(model text, x real[]) RETURNS double precision[]
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 40;

CREATE FUNCTION capball_inside(region text, x real[]) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_is_outlier(model text, x real[]) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_p_value(model text, x real[]) RETURNS double precision
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_embed(map text, x double precision[]) RETURNS double precision[]
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_unembed(map text, y double precision[]) RETURNS double precision[]
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_query(map text, q double precision[], radius double precision) RETURNS double precision[]
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 40;

CREATE FUNCTION capball_cap(map text, c double precision[], r double precision, OUT p double precision[], OUT b double precision)
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 40;

CREATE FUNCTION capball_distance(map text, y double precision[], q double precision[]) RETURNS double precision
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 30;

CREATE FUNCTION capball_score(model text, x double precision[]) RETURNS double precision
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_why(model text, x double precision[]) RETURNS double precision[]
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 40;

CREATE FUNCTION capball_inside(region text, x double precision[]) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_is_outlier(model text, x double precision[]) RETURNS boolean
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

CREATE FUNCTION capball_p_value(model text, x double precision[]) RETURNS double precision
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;


-- Aggregates: rows with a NULL argument are skipped; NULL without rows.

CREATE FUNCTION capball_add(internal, real[]) RETURNS internal
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, real[], bigint) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_row' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, real[], text) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_goal' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, real[], text, bigint) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_goal_row' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, real[], double precision) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_share' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, real[], double precision, bigint) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_share_row' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, double precision[]) RETURNS internal
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, double precision[], bigint) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_row' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, double precision[], text) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_goal' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, double precision[], text, bigint) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_goal_row' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, double precision[], double precision) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_share' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_add(internal, double precision[], double precision, bigint) RETURNS internal
  AS 'MODULE_PATHNAME', 'capball_add_share_row' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_merge(internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_serialize(internal) RETURNS bytea
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

CREATE FUNCTION capball_deserialize(bytea, internal) RETURNS internal
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;

CREATE FUNCTION capball_finish_map(internal) RETURNS text
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_finish_ball(internal) RETURNS text
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_finish_svdd(internal) RETURNS text
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE FUNCTION capball_finish_detector(internal) RETURNS text
  AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;

CREATE AGGREGATE capball_fit(x real[]) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_map,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_fit(x real[], goal text) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_map,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_fit(x real[], goal text, row_number bigint) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_map,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_enclosing_ball(x real[]) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_ball,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_enclosing_ball(x real[], row_number bigint) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_ball,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_svdd(x real[], nu double precision) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_svdd,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_detector(x real[], contamination double precision) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_detector,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_svdd(x real[], nu double precision, row_number bigint) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_svdd,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_detector(x real[], contamination double precision, row_number bigint) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_detector,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_fit(x double precision[]) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_map,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_fit(x double precision[], goal text) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_map,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_fit(x double precision[], goal text, row_number bigint) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_map,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_enclosing_ball(x double precision[]) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_ball,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_enclosing_ball(x double precision[], row_number bigint) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_ball,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_svdd(x double precision[], nu double precision) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_svdd,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_detector(x double precision[], contamination double precision) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_detector,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_svdd(x double precision[], nu double precision, row_number bigint) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_svdd,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);

CREATE AGGREGATE capball_detector(x double precision[], contamination double precision, row_number bigint) (
  SFUNC = capball_add, STYPE = internal, SSPACE = 1048576, FINALFUNC = capball_finish_detector,
  COMBINEFUNC = capball_merge, SERIALFUNC = capball_serialize, DESERIALFUNC = capball_deserialize, PARALLEL = SAFE);


-- With pgvector: vectors in, vectors out. Other functions take a vector through its cast to real[], a halfvec as
-- x::real[].
DO $$
DECLARE type text;
BEGIN
  FOREACH type IN ARRAY ARRAY['vector', 'halfvec'] LOOP
    CONTINUE WHEN to_regtype(type) IS NULL;
    EXECUTE format('CREATE FUNCTION capball_embed(map text, x %1$s) RETURNS %1$s LANGUAGE sql IMMUTABLE STRICT
      PARALLEL SAFE COST 40 RETURN capball_embed(map, x::real[])::%1$s', type);
    EXECUTE format('CREATE FUNCTION capball_unembed(map text, y %1$s) RETURNS %1$s LANGUAGE sql IMMUTABLE STRICT
      PARALLEL SAFE COST 40 RETURN capball_unembed(map, y::real[])::%1$s', type);
    EXECUTE format('CREATE FUNCTION capball_query(map text, q %1$s, radius double precision) RETURNS %1$s LANGUAGE sql
      IMMUTABLE STRICT PARALLEL SAFE COST 40 RETURN capball_query(map, q::real[], radius)::%1$s', type);
  END LOOP;
END $$;
