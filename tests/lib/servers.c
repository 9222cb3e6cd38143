/* Starting, breaking and stopping private servers by their pid. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "servers.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_ROOM = 192, READY_TRIES = 500, START_TRIES = 5 };

static const char *const places[] = {"/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"};

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static bool find_binary(rr_server_kind kind, char *path, size_t room)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, room, "%s/%s", places[i], kind == RR_SERVER_NATS ? "nats-server" : "redis-server");
        if (access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

bool rr_server_installed(rr_server_kind kind)
{
    char path[PATH_ROOM];

    return find_binary(kind, path, sizeof path);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A socket on 127.0.0.1:port, or -1. */
static int dial(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int rr_server_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = -1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &len) == 0) {
        port = ntohs(address.sin_port);
    }
    if (fd >= 0) {
        close(fd);
    }
    return port;
}

/* Sends `say` (unless NULL) and tells whether the answer begins with `hear`. */
static bool answers(int port, const char *say, const char *hear)
{
    char heard[8] = "";
    int fd = dial(port);
    bool right = false;

    if (fd < 0) {
        return false;
    }
    if (say == NULL || send(fd, say, strlen(say), MSG_NOSIGNAL) > 0) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};

        right = poll(&wait, 1, 1000) == 1 && recv(fd, heard, strlen(hear), MSG_WAITALL) == (ssize_t)strlen(hear) &&
                strcmp(heard, hear) == 0;
    }
    close(fd);
    return right;
}

static bool ready(const rr_server *server)
{
    return server->port > 0 && (server->kind == RR_SERVER_NATS ? answers(server->port, NULL, "INFO ")
                                                               : answers(server->port, "PING\r\n", "+PONG"));
}

/* The port that nats-server chose, from the file that it wrote beside its log; 0 while there is none. */
static int chosen_port(const rr_server *server)
{
    char path[PATH_ROOM], text[256] = "";
    const char *found;
    FILE *file;

    snprintf(path, sizeof path, "%s/nats-server_%d.ports", server->folder, (int)server->pid);
    file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    if (fread(text, 1, sizeof text - 1, file) == 0) {
        text[0] = '\0';
    }
    fclose(file);
    found = strstr(text, "127.0.0.1:");
    return found == NULL ? 0 : atoi(found + strlen("127.0.0.1:"));
}

static bool write_nats_config(const rr_server *server, char *path, size_t room)
{
    FILE *file;

    snprintf(path, room, "%s/nats.conf", server->folder);
    file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    fprintf(file, "listen: \"127.0.0.1:%d\"\nports_file_dir: \"%s\"\n", server->port > 0 ? server->port : -1,
            server->folder);
    fprintf(file, "jetstream { store_dir: \"%s/data\", max_mem: 256MB, max_file: 2GB%s%s }\n%s", server->folder,
            server->domain == NULL ? "" : ", domain: ", server->domain == NULL ? "" : server->domain,
            server->config == NULL ? "" : server->config);
    return fclose(file) == 0;
}

/* In the child: becomes the server. */
static void become(const rr_server *server, pid_t parent, const char *binary, const char *config)
{
    char port[16], data[PATH_ROOM], log[PATH_ROOM];
    const char *argv[16 + RR_SERVER_EXTRA_MAX] = {binary, "-c", config};
    int fd;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(127);
    }
    if (server->kind == RR_SERVER_REDIS) {
        const char *ours[] = {binary,   "--port", port,           "--bind", "127.0.0.1",   "--dir", data,
                              "--save", "",       "--appendonly", "no",     "--daemonize", "no"};
        size_t count = sizeof ours / sizeof *ours;

        snprintf(port, sizeof port, "%d", server->port);
        snprintf(data, sizeof data, "%s/data", server->folder);
        memcpy(argv, ours, sizeof ours);
        for (size_t i = 0; i < RR_SERVER_EXTRA_MAX && server->extra[i] != NULL; i++) {
            argv[count++] = server->extra[i];
        }
    }
    snprintf(log, sizeof log, "%s/log", server->folder);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    execv(binary, (char *const *)argv);
    _exit(127);
}

static void reap(rr_server *server)
{
    while (server->pid > 0 && waitpid(server->pid, NULL, 0) < 0) {}
    server->pid = 0;
}

