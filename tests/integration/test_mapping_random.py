"""Mappings against an independent reader.

Random schemas (proto2 and proto3, nested, oneofs, maps, packed and not), random mappings, and messages made of random
wire bytes: fields again and again, unknown fields and groups between them, cut ends. The program's reader has to give
the records, or the refusals, that this reader gives upon what Debian's python3-protobuf decodes. JSON likewise, upon
python's json with numbers left as text.

    test_mapping_random.py DRIVER [--messages N] [--seed N]

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from decimal import Decimal, localcontext

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf import duration_pb2, timestamp_pb2, wrappers_pb2
    from google.protobuf.message import DecodeError
except ImportError:
    print("python3-protobuf is not installed")
    sys.exit(77)

F = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    F.TYPE_INT32: "int", F.TYPE_INT64: "int", F.TYPE_SINT32: "int", F.TYPE_SINT64: "int",
    F.TYPE_SFIXED32: "int", F.TYPE_SFIXED64: "int", F.TYPE_UINT32: "uint", F.TYPE_UINT64: "uint",
    F.TYPE_FIXED32: "uint", F.TYPE_FIXED64: "uint", F.TYPE_FLOAT: "real", F.TYPE_DOUBLE: "real",
    F.TYPE_BOOL: "bool", F.TYPE_STRING: "text", F.TYPE_BYTES: "bytes",
}
KEYS = [F.TYPE_STRING, F.TYPE_INT32, F.TYPE_SINT64, F.TYPE_UINT64, F.TYPE_FIXED32, F.TYPE_BOOL]
WRAPPERS = {"Int64Value": F.TYPE_INT64, "UInt32Value": F.TYPE_UINT32, "StringValue": F.TYPE_STRING,
            "BoolValue": F.TYPE_BOOL, "DoubleValue": F.TYPE_DOUBLE}
ENUM = [("KIND_ZERO", 0), ("EARLY", 1), ("LATE", 2), ("NEGATIVE", -3)]
STATUSES = ["PROVISIONAL", "STREAM_CLOSED", "RECONCILED"]
OPS = ["ASSERT", "RETRACT", "SKIP"]
TEXTS = ["", "a", "b.c", "line-7", "a/b", "~", "7", "-12", "3.50", "1e3", "EARLY", "2024-01-01T10:00:00Z",
         "2024-01-01T10:00:00.1234567Z", "2024-01-01T11:00:00.123456000+01:00", "9223372036854775808", "caf\u00e9"]


class Malformed(Exception):
    pass


class Skip(Exception):
    pass


# ---- schemas ----

class Schema:
    """One file of messages M0 (the root) to M4, with what the protobuf of python needs to read them."""

    def __init__(self, rng, number):
        self.rng, self.proto3 = rng, rng.random() < 0.5
        self.package = f"random{number}"
        self.file = descriptor_pb2.FileDescriptorProto(name=f"random{number}.proto", package=self.package,
                                                       syntax="proto3" if self.proto3 else "proto2")
        for other in (timestamp_pb2, duration_pb2, wrappers_pb2):
            self.file.dependency.append(other.DESCRIPTOR.name)
        enum = self.file.enum_type.add(name="Kind")
        for name, value in ENUM:
            enum.value.add(name=name, number=value)
        for k in range(5):
            self.add_message(k)
        pool = descriptor_pool.DescriptorPool()
        self.set = descriptor_pb2.FileDescriptorSet()
        for other in (timestamp_pb2, duration_pb2, wrappers_pb2):
            proto = descriptor_pb2.FileDescriptorProto()
            other.DESCRIPTOR.CopyToProto(proto)
            pool.Add(proto)
            self.set.file.append(proto)
        pool.Add(self.file)
        self.set.file.append(self.file)
        self.root = message_factory.MessageFactory(pool).GetPrototype(
            pool.FindMessageTypeByName(self.package + ".M0"))

    def add_message(self, k):
        rng, message = self.rng, self.file.message_type.add(name=f"M{k}")
        numbers = rng.sample(list(range(1, 31)) + [100, 2047, 536870911], 16)
        oneof = None
        optional = []
        if rng.random() < 0.7:
            message.oneof_decl.add(name="choice")
            oneof = 0
        for at, number in enumerate(numbers):
            self.add_field(message, k, f"f{at}", number, oneof, optional)
        for field in optional:
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name="_" + field.name)

    def message_type(self, k):
        kind = self.rng.random()
        if kind < 0.15:
            return ".google.protobuf.Timestamp"
        if kind < 0.3:
            return ".google.protobuf." + self.rng.choice(sorted(WRAPPERS))
        return f".{self.package}.M{self.rng.randrange(k, 5) if k else self.rng.randrange(1, 5)}"

    def add_field(self, message, k, name, number, oneof, optional):
        in_oneof = name in ("f6", "f7", "f8", "f9")  # they have to stand together
        rng, kind = self.rng, self.rng.random()
        field = message.field.add(name=name, number=number, label=F.LABEL_OPTIONAL)
        if kind < 0.12 and not in_oneof:
            self.make_map(message, field, k)
            return
        if kind < 0.4:
            field.type, field.type_name = F.TYPE_MESSAGE, self.message_type(k)
        elif kind < 0.5:
            field.type, field.type_name = F.TYPE_ENUM, f".{self.package}.Kind"
        else:
            field.type = rng.choice(sorted(SCALARS))
        if rng.random() < 0.2 and not in_oneof:
            field.label = F.LABEL_REPEATED
            if field.type not in (F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_MESSAGE):
                field.options.packed = rng.random() < 0.5
        elif oneof is not None and in_oneof:
            field.oneof_index = oneof
        elif self.proto3 and field.type != F.TYPE_MESSAGE and rng.random() < 0.3:
            field.proto3_optional = True
            optional.append(field)

    def make_map(self, message, field, k):
        entry = message.nested_type.add(name=f"{field.name.capitalize()}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=F.LABEL_OPTIONAL, type=self.rng.choice(KEYS))
        value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL)
        if self.rng.random() < 0.4:
            value.type, value.type_name = F.TYPE_MESSAGE, self.message_type(k)
        else:
            value.type = self.rng.choice(sorted(SCALARS))
        field.label, field.type = F.LABEL_REPEATED, F.TYPE_MESSAGE
        field.type_name = f".{self.package}.{message.name}.{entry.name}"


# ---- wire bytes ----

def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def tag(number, wire):
    return varint(number << 3 | wire)


def chunk(number, content):
    return tag(number, 2) + varint(len(content)) + content


def is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def some_int(rng):
    if rng.random() < 0.6:
        return rng.choice([0, 1, 2, 7, 1704103200000])
    return rng.choice([0, 0, 1, 2, -1, -3, 7, 127, 128, 1704103200, 1704103200000, -1704103200001, 1704103259999999,
                       2**31 - 1, -2**31, 2**32 - 1, 2**63 - 1, -2**63, rng.getrandbits(40), rng.getrandbits(64)])


def scalar_bytes(rng, kind):
    """Wire type and bytes of a value."""
    number = some_int(rng)
    if kind in (F.TYPE_SINT32, F.TYPE_SINT64):
        bits = 32 if kind == F.TYPE_SINT32 else 64
        number &= (1 << bits) - 1
        number = number - (1 << bits) if number >> bits - 1 else number
        return 0, varint((number << 1 ^ number >> bits - 1) & (1 << bits) - 1)
    if kind == F.TYPE_INT32 or kind == F.TYPE_ENUM:
        return 0, varint(rng.choice([0, 1, 2, -3, 5]) if kind == F.TYPE_ENUM else (number + 2**31) % 2**32 - 2**31)
    if kind == F.TYPE_UINT32:
        return 0, varint(number % 2**32)
    if kind in (F.TYPE_INT64, F.TYPE_UINT64):
        return 0, varint(number)
    if kind == F.TYPE_BOOL:
        return 0, varint(number & 1)
    if kind in (F.TYPE_FIXED32, F.TYPE_SFIXED32):
        return 5, struct.pack("<I", number % 2**32)
    if kind in (F.TYPE_FIXED64, F.TYPE_SFIXED64):
        return 1, struct.pack("<Q", number % 2**64)
    if kind == F.TYPE_FLOAT:
        return 5, struct.pack("<f", rng.choice([0.0, 1.5, -2.25, 1e30]))
    if kind == F.TYPE_DOUBLE:
        return 1, struct.pack("<d", rng.choice([0.0, 1.5, -0.1, 1e300, 12345.678]))
    text = rng.choice(TEXTS).encode()
    if kind == F.TYPE_BYTES and rng.random() < 0.2:
        text = rng.choice([b"\xff", b"a\0b", b"\xc3"])
    return 2, varint(len(text)) + text


def unknown_bytes(rng, known):
    number = rng.choice([n for n in (40, 50, 3000, 19) if n not in known])
    kind = rng.randrange(5)
    if kind == 0:
        return tag(number, 0) + varint(some_int(rng))
    if kind == 1:
        return tag(number, 1) + bytes(8)
    if kind == 2:
        return chunk(number, bytes(rng.randrange(4)))
    if kind == 3:
        return tag(number, 5) + b"abcd"
    inside = b"".join(unknown_bytes(rng, known) for _ in range(rng.randrange(3)))
    return tag(number, 3) + inside + tag(number, 4)


def entry_bytes(rng, field, depth):
    key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
    parts = []
    if rng.random() < 0.9:
        if key.type == F.TYPE_STRING:
            text = rng.choice(["a", "b.c", "line-7"]).encode()
            parts.append(chunk(1, text))
        else:
            wire, content = {0: (0, b"\1"), 5: (5, struct.pack("<I", 1))}[5 if key.type == F.TYPE_FIXED32 else 0]
            content = b"\2" if key.type == F.TYPE_SINT64 else content
            parts.append(tag(1, wire) + content)
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        if value.message_type is not None:
            parts.append(chunk(2, message_bytes(rng, value.message_type, depth - 1)))
        else:
            wire, content = scalar_bytes(rng, value.type)
            parts.append(tag(2, wire) + content)
    if rng.random() < 0.3:
        rng.shuffle(parts)
    return b"".join(parts)


def field_bytes(rng, field, depth):
    if is_map(field):
        return b"" if depth <= 0 else chunk(field.number, entry_bytes(rng, field, depth))
    if field.message_type is not None:
        return b"" if depth <= 0 else chunk(field.number, message_bytes(rng, field.message_type, depth - 1))
    if field.label == field.LABEL_REPEATED and field.type not in (F.TYPE_STRING, F.TYPE_BYTES) and rng.random() < 0.5:
        return chunk(field.number, b"".join(scalar_bytes(rng, field.type)[1] for _ in range(rng.randrange(4))))
    wire, content = scalar_bytes(rng, field.type)
    return tag(field.number, wire) + content


def time_bytes(rng, name):
    seconds = rng.choice([0, 1704103200, -5, 1704103259])
    nanos = rng.choice([0, 0, 0, 0, 0, 5000, 999999000, 999000000, 123456789, 1, -1, 1000000000])
    return ((tag(1, 0) + varint(seconds) if seconds or rng.random() < 0.5 else b"") +
            (tag(2, 0) + varint(nanos) if nanos else b""))


def message_bytes(rng, message, depth):
    if message.full_name == "google.protobuf.Timestamp":
        return time_bytes(rng, message.name)
    known = {field.number for field in message.fields}
    chosen = [field for field in message.fields if rng.random() < 0.6]
    chosen += [rng.choice(chosen) for _ in range(rng.randrange(4)) if chosen]
    rng.shuffle(chosen)
    parts = []
    for field in chosen:
        if rng.random() < 0.1:
            parts.append(unknown_bytes(rng, known))
        parts.append(field_bytes(rng, field, depth))
    return b"".join(parts)


# ---- paths: what a mapping may name, and how this reader gets at it ----

class Leaf:
    """steps: of the path; kind: what is there; get: from a message to a value, None if absent."""

    def __init__(self, steps, kind, get, key=None):
        self.steps, self.kind, self.get = steps, kind, get

    def path(self):
        text = ""
        for step in self.steps:
            quoted = "." in step or step == ""
            text += f'["{step}"]' if quoted else ("." if text else "") + step
        return text


def message_leaves(message, steps, get, depth):
    """Below a message that `get` finds (None where it is absent)."""
    if message.full_name == "google.protobuf.Timestamp":
        def stamp(m):
            found = get(m)
            return None if found is None else (found.seconds, found.nanos)
        return [Leaf(steps, "time", stamp)]
    if message.full_name.startswith("google.protobuf."):
        def wrapped(m):
            found = get(m)
            return None if found is None else found.value
        return [Leaf(steps, SCALARS[WRAPPERS[message.name]], wrapped)]
    return leaves(message, steps, get, depth - 1) if depth else []


def map_leaves(field, steps, get, depth):
    key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
    names = {"a": "a", "b.c": "b.c"} if key.type == F.TYPE_STRING else {"true": True} if key.type == F.TYPE_BOOL \
        else {"1": 1, "0": 0}
    found = []
    if key.type == F.TYPE_STRING and SCALARS.get(value.type) in ("int", "uint", "real", "text"):
        def whole(m):
            held = get(m)
            return {} if held is None else dict(getattr(held, field.name))
        found.append(Leaf(steps, "map:" + SCALARS[value.type], whole))
    for text, name in names.items():
        def at(m, name=name):
            held = get(m)
            return None if held is None or name not in getattr(held, field.name) else getattr(held, field.name)[name]
        if value.message_type is not None:
            found += message_leaves(value.message_type, steps + [text], at, depth)
        else:
            found.append(Leaf(steps + [text], SCALARS[value.type], at))
    return found


def leaves(message, steps, get, depth):
    found = []
    for field in message.fields:
        here = steps + [field.name]
        if is_map(field):
            found += map_leaves(field, here, get, depth)
        elif field.label == field.LABEL_REPEATED:
            continue
        elif field.message_type is not None:
            def below(m, name=field.name):
                held = get(m)
                return getattr(held, name) if held is not None and held.HasField(name) else None
            found += message_leaves(field.message_type, here, below, depth)
        else:
            explicit = field.containing_oneof is not None or field.file.syntax == "proto2"

            def scalar(m, name=field.name, explicit=explicit):
                held = get(m)
                return None if held is None or (explicit and not held.HasField(name)) else getattr(held, name)
            found.append(Leaf(here, "enum" if field.enum_type else SCALARS[field.type], scalar))
    return found


def item_lists(message, steps, get, depth):
    """Repeated messages that `each` may name."""
    found = []
    for field in message.fields:
        here = steps + [field.name]
        if field.message_type is None or is_map(field) or field.message_type.full_name.startswith("google."):
            continue
        if field.label == field.LABEL_REPEATED:
            def items(m, name=field.name):
                held = get(m)
                return [] if held is None else list(getattr(held, name))
            found.append((here, field.message_type, items))
        elif depth:
            def below(m, name=field.name):
                held = get(m)
                return getattr(held, name) if held is not None and held.HasField(name) else None
            found += item_lists(field.message_type, here, below, depth - 1)
    return found


# ---- what this reader makes of a value ----

def number_text(value):
    """As JSON's grammar has it, or None."""
    import re
    return value if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", value) else None


