# Turns a text file into a C array: cmake -DIN=redis_library.lua -DOUT=library.c -DNAME=rr_redis_library -P embed.cmake
# SPDX-License-Identifier: Apache-2.0
file(READ "${IN}" hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE "${OUT}" "/* Made from redis_library.lua; change that. */\n#include \"redis_library.h\"\n\n"
     "const char ${NAME}[] = {\n    ${hex}0x00};\n")
