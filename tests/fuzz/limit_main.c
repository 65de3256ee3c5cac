/* What libFuzzer calls: the target, on an input that may take SECONDS_AN_INPUT of processor time. libFuzzer's own limit
   is one of wall time, which a process that waits for a processor exceeds without a fault of its own. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int fuzz_target(const uint8_t *data, size_t size);

static void too_long(int number) {
    static const char message[] = "the input takes too much processor time\n";
    (void)number;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0) _Exit(1);
    abort(); /* libFuzzer then keeps the input */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct itimerval limit = {.it_value = {.tv_sec = SECONDS_AN_INPUT}};
    static int ready;
    if (!ready) ready = 1, signal(SIGPROF, too_long);
    setitimer(ITIMER_PROF, &limit, NULL);
    return fuzz_target(data, size);
}