def plain_int(value):
    import re
    return int(value) if re.fullmatch(r"-?(0|[1-9][0-9]*)", value) else None


def as_text(kind, value):
    if kind == "enum":
        return {number: name for name, number in ENUM}.get(value, str(value))
    if kind == "bool":
        return "true" if value else "false"
    if kind == "json_number":
        if plain_int(value) is None:
            raise Malformed
        return value
    if kind == "bytes":
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError:
            raise Malformed from None
    if "\0" in str(value):
        raise Malformed
    return str(value)


def rfc3339_ns(text):
    import datetime
    import re
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", text)
    if not found:
        raise Malformed
    try:
        day = datetime.date(int(found[1]), int(found[2]), int(found[3])).toordinal() - 719163
    except ValueError:
        raise Malformed from None
    seconds = day * 86400 + int(found[4]) * 3600 + int(found[5]) * 60 + int(found[6])
    if found[8] != "Z":
        sign = -1 if found[8][0] == "+" else 1
        seconds += sign * (int(found[8][1:3]) * 3600 + int(found[8][4:6]) * 60)
    return seconds * 10**9 + int((found[7] or "0").ljust(9, "0"))


UNITS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}


def as_us(kind, value, said, target):
    """Microseconds; a bound that is no whole one is malformed, an emitted_at is cut."""
    unit = said.get("unit")
    if kind == "time":
        if not 0 <= value[1] <= 999999999:
            raise Malformed
        ns = Decimal(value[0] * 10**9 + value[1])
    elif kind in ("int", "uint"):
        ns = Decimal(value * UNITS[unit])
    elif unit in UNITS:
        text = number_text(as_text("bytes" if kind == "bytes" else "text", value))
        if text is None or not fits(text, len(str(UNITS[unit])) - 1):
            raise Malformed
        ns = Decimal(text) * UNITS[unit]
    elif kind == "json_number":
        raise Malformed
    else:
        ns = Decimal(rfc3339_ns(as_text(kind, value)))
    if target != "emitted_at" and ns % 1000 != 0:
        raise Malformed
    us = int((ns / 1000).to_integral_value(rounding="ROUND_FLOOR")) + 1000 * said.get("inclusive_ms", 0)
    if not -2**63 <= us < 2**63:
        raise Malformed
    return us


