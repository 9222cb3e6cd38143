/* What `nsc` would make for a nats-server in operator mode: an operator, a system account, an account with
 * JetStream, and a user of it whose JWT and seed are in a .creds file. All keys are new. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_CREDENTIALS_H
#define RR_TEST_CREDENTIALS_H

#include <stddef.h>

/* Writes the file, and the lines for the server's configuration. user: more of the user's claims, such as
 * ",\"sub\":{\"deny\":[\">\"]}". Fails the running test where it cannot. */
void rr_credentials_make(const char *path, const char *user, char *server_config, size_t room);

#endif
