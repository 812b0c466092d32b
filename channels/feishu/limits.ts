import type { JsonValue } from '../../src/json.ts';

/** Callbacks are a few KiB; what is larger is not worth hashing. */
export const MAX_CALLBACK_BYTES = 256 * 1024;

/** What one call to the open platform may take, connecting included. */
export const API_TIMEOUT_MS = 10_000;
export const MAX_API_ANSWER_BYTES = 1024 * 1024;

/** Longest text an input takes (open.feishu.cn, "Input"). */
export const MAX_REASON_LENGTH = 1000;

/** "A card message's request body may be at most 30 KB": counted strictly, in thousands. */
export const MAX_REQUEST_BYTES = 30_000;
/** Elements of a JSON 2.0 card, where each object with a `tag` counts, texts included. */
const MAX_ELEMENTS = 200;
/** Stands for the `uuid` of a request, which is not known while a card is drawn. */
const ANY_UUID = '00000000-0000-0000-0000-000000000000';

/** Whether the platform takes this card in a message to `chat`: size of the request as sent, and elements. */
export function fitsMessage(card: JsonValue, chat: string): boolean {
  return requestBytes(JSON.stringify(card), chat) <= MAX_REQUEST_BYTES && countElements(card) <= MAX_ELEMENTS;
}

/** The card is a string inside a JSON body, so its quotes and backslashes count twice. */
function requestBytes(content: string, chat: string): number {
  const body = { receive_id: chat, msg_type: 'interactive', content, uuid: ANY_UUID };
  return Buffer.byteLength(JSON.stringify(body));
}

function countElements(value: JsonValue): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countElements(item), 0);
  if (value === null || typeof value !== 'object') return 0;
  const own = typeof value.tag === 'string' ? 1 : 0;
  return Object.values(value).reduce((sum: number, item) => sum + countElements(item), own);
}