def fits(text, places):
    """At most 100 digits before the point and after it, by value, when moved so far."""
    number = Decimal(text).scaleb(places)
    if number == 0:
        return True
    whole, _, fraction = format(number, "f").lstrip("-").partition(".")
    return len(whole.lstrip("0")) <= 100 and len(fraction.rstrip("0")) <= 100


def as_count(kind, value, said):
    if kind in ("text", "json_number"):
        value = plain_int(value)
    elif kind == "bytes":
        value = plain_int(value.decode("latin-1"))
    if value is None or kind == "bool":
        raise Malformed
    if kind in ("text", "json_number", "bytes") and not -2**63 <= value < 2**64:
        raise Malformed
    value += said.get("add", 0)
    if not 0 <= value < 2**64:
        raise Malformed
    return value


def as_number(kind, value, said):
    """The exact number as a Decimal, or text where it is none."""
    scale = said.get("scale", 0)
    if kind in ("text", "bytes", "json_number"):
        value = as_text("bytes" if kind == "bytes" else "text", value)
        if number_text(value) is None or (scale and not fits(value, scale)):
            if scale:
                raise Malformed
            return value
        return Decimal(value).scaleb(scale) if scale else Decimal(value)
    if kind in ("int", "uint"):
        return Decimal(value).scaleb(scale)
    if kind == "real":
        return Decimal(repr(value))
    return "[]"


