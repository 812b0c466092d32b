import { createHash, createHmac, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Card } from '../../src/channel/card.ts';
import type { InboundRequest, OutgoingDelivery } from '../../src/channel/channel.ts';
import {
  type CallbackReply,
  type ChannelActor,
  SETTLE_ACTIONS,
  type TapEvent,
} from '../../src/channel/inbound-event.ts';
import { type DeliveryId, newDeliveryId } from '../../src/ids.ts';
import { until } from '../support/until.ts';
import {
  type ChannelRig,
  type LackedFeatures,
  LOOK_UP_FAULTS,
  type PlatformFeature,
  type RigCallback,
  type RigWebhook,
  type ShownMessage,
} from './channel-rig.ts';
import { closedCard, coolingCard, decideActions, sampleCard, unknownCard } from './sample-card.ts';

/** What every channel promises, run against the real channel and its platform's stand-in. */
export function channelContract(input: {
  readonly name: string;
  readonly wayIn: ChannelRig['wayIn']['kind'];
  /** Names of `RigConnection.faults`; none for webhooks. */
  readonly faults?: readonly string[];
  readonly lacks?: LackedFeatures;
  readonly start: () => Promise<ChannelRig>;
}): void {
  const { lacks = {} } = input;
  const has = (feature: PlatformFeature): boolean => lacks[feature] === undefined;
  /** The name of what rests on a feature, with the reason where it has to be left out. */
  const named = (name: string, feature: PlatformFeature): string =>
    has(feature) ? name : `${name} (left out for want of ${feature}: ${lacks[feature]})`;

  const byWayIn = (name: string, wayIn: ChannelRig['wayIn']['kind']): string =>
    input.wayIn === wayIn ? name : `${name} (left out: taps come in by ${input.wayIn})`;

  describe(`the channel contract, kept by ${input.name}`, () => {
    let rig: ChannelRig;
    beforeEach(async () => {
      rig = await input.start();
    });
    afterEach(async () => {
      await rig.stop();
      expect(rig.clock.pendingTimers).toBe(0);
    });

    const outgoing = (changes: Partial<OutgoingDelivery> = {}): OutgoingDelivery => ({
      id: newDeliveryId(),
      confirmationId: sampleCard().confirmationId,
      token: 'tok_0123456789abcdef',
      rendered: rig.channel.render(sampleCard(), 'tok_0123456789abcdef'),
      attempt: 1,
      signal: new AbortController().signal,
      ...changes,
    });

    const sendCard = async (card = sampleCard(), token = 'tok_0123456789abcdef') => {
      const outcome = await rig.channel.send(outgoing({ rendered: rig.channel.render(card, token), token }));
      if (outcome.kind !== 'sent') throw new Error(`not sent: ${JSON.stringify(outcome)}`);
      return { card, token, messageId: outcome.messageId };
    };

    const onlyMessage = () => {
      expect(rig.shown()).toHaveLength(1);
      return rig.shown()[0] as ShownMessage;
    };

    const tapIn = (callback: RigCallback): Promise<TapEvent> => callback.arrive();

    const isRefused = async (request: InboundRequest): Promise<boolean> =>
      (await rig.channel.receive(request)).kind === 'refused';

    describe('a card in the chat', () => {
      it('shows what will run, who asks, the code, the deadline and both buttons', async () => {
        const { card, messageId } = await sendCard();
        const message = onlyMessage();
        expect(message.messageId).toBe(messageId);
        for (const line of [card.tool, card.verificationCode, ...card.lines.map(({ value }) => value)])
          expect(message.text).toContain(line);
        const { summary } = card;
        for (const { label, value } of [...card.facts, ...card.references, ...(summary ? [summary] : [])]) {
          expect(message.text).toContain(label);
          expect(message.text).toContain(value);
        }
        expect([...message.actions].sort()).toEqual(['approve', 'reject']);
      });

      it('is drawn the same from the same card and token', () => {
        const card = sampleCard();
        expect(rig.channel.render(card, 'a')).toEqual(rig.channel.render(card, 'a'));
      });

      it('comes to its final state on the same message, without buttons', async () => {
        const { card, token, messageId } = await sendCard();
        const closed = closedCard(card);
        const update = { ...outgoing({ rendered: rig.channel.render(closed, token) }), messageId };
        expect(await rig.channel.update(update)).toEqual({ kind: 'updated' });
        expect(await rig.channel.update(update)).toEqual({ kind: 'updated' });
        const message = onlyMessage();
        for (const { value } of closed.outcome) expect(message.text).toContain(value);
        expect(message.actions).toEqual([]);
      });

      it('offers to revoke while it cools off, and nothing else', async () => {
        const { card, token, messageId } = await sendCard();
        const rendered = rig.channel.render(coolingCard(card), token);
        expect(await rig.channel.update({ ...outgoing({ rendered }), messageId })).toEqual({
          kind: 'updated',
        });
        expect(onlyMessage()).toMatchObject({ messageId, actions: ['revoke'] });
        for (const { value } of coolingCard(card).outcome) expect(onlyMessage().text).toContain(value);
        expect(onlyMessage().text).toContain('撤回批准');
      });

      it('offers to settle what nobody knows, and to run it again only where that is offered', async () => {
        const { card, token, messageId } = await sendCard();
        const unknown = unknownCard(card);
        const show = async (shown: Card) => {
          const rendered = rig.channel.render(shown, token);
          await rig.channel.update({ ...outgoing({ rendered }), messageId });
          return onlyMessage();
        };
        const message = await show(unknown);
        expect(message.actions).toEqual(['succeeded', 'failed', 'run_again']);
        expect(message.text).toContain('再执行一次');
        for (const { value } of unknown.outcome) expect(message.text).toContain(value);
        const { actions } = unknown;
        if (actions.kind !== 'settle') throw new Error('nothing to settle');
        const once = { ...actions, labels: { ...actions.labels, run_again: null } };
        expect((await show({ ...unknown, actions: once })).actions).toEqual(['succeeded', 'failed']);
      });

      it.each(['amount', 'payee'])(
        'loses its approve button when %s cannot be shown in full',
        async (label) => {
          const value = '9'.repeat(60_000);
          const rendered = rig.channel.render(
            sampleCard({ lines: [{ label, value, decisive: true }] }),
            'tok_0123456789abcdef',
          );
          expect(rendered.decisiveShown).toBe(false);
          expect((await rig.channel.send(outgoing({ rendered }))).kind).toBe('sent');
          expect(onlyMessage().actions).toEqual(['reject']);
          expect(onlyMessage().text).not.toContain(value);
        },
      );

      it('keeps every decisive line whole while the rest gives way', async () => {
        const payee = '甲'.repeat(400);
        const lines = [
          { label: 'payee', value: payee, decisive: true },
          ...Array.from({ length: 300 }, (_, index) => ({
            label: `/items/${index}`,
            value: '乙'.repeat(2_000),
            decisive: false,
          })),
        ];
        const { messageId } = await sendCard(
          sampleCard({ lines, summary: { label: '代理自述', value: '丙'.repeat(50_000) } }),
        );
        expect(onlyMessage()).toMatchObject({ messageId, actions: ['approve', 'reject'] });
        expect(onlyMessage().text).toContain(payee);
      });

      it('has no approve button where the core says that it may not', async () => {
        await sendCard(sampleCard({ actions: decideActions('never', false) }));
        expect(onlyMessage().actions).toEqual(['reject']);
      });

      it.each(HOSTILE_TEXTS)('shows %j as it stands', async (text) => {
        const lines = [
          { label: 'payee', value: text, decisive: true },
          { label: 'memo', value: text, decisive: false },
        ];
        const summary = { label: '代理自述', value: text };
        await sendCard(sampleCard({ lines, summary, warnings: [text] }));
        expect(onlyMessage().text.split(text).length - 1).toBeGreaterThanOrEqual(3);
      });
    });

    describe('a tap', () => {
      it.each(['approve', 'reject'] as const)(
        'to %s says who, where, on what and nothing else',
        async (action) => {
          const { card, token, messageId } = await sendCard();
          const event = await tapIn(await rig.tap({ messageId, action }));
          expect(event).toMatchObject({
            type: 'tap',
            actor: {
              provider: rig.channel.address.provider,
              tenant: rig.channel.address.tenant,
              ids: rig.personIds,
              isBot: false,
            },
            app: rig.channel.address.app,
            tenant: rig.channel.address.tenant,
            chat: rig.channel.address.chat,
            messageId,
            confirmation: has('requests in buttons') ? card.confirmationId : null,
            token,
            cardVersion: card.version,
            action,
            reason: undefined,
          });
        },
      );

      it('to revoke says so, with nothing asked', async () => {
        const { card, token, messageId } = await sendCard(coolingCard(sampleCard()));
        const event = await tapIn(await rig.tap({ messageId, action: 'revoke' }));
        expect(event).toMatchObject({
          actor: { ids: rig.personIds, isBot: false },
          messageId,
          confirmation: has('requests in buttons') ? card.confirmationId : null,
          token,
          action: 'revoke',
          reason: undefined,
          openedFor: null,
        });
      });

      it.each([
        ['on-reject', 'reject'],
        ['always', 'reject'],
        ['always', 'approve'],
      ] as const)('under %s brings the reason to %s', async (mode, action) => {
        const { card, token, messageId } = await sendCard(sampleCard({ actions: decideActions(mode) }));
        const reason = '金额与合同不符 <b> & "引号"';
        const event = await tapIn(await rig.tapWithReason({ messageId, action, reason }));
        expect(event).toMatchObject({ messageId, action, token, cardVersion: card.version, reason });
      });

      it.each(SETTLE_ACTIONS)('of an unknown outcome brings what was found, with %s', async (action) => {
        const { card, token, messageId } = await sendCard(unknownCard(sampleCard()));
        const reason = '对账单第 4 行 <b> & "引号"';
        const event = await tapIn(await rig.tapWithReason({ messageId, action, reason }));
        expect(event).toMatchObject({ messageId, action, token, cardVersion: card.version, reason });
      });

      it('under on-reject approves with one tap', async () => {
        const { messageId, token } = await sendCard(sampleCard({ actions: decideActions('on-reject') }));
        const event = await tapIn(await rig.tap({ messageId, action: 'approve' }));
        expect(event).toMatchObject({ action: 'approve', token, reason: undefined });
      });

      it('is the same event however often its bytes arrive', async () => {
        const { messageId } = await sendCard();
        const callback = await rig.tap({ messageId, action: 'approve' });
        const first = await tapIn(callback);
        for (let round = 0; round < 5; round += 1)
          expect({ ...(await tapIn(callback)), handle: null }).toEqual({ ...first, handle: null });
      });

      it('is answered with HTTP 200, and the person is told in their language', async () => {
        const { messageId } = await sendCard();
        const event = await tapIn(await rig.tap({ messageId, action: 'approve' }));
        for (const reply of REPLIES) {
          const answer = rig.channel.reply(event, reply);
          expect(answer.answer.status).toBe(200);
          expect((await rig.told(event, answer)).join()).toContain(reply.notice.text['zh-CN']);
        }
      });
    });

    describe.runIf(input.wayIn === 'webhook')(
      byWayIn('a callback whose proof is not right', 'webhook'),
      () => {
        const webhook = (): RigWebhook => {
          if (rig.wayIn.kind !== 'webhook') throw new Error('this rig is not called over HTTP');
          return rig.wayIn;
        };
        const genuine = async () => {
          const { messageId } = await sendCard();
          return webhook().request({ messageId, action: 'approve' });
        };

        it('is refused with a proof header missing, empty, doubled or spelt twice', async () => {
          const request = await genuine();
          expect(await isRefused(request)).toBe(false);
          for (const name of webhook().proofHeaders) {
            const value = String(request.headers[name]);
            const { [name]: _, ...without } = request.headers;
            const bent: readonly InboundRequest['headers'][] = [
              without,
              { ...without, [name]: '' },
              { ...without, [name]: [value, value] },
              { ...without, [name]: `${value}, ${value}` },
              { ...without, [name]: [] },
            ];
            for (const headers of bent) expect(await isRefused({ ...request, headers })).toBe(true);
          }
        });

        it('is refused under another app’s secret', async () => {
          const { messageId } = await sendCard();
          const forged = await webhook().requestOfAnotherApp({ messageId, action: 'approve' });
          expect(await isRefused(forged)).toBe(true);
        });

        it.skipIf(!has('signed bodies')).each([
          [300, false],
          [301, true],
          [-300, false],
          [-301, true],
          [365 * 86_400, true],
        ])(named('signed %d s ago is refused: %s', 'signed bodies'), async (seconds, refused) => {
          const request = await genuine();
          rig.clock.step(seconds * 1000);
          expect(await isRefused(request)).toBe(refused);
        });

        it.skipIf(!has('signed bodies'))(
          named('is refused with any byte of the body changed', 'signed bodies'),
          async () => {
            const request = await genuine();
            const { body } = request;
            const step = Math.max(1, Math.floor(body.length / 40));
            for (let at = 0; at < body.length; at += step) {
              const flipped = Buffer.from(body);
              flipped[at] = (flipped[at] ?? 0) ^ 1;
              expect(await isRefused({ ...request, body: flipped })).toBe(true);
            }
            for (const bent of [
              body.subarray(1),
              body.subarray(0, -1),
              Buffer.concat([body, Buffer.from(' ')]),
            ])
              expect(await isRefused({ ...request, body: bent })).toBe(true);
          },
        );

        it.each(STRANGE_BODIES)('is refused when it carries %s', async (_name, body) => {
          expect(await isRefused({ headers: {}, body })).toBe(true);
          const { headers } = await genuine();
          const result = await rig.channel.receive({ headers, body });
          // Where the proof is a secret alone it holds for any body; then nothing is done about this one.
          if (has('signed bodies')) expect(result.kind).toBe('refused');
          else expect(result).toMatchObject({ kind: 'event', event: { type: 'unsupported' } });
        });

        it('is refused when it is another platform’s', async () => {
          const seconds = Math.floor(rig.clock.now() / 1000).toString();
          expect(await isRefused(slackCallback(seconds))).toBe(true);
          expect(await isRefused(feishuCallback(seconds))).toBe(true);
        });
      },
    );

    describe.runIf(input.wayIn === 'connection')(byWayIn('a connection of its own', 'connection'), () => {
      const connected = () => {
        const { connection } = rig.channel;
        if (rig.wayIn.kind !== 'connection' || connection === undefined)
          throw new Error('this rig does not connect');
        return { ...rig.wayIn, connection };
      };
      const whileTimePasses = async <Value>(work: Promise<Value>): Promise<Value> => {
        let settled = false;
        const done = work.finally(() => {
          settled = true;
        });
        await until(() => {
          if (!settled) rig.clock.advance(50);
          return settled;
        });
        return done;
      };
      /** Lets the back-off pass until every connection stands again. */
      const recovered = async () => {
        const { connection } = connected();
        await until(
          () => {
            rig.clock.advance(50);
            const { open, wanted } = connection.status();
            return open === wanted;
          },
          { deadlineMs: 30_000, what: 'every connection stands again' },
        );
      };
      /** A tap on a fresh card gets through and is answered. */
      const expectTapsToArrive = async () => {
        const { messageId } = await sendCard();
        // The platform may still think that a dead connection stands, and lose a tap or two to it.
        await until(
          async () =>
            (await whileTimePasses(connected().press({ messageId, action: 'approve' }))) === 'answered',
        );
      };

      it(has('several connections') ? 'stands twice at least, and says so' : 'stands, and says so', () => {
        const { connection } = connected();
        const { open, wanted, detail } = connection.status();
        if (has('several connections')) expect(wanted).toBeGreaterThanOrEqual(2);
        else expect(wanted).toBe(1);
        expect(open).toBe(wanted);
        expect(rig.channel.health()).toMatchObject({ detail: expect.stringContaining(detail) });
      });

      it('takes no callback over HTTP', async () => {
        for (const [, body] of STRANGE_BODIES) expect(await isRefused({ headers: {}, body })).toBe(true);
      });

      it.each(input.faults ?? [])('comes back after: %s', async (fault) => {
        const { connection, faults } = connected();
        faults[fault]?.();
        await until(
          () => {
            rig.clock.advance(50);
            const { open, wanted, reconnects } = connection.status();
            return open < wanted || reconnects > 0;
          },
          { deadlineMs: 30_000, what: 'the fault is noticed' },
        );
        await recovered();
        await expectTapsToArrive();
      });

      it('is not ready while it has none, and is again afterwards', async () => {
        const { faults } = connected();
        await until(() => rig.channel.health().ready);
        faults['the platform lets nobody in for a while']?.();
        await until(() => {
          rig.clock.advance(50);
          return !rig.channel.health().ready;
        });
        await recovered();
        expect(rig.channel.health().ready).toBe(true);
      });

      it('answers what is under way before it closes, and takes nothing afterwards', async () => {
        const { holdAnswers, press, received, connection } = connected();
        const { messageId } = await sendCard();
        const before = received();
        const release = holdAnswers();
        const pressed = press({ messageId, action: 'approve' });
        // On its way to the core.
        await until(() => received() > before);
        const stopped = rig.channel.stop();
        release();
        expect(await pressed).toBe('answered');
        await whileTimePasses(stopped);
        expect(connection.status().open).toBe(0);
        expect(await press({ messageId, action: 'approve' })).toBe('error');
      });
    });

    describe('sending', () => {
      it('is refused for good where the platform says so', async () => {
        rig.failNextSend('refused');
        expect((await rig.channel.send(outgoing())).kind).toBe('refused');
        expect(rig.shown()).toHaveLength(0);
      });

      it('is to be tried again, and says when, while the platform limits the rate', async () => {
        rig.failNextSend('rate-limited');
        const outcome = await rig.channel.send(outgoing());
        expect(outcome).toMatchObject({ kind: 'retry', retryAfterMs: 7_000 });
      });

      const LOST_ANSWERS = ['cut-after-accepting', 'server-error-after-accepting'] as const;

      it.each(LOST_ANSWERS)('is uncertain after %s', async (fault) => {
        rig.failNextSend(fault);
        expect((await rig.channel.send(outgoing())).kind).toBe('uncertain');
        expect(rig.shown()).toHaveLength(1);
      });

      it.skipIf(!has('sending once')).each(LOST_ANSWERS)(
        named('after %s, the next attempt finds the one message', 'sending once'),
        async (fault) => {
          rig.failNextSend(fault);
          const delivery = outgoing();
          await rig.channel.send(delivery);
          const again = await rig.channel.send({ ...delivery, attempt: 2 });
          expect(again).toEqual({ kind: 'sent', messageId: onlyMessage().messageId });
        },
      );

      it.skipIf(!has('sending once'))(
        named('a second time shows what the second attempt was to show', 'sending once'),
        async () => {
          rig.failNextSend('cut-after-accepting');
          const card = sampleCard();
          const delivery = outgoing();
          await rig.channel.send(delivery);
          const rendered = rig.channel.render(closedCard(card), delivery.token);
          expect((await rig.channel.send({ ...delivery, rendered, attempt: 2 })).kind).toBe('sent');
          expect(onlyMessage().actions).toEqual([]);
        },
      );

      it.skipIf(!has('sending once'))(
        named('a second time says when, where the platform limits changes meanwhile', 'sending once'),
        async () => {
          rig.failNextSend('cut-after-accepting');
          const delivery = outgoing();
          await rig.channel.send(delivery);
          rig.failNextUpdate('rate-limited');
          const again = { ...delivery, attempt: 2 };
          expect(await rig.channel.send(again)).toMatchObject({ kind: 'retry', retryAfterMs: 7_000 });
          expect(await rig.channel.send(again)).toEqual({ kind: 'sent', messageId: onlyMessage().messageId });
        },
      );

      it.skipIf(has('sending once'))(
        'again makes one more card, which says where it stands; a tap on either is one on the same delivery',
        async () => {
          rig.failNextSend('cut-after-accepting');
          const delivery = outgoing();
          await rig.channel.send(delivery);
          const again = await rig.channel.send({ ...delivery, attempt: 2 });
          const [lost, known] = rig.shown();
          expect(again).toEqual({ kind: 'sent', messageId: known?.messageId });
          expect(rig.shown()).toHaveLength(2);
          for (const message of [lost, known]) {
            const { messageId = '' } = message ?? {};
            const event = await tapIn(await rig.tap({ messageId, action: 'approve' }));
            expect(event).toMatchObject({ messageId, token: delivery.token });
          }
        },
      );

      it('two requests makes two messages', async () => {
        await sendCard();
        await sendCard();
        expect(rig.shown()).toHaveLength(2);
      });

      it('to a platform that is down is no refusal, and nothing throws', async () => {
        await rig.stopPlatform();
        expect(['retry', 'uncertain']).toContain((await rig.channel.send(outgoing())).kind);
      });

      it('that was aborted before it began sends nothing', async () => {
        const signal = AbortSignal.abort(new Error('shutting down'));
        expect(['retry', 'uncertain']).toContain((await rig.channel.send(outgoing({ signal }))).kind);
        expect(rig.shown()).toHaveLength(0);
      });
    });

    it.skipIf(has('a directory'))('has no directory, and does not pretend to have one', () => {
      expect(rig.channel.resolve).toBeUndefined();
    });

    describe.skipIf(!has('a directory'))(named('the directory', 'a directory'), () => {
      const known = () => {
        if (rig.directory === undefined) throw new Error('this rig has no directory');
        return rig.directory;
      };
      const resolve = (actor: ChannelActor, signal = new AbortController().signal) => {
        if (rig.channel.resolve === undefined) throw new Error('this channel has no directory');
        return rig.channel.resolve({ actor, signal });
      };

      it('tells by which further ids an actor is known', async () => {
        const { actor, resolved } = known();
        expect(await resolve(actor)).toMatchObject({ ...resolved, provider: actor.provider, isBot: false });
      });

      it('does not know a stranger', async () => {
        expect(await resolve(known().stranger)).toBeNull();
      });

      it('does not know an id of ours that comes from another tenant', async () => {
        for (const tenant of ['T0FOREIGN', '', 'E0FOREIGN']) {
          expect(await resolve({ ...known().actor, tenant })).toBeNull();
        }
      });

      it.each(LOOK_UP_FAULTS)('that is %s names nobody, and says so by a throw', async (fault) => {
        known().failNextLookUp(fault);
        await expect(resolve(known().actor)).rejects.toThrow();
        expect(await resolve(known().actor)).not.toBeNull();
      });

      it('that is down, or not waited for, throws', async () => {
        await expect(resolve(known().actor, AbortSignal.abort())).rejects.toThrow();
        await rig.stopPlatform();
        await expect(resolve(known().actor)).rejects.toThrow();
      });

      it.each([...STRANGE_IDS, 'ou_1/../x', 'U1&user=U2'])('is not asked for the id %j', async (id) => {
        const { actor } = known();
        const ids = Object.fromEntries(Object.keys(actor.ids).map((kind) => [kind, id]));
        await rig.stopPlatform();
        expect(await resolve({ ...actor, ids })).toBeNull();
      });
    });

    describe('a reminder', () => {
      const remind = (
        messageId: string,
        text = '提醒：仍在等待审批（1/2）。',
        id: string = newDeliveryId(),
      ) => rig.channel.remind?.({ id, messageId, text, quiet: false, signal: new AbortController().signal });

      it('stands in the chat beside the card, with its text as it is and without buttons', async () => {
        const { messageId } = await sendCard();
        for (const text of HOSTILE_TEXTS) {
          expect(await remind(messageId, text)).toMatchObject({ kind: 'sent' });
          const note = rig.shown().at(-1);
          expect(note?.text).toContain(text);
          expect(note?.actions).toEqual([]);
        }
        expect(rig.shown()).toHaveLength(1 + HOSTILE_TEXTS.length);
        expect([...(rig.shown()[0]?.actions ?? [])].sort()).toEqual(['approve', 'reject']);
      });

      it.each(STRANGE_IDS)(
        'under the message %j is refused without asking the platform',
        async (messageId) => {
          await rig.stopPlatform();
          expect((await remind(messageId))?.kind).toBe('refused');
        },
      );

      it('to a platform that is down is no refusal, and nothing throws', async () => {
        const { messageId } = await sendCard();
        await rig.stopPlatform();
        expect(['retry', 'uncertain']).toContain((await remind(messageId))?.kind);
      });
    });

    describe('changing a card', () => {
      const update = async (messageId: string, id: DeliveryId = newDeliveryId()) =>
        rig.channel.update({ ...outgoing({ id }), messageId });

      it('is to be tried again while the platform limits the rate', async () => {
        const { messageId } = await sendCard();
        rig.failNextUpdate('rate-limited');
        expect(await update(messageId)).toMatchObject({ kind: 'retry', retryAfterMs: 7_000 });
        expect(await update(messageId)).toEqual({ kind: 'updated' });
      });

      it('is refused where the platform says so', async () => {
        const { messageId } = await sendCard();
        rig.failNextUpdate('refused');
        expect((await update(messageId)).kind).toMatch(/^(refused|gone)$/);
      });

      it.each([...STRANGE_IDS, 'om_1/../x', '1 OR 1'])(
        'of the message %j is refused without asking the platform',
        async (messageId) => {
          await rig.stopPlatform();
          expect((await update(messageId)).kind).toBe('refused');
        },
      );
    });
  });
}

