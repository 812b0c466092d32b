import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Card, CardActions } from '../../src/channel/card.ts';
import { argumentText } from '../../src/confirmation/argument-text.ts';
import { cardOf } from '../../src/confirmation/card-of.ts';
import type { ConfirmationRequest, Rerun, Revocation } from '../../src/confirmation/confirmation-request.ts';
import type { FollowedRejection } from '../../src/confirmation/followed-rejection.ts';
import type { Freeze } from '../../src/confirmation/freeze.ts';
import { leavesOf, valueAt } from '../../src/confirmation/json-pointer.ts';
import { zonedTime } from '../../src/confirmation/zoned-time.ts';
import type { ConfirmationId, InvocationId, RunId } from '../../src/ids.ts';
import type { JsonObject } from '../../src/json.ts';
import { LOCALES, type Locale } from '../../src/locale.ts';
import {
  approvedRequest,
  CREATED_AT,
  closedRequest,
  EXECUTE_BY,
  LI_WEI,
  pendingRequest,
  SETTLED_AT,
  vote,
  WANG_FANG,
  ZHAO_MIN,
} from './sample-request.ts';

const card = (request: ConfirmationRequest, locale: Locale = 'zh-CN', freeze: Freeze | null = null): Card =>
  cardOf({ request, freeze, locale, timeZone: 'Asia/Shanghai', publicUrl: 'https://gate.acme.example' });

const settled = (status: 'succeeded' | 'failed', source: 'executor' | 'agent' | 'settlement') =>
  ({
    status,
    source,
    at: SETTLED_AT,
    executeBy: EXECUTE_BY,
    detail: null,
    settledBy: source === 'settlement' ? WANG_FANG : null,
  }) as const;

const unknown = (changes: { readonly settleOpen?: boolean; readonly rerun?: Rerun }) =>
  ({
    status: 'unknown',
    source: 'timeout',
    at: SETTLED_AT,
    executeBy: EXECUTE_BY,
    detail: null,
    settleFrom: EXECUTE_BY,
    settleOpen: true,
    rerun: null,
    ...changes,
  }) as const;

const OTHER = '01980000-0000-7000-8000-000000000002' as ConfirmationId;
const FOLLOWED: FollowedRejection = {
  id: OTHER,
  at: CREATED_AT,
  by: LI_WEI,
  reason: '金额与合同不符，请改为 60,000',
  sameArguments: false,
  samePolicy: true,
};
/** The call of one of our runs, of a tool that may run again. */
const OF_RUN = {
  runId: '01980000-0000-7000-8000-0000000000aa' as RunId,
  invocationId: '01980000-0000-7000-8000-0000000000bb' as InvocationId,
  toolIdempotent: true,
};

const revoked = (revocation: Revocation) =>
  ({ status: 'revoked', at: SETTLED_AT, executeBy: EXECUTE_BY, ...revocation }) as const;

const COOLING = approvedRequest({
  status: 'unclaimed',
  executableFrom: SETTLED_AT,
  executeBy: EXECUTE_BY,
  coolingOff: true,
});

const FREEZE: Freeze = {
  id: '01980000-0000-7000-8000-0000000000ff',
  tools: ['oa__*'],
  reason: '供应商账户被盗，核实中',
  startedAt: SETTLED_AT,
  startedBy: WANG_FANG,
  endRequested: null,
  ended: null,
};

