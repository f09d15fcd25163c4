#!/usr/bin/env bash
# Data sets of HDF5 files: added without loss, compared by identity, and never read from another file. The
# malicious files are written by h5py.
source "$(dirname "$0")/../support/tap.sh"
capball --version | grep -q 'HDF5: yes' || { skip "HDF5" "built without it"; finish; exit 0; }

printf '1,2\n3,4\n' >a.csv
printf '5,6\n7,8\n9,10\n' >b.csv
rows() { capball convert "$1" - --to csv 2>/dev/null; }
capball convert a.csv s.hdf5:train && capball convert b.csv s.hdf5:test
[ "$(rows s.hdf5:train)" = "$(cat a.csv)" ] && [ "$(rows s.hdf5:test)" = "$(cat b.csv)" ]
verdict $? "a set is added to what is there"

# The same numbers are the same bytes, whatever the clock says.
for i in 1 2; do
  capball convert a.csv "same$i.hdf5:deep/er/train" && capball convert b.csv "same$i.hdf5:test" &&
    capball convert a.csv - --to csv | capball convert - "same$i.hdf5:deep/unknown" --format csv
  [ $i = 2 ] || sleep 1.1
done
check "the same sets a second later are the same bytes" cmp same1.hdf5 same2.hdf5

# Whatever opens fail, one by one: the file has the new set, or is as it was.
cp s.hdf5 before.hdf5
bad=0 refused=0
for limit in $(seq 3 24); do
  cp before.hdf5 s.hdf5
  if (ulimit -n "$limit"; exec capball convert b.csv s.hdf5:new) 2>limit.err; then
    [ "$(rows s.hdf5:new)" = "$(cat b.csv)" ] && [ "$(rows s.hdf5:train)" = "$(cat a.csv)" ] || bad=$limit
  else
    refused=$((refused + 1))
    cmp -s s.hdf5 before.hdf5 && { [ "$limit" -lt 6 ] || grep -q '^capball convert: ' limit.err; } || bad=$limit
  fi
done
[ "$bad" = 0 ] && [ "$refused" -gt 0 ]
verdict $? "without descriptors the file keeps its sets (limit $bad)"
cp before.hdf5 s.hdf5
if [ "$(id -u)" = 0 ]; then
  skip "a file that may not be read keeps its sets" "root may read everything"
else
  chmod 200 s.hdf5
  refuses "a file that may not be read keeps its sets" 1 's.hdf5: cannot open: Permission denied' capball convert b.csv s.hdf5:new
  chmod 600 s.hdf5
fi
check "and is as it was" cmp s.hdf5 before.hdf5

# Several runs at once: each that ends well has its set, the others say why not.
for existing in yes no; do
  if [ $existing = yes ]; then cp before.hdf5 many.hdf5; else rm -f many.hdf5; fi
  for i in 1 2 3 4 5 6; do
    (capball convert a.csv "many.hdf5:set$i" 2>"many$i.err"; echo $? >"many$i.code") &
  done
  wait
  lost=0 done=0
  for i in 1 2 3 4 5 6; do
    if [ "$(cat "many$i.code")" = 0 ]; then
      done=$((done + 1))
      [ "$(rows "many.hdf5:set$i")" = "$(cat a.csv)" ] || lost=1
    else
      grep -q 'many.hdf5: another program' "many$i.err" || lost=1
    fi
  done
  [ $lost = 0 ] && [ $done -gt 0 ] && { [ $existing = no ] || [ "$(rows many.hdf5:train)" = "$(cat a.csv)" ]; }
  verdict $? "six runs at once lose nothing (a file there: $existing)"
done
[ -z "$(find . -name '.*capball*')" ]
verdict $? "nothing is left behind"

# One set under its names.
for other in train /train //train ./train /./train .//train/ train/.; do
  refuses "s.hdf5:$other is s.hdf5:train" 2 'the same file as the input' capball convert s.hdf5:train "s.hdf5:$other" --rows :1
  refuses "s.hdf5:$other is s.hdf5" 2 'the same file as the input' capball convert s.hdf5 "s.hdf5:$other" --rows :1
done
check "the sets are as they were" cmp s.hdf5 before.hdf5
check "another set is another set" capball convert s.hdf5:train s.hdf5:trains --rows :1
cp before.hdf5 s.hdf5

if ! /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
  skip "hostile files" "no h5py"
  finish
  exit 0
fi
printf 'secret numbers of somebody else: 16 bytes and more' >secret.raw
/usr/bin/python3 - <<'EOF'
import h5py, numpy as np
x = np.arange(8, dtype="u1").reshape(4, 2)
with h5py.File("other.hdf5", "w") as f:
    f["train"] = x
