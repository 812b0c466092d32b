import { z } from 'zod';
import type { Locale, LocalizedText } from '../locale.ts';
import { type ApiAnswer, callApi, type ServiceAddress, UNREACHABLE } from './call-api.ts';

/** What the commands need of the world around them; the tests bring their own. */
export interface FreezeCommand extends ServiceAddress {
  readonly locale: Locale;
  readonly write: (line: string) => void;
}

const act = z.object({ at: z.string(), by: z.object({ id: z.string(), name: z.string() }) });
const freeze = z.object({
  id: z.string(),
  tools: z.array(z.string()),
  reason: z.string(),
  startedAt: z.string(),
  startedBy: act.shape.by,
  endRequested: act.nullable(),
  ended: act.nullable(),
});
type Freeze = z.infer<typeof freeze>;

/** `countersign freeze <globs…>`: 0 once nothing that matches can be claimed any more. */
export async function runFreeze(
  command: FreezeCommand & { readonly tools: readonly string[]; readonly reason: string },
): Promise<number> {
  const { tools, reason } = command;
  const answer = await callApi(command, { method: 'POST', path: '/v1/freezes', body: { tools, reason } });
  return report(command, answer, 201, freeze, (started) => [
    TEXTS.started,
    describe(started, command.locale),
  ]);
}

/** `countersign unfreeze <id>`: 0 where the request is on the record; what it prints says whether that ended it. */
export async function runUnfreeze(command: FreezeCommand & { readonly id: string }): Promise<number> {
  const path = `/v1/freezes/${encodeURIComponent(command.id)}`;
  const answer = await callApi(command, { method: 'DELETE', path });
  const expected = answer.kind === 'answered' && answer.status === 202 ? 202 : 200;
  return report(command, answer, expected, freeze, (ending) => [
    ending.ended === null ? TEXTS.endRequested : TEXTS.ended,
    describe(ending, command.locale),
  ]);
}

/** `countersign freezes`: those that have not ended. */
export async function runFreezes(command: FreezeCommand): Promise<number> {
  const answer = await callApi(command, { method: 'GET', path: '/v1/freezes?active=true&limit=200' });
  return report(command, answer, 200, z.object({ items: z.array(freeze) }), ({ items }) =>
    items.length === 0 ? [TEXTS.none] : items.map((one) => describe(one, command.locale)),
  );
}

function report<T>(
  { locale, write }: FreezeCommand,
  answer: ApiAnswer,
  expected: number,
  schema: z.ZodType<T>,
  lines: (body: T) => readonly (LocalizedText | string)[],
): number {
  if (answer.kind === 'unreachable') {
    write(`${UNREACHABLE[locale]} ${answer.message}`);
    return 1;
  }
  const body = answer.status === expected ? schema.safeParse(answer.body) : null;
  if (!body?.success) {
    write(`${TEXTS.refused[locale]} ${answer.problem ?? `HTTP ${answer.status}`}`);
    return 1;
  }
  for (const line of lines(body.data)) write(typeof line === 'string' ? line : line[locale]);
  return 0;
}

function describe({ id, tools, reason, startedAt, startedBy, endRequested }: Freeze, locale: Locale): string {
  const asked = endRequested && `${TEXTS.askedBy[locale]} ${endRequested.by.name} (${endRequested.by.id})`;
  return [`${id}  ${tools.join(' ')}  “${reason}”  ${startedBy.name} (${startedBy.id}), ${startedAt}`, asked]
    .filter(Boolean)
    .join('  ');
}

const TEXTS = {
  started: {
    'zh-CN': '已冻结：从现在起，匹配的工具不能执行。解除需要两个人。',
    'en-US': 'Frozen: from now on nothing that matches can run. Ending it takes two people.',
  },
  endRequested: {
    'zh-CN': '已记录解除请求，冻结仍然有效：还需要另一个人执行同一条命令。',
    'en-US':
      'Your request to end it is on the record. It is still frozen: another person has to run the same command.',
  },
  ended: { 'zh-CN': '冻结已解除。', 'en-US': 'The freeze has ended.' },
  none: { 'zh-CN': '没有生效的冻结。', 'en-US': 'Nothing is frozen.' },
  askedBy: { 'zh-CN': '已请求解除：', 'en-US': 'end asked for by' },
  refused: { 'zh-CN': '服务拒绝：', 'en-US': 'Refused:' },
} satisfies Record<string, LocalizedText>;