const EVERY_STATE: Readonly<Record<string, ConfirmationRequest>> = {
  'pending, nobody voted': pendingRequest(),
  'pending, one of two approved': pendingRequest({ votes: [vote(LI_WEI, 'approve')], version: 2 }),
  'pending, requester named by the agent, hidden characters, no payee': pendingRequest({
    requesterNamedByAgent: true,
    args: { amount: 68000, currency: 'CNY', memo: 'abc\u202Efdp' },
    session: 'chat-77',
  }),
  approved: approvedRequest({
    status: 'unclaimed',
    executableFrom: SETTLED_AT,
    executeBy: EXECUTE_BY,
    coolingOff: false,
  }),
  'approved, cooling off': COOLING,
  executing: approvedRequest({
    status: 'claimed',
    at: SETTLED_AT,
    executeBy: EXECUTE_BY,
    sendBy: EXECUTE_BY,
  }),
  succeeded: approvedRequest(settled('succeeded', 'executor')),
  'succeeded, reported by an outside agent': approvedRequest(settled('succeeded', 'agent')),
  failed: approvedRequest({ ...settled('failed', 'executor'), detail: 'HTTP 422: payee is blocked' }),
  unknown: approvedRequest(unknown({})),
  'unknown, and the old attempt may still go out': {
    ...approvedRequest(unknown({ settleOpen: false })),
    ...OF_RUN,
  },
  'unknown, of a tool that may run again': { ...approvedRequest(unknown({})), ...OF_RUN },
  'unknown, and running again was asked for': {
    ...approvedRequest(unknown({ rerun: { by: LI_WEI, reason: '银行说没有收到', confirmation: OTHER } })),
    ...OF_RUN,
    supersededBy: OTHER,
  },
  'pending, running an unknown one again': { ...pendingRequest(), ...OF_RUN, supersedes: OTHER },
  'pending, in place of one with other arguments': { ...pendingRequest(), supersedes: OTHER },
  'pending, after a rejection by the same people': pendingRequest({ follows: FOLLOWED }),
  'pending, after a rejection of the same call under another policy': pendingRequest({
    follows: { ...FOLLOWED, sameArguments: true, samePolicy: false },
  }),
  'failed, settled by a person': approvedRequest(settled('failed', 'settlement')),
  lapsed: approvedRequest({ status: 'lapsed', at: SETTLED_AT, executeBy: EXECUTE_BY, detail: null }),
  'revoked by what changed': approvedRequest(revoked({ detail: 'tool_changed', by: null, reason: null })),
  'revoked by a freeze': approvedRequest(revoked({ detail: 'frozen', by: null, reason: null })),
  'revoked by an approver': approvedRequest(
    revoked({ detail: 'revoked', by: LI_WEI, reason: '收款账号不对 \u202E' }),
  ),
  'revoked for other arguments': {
    ...approvedRequest(revoked({ detail: 'superseded', by: null, reason: null })),
    supersededBy: OTHER,
  },
  'withdrawn by who asked': approvedRequest(revoked({ detail: 'cancelled', by: null, reason: null })),
  rejected: closedRequest(
    { status: 'rejected', by: LI_WEI, reason: '金额与合同不符' },
    { votes: [vote(LI_WEI, 'reject', '金额与合同不符')] },
  ),
  expired: closedRequest({ status: 'expired' }, { votes: [vote(LI_WEI, 'approve')] }),
  'cancelled by a person': closedRequest({ status: 'cancelled', by: ZHAO_MIN }),
  'cancelled by the agent': closedRequest({ status: 'cancelled' }),
  'cancelled with its run': { ...closedRequest({ status: 'cancelled', reason: 'run_ended' }), ...OF_RUN },
  'cancelled in words that are those of a run': closedRequest({ status: 'cancelled', reason: 'run_ended' }),
  superseded: closedRequest({ status: 'cancelled', code: 'superseded' }),
  undeliverable: closedRequest({ status: 'undeliverable' }),
};

