// The reader of the matrix: any bytes are read, or refused by one line that points into the file.
#include "fuzz.h"
#include "matrix.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct matrix m;
	struct err e = { 0 };
	int ret = matrix_parse("input.yaml", (const char *)data, size, &m, &e);

	if (ret == 0) {
		fuzz_require(m.host_count >= 2 && m.host_count <= HOSTS_MAX, "hosts are in range");
		matrix_free(&m);
		return 0;
	}
	fuzz_require(e.code == -ret, "a refusal returns its code");
	fuzz_require(strncmp(e.msg, "input.yaml:", 11) == 0, "a refusal has its place");
	fuzz_require(strchr(e.msg, '\n') == NULL, "a refusal is one line");
	return 0;
}
