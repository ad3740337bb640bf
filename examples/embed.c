/* embed.c - the library in a page: embed MODEL FOLDER STORE turns a folder of pictures into
 * vectors. */
#include <brimful/brimful.h>
#include <stdio.h>

static void show(void *ctx, const brim_progress *now)
{
    char line[160];

    (void)ctx;
    brim_progress_line(now, line, sizeof(line));
    fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
    brim_job *job = NULL;
    brim_error err = {0};
    brim_report report = BRIM_OPTIONS(brim_report);

    if (argc != 4) {
        fprintf(stderr, "usage: embed MODEL FOLDER STORE\n");
        return 2;
    }
    const char *inputs[] = {argv[2]};
    brim_embed_options options = BRIM_OPTIONS(brim_embed_options);
    options.model = argv[1];
    options.inputs = inputs;
    options.n_inputs = 1;
    options.store = argv[3];
    options.progress = show;

    brim_status status = brim_embed_create(&options, &job, &err);
    if (status == BRIM_OK) status = brim_job_run(job, &report, &err);
    brim_job_destroy(job);
    if (status != BRIM_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("%llu vectors, %llu failures\n", (unsigned long long)report.counts.n_done,
           (unsigned long long)report.counts.n_failed);
    return 0;
}
