import { Command, type ErrorOptions } from 'commander';

/** A command whose errors say what is missing and where the help is, in the form of all other errors. */
export class CliCommand extends Command {
  override createCommand(name: string): CliCommand {
    return new CliCommand(name);
  }

  override error(message: string, options?: ErrorOptions): never {
    const help = `"${this.path} --help" lists ${this.commands.length > 0 ? 'the commands' : 'the options, with examples'}.`;
    return super.error(`headgate: ${this.explain(message, options)}\n${help}`, options);
  }

  /** The words that call the command: `headgate keys create`. */
  private get path(): string {
    const names: string[] = [];
    for (let command: Command | null = this; command; command = command.parent) names.unshift(command.name());
    return names.join(' ');
  }

  private explain(message: string, { code }: ErrorOptions = {}): string {
    if (code === 'commander.missingMandatoryOptionValue') {
      const missing = this.options.filter(
        (option) => option.mandatory && this.getOptionValue(option.attributeName()) === undefined,
      );
      return list(
        'option',
        missing.map(({ flags, description }) => [flags, description]),
      );
    }
    if (code === 'commander.missingArgument') {
      const missing = this.registeredArguments.filter(
        (argument, at) => argument.required && this.args[at] === undefined,
      );
      return list(
        'argument',
        missing.map((argument) => [`<${argument.name()}>`, argument.description]),
      );
    }
    const text = message.replace(/^error: /, '').replace(/^option '(.+)' argument missing$/, '$1 needs a value');
    return text.charAt(0).toUpperCase() + text.slice(1) + (/[.)?]$/.test(text) ? '' : '.');
  }
}

/** Lists what a command needs, with its description. */
function list(what: string, missing: readonly (readonly [name: string, description: string])[]): string {
  const width = Math.max(...missing.map(([name]) => name.length));
  const lines = missing.map(([name, description]) => `  ${name.padEnd(width)}  ${description}`);
  return [missing.length === 1 ? `A required ${what} is missing:` : `Required ${what}s are missing:`, ...lines].join(
    '\n',
  );
}
