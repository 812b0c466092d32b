import type { Command } from 'commander';
import { KEY_OPTION, serviceOf, URL_OPTION } from './service-options.ts';

interface Options {
  readonly url?: string;
  readonly key?: string;
}

const write = (line: string): void => console.log(line);
const { env: environment } = process;

/** `freeze`, `unfreeze` and `freezes`: they ask a running service, under the key of the person at the terminal. */
export function addFreezeCommands(program: Command): void {
  program
    .command('freeze')
    .description('stop every tool that a glob matches, at once; ending it takes two people')
    .argument('<globs...>', 'full tool names with * for any part; "*" is everything')
    .requiredOption('--reason <text>', 'why; it stands on every card')
    .option(...URL_OPTION)
    .option(...KEY_OPTION)
    .action(async (tools: string[], { reason, ...options }: Options & { readonly reason: string }) => {
      const { runFreeze } = await import('./freeze-commands.ts');
      process.exitCode = await runFreeze({ ...serviceOf({ ...options, environment }), write, tools, reason });
    });

  program
    .command('unfreeze')
    .description('ask for the end of a freeze; the second person to ask ends it')
    .argument('<id>', 'as `countersign freezes` shows it')
    .option(...URL_OPTION)
    .option(...KEY_OPTION)
    .action(async (id: string, options: Options) => {
      const { runUnfreeze } = await import('./freeze-commands.ts');
      process.exitCode = await runUnfreeze({ ...serviceOf({ ...options, environment }), write, id });
    });

  program
    .command('freezes')
    .description('list the freezes that have not ended')
    .option(...URL_OPTION)
    .option(...KEY_OPTION)
    .action(async (options: Options) => {
      const { runFreezes } = await import('./freeze-commands.ts');
      process.exitCode = await runFreezes({ ...serviceOf({ ...options, environment }), write });
    });
}