with h5py.File("hostile.hdf5", "w") as f:
    f["inside"] = x
    f["soft"] = h5py.SoftLink("/inside")
    f["hard"] = f["inside"]
    f.create_group("group")["set"] = x
    f["folder"] = h5py.SoftLink("/group")
    f["dangling"] = h5py.SoftLink("/nowhere")
    f["link"] = h5py.ExternalLink("other.hdf5", "/train")
    f["far"] = h5py.ExternalLink("other.hdf5", "/")
    f["softlink"] = h5py.SoftLink("/link")
    f["self"] = h5py.ExternalLink("hostile.hdf5", "/inside")
    f["type"] = np.dtype("f4")
    f.create_dataset("raw", (4, 4), "u1", external=[("secret.raw", 0, 16)])
    layout = h5py.VirtualLayout((4, 2), "u1")
    layout[:] = h5py.VirtualSource("other.hdf5", "train", (4, 2), "u1")
    f.create_virtual_dataset("virtual", layout)
    own = h5py.VirtualLayout((4, 2), "u1")
    own[:] = h5py.VirtualSource(".", "inside", (4, 2), "u1")
    f.create_virtual_dataset("own", own)
EOF
cp hostile.hdf5 hostile0.hdf5
for set in inside soft hard group/set folder/set; do
  [ "$(rows "hostile.hdf5:$set" | head -n 1)" = 0,1 ]
  verdict $? "inside the file: $set"
done
for set in link far/train softlink self; do
  refuses "a link that leads out: $set" 1 "hostile.hdf5: data set \"$set\" is a link to another file.*--follow-external" \
    capball convert "hostile.hdf5:$set" stolen.csv
done
refuses "numbers in another file" 1 'data set "raw" has its numbers in other files' capball convert hostile.hdf5:raw stolen.csv
for set in virtual own; do
  refuses "a virtual set: $set" 1 "data set \"$set\" consists of sets of other files" capball convert "hostile.hdf5:$set" stolen.csv
done
for set in link far/train softlink self virtual own; do
  check "with --follow-external: $set" bash -c "[ \"\$(capball convert hostile.hdf5:$set - --to csv --follow-external | head -n 1)\" = 0,1 ]"
done
check "with --follow-external: raw" bash -c '[ "$(capball convert hostile.hdf5:raw - --to csv --follow-external | head -n 1)" = 115,101,99,114 ]'
refuses "the list of sets leads nowhere either" 1 'has no data set "none"; it has' capball info hostile.hdf5:none
[ ! -e stolen.csv ]
verdict $? "nothing was copied"
refuses "a set is not written through a link" 1 'its name leads to another file' capball convert a.csv hostile.hdf5:far/new
refuses "a group is not replaced by a set" 1 '"group" is a group, not a data set' capball convert a.csv hostile.hdf5:group
refuses "nor through a link to it" 1 '"folder" is a group, not a data set' capball convert a.csv hostile.hdf5:folder
refuses "nor a named type" 1 '"type" is a named type' capball convert a.csv hostile.hdf5:type
check "the file is as it was" cmp hostile.hdf5 hostile0.hdf5
refuses "a hard link is the set" 2 'the same file as the input' capball convert hostile.hdf5:inside hostile.hdf5:hard
refuses "so is a soft one" 2 'the same file as the input' capball convert hostile.hdf5:soft hostile.hdf5:inside
refuses "so is one in a linked group" 2 'the same file as the input' capball convert hostile.hdf5:group/set hostile.hdf5:folder/set
for set in link dangling soft; do
  check "a link is replaced, not what it leads to: $set" bash -c "capball convert b.csv hostile.hdf5:$set && \
    [ \"\$(capball convert hostile.hdf5:$set - --to csv)\" = \"\$(cat b.csv)\" ] &&
    [ \"\$(capball convert hostile.hdf5:inside - --to csv | head -n 1)\" = 0,1 ] &&
    [ \"\$(capball convert other.hdf5:train - --to csv | head -n 1)\" = 0,1 ]"
done

# A program that has the file open for writing would lose what it writes.
/usr/bin/python3 - s.hdf5 <<'EOF' &
import h5py, os, sys, time
with h5py.File(sys.argv[1], "r+") as f:
    open("opened", "w").close()
    for _ in range(600):
        if not os.path.exists("refused"):
            time.sleep(0.1)
EOF
for _ in $(seq 600); do [ -e opened ] || sleep 0.1; done
refuses "a file that h5py writes to" 1 's.hdf5: another program is writing to it' capball convert b.csv s.hdf5:new
touch refused
wait
finish