def chosen(kind, value, values):
    """The literal that `values` gives; None: none of them."""
    if kind == "bytes":
        value = value.decode("latin-1")
    name = as_text("text", value) if kind not in ("bool",) else as_text("bool", value)
    if kind == "enum":
        for key, to in values.items():
            if dict(ENUM).get(key, key) == value or key == str(value):
                return to
        return None
    return values.get(name)


def is_zero(kind, value):
    if kind == "time":
        return value == (0, 0)
    if kind in ("text", "json_number", "bytes"):
        value = value.decode("latin-1") if kind == "bytes" else value
        return value == "" or (number_text(value) is not None and fits(value, 0) and Decimal(value) == 0)
    return value == 0


def literal(target, text):
    if text == "SKIP":
        raise Skip
    return Decimal(text) if target == "measure" else int(text) if target in ("count", "window", "emitted_at") else text


def finish(target, said, kind, value, in_list=False):
    """A target's value, or None: absent. Targets: key, text, word, count, window, emitted_at, measure."""
    def preset():
        return literal(target, said["default"]) if "default" in said else None
    empty = kind in ("text", "bytes") and value is not None and len(value) == 0
    if value is None:
        return preset()
    if said.get("absent") == "zero" and not said.get("add") and is_zero(kind, value):
        return preset()
    if "values" in said:
        to = chosen(kind, value, said["values"])
        if to is None:
            if empty:
                return preset()
            if "else" not in said:
                raise Malformed
            to = said["else"]
        return literal(target, to)
    if empty and not in_list:
        return preset()
    if target in ("key", "text"):
        return as_text(kind, value)
    if target == "word":
        text = as_text(kind, value)
        if kind not in ("text", "bytes", "enum") or text not in said["words"]:
            raise Malformed
        return text
    if target == "count":
        count = as_count(kind, value, said)
        return preset() if count == 0 and said.get("add") and said.get("absent") == "zero" else count
    if target in ("window", "emitted_at"):
        return as_us(kind, value, said, target)
    return as_number(kind, value, said)


