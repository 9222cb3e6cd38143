/* fetch-ack: takes the stream's records and acknowledges them, and nothing else. The floor that NATS sets. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "link.h"

int main(int argc, char **argv)
{
    bench_options options;
    bench_link link;
    natsMsg **messages;

    bench_options_read(&options, argc, argv);
    messages = calloc(options.batch, sizeof *messages);
    bench_link_connect(&link, &options);
    bench_link_bind(&link, true);
    for (uint64_t done = 0; done < options.count;) {
        size_t count = bench_link_fetch(&link, messages);

        bench_link_ack(&link, messages, count);
        done += count;
    }
    bench_link_close(&link);
    free(messages);
    return 0;
}
