/* Names of files in, exit status 0 out if a fuzz target takes each of them: what runs inputs where there is no
   libFuzzer. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int main(int argc, char **argv) {
    enum { MOST = 1 << 20 };
    for (int k = 1; k < argc; k++) {
        FILE *file = fopen(argv[k], "rb");
        if (!file) return perror(argv[k]), 2;
        uint8_t *read = malloc(MOST), *data;
        size_t n = fread(read, 1, MOST, file);
        fclose(file);
        data = malloc(n ? n : 1); /* just as large, so that to read beyond is found */
        memcpy(data, read, n);
        free(read);
        fprintf(stderr, "%s\n", argv[k]); /* the last one is the one that failed */
        LLVMFuzzerTestOneInput(data, n);
        free(data);
    }
    return 0;
}
