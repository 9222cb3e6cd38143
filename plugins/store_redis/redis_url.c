/* Reads redis:// and unix:// URLs; no part may be longer than its field. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_url.h"

#include <rr/slice.h>
#include <stdio.h>
#include <stdlib.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes into room bytes, with a NUL. False: too long, broken, or holds a NUL. */
static bool decode(rr_slice from, char *to, size_t room)
{
    size_t len = 0;

    for (size_t i = 0; i < from.len; i++) {
        char c = from.data[i];

        if (c == '%') {
            int high = i + 2 < from.len ? hex(from.data[i + 1]) : -1, low = high < 0 ? -1 : hex(from.data[i + 2]);

            if (low < 0) {
                return false;
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0' || len + 1 >= room) {
            return false;
        }
        to[len++] = c;
    }
    to[len] = '\0';
    return true;
}

static bool number(rr_slice text, int most, int *value)
{
    int parsed = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || parsed > most) {
            return false;
        }
        parsed = parsed * 10 + (text.data[i] - '0');
    }
    *value = parsed;
    return text.len != 0 && parsed <= most;
}

/* Cuts what is before the first `c` off *rest. False: there is none, and *rest stays. */
static bool cut(rr_slice *rest, char c, rr_slice *before)
{
    const char *found = rest->len == 0 ? NULL : memchr(rest->data, c, rest->len);

    if (found == NULL) {
        return false;
    }
    *before = (rr_slice){rest->data, (size_t)(found - rest->data)};
    *rest = (rr_slice){found + 1, rest->len - before->len - 1};
    return true;
}

/* user:password or :password or user, in front of the last @ of the authority. */
static bool take_user(rr_slice *authority, rr_redis_url *url)
{
    const char *at = authority->len == 0 ? NULL : memrchr(authority->data, '@', authority->len);
    rr_slice info, user;

    if (at == NULL) {
        return true;
    }
    info = (rr_slice){authority->data, (size_t)(at - authority->data)};
    *authority = (rr_slice){at + 1, authority->len - info.len - 1};
    if (!cut(&info, ':', &user)) {
        return decode(info, url->user, sizeof url->user);
    }
    return decode(user, url->user, sizeof url->user) && decode(info, url->password, sizeof url->password);
}

static bool take_host(rr_slice authority, rr_redis_url *url)
{
    rr_slice host = authority, port = {NULL, 0};

    if (authority.len != 0 && authority.data[0] == '[') {
        port = (rr_slice){authority.data + 1, authority.len - 1};
        if (!cut(&port, ']', &host) || (port.len != 0 && port.data[0] != ':')) {
            return false;
        }
        port = port.len == 0 ? port : (rr_slice){port.data + 1, port.len - 1};
    } else if (cut(&authority, ':', &host)) {
        port = authority;
    }
    url->port = 6379;
    return host.len != 0 && decode(host, url->host, sizeof url->host) &&
           (port.len == 0 || (number(port, 65535, &url->port) && url->port != 0));
}

static bool parse_tcp(rr_slice rest, rr_redis_url *url)
{
    rr_slice authority = rest;
    bool has_db = cut(&rest, '/', &authority);

    if (!take_user(&authority, url) || !take_host(authority, url) ||
        (has_db && rest.len != 0 && !number(rest, 1000000, &url->db))) {
        return false;
    }
    snprintf(url->shown, sizeof url->shown, strchr(url->host, ':') != NULL ? "[%s]:%d" : "%s:%d", url->host, url->port);
    return true;
}

static bool parse_unix(rr_slice rest, rr_redis_url *url)
{
    rr_slice authority, path = rest;
    const char *slash = rest.len == 0 ? NULL : memchr(rest.data, '/', rest.len);

    if (slash == NULL) {
        return false;
    }
    authority = (rr_slice){rest.data, (size_t)(slash - rest.data)};
    rest = (rr_slice){slash, rest.len - authority.len};
    path = rest;
    if (cut(&rest, '?', &path) && (rest.len < 3 || memcmp(rest.data, "db=", 3) != 0 ||
                                   !number((rr_slice){rest.data + 3, rest.len - 3}, 1000000, &url->db))) {
        return false;
    }
    if (!take_user(&authority, url) || authority.len != 0 || !decode(path, url->path, sizeof url->path)) {
        return false;
    }
    snprintf(url->shown, sizeof url->shown, "%s", url->path);
    return true;
}

rr_status rr_redis_url_parse(const char *text, rr_redis_url *url, rr_error *error)
{
    rr_slice whole = rr_slice_of(text);

    *url = (rr_redis_url){0};
    if (whole.len > 8 && memcmp(text, "redis://", 8) == 0) {
        if (parse_tcp((rr_slice){text + 8, whole.len - 8}, url)) {
            return RR_OK;
        }
        return rr_fail(error, RR_CONFIG,
                       "the store's URL cannot be read: expected redis://[user:password@]host:port[/db] "
                       "with user and password percent-encoded");
    }
    if (whole.len > 7 && memcmp(text, "unix://", 7) == 0) {
        if (parse_unix((rr_slice){text + 7, whole.len - 7}, url)) {
            return RR_OK;
        }
        return rr_fail(error, RR_CONFIG,
                       "the store's URL cannot be read: expected unix:///path[?db=N], the path absolute "
                       "and shorter than 108 bytes");
    }
    if (whole.len > 9 && memcmp(text, "rediss://", 9) == 0) {
        return rr_fail(error, RR_CONFIG,
                       "the store's URL asks for TLS (rediss://), which this client cannot do: use a "
                       "tunnel (stunnel, or a sidecar) and redis:// to it");
    }
    return rr_fail(error, RR_CONFIG, "the store's URL begins with neither redis:// nor unix://");
}