# ---- mappings ----

class Mapping:
    """Fields of `record` as (target kind, name, words, leaf, whole)."""

    def __init__(self, rng, each, here, top):
        self.rng, self.here, self.top, self.each = rng, here, top, each
        self.fields, self.keys, self.map = {}, [], (None, False)
        self.make()

    def pick(self, *kinds):
        whole = self.each is not None and self.rng.random() < 0.2
        pool = [leaf for leaf in (self.top if whole else self.here) if leaf.kind in kinds]
        if not pool and self.each is not None:
            whole, pool = True, [leaf for leaf in self.top if leaf.kind in kinds]
        return (self.rng.choice(pool), whole) if pool else (None, False)

    def put(self, name, target, kinds, **said):
        rng = self.rng
        leaf, whole = self.pick(*kinds)
        if leaf is None or rng.random() < 0.5:
            return
        if rng.random() < 0.15:
            said["absent"] = "zero"
        if rng.random() < 0.2:
            said["default"] = said.pop("preset", "1")
        said.pop("preset", None)
        if "of" in said:
            words = said.pop("of")
            keys = {"enum": [n for n, _ in ENUM] + ["5"], "bool": ["true", "false"], "int": ["0", "1", "7"],
                    "uint": ["0", "1", "7"], "text": TEXTS, "json": ["0", "1", "true", "EARLY", "a", ""]}[leaf.kind]
            said["values"] = {key: rng.choice(words) for key in rng.sample(keys, rng.randrange(1, len(keys) + 1))}
            if rng.random() < 0.8:
                said["else"] = rng.choice(words)
        self.fields[name] = (target, said, leaf, whole)

    def make(self):
        rng, integers = self.rng, ("int", "uint", "json")
        texts = integers + ("bool", "enum", "text", "bytes")
        for _ in range(rng.randrange(1, 4)):
            leaf, whole = self.pick(*texts)
            if leaf is not None:
                self.keys.append((leaf, whole, {"default": ""} if rng.random() < 0.8 else {}))
        self.put("metric_version", "text", texts)
        unit = rng.choice(["s", "ms", "us", "ns"])
        for bound in ("start", "end"):
            kinds = rng.choice([integers, ("time", "json"), ("text", "json")])
            more = {"unit": unit} if kinds == integers else {}
            if bound == "end" and rng.random() < 0.3:
                more["inclusive_ms"] = 1
            self.put(f"window.{bound}", "window", kinds, preset="1704103200000000", **more)
        self.put("version.epoch", "count", integers)
        self.put("version.number", "count", integers + ("text",), **({"add": rng.choice([1, -1, 5])} if rng.random() < 0.5 else {}))
        self.put("status", "word", ("enum", "bool", "int", "text", "json"), of=STATUSES, preset="STREAM_CLOSED")
        self.put("op", "word", ("enum", "bool", "uint", "json"), of=OPS, preset="ASSERT")
        self.put("cause", "word", ("enum", "text", "json"), preset="LATE",
                 words=["EARLY", "ON_TIME", "LATE", "CORRECTION", "BACKFILL", "RECOMPUTE", "SESSION_MERGE", "RETRACTION"])
        self.put("sequence", "count", integers)
        self.put("contributor", "key", texts)
        kinds = rng.choice([("time", "json"), integers])
        self.put("emitted_at", "emitted_at", kinds, **({"unit": unit} if kinds == integers else {}))
        if rng.random() < 0.4:
            self.map = self.pick("map:int", "map:uint", "map:real", "map:text")
        for name in ("m1", "m2") if self.map[0] is None else ():
            kinds = rng.choice([integers, ("real",), ("text", "json"), ("int",)])
            scale = rng.choice([-2, 3, 0]) if kinds != ("real",) else 0
            self.put(name, "measure", kinds, **({"scale": scale} if scale else {}))

    def entry(self, leaf, whole, said):
        said = {key: value for key, value in said.items() if key != "words"}
        if "inclusive_ms" in said:
            said["inclusive"] = f"{said.pop('inclusive_ms')}ms"
        path = ("/" if whole else "") + leaf.path()
        return path if not said and self.rng.random() < 0.5 else {"path": path, **said}

    def record(self):
        record = {"measures": {}, "window": {}, "version": {}}
        if self.keys:
            record["business_key"] = [self.entry(*key) for key in self.keys]
        if self.map[0] is not None:
            record["measures"]["map"] = ("/" if self.map[1] else "") + self.map[0].path()
        for name, (target, said, leaf, whole) in self.fields.items():
            entry = self.entry(leaf, whole, said)
            if target == "measure":
                record["measures"][name] = entry
            elif "." in name:
                record[name.split(".")[0]][name.split(".")[1]] = entry
            else:
                record[name] = entry
        return {key: value for key, value in record.items() if value}

    def expect(self, message, item, read):
        """The record of one item as {name: value}; raises Malformed or Skip."""
        def value(name):
            target, said, leaf, whole = self.fields[name]
            return finish(target, said, *read(leaf, message if whole else item))
        values = {}
        names = sorted(self.fields, key=lambda name: name != "op")
        for name in names:
            values[name] = value(name)
        parts = []
        for leaf, whole, said in self.keys:
            part = finish("key", said, *read(leaf, message if whole else item), in_list=True)
            if part is None:
                raise Malformed
            parts.append(part.replace("~", "~0").replace("/", "~1"))
        values["business_key"] = "/".join(parts)
        values["measures"] = {}
        if self.map[0] is not None:
            leaf, whole = self.map
            values["measures"] = {name: as_number(leaf.kind[4:], seen, {})
                                  for name, seen in leaf.get(message if whole else item).items() if seen != ""}
        return normal(values)


