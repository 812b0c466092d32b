import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type {
  Channel,
  ChannelKind,
  Config,
  HookContext,
  HookKind,
  LoadedConfig,
  OnError,
  PreToolUseResult,
  RunningService,
} from '../../src/index.ts';
import * as api from '../../src/index.ts';
import { packageRoot } from '../../src/package-root.ts';

/** What somebody outside writes, with the public names alone; that it compiles is part of the test. */
class NoWeekendPayments extends api.PreToolUseHook {
  readonly name = 'no-weekend-payments';
  readonly onError: OnError = 'deny';
  override readonly priority = 50;

  override shouldTrigger({ toolName }: HookContext): boolean {
    return toolName.startsWith('bank__');
  }

  async execute(context: HookContext): Promise<PreToolUseResult> {
    return context.metadata.writes ? { allow: false, error: 'No payments at the weekend.' } : { allow: true };
  }
}

const noWeekendPayments: HookKind<Record<string, never>> = {
  name: 'no-weekend-payments',
  options: z.strictObject({}),
  create: () => new NoWeekendPayments(),
};

describe('the public API', () => {
  it('is exactly this list of values', () => {
    expect(Object.keys(api).sort()).toEqual([
      'AUDIT_KINDS',
      'BLOCK_CODES',
      'CHANNEL_KINDS',
      'CountersignError',
      'ERRORS',
      'HOOK_KINDS',
      'LOCALES',
      'PostToolUseHook',
      'PreToolUseHook',
      'REASON_MODES',
      'SessionStartHook',
      'ToolSettledHook',
      'createLogger',
      'digestOf',
      'formatFault',
      'loadConfig',
      'secretsOf',
      'startService',
      'systemClock',
    ]);
  });

  it('names what it gives: nothing is exported wholesale', () => {
    expect(readFileSync(join(packageRoot, 'src', 'index.ts'), 'utf8')).not.toMatch(/export \*/);
  });

  it('takes a hook written with it', () => {
    const hook = noWeekendPayments.create({}, {} as Parameters<(typeof noWeekendPayments)['create']>[1]);
    expect(hook).toBeInstanceOf(api.PreToolUseHook);
    expect(hook.name).toBe(noWeekendPayments.name);
  });

  it('goes from a text to a configuration, and tells every fault of one that is wrong', () => {
    const loaded = api.loadConfig({
      text: 'organisation: acme\nlocale: fr-FR\n',
      fileName: 'countersign.yaml',
      environment: {},
      channelKinds: api.CHANNEL_KINDS,
      hookKinds: [...api.HOOK_KINDS, noWeekendPayments],
    });
    if (loaded.kind !== 'faulty') throw new Error('It loaded.');
    const lines = loaded.faults.map((fault) => api.formatFault('countersign.yaml', fault));
    expect(lines.join('\n')).toMatch(/organization[\s\S]*locale|locale[\s\S]*organization/);
  });

  it('has the types that belong together', () => {
    expectTypeOf<Extract<LoadedConfig, { kind: 'loaded' }>['config']>().toEqualTypeOf<Config>();
    expectTypeOf(api.startService).returns.resolves.toEqualTypeOf<RunningService>();
    expectTypeOf<ReturnType<ChannelKind<unknown>['create']>>().toEqualTypeOf<Channel>();
    expectTypeOf<keyof typeof api.ERRORS>().toEqualTypeOf<api.ErrorCode>();
  });
});
