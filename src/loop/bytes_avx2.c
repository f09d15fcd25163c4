/* Products of bytes for processors without VNNI; the avx2 and avx512 tables take them for rows that are kept as bytes. */
#include "loop/panel_bytes.h"

#include "loop/lanes_bytes_avx2.h"
#include "loop/panel_bytes_wide.inc"

void cpb_scan_bytes_avx2(const cpb_panel_bytes *panel);
void cpb_scan_bytes_avx2(const cpb_panel_bytes *panel) {
  if (panel->rows == 1 && panel->columns > 0)
    panel_bytes_one(panel);
  else
    panel_bytes_wide(panel);
}
