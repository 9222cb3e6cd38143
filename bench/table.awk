# Medians of the lines that bench/run gathers, as tables, and as JSON into the file `json`.
# SPDX-License-Identifier: Apache-2.0
function key_values(   i, at) {
    delete field
    for (i = 2; i <= NF; i++) {
        at = index($i, "=")
        field[substr($i, 1, at - 1)] = substr($i, at + 1)
    }
}
function median(list,   parts, n, i, j, t) {
    n = split(list, parts, " ")
    for (i = 2; i <= n; i++) {
        for (j = i; j > 1 && parts[j] + 0 < parts[j - 1] + 0; j--) {
            t = parts[j]; parts[j] = parts[j - 1]; parts[j - 1] = t
        }
    }
    low = parts[1]; high = parts[n]
    return n % 2 ? parts[(n + 1) / 2] : (parts[n / 2] + parts[n / 2 + 1]) / 2
}
function value(row, who, name) {
    return (row, who, name) in lists ? median(lists[row, who, name]) : ""
}
# The median of the rounds' ratios, since neighbours in one round had the same machine.
function ratio(row, a, b, name,   x, y, n, i, all) {
    n = split(lists[row, a, name], x, " ")
    if (n == 0 || split(lists[row, b, name], y, " ") != n) { return "" }
    for (i = 1; i <= n; i++) { all = all " " (y[i] > 0 ? x[i] / y[i] : 0) }
    return median(all)
}
function all_cpu(row, who) {
    return value(row, who, "nats_us") + value(row, who, "redis_us") + value(row, who, "client_us")
}
# What free cores would give: processor time of all three programs together.
function cpu_line(row, a, b) {
    if (all_cpu(row, a) > 0 && all_cpu(row, b) > 0) {
        printf "%-66s %6.2f\n", row ": CPU of all three programs, " b " against " a, all_cpu(row, b) / all_cpu(row, a)
    }
}
function line(what, number, least, aim) {
    if (number != "") {
        printf "%-66s %6.2f   at least %-5s aim %s\n", what, number, least, aim
        json_ratios = json_ratios (json_ratios == "" ? "" : ",\n") sprintf("    {\"what\": \"%s\", \"ratio\": %.3f}", what, number)
    }
}
function most(what, number, limit, aim) {
    if (number != "") {
        printf "%-66s %6.2f   at most  %-5s aim %s\n", what, number, limit, aim
        json_ratios = json_ratios (json_ratios == "" ? "" : ",\n") sprintf("    {\"what\": \"%s\", \"ratio\": %.3f}", what, number)
    }
}
$1 == "run" || $1 == "core" {
    key_values()
    if ($1 == "core") { field["row"] = "core:" field["name"] }
    row = field["row"]; who = field["who"]
    if (!((row, who) in seen)) { seen[row, who] = 1; order[++runs] = row SUBSEP who }
    for (name in field) {
        if (name != "row" && name != "who" && name != "name") {
            if (!((row, who, name) in lists)) { names[row, who] = names[row, who] " " name }
            lists[row, who, name] = lists[row, who, name] " " field[name]
        }
    }
}
END {
    printf "%-14s %-16s %9s %19s %8s %8s %8s %8s %8s\n", "row", "who", "rec/s", "(low-high)", "nats us", "redis us", "own us",
        "sum us", "peak MiB"
    for (i = 1; i <= runs; i++) {
        split(order[i], p, SUBSEP)
        if (p[1] ~ /^core:/ || p[1] ~ /^instructions/ || p[2] == "set") { continue }
        m = median(lists[p[1], p[2], "rate"]); spread = sprintf("(%d-%d)", low, high)
        printf "%-14s %-16s %9d %19s %8.2f %8.2f %8.2f %8.2f %8.1f\n", p[1], p[2], m, spread, value(p[1], p[2], "nats_us"),
            value(p[1], p[2], "redis_us"), value(p[1], p[2], "client_us"), all_cpu(p[1], p[2]),
            value(p[1], p[2], "peak_kib") / 1024
    }
    for (i = 1; i <= runs; i++) {
        split(order[i], p, SUBSEP)
        if (p[2] == "set") {
            printf "%-14s %-16s create %d/s redis %.2f us, update %d/s redis %.2f us (%d bytes a value)\n", p[1], "set",
                value(p[1], "set", "create_rate"), value(p[1], "set", "create_redis_us"), value(p[1], "set", "update_rate"),
                value(p[1], "set", "update_redis_us"), value(p[1], "set", "value_bytes")
        }
    }
    print ""
    line("create: ours against pipelined", ratio("create", "ours", "pipelined", "rate"), "1.7", "2.3")
    line("update: ours against pipelined", ratio("update", "ours", "pipelined", "rate"), "1.9", "2.5")
    line("zipf: ours against pipelined", ratio("zipf", "ours", "pipelined", "rate"), "2.7", "3.5")
    line("hot: ours against pipelined", ratio("hot", "ours", "pipelined", "rate"), "3.3", "4")
    line("create, ack all: ours against pipelined", ratio("create", "ours+all", "pipelined+all", "rate"), "1.7", "2.3")
    line("update, ack all: ours against pipelined", ratio("update", "ours+all", "pipelined+all", "rate"), "1.9", "2.5")
    line("zipf, ack all: ours against pipelined", ratio("zipf", "ours+all", "pipelined+all", "rate"), "2.7", "3.5")
    line("hot, ack all: ours against pipelined", ratio("hot", "ours+all", "pipelined+all", "rate"), "3.3", "4")
    cpu_line("create", "ours", "pipelined")
    cpu_line("update", "ours", "pipelined")
    cpu_line("zipf", "ours", "pipelined")
    cpu_line("hot", "ours", "pipelined")
    line("create: ours against naive", ratio("create", "ours", "naive", "rate"), "7", "10")
    line("create: ours against node", ratio("create", "ours", "node", "rate"), "3.5", "5")
    line("create: ours against fetch-ack", ratio("create", "ours", "fetch-ack", "rate"), "0.5", "0.75")
    line("create, ack all: ours against fetch-ack", ratio("create", "ours+all", "fetch-ack+all", "rate"), "0.5", "0.75")
    if (value("create", "ours", "client_us") != "" && value("create", "fetch-ack", "client_us") != "") {
        most("create: own CPU above fetch-ack, us a record",
             value("create", "ours", "client_us") - value("create", "fetch-ack", "client_us"), "3", "1.5")
    }
    s = value("create", "set", "create_redis_us")
    if (s > 0) { most("create: redis CPU against plain SET PX", value("create", "ours", "redis_us") / s, "1.4", "1.2") }
    s = value("create", "set", "update_redis_us")
    if (s > 0) { most("update: redis CPU against plain SET PX", value("update", "ours", "redis_us") / s, "2.5", "1.5") }
    s = value("delta", "ours", "begin_wall_us")
    if (s > 0) {
        most("delta: wall a record at the end against the beginning", value("delta", "ours", "end_wall_us") / s, "2", "1.3")
        most("delta: redis CPU at the end against the beginning",
             value("delta", "ours", "end_redis_us") / value("delta", "ours", "begin_redis_us"), "2", "1.3")
        most("delta: own CPU at the end against the beginning",
             value("delta", "ours", "end_client_us") / value("delta", "ours", "begin_client_us"), "2", "1.3")
    }
    line("create, AOF everysec: ours against pipelined", ratio("create-aof", "ours", "pipelined", "rate"), "1.7", "2.3")
    line("update, AOF everysec: ours against pipelined", ratio("update-aof", "ours", "pipelined", "rate"), "1.9", "2.5")
    line("apply, records a second", value("apply", "now", "rate"), "500000", "1000000")
    most("core: join with the cell at hand, ns", value("core:join", "now", "ns"), "150", "80")
    print ""
    for (i = 1; i <= runs; i++) {
        split(order[i], p, SUBSEP)
        if (p[1] ~ /^core:/) {
            if (p[1] == "core:sizes") {
                printf "%-32s %-10s proto %d, json %d, value %d, facts %d bytes\n", p[1], p[2], value(p[1], p[2], "proto_bytes"),
                    value(p[1], p[2], "json_bytes"), value(p[1], p[2], "value_bytes"), value(p[1], p[2], "facts_bytes")
            } else {
                printf "%-32s %-10s %8.1f ns a record\n", p[1], p[2], value(p[1], p[2], "ns")
            }
        } else if (p[1] ~ /^instructions/) {
            printf "%-32s %-10s %8d instructions a record\n", p[1], p[2], value(p[1], p[2], "count")
        }
    }
    printf "{\n  \"results\": [\n" > json
    for (i = 1; i <= runs; i++) {
        split(order[i], p, SUBSEP)
        printf "%s    {\"row\": \"%s\", \"who\": \"%s\"", (i > 1 ? ",\n" : ""), p[1], p[2] > json
        n = split(names[p[1], p[2]], list, " ")
        for (j = 1; j <= n; j++) {
            m = median(lists[p[1], p[2], list[j]])
            printf ", \"%s\": %s, \"%s_low\": %s, \"%s_high\": %s", list[j], m + 0, list[j], low + 0, list[j], high + 0 > json
        }
        printf "}" > json
    }
    printf "\n  ],\n  \"ratios\": [\n%s\n  ]\n}\n", json_ratios > json
}
