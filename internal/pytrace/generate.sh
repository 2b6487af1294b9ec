#!/bin/sh
# Compiles an agent: generate.sh FILE [FOLDER].
set -e
cd "$(dirname "$0")/${2:-agent}"
object=$(mktemp)
trap 'rm -f "$object"' EXIT
clang-19 --target=x86_64-linux-gnu -O2 -Wall -Wextra -Wno-unused-parameter -fPIE -ffreestanding -fno-builtin -fno-stack-protector -fcf-protection=none \
	-mno-sse -mgeneral-regs-only -fno-jump-tables -fvisibility=hidden -fno-asynchronous-unwind-tables -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -c agent.c -o "$object"
ld -m elf_x86_64 -T ../agent/agent.ld "$object" -o "$1"
chmod 644 "$1"
