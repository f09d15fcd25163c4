/* Products of bytes for processors that add four of them at once (VNNI); the avx512vnni table takes them. */
#include "loop/panel_bytes.h"

#include "loop/lanes_bytes_avx512.h"
#include "loop/panel_bytes_wide.inc"

void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel) { panel_bytes_wide(panel); }

void cpb_scan_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_scan_bytes_vnni(const cpb_panel_bytes *panel) {
  if (panel->rows == 1 && panel->columns > 0)
    panel_bytes_one(panel);
  else
    panel_bytes_wide(panel);
}
