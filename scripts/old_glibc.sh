#!/bin/sh
# Makes DIR, of which the linker takes the C library as it was in glibc 2.28: it binds a function to the
# newest version that is known where it links, and older systems lack that one. Prints the LDFLAGS that
# link so (libgcc_s stays shared: its interface is older).
# Usage: old_glibc.sh DIR
set -eu
dir=$1
cc=${CC:-cc}
mkdir -p "$dir"

# A library without code: the names that 2.28 had, at the newest versions of then. Data keep size and
# aliases, since a program has a copy of them (stderr; environ, which is __environ).
objdump -T "$("$cc" -print-file-name=libc.so.6)" | awk -v versions="$dir/versions" '
    NF < 6 { next }
    { version = $(NF - 1); gsub(/[()]/, "", version) }
    /\*UND\*|\*ABS\*/ || version !~ /^GLIBC_[0-9.]+$/ { next }
    {
        split(substr(version, 7), part, ".")
        order = part[1] * 1000000 + part[2] * 1000 + part[3]
        if (order > 2028000 || order < newest[$NF]) next
        newest[$NF] = order; of[$NF] = version; address[$NF] = $1
        size[$NF] = "0x" $(NF - 2); type[$NF] = / DO / ? "object" : "function"
        binding[$NF] = / w / ? "weak" : "globl"
    }
    END {
        for (name in of) {
            place = type[name] address[name]
            labels[place] = labels[place] sprintf(".%s %s\n.type %s, %%%s\n.size %s, %s\n%s:\n",
                binding[name], name, name, type[name], name, size[name], name)
            room[place] = type[name] == "object" ? size[name] : 1
            names[of[name]] = names[of[name]] " " name ";"
        }
        for (place in labels) {
            print place ~ /^object/ ? ".data\n.balign 32" : ".text"
            printf "%s.skip %s\n", labels[place], room[place]
        }
        for (version in names) print version " {" names[version] " };" >versions
    }' >"$dir/libc.s"
"$cc" -shared -nostdlib -Wl,-soname,libc.so.6 "-Wl,--version-script=$dir/versions" \
    -o "$dir/libc.so.6" "$dir/libc.s"

# What a newer static C++ library asks for and 2.28 had not yet. 0 is right of every process: it means
# that there may be threads.
cat >"$dir/missing.c" <<'END'
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#pragma GCC visibility push(hidden)
char __libc_single_threaded = 0;
int stat(const char *path, void *found) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, found, 0);
}
int lstat(const char *path, void *found) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, void *found) { return (int)syscall(SYS_fstat, file, found); }
/* On processors of 64 bits these are the same. */
int stat64(const char *path, void *found) { return stat(path, found); }
int lstat64(const char *path, void *found) { return lstat(path, found); }
int fstat64(int file, void *found) { return fstat(file, found); }
uint32_t arc4random(void) {
    uint32_t drawn;
    if (syscall(SYS_getrandom, &drawn, sizeof drawn, 0) != sizeof drawn) abort();
    return drawn;
}
END
"$cc" -O2 -fPIC -c -o "$dir/missing.o" "$dir/missing.c"
ar rcs "$dir/libmissing.a" "$dir/missing.o"

# Names without a folder are looked for in DIR. The three libraries had then what libc has today.
{
    echo 'GROUP ( libc.so.6 libmissing.a'
    for library in libdl.so.2 libpthread.so.0 librt.so.1 libc_nonshared.a; do
        echo "\"$("$cc" -print-file-name=$library)\""
    done
    echo "AS_NEEDED ( \"$("$cc" -print-file-name="$(basename "$(readelf -d "$("$cc" -print-file-name=libc.so.6)" |
        sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')")")\" ) )"
} >"$dir/libc.so"
echo "-L$dir -static-libstdc++ -Wl,--no-as-needed,--allow-shlib-undefined"