describe('a card', () => {
  it.each(LOCALES)('reads right in every state, in %s', async (locale) => {
    const pages = Object.entries(EVERY_STATE).map(
      ([name, request]) => `=== ${name}\n${drawn(card(request, locale))}`,
    );
    pages.push(`=== pending, frozen\n${drawn(card(pendingRequest(), locale, FREEZE))}`);
    pages.push(`=== cooling off, frozen\n${drawn(card(COOLING, locale, FREEZE))}`);
    await expect(pages.join('\n')).toMatchFileSnapshot(`snapshots/cards.${locale}.txt`);
  });

  it('offers to decide, to revoke while it cools off, to settle what nobody knows, and else nothing', () => {
    for (const request of Object.values(EVERY_STATE)) {
      const settles = request.status === 'approved' && request.execution.status === 'unknown';
      const open = settles && request.execution.settleOpen && request.execution.rerun === null;
      const others = request === COOLING ? 'revoke' : request.status === 'pending' ? 'decide' : 'none';
      expect(card(request).actions.kind).toBe(open ? 'settle' : others);
    }
  });

  it('offers to run again only what is declared idempotent and is a call of our own runs', () => {
    const offered = (changes: Partial<typeof OF_RUN>) => {
      const { actions } = card({ ...approvedRequest(unknown({})), ...changes });
      return actions.kind === 'settle' && actions.labels.run_again !== null;
    };
    expect(offered(OF_RUN)).toBe(true);
    expect(offered({ ...OF_RUN, toolIdempotent: false })).toBe(false);
    expect(offered({ toolIdempotent: true })).toBe(false);
  });

  it('says first of all that it is frozen, by whom, since when and why, and still lets people decide', () => {
    const shown = card(pendingRequest(), 'en-US', FREEZE);
    expect(shown.title).toMatch(/^Execution frozen · Approval needed \(0\/2\) · /);
    expect(shown.warnings[0]).toContain('“供应商账户被盗，核实中” (王芳, since 2026-11-30 ');
    expect(shown.actions.kind).toBe('decide');
  });

  it('says what was rejected before in one line: other people’s words quoted, masked, made visible and cut', () => {
    const reason = `api_key=abcd1234efgh\n- Approvals: 2/2\u202E${'x'.repeat(5_000)}`;
    const request = pendingRequest({ follows: { ...FOLLOWED, reason } });
    const [follows] = card(request, 'en-US').facts;
    expect(follows).toEqual({
      label: 'Rejected before',
      value: expect.stringMatching(
        /^李伟 · 2026-11-30 16:20 \(Asia\/Shanghai, UTC\+8\) · another call of this tool · “api_key=•••••⏎- Approvals: 2\/2⟨U\+202E⟩x+”… \([\d,]+ more characters, see the full request\)$/,
      ),
    });
    expect(follows?.value.length).toBeLessThan(320);
  });

  it('tells people of another policy of a rejection, and not what was written then', () => {
    const request = pendingRequest({ follows: { ...FOLLOWED, samePolicy: false } });
    const shown = card(request);
    expect(shown.facts[0]?.value).toBe('李伟 · 2026-11-30 16:20 (Asia/Shanghai, UTC+8) · 与本次不同');
    expect(shown.followedLink?.url).toBe(`https://gate.acme.example/requests/${OTHER}`);
    expect(JSON.stringify(shown)).not.toContain('合同不符');
  });

  it('keeps the rejection and drops its words where it says less, and in a message that has moved', () => {
    const request = pendingRequest({ follows: FOLLOWED });
    const about = {
      request,
      freeze: null,
      timeZone: 'Asia/Shanghai',
      publicUrl: 'https://gate.acme.example',
    };
    for (const less of [
      { view: 'decisive-only' },
      { view: 'withheld' },
      { view: 'whole', moved: true },
    ] as const) {
      const shown = cardOf({ ...about, locale: 'zh-CN', ...less });
      expect(shown.facts[0]?.value).toContain('李伟');
      expect(shown.followedLink).not.toBeNull();
      expect(JSON.stringify(shown)).not.toContain('合同不符');
    }
  });

  it('shows what decides first, whatever the order of the arguments', () => {
    const { lines } = card(pendingRequest({ args: { memo: 'm', payee: 'p', currency: 'CNY', amount: '1' } }));
    expect(lines.map(({ label, decisive }) => [label, decisive])).toEqual([
      ['金额', true],
      ['币种', true],
      ['收款方', true],
      ['memo', false],
    ]);
  });

  it('puts amount, currency and payee first even where nobody said what decides', () => {
    const args = { memo: 'm', payee: 'p', currency: 'CNY', amount: '1' };
    const { lines } = card(pendingRequest({ args, decisiveFields: [] }));
    expect(lines.map(({ label }) => label)).toEqual(['amount', 'currency', 'payee', 'memo']);
  });

  it('cannot approve where amount, currency or payee is absent, null or empty, and says so', () => {
    for (const payee of [undefined, null, '']) {
      const args: JsonObject = { amount: '1', currency: 'CNY', ...(payee === undefined ? {} : { payee }) };
      const shown = card(pendingRequest({ args }), 'en-US');
      expect(shown.actions).toMatchObject({ kind: 'decide', approvable: false });
      expect(shown.warnings).toEqual([
        'The arguments hold no payee (/payee), so this card cannot approve. The full request is for reading; approve over the API with your own key.',
      ]);
    }
  });

  it('shows another decisive field that is absent as not given, and can still approve', () => {
    const shown = card(
      pendingRequest({ args: { a: 1 }, decisiveFields: [{ role: 'other', pointer: '/b/c' }] }),
    );
    expect(shown.lines[0]).toEqual({ label: 'b.c', value: '（未提供）', decisive: true });
    expect(shown.actions).toMatchObject({ approvable: true });
  });

  it('shows a decisive object whole, as JSON, and not a second time', () => {
    const args = { amount: { value: '68000.00', unit: 'CNY' }, currency: 'CNY', payee: ['甲', '乙'] };
    const shown = card(pendingRequest({ args }));
    expect(shown.lines.map(({ value }) => value)).toEqual([
      '{"value":"68000.00","unit":"CNY"}',
      'CNY',
      '["甲","乙"]',
    ]);
    expect(shown.actions).toMatchObject({ approvable: true });
    expect(shown.title).toBe('待审批（0/2） · oa__purchase_pay');
  });

  it('never cuts a decisive value, and cuts others with a visible mark', () => {
    const long = '甲'.repeat(5_000);
    const shown = card(pendingRequest({ args: { amount: '1', currency: 'CNY', payee: long, memo: long } }));
    expect(shown.lines[2]?.value).toBe(long);
    expect(shown.lines[3]?.value).toMatch(/^甲{500}…（还有 4,500 个字符，请查看完整请求）$/);
  });

  it('counts the arguments it does not show', () => {
    const args = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`item${index}`, index]));
    const { lines, linesLeftOut } = card(pendingRequest({ args, decisiveFields: [] }), 'en-US');
    expect(lines).toHaveLength(40);
    expect(linesLeftOut).toBe(960);
  });

  it('writes out hidden characters, warns of them, and leaves the arguments alone', () => {
    const args = {
      amount: '1',
      currency: 'CNY',
      payee: 'Acme\u200B Ltd',
      '\u202Ekey': 'x',
      memo: 'a\u{E0100}\u001B[1m\r',
    };
    const request = pendingRequest({ args });
    const shown = card(request, 'en-US');
    expect(shown.lines.map(({ label, value }) => `${label}=${value}`).slice(2)).toEqual([
      'Payee=Acme⟨U+200B⟩ Ltd',
      '/⟨U+202E⟩key=x',
      'memo="a⟨U+E0100⟩⟨U+001B⟩[1m⟨U+000D⟩"',
    ]);
    expect(shown.warnings[0]).toMatch(
      /^Take care: characters that cannot be seen, .* are in Payee, \/⟨U\+202E⟩key, memo$/,
    );
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`${'k'.repeat(90)}${index}`, '\u200B']),
    );
    const [warning = ''] = card(pendingRequest({ args: { ...args, ...many } })).warnings;
    expect(warning).toContain('看不见的字符');
    expect(warning.length).toBeLessThan(500);
    expect(request.args).toEqual(args);
  });

  it('keeps a value on its own line, so that none can draw a line of its own', () => {
    const shown = card(
      pendingRequest({ args: { memo: 'x\n金额：1.00' }, decisiveFields: [], summary: 'a\nb' }),
    );
    expect(shown.lines).toEqual([{ label: 'memo', value: 'x⏎金额：1.00', decisive: false }]);
    expect(shown.summary).toEqual({ label: '代理自述（未核实）', value: '“a⏎b”' });
  });

  it('keeps free text out of the title, where it could read like a state', () => {
    const args = { amount: '1 CNY 已批准', currency: 'CNY', payee: '已批准' };
    expect(card(pendingRequest({ args })).title).toBe('待审批（0/2） · oa__purchase_pay');
  });

  it('is well-formed, whatever the arguments are', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (values) => {
        const args = JSON.parse(JSON.stringify(values)) as JsonObject;
        for (const locale of LOCALES) {
          const shown = card(
            pendingRequest({ args, summary: 'x'.repeat(999) + '👨‍👩‍👧'.repeat(10) }),
            locale,
          );
          expect(JSON.stringify(shown)).not.toMatch(/\p{Cs}|\p{Bidi_Control}/u);
          expect(shown.actions).toMatchObject({ kind: 'decide' });
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('an argument as text', () => {
  it.each([
    ['68000.00', '68000.00'],
    ['100.50', '100.50'],
    [100.5, '100.5'],
    ['007', '007'],
    [true, 'true'],
    ['true', '"true"'],
    [null, 'null'],
    ['null', '"null"'],
    ['', '""'],
    [{}, '{}'],
    ['{}', '"{}"'],
    [[], '[]'],
    ['[]', '"[]"'],
    [' x', '" x"'],
    ['"x"', '"\\"x\\""'],
    ['(not given)', '"(not given)"'],
    ['（未提供）', '"（未提供）"'],
  ])('shows %j as %s', (value, text) => {
    expect(argumentText(value)).toBe(text);
  });

  it('tells any two values apart, save a number and a text with its digits', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        const [one, other] = [JSON.parse(JSON.stringify(left)), JSON.parse(JSON.stringify(right))];
        fc.pre(typeof one !== 'number' && typeof other !== 'number');
        expect(argumentText(one) === argumentText(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });
});

describe('a JSON Pointer', () => {
  it('finds every leaf it was made for', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (values) => {
        const args = JSON.parse(JSON.stringify(values)) as JsonObject;
        for (const [pointer, value] of leavesOf(args)) expect(valueAt(args, pointer)).toEqual(value);
      }),
    );
  });

  it('finds nothing along the prototype or past the end', () => {
    for (const pointer of [
      '/constructor',
      '/__proto__',
      '/list/1',
      '/list/-',
      '/list/00',
      '/text/0',
      'list',
    ]) {
      expect(valueAt({ list: [1], text: 'x' }, pointer)).toBeUndefined();
    }
  });
});

describe('a deadline', () => {
  it.each([
    ['Asia/Shanghai', '2026-11-30 18:20 (Asia/Shanghai, UTC+8)'],
    ['UTC', '2026-11-30 10:20 (UTC, UTC+0)'],
    ['Asia/Kolkata', '2026-11-30 15:50 (Asia/Kolkata, UTC+5:30)'],
    ['America/New_York', '2026-11-30 05:20 (America/New_York, UTC-5)'],
  ])('reads with its offset in %s', (timeZone, text) => {
    expect(zonedTime(new Date('2026-11-30T10:20:59Z'), timeZone)).toBe(text);
  });

  it('reads 00:00 at midnight, never 24:00', () => {
    expect(zonedTime(new Date('2026-11-29T16:00:00Z'), 'Asia/Shanghai')).toMatch(/^2026-11-30 00:00 /);
  });
});

/** A card as plain text, for people who review its wording. */
function drawn(shown: Card): string {
  return [
    `# ${shown.title}`,
    ...shown.lines.map(({ label, value, decisive }) => `${decisive ? '*' : ' '} ${label}: ${value}`),
    ...shown.warnings.map((warning) => `! ${warning}`),
    ...(shown.summary === null ? [] : [`> ${shown.summary.label}: ${shown.summary.value}`]),
    ...[...shown.facts, ...shown.references].map(({ label, value }) => `- ${label}: ${value}`),
    ...shown.outcome.map(({ label, value }) => `= ${label}: ${value}`),
    ...buttonsOf(shown.actions),
    `(${shown.linkLabel}: ${shown.link})`,
    ...(shown.followedLink === null ? [] : [`(${shown.followedLink.label}: ${shown.followedLink.url})`]),
    ...(shown.digest === null ? [] : [`~ ${shown.digest.label}: ${shown.digest.value}`]),
    '',
  ].join('\n');
}

function buttonsOf(actions: CardActions): string[] {
  switch (actions.kind) {
    case 'none':
      return [];
    case 'revoke':
      return [`[${actions.label}]`];
    case 'settle': {
      const { succeeded, failed, run_again: again, detail } = actions.labels;
      return [`<${detail}> [${[succeeded, failed, ...(again === null ? [] : [again])].join('] [')}]`];
    }
    case 'decide':
      return [`[${actions.approvable ? `${actions.labels.approve}] [` : ''}${actions.labels.reject}]`];
  }
}