def normal(values):
    """What of them a record's JSON shows."""
    record = {}
    for name in ("business_key", "metric_version", "contributor", "sequence", "emitted_at"):
        if values.get(name) not in (None, ""):
            record[name] = values[name]
    start, end = values.get("window.start"), values.get("window.end")
    if start is not None or end is not None:
        record["window"] = {k: v for k, v in (("start", start), ("end", end)) if v is not None and
                            (v != 0 or (start is not None and end is not None))}
    version = (values.get("version.epoch") or 0, values.get("version.number") or 0)
    op = values.get("op") or "ASSERT"
    if version[1]:
        record["retracts_version" if op == "RETRACT" else "result_version"] = version
    for name, plain in (("op", "ASSERT"), ("status", "PROVISIONAL"), ("cause", None)):
        if values.get(name) not in (None, plain):
            record[name] = values[name]
    measures = values["measures"] | {name: values[name] for name in ("m1", "m2") if values.get(name) is not None}
    if measures:
        record["measures"] = measures
    return record


def read_time(value):
    if isinstance(value, str) and "T" in value:
        return time_us(value)
    return int(value)


def time_us(text):
    """Also years before 1, which datetime has not."""
    date, _, rest = text.partition("T")
    year, month, day = (int(part) for part in date.split("-"))
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    clock, _, fraction = rest.rstrip("Z").partition(".")
    hour, minute, second = (int(part) for part in clock.split(":"))
    return (days * 86400 + hour * 3600 + minute * 60 + second) * 10**6 + int((fraction or "0").ljust(6, "0"))


