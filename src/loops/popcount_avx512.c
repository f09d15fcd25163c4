/* The Hamming loop once more for processors that count bits themselves; the avx512 table takes it there. */
#include "loops/lanes_avx512.h"
#include "loops/hamming_wide.h"

void cpb_hamming_vpopcntdq(const cpb_hamming *hamming);
void cpb_hamming_vpopcntdq(const cpb_hamming *hamming) { hamming_wide(hamming); }
