/*
 * decode_only.c - decodes every JPEG in a folder to nowhere, on N threads: a limit that no program
 * can pass which looks at every pixel. `decode_only FOLDER N` prints how many there were.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { MAX_FILES = 100000, MAX_THREADS = 256 };

static char *FILES[MAX_FILES];
static size_t N_FILES;
static atomic_size_t NEXT;

static void die(const char *what)
{
    fprintf(stderr, "decode_only: %s\n", what);
    exit(1);
}

static void list_files(const char *folder)
{
    DIR *dir = opendir(folder);

    if (!dir) die(folder);
    for (struct dirent *entry; (entry = readdir(dir)) && N_FILES < MAX_FILES;) {
        char path[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        FILES[N_FILES++] = strdup(path);
    }
    closedir(dir);
}

/* The library's own error handler ends the program, which serves here. */
static void decode(const char *path, unsigned char **row, size_t *row_bytes)
{
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(path, "rb");

    if (!file) die(path);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_stdio_src(&jpeg, file);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    size_t needed = (size_t)jpeg.output_width * 3;
    if (needed > *row_bytes) {
        *row = realloc(*row, needed);
        if (!*row) die("no memory");
        *row_bytes = needed;
    }
    while (jpeg.output_scanline < jpeg.output_height)
        jpeg_read_scanlines(&jpeg, row, 1);
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    fclose(file);
}

static void *work(void *arg)
{
    unsigned char *row = NULL;
    size_t row_bytes = 0;

    (void)arg;
    for (size_t i; (i = atomic_fetch_add(&NEXT, 1)) < N_FILES;)
        decode(FILES[i], &row, &row_bytes);
    free(row);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MAX_THREADS];
    long n_threads = argc == 3 ? strtol(argv[2], NULL, 10) : 0;

    if (n_threads < 1 || n_threads > MAX_THREADS) die("usage: decode_only FOLDER THREADS");
    list_files(argv[1]);
    for (long i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) die("no thread");
    for (long i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    printf("%zu\n", N_FILES);
    return 0;
}
