import { SANDBOX_HOME } from '../sandbox.ts';
import { MAX_LISTED_LEVELS, MAX_LISTED_PATH_BYTES } from '../split-entry-path.ts';

/*
 * The scripts that the gateway runs in a container, with the rights of its commands. Nothing that they print is trusted:
 * a malicious command can replace it, and gains nothing, because the files are its own.
 */

/** Exit codes of the functions of `RUNNER`. */
export const NO_SUCH_FILE = 44;

/**
 * Process 1 of a container. It reaps the processes that commands leave. Its child ends when the standard input ends, and
 * when the gateway has written nothing for a minute: then the gateway has ended, and the container ends, too. If a command
 * kills the child, there is another one.
 */
export const KEEPER = `umask 022
mkdir -p -m 700 ${SANDBOX_HOME}
while :; do
  bash -c 'while IFS= read -r -t 60 _; do :; done; exit 0' <&0 &
  wait $!
  (($? == 0)) && exit
done`;

export const HEARTBEAT_MS = 15_000;

/**
 * Runs the scripts that it reads: a line with a length, then the script. Ends the output of each with a mark in both
 * streams, because they travel separately. Scripts write errors to descriptor 3: descriptor 2 has messages of bash about
 * killed processes.
 *
 * Argument: the marker.
 */
export const RUNNER = `exec 3>&2 2>/dev/null
export LC_ALL=C
umask 022
mark=$1
home=${SANDBOX_HOME}
parents() {
  local rest=$1 at=.
  while [[ $rest == */* ]]; do
    at+=/\${rest%%/*}
    rest=\${rest#*/}
    [[ -d $at && ! -L $at ]] || return 1
  done
}
open_file() {
  local try
  for try in 1 2 3 4 5; do # a command can replace the file between two of these steps
    parents "$1" && [[ -f ./$1 && ! -L ./$1 ]] || return ${NO_SUCH_FILE}
    [[ -r ./$1 ]] || chmod u+r -- "./$1" || continue
    exec {opened}<"./$1" && return
  done
  return 1
}
remove() {
  parents "$1" || return 0
  [[ -e ./$1 || -L ./$1 ]] || return 0
  rm -rf -- "./$1" 2>/dev/null && return 0
  local above=./$1
  chmod u+rwx -- "\${above%/*}" 2>/dev/null
  [[ -d ./$1 && ! -L ./$1 ]] && find -P "./$1" -type d ! -perm -700 -exec chmod u+rwx {} \\;
  rm -rf -- "./$1"
}
make_folder() {
  local rest=$1 at=
  while [[ -n $rest ]]; do
    at+=\${at:+/}\${rest%%/*}
    if [[ -d ./$at && ! -L ./$at ]]; then
      [[ -w ./$at && -x ./$at ]] || chmod u+rwx -- "./$at" || return 1
    else
      remove "$at" && mkdir -- "./$at" || return 1
    fi
    [[ $rest == */* ]] && rest=\${rest#*/} || rest=
  done
}
make_way() {
  if [[ $1 == */* ]]; then make_folder "\${1%/*}" || return 1; fi
  make_room "$1"
}
make_room() {
  if [[ -d ./$1 && ! -L ./$1 ]]; then remove "$1"; fi
}
is_held() {
  local file pid
  for file in /proc/[0-9]*/fd/[12]; do
    pid=\${file#/proc/}
    [[ \${pid%%/*} == "$$" ]] && continue
    [[ $file -ef /proc/$$/fd/1 || $file -ef /proc/$$/fd/3 ]] && return 0
  done
  return 1
}
while IFS= read -r size && ((size > 0)); do
  script=$(head -c "$size"; printf x)
  [[ -d $home && ! -L $home ]] || { rm -rf -- "$home"; mkdir -m 700 -- "$home"; }
  cd -- "$home" || { chmod u+rwx -- "$home"; cd -- "$home"; }
  eval "\${script%x}"
  code=$?
  printf '%se%d\\n' "$mark" "$code"
  printf '%se%d\\n' "$mark" "$code" >&3
done`;

