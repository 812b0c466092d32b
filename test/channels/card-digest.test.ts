import { describe, expect, it } from 'vitest';
import { renderCard as renderFeishu } from '../../channels/feishu/render.ts';
import { renderCard as renderSlack } from '../../channels/slack/render.ts';
import { renderCard as renderTelegram } from '../../channels/telegram/render.ts';
import type { Card, RenderedCard } from '../../src/channel/card.ts';
import { sampleCard } from './sample-card.ts';

type Render = (card: Card) => RenderedCard;

const CHANNELS: readonly (readonly [string, Render])[] = [
  ['Feishu', (card) => renderFeishu({ card, token: 'token', chat: 'oc_0123456789abcdef' })],
  ['Slack', (card) => renderSlack(card, 'token')],
  ['Telegram', (card) => renderTelegram(card, 'token')],
];
const DIGEST = 'sha256:0123456789ab…';

describe.each(CHANNELS)('the digest on a card in %s', (_channel, render) => {
  it('stands behind everything else that the card says', () => {
    const { payload } = render(sampleCard());
    const after = payload.slice(payload.indexOf(DIGEST));
    expect(payload).toContain(DIGEST);
    for (const words of ['68000.00', 'large-payment', 'PO-1182']) {
      expect(payload).toContain(words);
      expect(after).not.toContain(words);
    }
  });

  it('takes no room from what decides', () => {
    const isShown = (length: number, changes: Partial<Card>) =>
      render(
        sampleCard({ lines: [{ label: 'memo', value: 'x'.repeat(length), decisive: true }], ...changes }),
      ).decisiveShown;
    let longest = 0;
    for (let step = 16_384; step >= 1; step /= 2)
      if (isShown(longest + step, { digest: null })) longest += step;
    expect(longest).toBeGreaterThan(0);
    expect([isShown(longest, {}), isShown(longest + 1, { digest: null })]).toEqual([true, false]);
  });

  it('is not there where the card has none', () => {
    expect(render(sampleCard({ digest: null })).payload).not.toContain('sha256');
  });
});
