#!/usr/bin/python3
"""Messages of examples/attach, from the texts that people read.

attach.py messages FOLDER   prints one line a message: its headers as NAME=VALUE, with ';' between them, a tab, its bytes in hex
attach.py write FOLDER      makes the binary files of a folder anew: the descriptor set, by protoc-c, and example.binpb
attach.py check FOLDER...   sees that the binary files are those that `write` makes, and that README's YAML stands in a configuration

messages.jsonl has one message a line; an empty line is a message without a payload. messages.txtpb has messages in
protobuf's text format with a blank line between them; a comment `# Name: value` is a header of its message.
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import subprocess
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format


def schema_of(folder):
    """The files of the descriptor set and of the schema, and the name of the message."""
    config = (folder / "config.yaml").read_text()
    found = re.search(r"protobuf: \{descriptor_set: ([\w.]+), message: ([\w.]+)\}", config)
    return found and (folder / found[1], (folder / found[1]).with_suffix(".proto"), found[2])


def class_of(folder):
    descriptor_set, _, name = schema_of(folder)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptor_set.read_bytes()).file:
        pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(name))


def protobuf_messages(folder):
    made = class_of(folder)
    for block in (folder / "messages.txtpb").read_text().strip().split("\n\n"):
        headers = re.findall(r"^# ([A-Za-z0-9-]+): (.+)$", block, re.M)
        yield headers, text_format.Parse(block, made()).SerializeToString(deterministic=True)


def messages(folder):
    if schema_of(folder):
        yield from protobuf_messages(folder)
    else:
        for line in (folder / "messages.jsonl").read_text().splitlines():
            yield [], line.encode()


def compile_schema(folder):
    """The bytes of a descriptor set. google/protobuf is that of the tests: protoc-c does not bring it."""
    google = pathlib.Path(__file__).parent.parent / "unit" / "mapping"
    command = ["protoc-c", f"--proto_path={folder}", f"--proto_path={google}", "--descriptor_set_out=/dev/stdout",
               "--include_imports", schema_of(folder)[1].name]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def write(folder):
    if schema_of(folder):
        schema_of(folder)[0].write_bytes(compile_schema(folder))
        (folder / "example.binpb").write_bytes(next(messages(folder))[1])


def same_schema(folder):
    """Compares what the sets say, not their bytes: those may differ between compilers."""
    read = descriptor_pb2.FileDescriptorSet.FromString
    return read(compile_schema(folder)) == read(schema_of(folder)[0].read_bytes())


def check(folder):
    if not schema_of(folder):
        return True
    made = class_of(folder)
    example = made.FromString((folder / "example.binpb").read_bytes())
    good = same_schema(folder) and example == made.FromString(next(messages(folder))[1])
    if not good:
        print(f"{folder}: the binary files are not those of the texts; run `attach.py write {folder}`")
    return good


def told(folders):
    """The YAML of README's section on attaching is a part of one of the configurations, letter by letter."""
    readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
    section = re.search(r"^## Attach .*?^## ", readme, re.M | re.S)
    blocks = section and re.findall(r"^```yaml\n(.*?)^```", section[0], re.M | re.S)
    configs = [(folder / "config.yaml").read_text() for folder in folders]
    good = bool(blocks) and all(any(block in config for config in configs) for block in blocks)
    if not good:
        print("README.md, Attach: its YAML is not that of a configuration in examples/attach")
    return good


def main(words):
    folders = [pathlib.Path(word) for word in words[1:]]
    if words[0] == "messages":
        for headers, payload in messages(folders[0]):
            print(";".join(f"{name}={value}" for name, value in headers), payload.hex(), sep="\t")
    elif words[0] == "write":
        write(folders[0])
    else:
        sys.exit(0 if folders and all([check(folder) for folder in folders] + [told(folders)]) else 1)


main(sys.argv[1:])