/** Runs the script at the beginning of its standard input, which has the given number of bytes. */
export const READ_SCRIPT = 'eval "$(head -c "$1")"';

/**
 * Functions that start no process, so they work when none can start. They stop a process as soon as they find it, so that it
 * creates no other one meanwhile.
 *
 * `kill_left MAX SESSION…` kills the processes that belong neither to the gateway nor to a given session, if they have more
 * threads than MAX. The gateway's own are those in the sessions of processes whose parent is outside of the container. It
 * does nothing if it is no such process itself.
 */
const KILL_FUNCTIONS = `read_stat() {
  local text=
  IFS= read -r -d '' text 2>/dev/null </proc/$1/stat
  fields=(\${text##*) })
}
list_left() { # of processes that are not kept: their ids in left, and the number of their threads
  local file pid session
  left=() threads=0
  for file in /proc/[0-9]*/stat; do
    pid=\${file#/proc/} pid=\${pid%/stat}
    read_stat "$pid"
    session=\${fields[3]}
    [[ -z $session || \${fields[0]} == Z ]] && continue
    local own=\${fields[1]} of=\${fields[17]}
    if [[ -z \${kept[$session]} ]]; then
      ((own == 0)) || { read_stat "$session"; own=\${fields[1]:-1}; }
      ((own == 0)) && kept[$session]=yes || kept[$session]=no
    fi
    [[ \${kept[$session]} == yes ]] && continue
    [[ $1 == stop ]] && kill -STOP "$pid" 2>/dev/null
    left+=("$pid") threads=$((threads + of))
  done
}
kill_left() {
  local max=$1 turn session
  local -A kept=([0]=yes)
  shift
  for session in "$@"; do kept[$session]=yes; done
  read_stat $$
  ((fields[1] == 0)) || return 1
  list_left
  ((threads > max)) || return 1
  for turn in {1..50}; do
    list_left stop
    ((\${#left[@]})) || return 0
    kill -KILL "\${left[@]}" 2>/dev/null
  done
}
kill_session() {
  local session=$1 turn found file pid
  for turn in {1..50}; do
    found=()
    for file in /proc/[0-9]*/stat; do
      pid=\${file#/proc/} pid=\${pid%/stat}
      read_stat "$pid"
      [[ \${fields[3]} == "$session" && \${fields[0]} != Z ]] && kill -STOP "$pid" 2>/dev/null && found+=("$pid")
    done
    ((\${#found[@]})) || return 0
    kill -KILL "\${found[@]}" 2>/dev/null
  done
  return 1
}`;

/** Kills the session of the argument. */
export const KILL_SESSION = `${KILL_FUNCTIONS}
kill_session "$1"`;

/** What `KILLER` prints when it reads lines. Then it needs no further process. */
export const KILLER_READY = 'ready\n';

/** Calls the function of each line that it reads: a number, the function and its arguments. Prints the number and the exit code. */
export const KILLER = `${KILL_FUNCTIONS}
printf '${KILLER_READY.trimEnd()}\\n'
while read -r number call; do
  $call
  printf '%s %d\\n' "$number" $?
done 2>/dev/null`;

const QUOTE = Buffer.from("'");
const QUOTED_QUOTE = Buffer.from("'\\''");

/** Quotes bytes for bash. */
export function quote(bytes: Uint8Array | string): Buffer {
  const all = Buffer.from(bytes as Uint8Array); // both overloads do the same here
  const parts: Uint8Array[] = [QUOTE];
  let start = 0;
  for (let at = all.indexOf(QUOTE); at !== -1; at = all.indexOf(QUOTE, start)) {
    parts.push(all.subarray(start, at), QUOTED_QUOTE);
    start = at + 1;
  }
  return Buffer.concat([...parts, all.subarray(start), QUOTE]);
}

