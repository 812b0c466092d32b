#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { LOCALES, type Locale } from '../locale.ts';
import { packageRoot } from '../package-root.ts';
import { addFreezeCommands } from './add-freeze-commands.ts';

/** Exit codes: 0 stopped in order, 2 the configuration is wrong, 1 anything else. */
const { version } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as {
  version: string;
};

const program = new Command('countersign')
  .description('A human-approval gate for agents, in the chat people already use.')
  .version(version)
  .exitOverride();

const configOption = ['-c, --config <file>', 'the configuration', 'countersign.yaml'] as const;

program
  .command('serve')
  .description('run the service')
  .option(...configOption)
  .action(async ({ config }: { config: string }) => {
    const { serve } = await import('./serve.ts');
    process.exitCode = await serve({ configFile: config });
  });

program
  .command('demo')
  .description('run everything on loopback: the service, both chats, an agent, a payment system')
  .option('--auto', 'play the whole story without anybody, print it, and exit')
  .option('--port <port>', 'port of the page; 0 is any free port', '8788')
  .action(async ({ auto, port }: { auto?: boolean; port: string }) => {
    const { demo } = await import('../demo/demo.ts');
    process.exitCode = await demo({ auto: auto ?? false, port: Number(port) });
  });

program
  .command('doctor')
  .description('check the configuration, the database and each channel, and say what to mend')
  .option(...configOption)
  .action(async ({ config }: { config: string }) => {
    const { doctor } = await import('./doctor.ts');
    process.exitCode = await doctor({ configFile: config });
  });

const policy = program.command('policy').description('which calls need people, and which people');
policy
  .command('lint')
  .description(
    'list rules that do nothing, or not what they seem to; exits 0 when there are none, 1 otherwise',
  )
  .option(...configOption)
  .action(async ({ config }: { config: string }) => {
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
  .option(...configOption)
  .action(async ({ config, tool, args, metadata, ...who }: Record<string, string>) => {
    const { policyTest } = await import('./policy-test.ts');
    const { agent = null, requester = null, session = null } = who;
    process.exitCode = await policyTest({
      ...{ configFile: config ?? '', tool: tool ?? '', args: args ?? '{}', metadata: metadata ?? '{}' },
      ...{ agent, requester, session },
    });
  });
policy
  .command('explain <id>')
  .description('ask a running service why a request was made, and who could approve it')
  .requiredOption('--url <url>', 'where the service listens')
  .option('--key <key>', 'a key of an auditor, an admin or a person; default: COUNTERSIGN_KEY')
  .addOption(new Option('--locale <locale>', 'language of the answer').choices(LOCALES).default('en-US'))
  .option('--json', 'the answer as it came')
  .action(async (id: string, options: { url: string; key?: string; locale: Locale; json?: boolean }) => {
    const { policyExplain } = await import('./policy-explain.ts');
    const key = options.key ?? process.env.COUNTERSIGN_KEY ?? '';
    process.exitCode = await policyExplain({ ...options, id, key, json: options.json ?? false });
  });
addFreezeCommands(program);

const audit = program.command('audit').description('the record');
audit
  .command('verify')
  .description('recompute both chains; exits 0 when nothing was changed, 1 when something was')
  .option(...configOption)
  .action(async ({ config }: { config: string }) => {
    const { auditVerify } = await import('./audit-verify-command.ts');
    process.exitCode = await auditVerify({ configFile: config });
  });

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = isUsage(error) ? error.exitCode : 1;
  if (!isUsage(error)) console.error(error instanceof Error ? error.message : String(error));
}

function isUsage(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number';
}
