#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { packageRoot } from '../package-root.ts';
import { addChannelCommands } from './add-channel-commands.ts';
import { addFreezeCommands } from './add-freeze-commands.ts';
import { addPolicyCommands } from './add-policy-commands.ts';
import { bearClosedPipe } from './bear-closed-pipe.ts';
import { CONFIG_OPTION } from './config-option.ts';
import { faultMessage } from './fault-message.ts';
import { wholeNumber } from './whole-number.ts';

/** Exit codes: 0 stopped in order, 2 the configuration is wrong, 1 anything else. */
const { version } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as {
  version: string;
};

bearClosedPipe(process.stdout);
bearClosedPipe(process.stderr);

const program = new Command('countersign')
  .description('A human-approval gate for agents, in the chat people already use.')
  .version(version)
  .exitOverride();

program
  .command('serve')
  .description('run the service')
  .option(...CONFIG_OPTION)
  .action(async ({ config }: { config: string }) => {
    const { serve } = await import('./serve.ts');
    process.exitCode = await serve({ configFile: config });
  });

program
  .command('demo')
  .description('run everything on loopback: the service, both chats, an agent, a payment system')
  .option('--auto', 'play the whole story without anybody, print it, and exit')
  .option('--port <port>', 'port of the page; 0 is any free port', wholeNumber(0, 65_535), 8788)
  .action(async ({ auto, port }: { auto?: boolean; port: number }) => {
    const { demo } = await import('../demo/demo.ts');
    process.exitCode = await demo({ auto: auto ?? false, port });
  });

program
  .command('doctor')
  .description('check the configuration, the database and each channel step by step, and say what to mend')
  .option('--send', 'also post a card without buttons into each chat, and change it')
  .option(...CONFIG_OPTION)
  .action(async ({ config, send }: { config: string; send?: boolean }) => {
    const { doctor } = await import('./doctor.ts');
    process.exitCode = await doctor({ configFile: config, send: send ?? false });
  });

addPolicyCommands(program);
addChannelCommands(program);
addFreezeCommands(program);

const audit = program.command('audit').description('the record');
audit
  .command('verify')
  .description('recompute both chains; exits 0 when nothing was changed, 1 when something was')
  .option(...CONFIG_OPTION)
  .action(async ({ config }: { config: string }) => {
    const { auditVerify } = await import('./audit-verify-command.ts');
    process.exitCode = await auditVerify({ configFile: config });
  });
audit
  .command('check')
  .description(
    'verify an export, without the service and its database; exits 0 when nothing in it was changed',
  )
  .argument('<file>', 'what GET /v1/audit/export answered')
  .option('--head <head>', 'a head kept elsewhere: its number and hash, in quotes')
  .option('--selection', 'the export was filtered: events may be missing between others')
  .action(async (file: string, { head, selection }: { head?: string; selection?: boolean }) => {
    const { auditCheck } = await import('./audit-check.ts');
    process.exitCode = await auditCheck({ file, head: head ?? null, selection: selection ?? false });
  });

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = isUsage(error) ? error.exitCode : 1;
  if (!isUsage(error)) console.error(faultMessage(error));
}

function isUsage(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number';
}
