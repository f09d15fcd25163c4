#!/usr/bin/env bash
# Real data embedded and restored: integers exactly, floats within 4 u; the fit against NumPy.
. "$(dirname "$0")/../support/tap.sh"
data=$root/../shared/data
python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || python=

there() { # there SET: the data and NumPy are here, or a skipped case that says what is missing
  if [ -z "$python" ]; then
    skip "$1" "no NumPy to compare with"
  elif [ ! -e "$data/$1/base.npy" ]; then
    skip "$1" "../shared/data/$1 is not here"
  else
    return 0
  fi
  return 1
}

unit_rows='
import numpy as np
y = np.load("y.npy", mmap_mode="r")
length = np.sqrt(np.einsum("ij,ij->i", y, y, dtype="f8"))
worst = np.abs(length - 1).max() * 2**24
assert worst <= 4, "|y| is off by %.1f u" % worst'

for set in fashion-mnist-784-euclidean sift-bsds-128-euclidean; do
  there "$set" || continue
  capball convert "$data/$set/base.npy" x.npy --rows :6000 -q
  check "$set: fit" capball fit x.npy -o map.json -q
  check "$set: embed" capball embed -m map.json x.npy -o y.npy -q
  check "$set: rows of unit length" $python -c "$unit_rows"
  check "$set: back as u8" capball unembed -m map.json y.npy -o back.npy --dtype u8 -q
  check "$set: exactly" $python -c '
import numpy as np
x, back = np.load("x.npy"), np.load("back.npy")
assert back.dtype == np.uint8 and np.array_equal(x, back)'
  check "$set: scale and centre as NumPy has them" $python -c '
import json, numpy as np
x = np.load("x.npy").astype("f8"); m = json.load(open("map.json"))
c = x.mean(0); s = np.linalg.norm(x - c, axis=1).mean()
assert np.array_equal(np.array(m["center"]), c.astype("f4")) and abs(m["scale"] / s - 1) <= 1e-12'
  check "$set: median and hemisphere as NumPy has them" bash -c "capball fit x.npy -o median.json --goal median -q &&
    capball fit x.npy -o half.json --goal hemisphere -q && $python -c '
import json, numpy as np
x = np.load(\"x.npy\").astype(\"f8\")
norms = np.sort(np.linalg.norm(x - x.mean(0), axis=1))
median, half = json.load(open(\"median.json\")), json.load(open(\"half.json\"))
assert abs(median[\"scale\"] / norms[(len(norms) - 1) // 2] - 1) <= 2**-13 * 1.01
assert abs(half[\"scale\"] / norms[-1] - 1) <= 1e-12'"
done

set=lastfm-65-angular # norms in a range of 1e-7
if there $set; then
  capball info "$data/$set/base.npy" --json >info.json
  capball info - --format npy --json <"$data/$set/base.npy" >pipe.json
  for source in info pipe; do
    check "$set: norms as NumPy has them ($source)" $python -c '
import json, sys, numpy as np
x = np.load(sys.argv[1]).astype("f8"); n = json.load(open(sys.argv[2]))["norms"]
norms = np.sort(np.sqrt(np.einsum("ij,ij->i", x, x)))
counts, _ = np.histogram(norms, n["histogram"]["edges"])
assert n["histogram"]["exact"] and np.abs(counts - n["histogram"]["counts"]).sum() <= 4
assert abs(n["median"] / norms[(len(norms) - 1) // 2] - 1) <= 2**-29 and abs(n["mean"] / norms.mean() - 1) <= 1e-14' \
      "$data/$set/base.npy" $source.json
  done
fi

set=glove-100-angular
if there $set; then
  capball convert "$data/$set/base.npy" x.npy --rows :40000 -q
  check "$set: fit" capball fit x.npy -o map.json --center none -q
  check "$set: embed" capball embed -m map.json x.npy -o y.fvecs -q
  check "$set: back" capball unembed -m map.json y.fvecs -o back.npy -q
  check "$set: within 4 u" $python -c '
import numpy as np
x, back = np.load("x.npy").astype("f8"), np.load("back.npy").astype("f8")
worst = (np.linalg.norm(back - x, axis=1) / np.linalg.norm(x, axis=1)).max() * 2**24
assert worst <= 4, "%.2f u" % worst'
  check "$set: whitened" capball fit x.npy -o white.json --whiten -q
  check "$set: W is the inverse root of the covariance" $python -c '
import json, numpy as np
x = np.load("x.npy").astype("f8"); W = np.array(json.load(open("white.json"))["whiten"]).reshape(100, 100)
C = np.cov(x.T, bias=True)
assert np.abs(W @ C @ W.T - np.eye(100)).max() <= 1e-10'
  check "$set: whitened, not centred" capball fit x.npy -o plain.json --whiten --center none -q
  check "$set: by the same W" cmp <(sed -n '/"whiten"/,/"toward"/p' white.json) <(sed -n '/"whiten"/,/"toward"/p' plain.json)
  check "$set: as directions" capball fit x.npy -o turn.json --spherical -q
  check "$set: flattened" capball unembed -m turn.json x.npy -o flat.npy -q
  check "$set: the mean direction lies at 0" $python -c '
import numpy as np
x, flat = np.load("x.npy").astype("f8"), np.load("flat.npy").astype("f8")
unit = x / np.linalg.norm(x, axis=1)[:, None]; mean = unit.mean(0); mean /= np.linalg.norm(mean)
angle = 2 * np.arctan(np.linalg.norm(flat, axis=1))
assert flat.shape[1] == 99 and np.abs(np.cos(angle) - unit @ mean).max() <= 1e-5'
fi
finish
