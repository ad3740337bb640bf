/* child.h - a second process that says when it is ready and then waits to be killed. */
#ifndef CHILD_H
#define CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs body in the child; 0 where body returned false, else its process, which holds what it did.
 */
static inline pid_t child_start(bool (*body)(void *), void *arg)
{
    int ends[2];
    char ready = 0;

    if (pipe(ends) != 0) return 0;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        if (!body(arg) || write(ends[1], "y", 1) != 1) _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    if (pid > 0 && read(ends[0], &ready, 1) != 1) waitpid(pid, NULL, 0);
    close(ends[0]);
    return ready == 'y' ? pid : 0;
}

static inline void child_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

#endif /* CHILD_H */