static void show_log(const rr_server *server)
{
    char path[PATH_ROOM], line[512];
    FILE *file;

    fprintf(stderr, "server in %s did not come up; its log:\n", server->folder);
    snprintf(path, sizeof path, "%s/log", server->folder);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        fputs(line, stderr);
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* Waits until it answers; false if it ended or never does. */
static bool wait_ready(rr_server *server, bool choose)
{
    for (int i = 0; i < READY_TRIES; i++) {
        if (waitpid(server->pid, NULL, WNOHANG) != 0) {
            server->pid = 0;
            return false;
        }
        if (choose && server->port == 0) {
            server->port = chosen_port(server);
        }
        if (ready(server)) {
            return true;
        }
        nap_ms(20);
    }
    rr_server_kill(server);
    return false;
}

static bool launch(rr_server *server)
{
    char binary[PATH_ROOM], config[PATH_ROOM] = "", data[PATH_ROOM];
    bool choose = server->kind == RR_SERVER_NATS && server->port == 0;
    pid_t parent = getpid();

    snprintf(data, sizeof data, "%s/data", server->folder);
    mkdir(data, 0700);
    if (!find_binary(server->kind, binary, sizeof binary)) {
        fprintf(stderr, "%s is not installed\n", server->kind == RR_SERVER_NATS ? "nats-server" : "redis-server");
        return false;
    }
    if (server->kind == RR_SERVER_NATS && !write_nats_config(server, config, sizeof config)) {
        return false;
    }
    fflush(NULL);
    server->pid = fork();
    if (server->pid == 0) {
        become(server, parent, binary, config);
    }
    return server->pid > 0 && wait_ready(server, choose);
}

static bool start(rr_server *server)
{
    const char *base = getenv("TMPDIR");

    snprintf(server->folder, sizeof server->folder, "%s/rr-test-XXXXXX",
             base != NULL && strlen(base) < 32 ? base : "/tmp");
    if (mkdtemp(server->folder) == NULL) {
        perror(server->folder);
        return false;
    }
    for (int i = 0; i < START_TRIES; i++) {
        /* Another process may take the port between the check and redis's bind: then another port is tried. */
        server->port = server->kind == RR_SERVER_NATS ? 0 : rr_server_free_port();
        if (launch(server)) {
            snprintf(server->url, sizeof server->url, "%s://127.0.0.1:%d",
                     server->kind == RR_SERVER_NATS ? "nats" : "redis", server->port);
            return true;
        }
    }
    show_log(server);
    remove_tree(server->folder);
    server->folder[0] = '\0';
    return false;
}

bool rr_server_start_nats(rr_server *server, const char *config)
{
    *server = (rr_server){.kind = RR_SERVER_NATS, .config = config};
    return start(server);
}

bool rr_server_start_nats_domain(rr_server *server, const char *domain, const char *config)
{
    *server = (rr_server){.kind = RR_SERVER_NATS, .domain = domain, .config = config};
    return start(server);
}

bool rr_server_start_redis(rr_server *server, const char *const *extra)
{
    *server = (rr_server){.kind = RR_SERVER_REDIS};
    for (size_t i = 0; extra != NULL && extra[i] != NULL && i + 1 < RR_SERVER_EXTRA_MAX; i++) {
        server->extra[i] = extra[i];
    }
    return start(server);
}

static void end_with(rr_server *server, int signal_number)
{
    if (server->pid > 0) {
        kill(server->pid, signal_number);
        kill(server->pid, SIGCONT);
        reap(server);
    }
}

void rr_server_stop(rr_server *server)
{
    end_with(server, SIGTERM);
}

void rr_server_kill(rr_server *server)
{
    end_with(server, SIGKILL);
}

void rr_server_pause(rr_server *server)
{
    kill(server->pid, SIGSTOP);
}

void rr_server_resume(rr_server *server)
{
    kill(server->pid, SIGCONT);
}

bool rr_server_restart(rr_server *server, bool keep_data)
{
    char data[PATH_ROOM];

    rr_server_stop(server);
    if (!keep_data) {
        snprintf(data, sizeof data, "%s/data", server->folder);
        remove_tree(data);
    }
    for (int i = 0; i < START_TRIES; i++) {
        if (launch(server)) {
            return true;
        }
        nap_ms(100);
    }
    show_log(server);
    return false;
}

void rr_server_fini(rr_server *server)
{
    rr_server_stop(server);
    if (server->folder[0] != '\0') {
        remove_tree(server->folder);
        server->folder[0] = '\0';
    }
}
