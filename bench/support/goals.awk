# What bench_embed, bench_search and bench_faiss print, held against the goals: the least ratio of each and where it is.
function meet(goal, wanted, ratio, where) {
  if (!(goal in least)) { order[++goals] = goal; least[goal] = ratio; at[goal] = where; want[goal] = wanted }
  else if (ratio / wanted < least[goal] / want[goal]) { least[goal] = ratio; at[goal] = where; want[goal] = wanted }
}

# Types and lengths that people use most keep high floors; every other cell needs half of the copy.
function floor_of(pair, d) {
  if (pair == "f32 -> f32") return d >= 48 || d <= 4 ? .85 : .75
  if (pair == "f64 -> f64" && d >= 16) return d >= 24 ? .80 : .65
  return .5
}
function name_of(pair, d) {
  if (pair == "f32 -> f32") return d >= 48 || d <= 4 ? "fitted f32, d <= 4 and >= 48" : "fitted f32, d = 5..47"
  if (pair == "f64 -> f64" && d >= 16) return d >= 24 ? "f64, d >= 24" : "f64, d = 16..23"
  return "other types, and f64 with d < 16"
}
# AVX2 is judged from 16 numbers in a row on, where it has the same types on both sides, and from 128 on where it has not.
function meet_avx2(pair, d, ratio, where) {
  if (pair == "f32 -> f32" || pair == "f64 -> f64") {
    if (d >= 16) meet("avx2: f32 and f64, d " (d >= 64 ? ">= 64" : "= 16..63"), d >= 64 ? .75 : .5, ratio, where)
  } else if (d >= 128) meet("avx2: other types, d >= 128", .5, ratio, where)
}

/^#in  out/ { columns = 0; for (i = 4; i <= NF; i++) d[++columns] = $i; next }
/^# avx2/ { isa = "avx2"; next }
/^# a layer/ { part = "layer"; next }
/^# whitened/ { part = "whitened"; next }
/^# exact/ { part = "search"; next }
/^#set +type +rows +d +metric/ { part = "faiss"; next }
/^#/ { next }

$1 ~ /^(f32|f64|f16|u8|i8)$/ && $2 ~ /^f(32|64)$/ {
  centred = /, centre/; what = $3; sub(/,$/, "", what); first = NF - columns
  pair = $1 " -> " $2; threads = $first
  if (what == "in") next
  if (isa == "avx2") {
    if (what != "rows" && what != "of")
      for (i = 1; i <= columns; i++) meet_avx2(pair, d[i], $(first + i), "avx2, " pair " " what (centred ? " about a centre" : "") ", d = " d[i])
    next
  }
  if (what == "rows") {
    for (i = 1; i <= columns; i++)
      if (d[i] >= 16)
        meet(d[i] >= 64 ? "f16, u8, i8 -> f32, rows of f32 -> f32, d >= 64" : "f16, u8, i8 -> f32, rows of f32 -> f32, d = 16..63",
             d[i] >= 64 ? 1 : .8, $(first + i), pair " about a centre, d = " d[i] ", " threads " threads")
    next
  }
  if (what == "of") {
    for (i = 1; i <= columns; i++)
      meet("a centre costs no more than 5 %", .95, $(first + i), pair " " $5 ", d = " d[i] ", " threads " threads")
    next
  }
  for (i = 1; i <= columns; i++) {
    where = pair " " what (centred ? " about a centre" : "") ", d = " d[i] ", " threads " threads"
    if (pair != "f32 -> f32" || centred) meet(name_of(pair, d[i]), floor_of(pair, d[i]), $(first + i), where)
  }
  next
}
part == "layer" && NF == 6 { for (i = 3; i <= NF; i++) meet("layer, forward and backward", .80, $i, $1 " d = " $2); next }
part == "whitened" && NF == 3 { meet("whitened embed", .60, $2, "d = " $1); next }
part == "search" && NF >= 12 && rival {
  range = $6 == "range"; threads = $(6 + range); ratio = $(9 + range)
  goal_of_set = ($1 == "gauss") ? 2.5 : ($1 == "bytes") ? 4 : ($1 ~ /^(glove|sift|fashion)/) ? 2 : 1
  meet("search beside the other build: " ($5 == "l2" ? "" : $5 " ") (range ? "range " : "") (goal_of_set > 1 ? $1 : "other sets"), $5 == "l2" ? goal_of_set : 1, ratio, $1 " " $5 ", " threads " threads")
  next
}
part == "faiss" && NF == 15 && $1 == "gauss" && $5 == "l2" && $6 == 1000 { meet("1000 queries, the better faiss setting, gauss", 4, $13, $1 ", " $7 " threads"); next }
END {
  for (i = 1; i <= goals; i++) {
    goal = order[i]
    printf "%-52s wanted %.2f  least %.2f  %s  (%s)\n", goal, want[goal], least[goal], (least[goal] >= want[goal] ? "holds" : "MISSED"), at[goal]
  }
}