def printed(line):
    """A line of the driver in the form of `normal`."""
    got = json.loads(line, parse_float=str, parse_int=str)
    record = {}
    for name, value in got.items():
        if name == "window":
            record[name] = {k: read_time(v) for k, v in value.items()}
        elif name in ("result_version", "retracts_version"):
            record[name] = (int(value["epoch"]), int(value["number"])) if isinstance(value, dict) else (0, int(value))
        elif name == "emitted_at":
            record[name] = read_time(value)
        elif name == "sequence":
            record[name] = int(value)
        elif name == "measures":
            record[name] = {k: "[]" if isinstance(v, list) else Decimal(v) if number_text(v) else v for k, v in value.items()}
        else:
            record[name] = value
    return record


# ---- the two readers beside each other ----

class Run:
    def __init__(self, driver, folder):
        self.driver, self.folder, self.failures = driver, folder, 0
        self.seen = {"record": 0, "malformed": 0, "skipped": 0, "message malformed": 0, "message skipped": 0}

    def decode(self, decode, messages):
        path = os.path.join(self.folder, "decode.yaml")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(decode, out)
        done = subprocess.run([self.driver, path], input=b"".join(varint(len(m)) + m for m in messages),
                              capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(f"the driver says {done.returncode}: {done.stderr.decode()}\n{json.dumps(decode)}")
        lines = iter(done.stdout.decode("utf-8").split("\n"))
        for _ in messages:
            head = next(lines)
            yield head, [next(lines) for _ in range(int(head[2:]))] if head[0] == "+" else []

    def differ(self, decode, message, got, wanted):
        self.failures += 1
        if self.failures <= 5:
            print("DIFFERENT\n  mapping", json.dumps(decode), "\n  message", message, "\n  got", got, "\n  wanted", wanted)

    def compare(self, decode, message, head, lines, wanted):
        """wanted: a list of records, 'malformed' or 'skipped' each; or one of the words for the whole message."""
        if isinstance(wanted, str):
            self.seen["message " + wanted] += 1
            if not head.startswith({"malformed": "! malformed", "skipped": "- skipped"}[wanted]):
                self.differ(decode, message, (head, lines), wanted)
            return
        if head != f"+ {len(wanted)}":
            self.differ(decode, message, (head, lines), wanted)
            return
        for line, want in zip(lines, wanted):
            self.seen[want if isinstance(want, str) else "record"] += 1
            got = line.split(" ")[0] if line[0] != "{" else printed(line)
            if got != want:
                self.differ(decode, message, line, want)


def expected(mapping, message, items, read):
    wanted = []
    for item in items:
        try:
            # A record that its op skips is not held against the other fields.
            if "op" in mapping.fields:
                target, said, leaf, whole = mapping.fields["op"]
                finish(target, said, *read(leaf, message if whole else item))
            wanted.append(mapping.expect(message, item, read))
        except Skip:
            wanted.append("skipped")
        except Malformed:
            wanted.append("malformed")
    return wanted or "skipped"


def skip_rule(rng, top):
    pool = [leaf for leaf in top if leaf.kind in ("enum", "bool", "json")]
    if not pool or rng.random() < 0.7:
        return None, {}
    leaf = rng.choice(pool)
    return leaf, {"/" + leaf.path(): ["true" if leaf.kind == "bool" else "LATE"]}


def skips(leaf, message, read):
    if leaf is None:
        return False
    kind, value = read(leaf, message)
    return value is not None and chosen(kind, value, {"true" if kind == "bool" else "LATE": "x"}) is not None


def run_proto(run, rng, schema, count):
    descriptor = schema.root.DESCRIPTOR
    lists = item_lists(descriptor, [], lambda m: m, 1)
    top = leaves(descriptor, [], lambda m: m, 2)
    each = rng.choice(lists) if lists and rng.random() < 0.5 else None
    here = leaves(each[1], [], lambda m: m, 2) if each else top
    mapping = Mapping(rng, each, here, top)
    rule, skip = skip_rule(rng, top)
    set_path = os.path.join(run.folder, "set.binpb")
    with open(set_path, "wb") as out:
        out.write(schema.set.SerializeToString())
    decode = {"protobuf": {"descriptor_set": set_path, "message": descriptor.full_name}, "record": mapping.record()}
    decode.update({"each": ".".join(each[0])} if each else {})
    decode.update({"skip": skip} if skip else {})

    def read(leaf, message):
        return leaf.kind, leaf.get(message)
    messages = []
    for _ in range(count):
        message = message_bytes(rng, descriptor, 3)
        messages.append(message[:rng.randrange(len(message) + 1)] if rng.random() < 0.05 else message)
    for message, (head, lines) in zip(messages, run.decode(decode, messages)):
        try:
            parsed = schema.root.FromString(message)
        except DecodeError:
            run.compare(decode, message, head, lines, "malformed")
            continue
        items = each[2](parsed) if each else [parsed]
        wanted = "skipped" if skips(rule, parsed, read) else expected(mapping, parsed, items, read)
        run.compare(decode, message, head, lines, wanted)


# ---- JSON ----

class Number(str):
    """A number of JSON as its text."""


class Twice(Exception):
    pass


NAMES = ["a", "b", "c.d", "e"]


def json_leaf(steps):
    def get(document):
        for step in steps:
            if document is None:
                return None
            if not isinstance(document, dict):
                raise Malformed
            document = document.get(step)
        return document
    return Leaf(steps, "json", get)


def json_kind(value):
    if isinstance(value, (dict, list)):
        raise Malformed
    return "json_number" if isinstance(value, Number) else "bool" if isinstance(value, bool) else "text"


def json_value(rng, depth):
    kind = rng.random()
    if depth and kind < 0.03:
        return json_text(rng, depth - 1)
    if kind < 0.4:
        return rng.choice(["0", "1", "2", "1704103200000", "12345678901"])
    if kind < 0.5:
        return rng.choice(["0", "-0", "1", "7", "1704103200", "1704103200000", "1704103259.999", "9223372036854775808",
                           "18446744073709551615", "12345678901234567890123.45", "1e3", "-1.5E-2", "0.000", "1e400", "1.50"])
    if kind < 0.85:
        return json.dumps(rng.choice(TEXTS), ensure_ascii=rng.random() < 0.5)
    return rng.choice(["true", "false", "null"])


def json_text(rng, depth, wanted=()):
    """wanted: {name: depth of objects below}"""
    parts = []
    for name in rng.sample(NAMES + ["unknown"], rng.randrange(2, 6)):
        inside = name in wanted and rng.random() < 0.95
        parts.append((name, json_text(rng, 0) if inside else json_value(rng, depth)))
    if rng.random() < 0.02:
        parts.append((rng.choice(parts)[0], "1"))
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in parts) + "}"


