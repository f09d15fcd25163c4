#!/usr/bin/env bash
# The pages in a real browser, at phone and desktop width, light and dark: no error, no horizontal scrolling,
# names for pictures and headings, numbers right-aligned, contrast.
. "$(dirname "$0")/../support/tap.sh"

browser=
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then browser=$name && break; fi
done

awk 'BEGIN { srand(7); for (i = 0; i < 600; i++) { for (k = 0; k < 6; k++) printf "%s%.4f", k ? "," : "", rand() + rand() * (k + 1); print "" } }' >rows.csv
awk 'BEGIN { print "name,length,\"wide <b>\",mass"; srand(3); for (i = 0; i < 200; i++) printf "r%d,%.3f,%.3f,%.3f\n", i, rand(), rand() + rand(), 10 * rand() }' >table.csv
awk 'BEGIN { for (i = 0; i < 200; i++) print i % 20 == 3 ? -1 : 1 }' >labels.csv
check "the demonstration's page" capball demo -o demo.html
check "a report's page" capball recommend rows.csv --engine int8 --html report.html -q
check "an engine's page" capball recommend rows.csv -k 5 --candidates 10 --html engine.html -q \
  --engine-command 'capball knn {base} {queries} --metric {metric} -k {k} -o {ids} -q'
check "a page of scores" bash -c "capball ball table.csv --id-column name -o ball.json --standardize --nu 0.2 -q &&
  capball score -m ball.json table.csv --id-column name --labels labels.csv --html score.html --top 15 -q"
for page in demo report engine score; do
  check "$page: no scripts, nothing fetched" bash -c "! grep -Eiq '<script|src=|href=.?http|@import|url\(' $page.html"
  check "$page: what it was made by" grep -q 'capball' "$page.html"
done
check "the demonstration's balls and caps are closed" bash -c "[ \$(grep -c '&#8804; r' demo.html) -ge 2 ] &&
  [ \$(grep -c '&#8805; b' demo.html) -ge 2 ] && ! grep -Eq '&lt; r|&gt; b' demo.html"
check "names of columns are text, not marks" bash -c "grep -q 'wide &lt;b&gt;' score.html && ! grep -q 'wide <b>' score.html"

if [ -z "$browser" ]; then
  skip "pages in a browser" "no chromium here"
  finish
  exit
fi

# A page of frames, each with a page at one width and the check inside; what they found ends up in its own text.
frames() {
  local page width
  echo '<!doctype html><meta charset="utf-8"><pre id="found"></pre><script>
  const found = [];
  addEventListener("message", (event) => {
    const of = [...document.querySelectorAll("iframe")].find((frame) => frame.contentWindow === event.source);
    for (const fault of event.data.faults) found.push(`${event.data.page} ${of.width}: ${fault}`);
    found.push(`${event.data.page} ${of.width}: looked at, dark ${event.data.dark}`);
    document.getElementById("found").textContent = found.join("\n");
  });</script>'
  for page in demo report engine score; do
    for width in 390 1200; do echo "<iframe src=\"checked-$page.html\" width=\"$width\" height=\"800\"></iframe>"; done
  done
}
for page in demo report engine score; do
  awk -v file="$root/tests/support/page_check.js" -v page="$page" '{ at = index($0, "<body>")
    if (at == 0) { print; next }
    printf "%s<body data-page=\"%s\"><script>\n", substr($0, 1, at - 1), page
    while ((getline line < file) > 0) print line
    print "</script>" substr($0, at + 6) }' "$page.html" >"checked-$page.html"
done
frames >frames.html
look() { # scheme (0 dark, 1 light)
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
    --blink-settings=preferredColorScheme="$1" --window-size=1400,900 --virtual-time-budget=8000 \
    --allow-file-access-from-files --dump-dom "file://$work/frames.html" 2>/dev/null | sed -n '/<pre id="found">/,/<\/pre>/p' |
    sed 's/.*<pre id="found">//; s/<\/pre>.*//' >found
}
for scheme in 1 0; do
  word=$([ "$scheme" = 0 ] && echo dark || echo light)
  dark=$([ "$scheme" = 0 ] && echo true || echo false)
  look "$scheme"
  for width in 390 1200; do
    for page in demo report engine score; do
      grep -q "^$page $width: looked at, dark $dark" found && ! grep "^$page $width:" found | grep -v 'looked at' | grep -q .
      verdict $? "$page, $word, $width pixels"
      grep "^$page $width:" found | grep -v "looked at, dark $dark" | sort | uniq -c | head -12 | sed 's/^/# /'
    done
  done
done
finish
