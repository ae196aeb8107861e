/*
 * main: runs a fuzz target over files, where the compiler has no fuzzer.
 *
 *     fuzz_NAME FILE...
 */
#include "fuzz.h"

#define LARGEST 65536

static uint8_t bytes[LARGEST];

int
main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s FILE...\n", argv[0]);
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        size_t size = 0;

        if (file == NULL) {
            perror(argv[i]);
            return 1;
        }
        size = fread(bytes, 1, sizeof bytes, file);
        (void)fclose(file);
        (void)LLVMFuzzerTestOneInput(bytes, size);
    }
    return 0;
}
