#!/usr/bin/env bash
# Names of columns and rows are preserved through maps, transforms, models, SQL, pictures and every table that is written.
. "$(dirname "$0")/../support/tap.sh"

printf 'name,height,"we,ight"\nAda,1,65\n"Bo ""x"", 2",2,80\nCy,3,55\nDi,4,\nEd,2.5,60\n' >people.csv
printf 'name;we,ight;height\nq1;60;2\nq2;70;1\n' >asked.csv
ids='--id-column name'

printf 'name,height,"we,ight"\nAda,1,65\nBo,2,80\nCy,3,55\nDi,4,\nEd,2.5,60\n' >plain_people.csv

# gives TEXT WANTED COMMAND..: what the command prints
gives() {
  local text=$1 wanted=$2
  shift 2
  "$@" >out 2>err
  [ "$(cat out)" = "$wanted" ]
  verdict $? "$text"
  if [ "$(cat out)" != "$wanted" ]; then sed 's/^/# /' out err; fi
}

# shellcheck disable=SC2086
{
gives "convert keeps both" $',height,"we,ight"\nAda,1,65\n"Bo ""x"", 2",2,80\nCy,3,55\nEd,2.5,60' \
  capball convert people.csv - --to csv $ids --skip-bad -q
capball convert people.csv kept.csv $ids --skip-bad -q
gives "and what it wrote is read alike" "$(cat kept.csv)" capball convert kept.csv - --to csv -q
gives "tabs" $'\theight\twe,ight\nCy\t3\t55' capball convert people.csv - --to tsv $ids --rows 2:3 -q
gives "--bare has numbers alone" $'1,65\n2,80' capball convert people.csv - --to csv $ids --rows :2 --bare -q
gives "names alone" $'height\n1' capball convert people.csv - --to csv --columns height --rows :1 -q
capball convert people.csv people.npy $ids --impute mean -q
check "npy has numbers alone" bash -c "capball info people.npy --json | grep -q '\"columns\":2'"

capball fit people.csv $ids --impute mean -o map.json -q
capball fit people.csv $ids --impute mean -o goal.json --goal spread --state all.state -q
capball fit --transform lift-ip people.csv $ids --impute mean -o lift.json -q
for file in map goal lift; do check "$file.json has the columns" grep -q '"columns": \["height", *"we,ight"\]' $file.json; done
capball embed -m map.json people.csv $ids --impute mean -o sphere.csv -q
check "embedded rows have ids" bash -c "head -2 sphere.csv | tr '\n' ' ' | grep -q '^,0,1,2 Ada,'"
capball unembed -m map.json sphere.csv -o back.csv -q
check "and the names of columns when they come back" bash -c "head -1 back.csv | grep -qx ',height,\"we,ight\"' && grep -q '^Di,4,65' back.csv"
printf '"we,ight",height\n65,4\n' >turned.csv
printf 'height,"we,ight"\n4,65\n' >straight.csv
gives "columns of a map go by name" "$(capball embed -m map.json straight.csv -o - --to csv -q)" capball embed -m map.json turned.csv -o - --to csv -q
gives "by --columns they go in the order told" "$(capball embed -m map.json straight.csv -o - --to csv -q)" capball embed -m map.json turned.csv --columns 2,1 -o - --to csv -q
refuses "a column that the map lacks" 1 'there is no column "height"' capball embed -m map.json turned.csv --drop height -o no.csv
gives "queries, too" "$(capball query -m lift.json straight.csv --point -o - --to csv -q)" capball query -m lift.json turned.csv --point -o - --to csv -q

capball knn people.csv asked.csv -k 2 -o ids.csv --distances d.csv $ids --skip-bad -q
gives "knn: ids of base and queries" $',neighbour 1,neighbour 2\nq1,Ed,Ada\nq2,Ada,"Bo ""x"", 2"' cat ids.csv
gives "knn: distances" $',distance 1,distance 2\nq1,0.5,5.0990195135927845\nq2,5,10.04987562112089' cat d.csv
gives "knn --bare: row numbers" $'4,0\n0,1' capball knn people.csv asked.csv -k 2 -o - --to csv --bare $ids --skip-bad -q
gives "knn --metric ip: products" $',product\nq1,4804\nq2,5602' \
  bash -c "capball knn people.csv asked.csv -k 1 -o ids.csv --distances p.csv --metric ip $ids --skip-bad -q && cat p.csv"
gives "range: ids of both" '{"query":0,"query_name":"q1","ids":[4],"names":["Ed"],"distances":[0.5]}' \
  bash -c "capball range people.csv asked.csv --radius 1 -o - $ids --skip-bad -q | head -1"
gives "range --metric ip: products" '{"query":1,"query_name":"q2","ids":[1],"names":["Bo \"x\", 2"],"products":[5602]}' \
  bash -c "capball range people.csv asked.csv --radius 5000 -o - $ids --skip-bad --metric ip -q | tail -1"
gives "range --metric cosine: cosines, from R on" '{"query":1,"query_name":"q2","ids":[0],"names":["Ada"],"cosines":[0.9999993964740493]}' \
  bash -c "capball range people.csv asked.csv --radius 0.99995 -o - $ids --skip-bad --metric cosine -q | tail -1"
refuses "a cosine is at most 1" 2 'radius is the least cosine' capball range people.csv asked.csv --radius 1.5 --metric cosine -o - $ids
capball embed -m map.json asked.csv $ids -o q.csv -q
capball knn sphere.csv q.csv -k 3 --metric ip -o found.csv --bare -q
sed 's/^name//' asked.csv >indexed.csv
capball rescore -m map.json indexed.csv found.csv --embedded sphere.csv -k 1 -o near.csv -q
gives "rescore: ids of embedded rows" $',neighbour\nq1,Ed\nq2,Ada' cat near.csv

capball ball people.csv $ids --skip-bad -o model.json --nu 0.5 --standardize --sql ball.sql -q
check "a model has the columns" grep -q '"columns": \["height","we,ight"\]' <(tr -d ' ' <model.json | sed 's/"columns":/"columns": /')
check "SQL has them, and short numbers" bash -c "grep -q '\"we,ight\" - 65' ball.sql && ! grep -Eq '[0-9]{18}' ball.sql"
capball score -m model.json people.csv $ids --impute median -o scores.csv --ranks -q
check "scores have ids, and names of their own" bash -c "head -1 scores.csv | grep -qx ',score,share' && grep -q '^Di,-' scores.csv"
capball score -m model.json people.csv $ids --impute median -o predicted.csv --predict -q
gives "so have predictions" ',label' head -1 predicted.csv
sed '1s/name/name,city/; 2,$s/,/,Graz,/' plain_people.csv >town.csv
check "columns that a model does not know may be text, imputed or not" bash -c "capball score -m model.json town.csv $ids --impute mean -o s.csv -q && capball score -m model.json town.csv $ids --skip-bad -o t.csv -q && [ \$(wc -l <s.csv) = 6 ] && [ \$(wc -l <t.csv) = 5 ]"
refuses "a column of text: what helps" 1 '"Graz" is not a number .*--drop omits a column' capball fit town.csv $ids -o no.json
check "info tells the names" bash -c "capball info people.csv $ids | grep -q '^names     height, we,ight$'"
check "and so does its JSON" bash -c "capball info people.csv $ids --json | grep -q '\"names\":\[\"height\",\"we,ight\"\]'"
refuses "a row with an empty cell: what helps" 1 'row 3 holds NaN \(--skip-bad omits such rows, --impute fills' capball ball people.csv $ids -o no.json

printf 'name,a,b\nz1,0,0\nz2,1,0\nz3,0,1\nz4,1,1\nz5,2,1\nz6,1,2\nz7,9,9\n' >plane.csv
if command -v gnuplot >/dev/null; then
  capball ball plane.csv $ids -o m.json --nu 0.5 --plot ball.svg -q
  check "a picture has a title and the columns on its axes" bash -c "grep -q '<title>plane.csv: the ball of 7 rows</title>' ball.svg && grep -q '>a<' ball.svg && grep -q '>b<' ball.svg"
  check "rows outside have a shape and a name of their own" bash -c "grep -q 'outside (' ball.svg && grep -q \"<use xlink:href='#gpPt7' transform\" ball.svg"
  { echo a,b; seq 0 199 | awk '{ print $1 * 37 % 101 "," $1 * 53 % 89 } END { print "900,-900" }'; } >many.csv
  check "where most are outside, the strangest hundredth has" bash -c "capball ball many.csv -o many.json --nu 0.9 --plot many.svg -q && grep -q 'the strangest 1 % (2)' many.svg"
  printf '0\n0\n0\n0\n0\n0\n1\n' >odd.csv
  capball score -m m.json plane.csv $ids -o s.csv --labels odd.csv --plot scores.svg -q >/dev/null
  check "a picture of scores has a title" grep -q '<title>plane.csv: scores of 7 rows by m.json</title>' scores.svg
else
  skip "pictures" "no gnuplot here"
fi
}
# own FILE HEADER: everything that is fitted on a file or built from it takes the file itself; HEADER is what the names become
own() {
  local file=$1 header=$2
  check "$file: a ball scores it" bash -c "capball ball $file -o m.json -q && capball score -m m.json $file -o s.csv -q"
  check "$file: balls of some of its columns, too" bash -c "capball ball $file --columns 1,3 -o m.json -q && capball score -m m.json $file -o s.csv -q"
  check "$file: a map embeds it" bash -c "capball fit $file -o map.json -q && capball embed -m map.json $file -o e.csv -q"
  check "$file: a transform takes it" bash -c "capball fit --transform lift-ip $file -o l.json -q && capball query -m l.json $file --point -o q.csv -q"
  check "$file: a sketch encodes it" bash -c "capball sketch train $file --bits 64 -o sk.json -q && capball sketch encode -m sk.json $file -o codes.npy -q"
  check "$file: an index takes it" bash -c "capball index build $file -o own.index -q && capball index add own.index $file -q && capball index search own.index $file -k 1 -o ids.csv -q"
  check "$file: a search has it on both sides" capball knn $file $file -k 1 -o ids.csv -q
  gives "$file: what is written has the names" "$header" bash -c "capball convert $file - --to csv -q | head -1"
}
rows='1,2,3\n2,3,5\n4,9,1\n5,5,0\n'
printf "Gr\\366\\337e,\\200 Geld,c\\n$rows" >latin.csv
printf "a,b,a\\n$rows" >twice.csv
printf "a,a.1,a\\n$rows" >thrice.csv
printf "a,,\\n$rows" >empty.csv
printf "Gr\\303\\266\\303\\237e,\\342\\202\\254 Geld,c\\n$rows" >utf8.csv
own latin.csv 'Größe,€ Geld,c'
own twice.csv 'a,b,a.1'
own thrice.csv 'a,a.1,a.2'
own empty.csv 'a,,.1'
gives "Latin-1 in JSON" '"names":["Größe","€ Geld","c"]' bash -c "capball info latin.csv --json | grep -o '\"names\":\[[^]]*\]'"
check "a model of a Latin-1 file scores the same file in UTF-8" bash -c "capball ball latin.csv -o m.json -q && capball score -m m.json utf8.csv -o s.csv -q"
check "columns are chosen in either encoding" bash -c "capball convert latin.csv --columns Größe c.npy -q && capball convert utf8.csv --columns \$'Gr\\366\\337e' c.npy -q"
gives "names that are told apart are told of, once" 'capball ball: twice.csv: columns with the name of another are renamed: a (column 3) is a.1' \
  bash -c "capball ball twice.csv -o m.json 2>&1 >/dev/null | grep renamed"
# An index of an earlier version has names as bytes; decoded they are longer, here by more than what is left of a page.
if command -v python3 >/dev/null; then
  { seq -s, -f 'q%03g' 1 184; seq -s, 1 184; seq -s, 2 185; } >ascii.csv
  sed '1s/q/\xe9/g' ascii.csv >accents.csv
  capball index build ascii.csv -o older.index -q
  python3 - <<'PY'
import re
data = bytearray(open("older.index", "rb").read())
size = int.from_bytes(data[16:24], "little")
head = re.sub(rb"q(\d{3})", b"\xe9\\1", data[24:24 + size])
sum = 0xcbf29ce484222325
for byte in head[:-8]:
    sum = (sum ^ byte) * 0x100000001b3 % 2**64
data[24:24 + size] = head[:-8] + sum.to_bytes(8, "little")
open("older.index", "wb").write(data)
PY
  check "an index with names in Latin-1 of an earlier version" bash -c "capball index search older.index accents.csv -k 1 -o ids.csv -q &&
    capball index add older.index accents.csv -q && capball index compact older.index -q && capball index check older.index -q"
fi
refuses "Parquet is for Python" 2 'use Python: python -m capball.convert' capball convert x.parquet x.npy
finish
