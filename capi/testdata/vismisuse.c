// Misuses of transfers of many pieces, by name.

#include "check.h"
#include <gasnet_vis.h>

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	OK(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0));
	gasnet_seginfo_t seg[2];
	OK(gasnet_getSegmentInfo(seg, 2));
	char buf[64], *to = (char *)seg[1].addr;
	const char *name = argc > 1 ? argv[1] : "";
	if (gasnet_mynode() == 0) {
		gasnet_memvec_t dst[2] = {{to, 8}, {to + GASNET_PAGESIZE - 4, 8}}, src[1] = {{buf, 16}};
		void *there[1] = {to}, *here[1] = {buf};
		size_t count[2] = {4, 2}, stride[1] = {8}, far_away[1] = {(size_t)1 << 60};
		if (strcmp(name, "outside") == 0) {
			gasnet_putv_bulk(1, 2, dst, 1, src);
		} else if (strcmp(name, "totals") == 0) {
			gasnet_wait_syncnb(gasnet_geti_nb_bulk(1, here, 12, 1, 1, there, 8));
		} else if (strcmp(name, "null") == 0) {
			src[0].addr = NULL;
			gasnet_putv_bulk(1, 1, dst, 1, src);
		} else if (strcmp(name, "list") == 0) {
			gasnet_getv_bulk(1, NULL, 1, 1, dst);
		} else if (strcmp(name, "rank") == 0) {
			gasnet_puts_bulk(2, to, stride, buf, stride, count, 1);
		} else if (strcmp(name, "near") == 0) {
			gasnet_gets_nbi_bulk(buf, far_away, 1, to, stride, count, 1);
		}
	}
	BARRIER();
	printf("not reached\n");
	return 0;
}
