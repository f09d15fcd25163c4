/* Products of bytes for processors that add four of them at once (VNNI); the avx512vnni table takes them. */
#include "loop/panel_bytes.h"

#include "loop/lanes_bytes_avx512.h"
#include "loop/panel_bytes_wide.h"

void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel);
void cpb_panel_bytes_vnni(const cpb_panel_bytes *panel) { panel_bytes_wide(panel); }