/** A script with quoted values. */
export function script(texts: TemplateStringsArray, ...values: (Uint8Array | string | number)[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text, at) => {
      const value = values[at];
      const written = typeof value === 'number' ? Buffer.from(String(value)) : value === undefined ? [] : quote(value);
      return [Buffer.from(text), ...[written].flat()];
    }),
  );
}

/** A script of functions of `RUNNER`, with their errors in the stream for errors. */
export const reportErrors = (commands: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from('{ '), commands, Buffer.from('\n} 2>&3')]);

const FIELDS = String.raw`%y\0%m\0%s\0%T@\0%C@\0%i\0%.${MAX_LISTED_PATH_BYTES}P\0%l\0`;
/** Messages about entries that commands changed meanwhile. */
const CHANGED = 'No such file or directory|Not a directory|changed during|Too many levels of symbolic links';

/**
 * Lists the home folder: eight fields of each entry, then `e` and a code, each ended by a NUL. Another code than 0 says that
 * entries are missing.
 */
export const LIST = `{
  missing=$(
    find -P . -xdev -mindepth 1 -maxdepth ${MAX_LISTED_LEVELS} -ignore_readdir_race '(' -type f -o -type d -o -type l ')' \
      -printf '${FIELDS}' -type d ! -perm -500 -exec chmod u+rx {} ';' 2>&1 >&5 | grep -cvE '${CHANGED}'
    ((PIPESTATUS[0] <= 1)) || echo killed
  )
} 5>&1
[[ $missing == 0 ]]
printf 'e%d\\0' $?`;

/** Prints the entries and the bytes of the file system of the home folder, without the two folders it begins with. */
export const MEASURE_SYSTEM = `set -- $(stat -f -c '%c %d %b %f %S' .); echo $(($1 - $2 - 2)) $((($3 - $4) * $5))`;

/** Prints the entries and the bytes of the home folder. */
export const MEASURE_FILES = `echo $(find . -xdev -mindepth 1 -printf x | wc -c) $(du -xsB1 . | cut -f1)`;

/**
 * Runs a command in its own session, with a lower priority than the scripts of the gateway. Its first process marks its
 * process id, which is the id of the session.
 *
 * @param marker of the runner
 * @param processes maximum number that the command sets for its user; 0: the container has a limit
 */
export function writeCommand(
  marker: string,
  command: string,
  environment: Readonly<Record<string, string>>,
  processes: number,
): Buffer {
  const limit = processes > 0 ? `ulimit -u ${processes}; ` : '';
  const inner = `printf "%ss%d\\n" "$0" $$ >&2; ${limit}exec bash -c "$1"`;
  const variables = Object.entries(environment).flatMap(([name, value]) => [
    Buffer.from(' '),
    quote(`${name}=${value}`),
  ]);
  return Buffer.concat([
    Buffer.from('setsid nice -n 19 env -i'),
    ...variables,
    script` bash -c ${inner} ${marker} ${command} </dev/null 2>&3 3>&- &`,
    Buffer.from(' wait $!'),
  ]);
}

/**
 * Runs a process in its own session. Marks the id of the session and the exit code in its standard error, which is
 * only for that.
 */
export function writeProgram(marker: string, command: string, environment: Readonly<Record<string, string>>): Buffer {
  const inner = `cd -- ${SANDBOX_HOME}; printf "%ss%d\\n" "$0" $$ >&3; exec 3>&- bash -c "$1"`;
  const variables = Object.entries(environment).flatMap(([name, value]) => [
    Buffer.from(' '),
    quote(`${name}=${value}`),
  ]);
  return Buffer.concat([
    Buffer.from('exec 3>&2 2>/dev/null; setsid env -i'),
    ...variables,
    script` bash -c ${inner} ${marker} ${command} <&0 & exec </dev/null >/dev/null; wait $!; printf "%se%d\\n" ${marker} $? >&3`,
  ]);
}
