/** Variable that all processes of one command inherit. It finds those that have left the process group. */
export const COMMAND_VARIABLE = 'SANDBOX_COMMAND';

/** First byte of each message of the wrapper, the record separator of ASCII. */
export const MESSAGE_START = '\x1e';

/**
 * Runs a program, with nothing but `sh` assumed. Arguments: the folder, the program, its arguments. The first line of the
 * input is a secret that its messages begin with; the program knows it not, since it is in no argument and no variable.
 *
 * It tells its process id, which is the process group, before the program starts, and the exit code on both outputs after
 * the program has ended: bytes before that message are the program's. The engines close the outputs when the wrapper ends,
 * and a child that writes later would die of it: while a child holds an output, the wrapper stays.
 */
export const RUN_PROGRAM = `
IFS= read -r n || exit 126
cd "$1" 2>/dev/null || { printf '\\036%s folder\\n' "$n"; exit 126; }
shift
printf '\\036%s started %s\\n' "$n" "$$"
trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE
exec 3>&2 2>/dev/null
(exec 2>&3 3>&-; exec "$@")
c=$?
me=/proc/$$/fd
is_held() {
  for p in /proc/[0-9]*; do
    if [ "$p/fd" != "$me" ]; then
      for f in "$p/fd/1" "$p/fd/2"; do
        if [ "$f" -ef "$me/1" ] || [ "$f" -ef "$me/3" ]; then return 0; fi
      done
    fi
  done
  return 1
}
h=ended
if [ ! -t 1 ] && is_held; then h=held; fi
printf '\\036%s %s %s\\n' "$n" "$h" "$c"
printf '\\036%s ended\\n' "$n" >&3
if [ "$h" = held ]; then
  exec </dev/null
  while is_held; do sleep 2 >/dev/null 3>&- || break; done
fi
exit "$c"
`;

/**
 * Sends a signal to a process group. Arguments: the signal, the group (0 for none), the value of the variable. SIGKILL ends
 * what has left the group as well: three times, because a process may have been between two of its children.
 */
export const SEND_SIGNAL = `
if [ "$2" != 0 ]; then kill -"$1" -"$2" 2>/dev/null; fi
[ "$1" = KILL ] || exit 0
for round in 1 2 3; do
  found=
  for p in /proc/[0-9]*; do
    while IFS= read -r line || [ -n "$line" ]; do
      case $line in *${COMMAND_VARIABLE}="$3"*) found=1; kill -KILL "\${p#/proc/}"; break;; esac
      line=
    done <"$p/environ"
  done 2>/dev/null
  [ -n "$found" ] || exit 0
done
exit 0
`;

/** Prints the number of processes that the kernel has ended for the memory of the sandbox. */
export const COUNT_MEMORY_KILLS = `
for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  if [ -r "$f" ]; then while read -r k v; do if [ "$k" = oom_kill ]; then echo "$v"; exit 0; fi; done <"$f"; fi
done
exit 3
`;

/**
 * Lists a folder: type and mode in hexadecimal digits, size, owner and group of each entry, then the names with a NUL after
 * each. Arguments: the folder, the largest number of entries. Exit code 3: too many; 127: the image has no \`stat\`.
 */
export const LIST_FOLDER = `
cd "$1" || exit 1
max=$2
set --
for f in * .[!.]* ..?*; do
  if [ -e "$f" ] || [ -L "$f" ]; then set -- "$@" "./$f"; fi
  if [ $# -gt "$max" ]; then exit 3; fi
done
if [ $# -gt 0 ]; then stat -c '%f %s %u %g' "$@" || exit 127; fi
printf '\\n'
for f in "$@"; do printf '%s\\0' "\${f#./}"; done
`;

/** Prints type and mode, size, owner and group of an entry, as above. */
export const STAT_PATH = `stat -c '%f %s %u %g' "$1"`;

/** Removes a file or a folder. */
export const REMOVE_PATH = 'rm -rf -- "$1"';
