/** Languages of programs. */
export type CodeLanguage = 'python' | 'javascript';

/** Prints the value of a last line that is an expression, as notebooks do. Reads the program from its input. */
const pythonRunner = `import ast, linecache, sys, traceback
source = sys.stdin.read()
linecache.cache["program.py"] = (len(source), None, source.splitlines(True), "program.py")
body = ast.parse(source, "program.py").body
last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
scope = {"__name__": "__main__"}
try:
    exec(compile(ast.Module(body, []), "program.py", "exec"), scope)
    value = eval(compile(ast.Expression(last.value), "program.py", "eval"), scope) if last else None
    if value is not None: print(repr(value))
except Exception as error:
    traceback.print_exception(type(error), error, error.__traceback__.tb_next)
    sys.exit(1)`;

/**
 * Writes the command that runs a program. The program is in a variable, so that no character of it has a meaning for
 * the shell.
 */
export function writeProgramCommand(
  code: string,
  language: CodeLanguage,
): { command: string; environment: Record<string, string> } {
  const [program, runner] =
    language === 'python' ? ['python3', `python3 -c '${pythonRunner}'`] : ['node', 'node --input-type=commonjs -'];
  const missing = `echo "The container has no ${program}." >&2; exit 127`;
  return {
    command: `command -v ${program} >/dev/null || { ${missing}; }; printf %s "$PROGRAM" | env -u PROGRAM ${runner}`,
    environment: { PROGRAM: code },
  };
}
