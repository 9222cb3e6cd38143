/* Keys in base32 with a check sum, and claims that the level above signs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "credentials.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { RAW = 32, SIGNATURE = 64, KEY_ROOM = 64, CLAIMS_ROOM = 2048, JWT_ROOM = 4096 };
enum { SEED = 18 << 3, OPERATOR = 14 << 3, ACCOUNT = 0, USER = 20 << 3 };

typedef struct party {
    EVP_PKEY *pair;
    char key[KEY_ROOM], seed[KEY_ROOM];
} party;

static void base32(const unsigned char *bytes, size_t len, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned held = 0, bits = 0;

    for (size_t k = 0; k < len; k++) {
        held = held << 8 | bytes[k];
        for (bits += 8; bits >= 5; bits -= 5) {
            *text++ = digits[held >> (bits - 5) & 31];
        }
    }
    if (bits != 0) {
        *text++ = digits[held << (5 - bits) & 31];
    }
    *text = '\0';
}

/* CRC-16 of XMODEM. */
static unsigned check_sum(const unsigned char *bytes, size_t len)
{
    unsigned sum = 0;

    for (size_t k = 0; k < len; k++) {
        sum ^= (unsigned)bytes[k] << 8;
        for (int bit = 0; bit < 8; bit++) {
            sum = (sum << 1 ^ ((sum & 0x8000) != 0 ? 0x1021 : 0)) & 0xffff;
        }
    }
    return sum;
}

static void encode(const unsigned char *prefix, size_t prefix_len, const unsigned char *raw, char *text)
{
    unsigned char bytes[2 + RAW + 2];
    size_t len = prefix_len + RAW;
    unsigned sum;

    memcpy(bytes, prefix, prefix_len);
    memcpy(bytes + prefix_len, raw, RAW);
    sum = check_sum(bytes, len);
    bytes[len] = sum & 255;
    bytes[len + 1] = (unsigned char)(sum >> 8);
    base32(bytes, len + 2, text);
}

static party make_party(unsigned char kind)
{
    unsigned char raw[RAW], seed[2] = {(unsigned char)(SEED | kind >> 5), (unsigned char)((kind & 31) << 3)};
    party made = {.pair = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")};
    size_t len = RAW;

    assert_non_null(made.pair);
    assert_int_equal(EVP_PKEY_get_raw_public_key(made.pair, raw, &len), 1);
    encode(&kind, 1, raw, made.key);
    assert_int_equal(EVP_PKEY_get_raw_private_key(made.pair, raw, &len), 1);
    encode(seed, 2, raw, made.seed);
    return made;
}

/* For URLs, without padding. Returns its length. */
static size_t base64(const void *bytes, size_t len, char *text)
{
    size_t used = (size_t)EVP_EncodeBlock((unsigned char *)text, bytes, (int)len);

    for (char *at = text; *at != '\0'; at++) {
        *at = (char)(*at == '+' ? '-' : *at == '/' ? '_' : *at);
    }
    for (; used > 0 && text[used - 1] == '='; used--) {}
    text[used] = '\0';
    return used;
}

static void sign(const party *issuer, const party *subject, const char *kind, const char *claims, char jwt[JWT_ROOM])
{
    static const char header[] = "{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}";
    char body[CLAIMS_ROOM];
    unsigned char signature[SIGNATURE];
    size_t len = SIGNATURE, used;
    EVP_MD_CTX *signing = EVP_MD_CTX_new();
    int body_len = snprintf(body, sizeof body,
                            "{\"jti\":\"%s\",\"iat\":1700000000,\"iss\":\"%s\",\"name\":\"%s\",\"sub\":\"%s\","
                            "\"nats\":{\"type\":\"%s\",\"version\":2%s}}",
                            subject->key, issuer->key, kind, subject->key, kind, claims);

    used = base64(header, sizeof header - 1, jwt);
    jwt[used++] = '.';
    used += base64(body, (size_t)body_len, jwt + used);
    assert_int_equal(EVP_DigestSignInit(signing, NULL, NULL, NULL, issuer->pair), 1);
    assert_int_equal(EVP_DigestSign(signing, signature, &len, (unsigned char *)jwt, used), 1);
    EVP_MD_CTX_free(signing);
    jwt[used++] = '.';
    base64(signature, len, jwt + used);
}

static void write_creds(const char *path, const char *jwt, const party *user)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file,
            "-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n\n"
            "************************* IMPORTANT *************************\n"
            "NKEY Seed printed below can be used to sign and prove identity.\n\n"
            "-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n",
            jwt, user->seed);
    assert_int_equal(fclose(file), 0);
}

void rr_credentials_make(const char *path, const char *user, char *server_config, size_t room)
{
    static const char plain[] = ",\"limits\":{\"subs\":-1,\"data\":-1,\"payload\":-1,\"imports\":-1,\"exports\":-1,"
                                "\"wildcards\":true,\"conn\":-1,\"leaf\":-1}";
    static const char stores[] = ",\"limits\":{\"subs\":-1,\"data\":-1,\"payload\":-1,\"imports\":-1,\"exports\":-1,"
                                 "\"wildcards\":true,\"conn\":-1,\"leaf\":-1,\"mem_storage\":-1,\"disk_storage\":-1}";
    party parties[] = {make_party(OPERATOR), make_party(ACCOUNT), make_party(ACCOUNT), make_party(USER)};
    char jwts[4][JWT_ROOM], claims[CLAIMS_ROOM];

    snprintf(claims, sizeof claims, ",\"subs\":-1,\"data\":-1,\"payload\":-1%s", user);
    sign(&parties[0], &parties[0], "operator", "", jwts[0]);
    sign(&parties[0], &parties[1], "account", plain, jwts[1]);
    sign(&parties[0], &parties[2], "account", stores, jwts[2]);
    sign(&parties[2], &parties[3], "user", claims, jwts[3]);
    write_creds(path, jwts[3], &parties[3]);
    assert_in_range(snprintf(server_config, room,
                             "operator: \"%s\"\nsystem_account: %s\nresolver: MEMORY\n"
                             "resolver_preload: {%s: \"%s\", %s: \"%s\"}\n",
                             jwts[0], parties[1].key, parties[1].key, jwts[1], parties[2].key, jwts[2]),
                    0, room - 1);
    for (size_t k = 0; k < 4; k++) {
        EVP_PKEY_free(parties[k].pair);
    }
}
