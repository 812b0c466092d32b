import { describe, expect, it } from 'vitest';
import { parseUpdate } from '../../../channels/telegram/parse.ts';
import { writePromptMark } from '../../../channels/telegram/wire.ts';

const BOT = { bot: '77', botToken: '77:secret' };
const CHAT = -1001;
const context = { action: 'reject', token: 'tok_1', cardVersion: 3, messageId: '5' } as const;
const question = `Why?\n${writePromptMark({ ...context, chat: String(CHAT), person: '1002' }, BOT.botToken)}`;

const reply = (more: object = {}) => ({
  update_id: 1,
  message: {
    ...{ message_id: 9, from: { id: 1002, is_bot: false }, chat: { id: CHAT }, text: 'wrong payee' },
    reply_to_message: { from: { id: 77, is_bot: true }, chat: { id: CHAT }, text: question },
    ...more,
  },
});

describe('a reply to the question of this bot', () => {
  it('is the act of the one who wrote it, on the card that was tapped', () => {
    expect(parseUpdate(reply(), BOT)).toMatchObject({
      ...{ type: 'tap', action: 'reject', token: 'tok_1', cardVersion: 3, messageId: '5' },
      ...{ reason: 'wrong payee', openedFor: '1002', actor: { ids: { user: '1002' }, isBot: false } },
    });
  });

  it('in the name of a chat is nobody’s, so that it is refused on the record', () => {
    const named = { sender_chat: { id: CHAT, type: 'supergroup' } };
    expect(parseUpdate(reply(named), BOT)).toMatchObject({ type: 'tap', actor: { isBot: true } });
  });
});
