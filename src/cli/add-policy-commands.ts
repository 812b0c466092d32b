import type { Command } from 'commander';
import { CONFIG_OPTION } from './config-option.ts';
import { KEY_OPTION, serviceOf, URL_OPTION } from './service-options.ts';

interface TestOptions {
  readonly config: string;
  readonly tool: string;
  readonly args: string;
  readonly metadata: string;
  readonly agent?: string;
  readonly requester?: string;
  readonly session?: string;
}

/** `policy lint`, `policy test` and `policy explain`: none of them changes anything. */
export function addPolicyCommands(program: Command): void {
  const policy = program.command('policy').description('which calls need people, and which people');

  policy
    .command('lint')
    .description(
      'list rules that do nothing, or not what they seem to; exits 0 when there are none, 1 otherwise',
    )
    .option(...CONFIG_OPTION)
    .action(async ({ config }: { readonly config: string }) => {
      const { policyLint } = await import('./policy-lint.ts');
      process.exitCode = await policyLint({ configFile: config });
    });

  policy
    .command('test')
    .description('say what would be asked about a call that has not happened, and why')
    .requiredOption('--tool <name>', 'full name of the tool')
    .option('--args <json>', 'its arguments', '{}')
    .option('--agent <id>', 'who asks; default: the first agent that may use the tool')
    .option('--requester <person>', "for whom; default: the agent's owner")
    .option('--session <name>', 'what the agent calls the session')
    .option('--metadata <json>', 'what the agent sends along', '{}')
    .option(...CONFIG_OPTION)
    .action(async (options: TestOptions) => {
      const { policyTest } = await import('./policy-test.ts');
      const { config: configFile, tool, args, metadata } = options;
      const { agent = null, requester = null, session = null } = options;
      process.exitCode = await policyTest({ configFile, tool, args, metadata, agent, requester, session });
    });

  policy
    .command('explain')
    .description('ask a running service why a request was made, and who could approve it')
    .argument('<id>', 'of the confirmation')
    .option(...URL_OPTION)
    .option(...KEY_OPTION)
    .option('--json', 'the answer as it came', false)
    .action(
      async (
        id: string,
        { json, ...options }: { readonly url?: string; readonly key?: string; readonly json: boolean },
      ) => {
        const { policyExplain } = await import('./policy-explain.ts');
        const service = serviceOf({ ...options, environment: process.env });
        process.exitCode = await policyExplain({ ...service, id, json });
      },
    );
}
