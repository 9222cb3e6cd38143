/* Runs a fuzz target on files, and on all files of folders; what libFuzzer's own main does when it is given files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "kit.h"

enum { INPUT_MAX = 1 << 20, PATH_MAX_BYTES = 4096 };

static size_t ran;

static int fail(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return EXIT_FAILURE;
}

/* In memory of just its size, so that a sanitizer sees a read beyond it. */
static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = file == NULL ? NULL : malloc(size < INPUT_MAX ? size : INPUT_MAX);
    size_t len;

    if (file == NULL || (bytes == NULL && size != 0)) {
        return fail(path);
    }
    len = size == 0 ? 0 : fread(bytes, 1, size < INPUT_MAX ? size : INPUT_MAX, file);
    fclose(file);
    fprintf(stderr, "%s\n", path); /* the last line before a crash names the input */
    LLVMFuzzerTestOneInput(bytes, len);
    free(bytes);
    ran++;
    return EXIT_SUCCESS;
}

static int replay(const char *path)
{
    struct stat about;
    struct dirent *entry;
    DIR *folder;
    int code = EXIT_SUCCESS;

    if (stat(path, &about) != 0) {
        return fail(path);
    }
    if (!S_ISDIR(about.st_mode)) {
        return replay_file(path, (size_t)about.st_size);
    }
    folder = opendir(path);
    if (folder == NULL) {
        return fail(path);
    }
    while (code == EXIT_SUCCESS && (entry = readdir(folder)) != NULL) {
        char inside[PATH_MAX_BYTES];

        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        code = entry->d_name[0] == '.' ? EXIT_SUCCESS : replay(inside);
    }
    closedir(folder);
    return code;
}

int main(int argc, char **argv)
{
    int code = EXIT_SUCCESS;

    for (int k = 1; k < argc && code == EXIT_SUCCESS; k++) {
        code = replay(argv[k]);
    }
    printf("%zu inputs\n", ran);
    return code == EXIT_SUCCESS && ran != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
