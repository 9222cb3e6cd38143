// node: what a careful engineer writes with nats, protobufjs and ioredis: a batch of scripts in one round trip, then the
// acknowledgements. The same key, script and expiry as baseline.c.
// SPDX-License-Identifier: Apache-2.0
import { parseArgs } from "node:util";
import { connect } from "nats";
import Redis from "ioredis";
import protobuf from "protobufjs";

const { values: options } = parseArgs({
  options: {
    nats: { type: "string" }, stream: { type: "string" }, consumer: { type: "string" }, ack: { type: "string" },
    "redis-port": { type: "string" }, batch: { type: "string", default: "1024" }, count: { type: "string" },
    proto: { type: "string" },
  },
});
const batch = Number(options.batch);
const count = Number(options.count);
const KEPT_MS = 8 * 24 * 3600 * 1000;

const script = `
local function above(a, b) return #a > #b or (#a == #b and a > b) end
local held = redis.call('HMGET', KEYS[1], 'epoch', 'number')
if held[1] then
  if held[1] == ARGV[1] and held[2] == ARGV[2] then return 'DUPLICATE' end
  if above(held[1], ARGV[1]) or (held[1] == ARGV[1] and above(held[2], ARGV[2])) then return 'STALE' end
end
redis.call('HSET', KEYS[1], 'value', ARGV[3], 'epoch', ARGV[1], 'number', ARGV[2], 'status', ARGV[4],
           'updated_at', ARGV[5])
redis.call('PEXPIREAT', KEYS[1], ARGV[6])
return 'APPLIED'`;

const root = await protobuf.load(options.proto);
const Result = root.lookupType("rr.v1.Result");
const redis = new Redis({ host: "127.0.0.1", port: Number(options["redis-port"]) });
const sha = await redis.script("LOAD", script);
const connection = await connect({ servers: options.nats });
const consumer = await connection.jetstream().consumers.get(options.stream, options.consumer);

// encodeURIComponent leaves a few bytes that our keys encode.
const escape = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

// The one measure of the contract, in either of its two forms.
function valueOf(r) {
  if (r.measures.length === 0) return r.shorthand === "value" ? r.value : undefined;
  const only = r.measures[0];
  return r.measures.length === 1 && only.name === "value" && only.number === "integer" ? only.integer : undefined;
}

function isGood(r) {
  return r.businessKey !== "" && r.metricVersion !== "" && r.window?.hasStart === "start" &&
    r.window.hasEnd === "end" && r.resultVersion && !r.resultVersion.number.isZero() && valueOf(r) !== undefined;
}

let done = 0;
while (done < count) {
  const messages = [];
  for await (const m of await consumer.fetch({ max_messages: Math.min(batch, count - done), expires: 2000 })) {
    messages.push(m);
  }
  const pipeline = redis.pipeline();
  const updatedAt = new Date().toISOString();
  for (const m of messages) {
    const r = Result.decode(m.data);
    if (!isGood(r)) continue;
    const start = r.window.start.toString(), end = r.window.end.toString();
    const key = `rr:{bench:${escape(r.businessKey)}}:${escape(r.metricVersion)}:${start}-${end}`;
    pipeline.evalsha(sha, 1, key, r.resultVersion.epoch.toString(), r.resultVersion.number.toString(),
      valueOf(r).toString(), r.status === 2 ? "STREAM_CLOSED" : "PROVISIONAL", updatedAt,
      String(Math.floor(Number(end) / 1000) + KEPT_MS));
  }
  for (const [error] of await pipeline.exec()) {
    if (error) throw error;
  }
  if (options.ack === "all") {
    messages.at(-1)?.ack();
  } else {
    for (const m of messages) m.ack();
  }
  done += messages.length;
}
await connection.drain();
redis.disconnect();