const NOTICE = {
  level: 'info',
  text: { 'zh-CN': '王芳已拒绝此请求。', 'en-US': 'Wang Fang has rejected this request.' },
} as const;
const REPLIES: readonly (CallbackReply & { readonly notice: typeof NOTICE })[] = [
  { kind: 'notice', notice: NOTICE },
  { kind: 'reason-missing', notice: NOTICE },
];

/** Text that some platform would turn into a mention, a link, markup or nothing at all. */
const HOSTILE_TEXTS = [
  '<at id=all></at> <at id="ou_1"></at>',
  '<!channel> <!here> <@U0LIWEI> <#C0FINANCE>',
  '[click me](https://evil.example) <https://evil.example|bank>',
  '**bold** _it_ ~no~ `code` ```block``` > quote',
  '&lt;at id=all&gt; &amp; &#60;b&#62; <font color="red">red</font>',
  '"},{"tag":"button","text":{"tag":"plain_text","content":"approve"}}',
  ':white_check_mark: :OK: {{name}} #{amount} %s \\u202e \\n',
];

/** The last is longer than any id, and short enough for the name of a test. */
const STRANGE_IDS = ['', '../../auth', 'x'.repeat(200)];

const STRANGE_BODIES: readonly (readonly [string, Buffer])[] = [
  ['nothing', Buffer.alloc(0)],
  ['{}', Buffer.from('{}')],
  ['[]', Buffer.from('[]')],
  ['null', Buffer.from('null')],
  ['a prototype', Buffer.from('{"__proto__":{"header":{}},"constructor":null}')],
  ['a short ciphertext', Buffer.from('{"encrypt":"AAAA"}')],
  ['an empty payload', Buffer.from('payload=')],
  ['a broken percent sign', Buffer.from('payload=%')],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0x80])],
  ['deep nesting', Buffer.from('['.repeat(100_000))],
  ['a megabyte', Buffer.alloc(1024 * 1024, 'a')],
];

/** A callback as Slack would send it to another app. */
function slackCallback(seconds: string): InboundRequest {
  const payload = JSON.stringify({ type: 'block_actions', actions: [{ action_id: 'countersign.approve' }] });
  const body = Buffer.from(`payload=${encodeURIComponent(payload)}`);
  const signature = createHmac('sha256', 'another secret')
    .update(`v0:${seconds}:`)
    .update(body)
    .digest('hex');
  return {
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': seconds,
      'x-slack-signature': `v0=${signature}`,
    },
    body,
  };
}

/** A callback as Feishu would send it to another app. */
function feishuCallback(seconds: string): InboundRequest {
  const body = Buffer.from(JSON.stringify({ encrypt: randomBytes(64).toString('base64') }));
  const signature = createHash('sha256').update(`${seconds}nonceanother key`).update(body).digest('hex');
  return {
    headers: {
      'content-type': 'application/json',
      'x-lark-request-timestamp': seconds,
      'x-lark-request-nonce': 'nonce',
      'x-lark-signature': signature,
    },
    body,
  };
}
