import { Command, type Option, type ParseOptionsResult } from 'commander';
import { hint } from '../config/nearest.ts';

/**
 * A command that rejects misspelt, valueless and repeated options, while commander parses them:
 * before it reports a missing one, since `--amont 5` is a misspelt amount, not a missing one.
 */
export class StrictCommand extends Command {
  readonly #seen = new Map<string, string>();
  #args: readonly string[] = [];

  override createCommand(name?: string): Command {
    return new StrictCommand(name);
  }

  override addOption(option: Option): this {
    const { long, variadic } = option;
    if (long !== undefined && option.required)
      this.on(`option:${option.name()}`, (value: string) => {
        this.#checkForgotten(long, value);
        if (!variadic) this.#checkRepeated(long, value);
      });
    return super.addOption(option);
  }

  override parseOptions(args: string[]): ParseOptionsResult {
    this.#args = args;
    const parsed = super.parseOptions(args);
    // A command with commands below it passes what it does not know to one of them.
    if (this.commands.length === 0) this.#checkUnknown(parsed.unknown);
    return parsed;
  }

  #checkUnknown(unknown: readonly string[]): void {
    const [first = ''] = unknown;
    const [flag = ''] = first.split('=');
    const known = this.#flags();
    if (!flag.startsWith('--') || flag === '--' || flag === '--help' || known.includes(flag)) return;
    this.#reject(`error: unknown option '${flag}'${hint(flag, known)}`);
  }

  /**
   * An option where a value belongs is a forgotten value; `--memo=--kind` passes it as the value.
   */
  #checkForgotten(flag: string, value: string): void {
    if (this.#flags().includes(value) && !this.#args.includes(`${flag}=${value}`))
      this.#reject(`error: option '${flag}' has no value before '${value}'`);
  }

  #checkRepeated(flag: string, value: string): void {
    const before = this.#seen.get(flag);
    if (before !== undefined && before !== value && !this.#mayRepeat(flag))
      this.#reject(`error: option '${flag}' is given twice, as '${before}' and as '${value}'`);
    this.#seen.set(flag, value);
  }

  /**
   * A caller may override the paths and the options of `up` that a script sets; options that change
   * the ledger may not repeat.
   */
  #mayRepeat(flag: string): boolean {
    return this.name() === 'up' || flag === '--config' || flag === '--data-dir';
  }

  #flags(): readonly string[] {
    return this.options.map(({ long }) => long ?? '');
  }

  #reject(message: string): never {
    return this.error(message, { exitCode: 2 });
  }
}