def run_json(run, rng, count):
    items = rng.random() < 0.5
    here = [json_leaf([name]) for name in NAMES[:3]] + [json_leaf(["e", name]) for name in NAMES[:3]]
    top = [json_leaf(["top"])] if items else here
    mapping = Mapping(rng, "rows" if items else None, here, top)
    decode = {"json": {}, "record": mapping.record()}
    decode.update({"each": "rows"} if items else {})
    used = [(leaf, whole) for _, _, leaf, whole in mapping.fields.values()] + [key[:2] for key in mapping.keys]
    messages = []
    for _ in range(count):
        text = json_text(rng, 1, {"e"})
        if items:
            rows = ", ".join(json_text(rng, 1, {"e"}) for _ in range(rng.randrange(4)))
            text = '{"rows": [%s], "top": %s}' % (rows, json_value(rng, 0))
        messages.append(text[:rng.randrange(len(text))].encode() if rng.random() < 0.03 else text.encode())

    def hook(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            found["\0twice"] = {name for name in found if sum(name == other for other, _ in pairs) > 1}
        return found

    def check(document, leaf):
        """A name that is read and stands twice; something that is no object where one is."""
        for step in leaf.steps:
            if step in document.get("\0twice", ()):
                raise Malformed
            document = document.get(step)
            if document is None:
                return
            if step != leaf.steps[-1] and not isinstance(document, dict):
                raise Malformed
        if isinstance(document, (dict, list)):
            raise Malformed

    def read(leaf, document):
        value = leaf.get(document)
        return ("text", None) if value is None else (json_kind(value), value)
    for message, (head, lines) in zip(messages, run.decode(decode, messages)):
        try:
            document = json.loads(message.decode(), parse_int=Number, parse_float=Number, object_pairs_hook=hook)
            rows = document["rows"] if items else [document]
            for leaf, whole in used:
                for row in [document] if whole else rows:
                    check(row, leaf)
        except (ValueError, Malformed):
            run.compare(decode, message, head, lines, "malformed")
            continue
        run.compare(decode, message, head, lines, expected(mapping, document, rows, read))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("driver")
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder, localcontext() as context:
        context.prec, context.Emax, context.Emin = 2000, 10**9, -10**9
        run = Run(args.driver, folder)
        per = 5
        for number in range(20):
            schema = Schema(rng, number)
            for _ in range(max(1, args.messages // 20 // per)):
                run_proto(run, rng, schema, per)
                run_json(run, rng, per)
    print(args.messages, "messages of protobuf, as many of JSON:", run.seen)
    if run.failures or min(run.seen.values()) == 0:
        print(run.failures, "differ")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
