import { z } from 'zod';

/**
 * Slack's rules for Block Kit, as far as messages and modals of this project touch them; written from the reference
 * and apart from the channel, so that a limit the channel gets wrong is found here.
 */
export function checkMessageBlocks(blocks: unknown): BlockCheck {
  const parsed = z.array(messageBlock).max(50, 'no more than 50 items allowed').safeParse(blocks);
  if (!parsed.success) return invalid('invalid_blocks', parsed.error, '/blocks');
  const repeated = repeatedId(parsed.data);
  if (repeated !== null) return { ok: false, error: 'invalid_blocks', messages: [repeated] };
  const size = parsed.data.reduce((sum, block) => sum + textOf(block) + BLOCK_OVERHEAD, 0);
  if (size > MESSAGE_CHARACTERS) return { ok: false, error: 'msg_blocks_too_long', messages: [] };
  return { ok: true };
}

export function checkView(candidate: unknown): BlockCheck {
  const parsed = view.safeParse(candidate);
  if (!parsed.success) return invalid('invalid_arguments', parsed.error, '/view');
  if (parsed.data.submit === undefined && parsed.data.blocks.some((block) => block.type === 'input')) {
    const message = '[ERROR] submit is required when there is an input block [json-pointer:/view]';
    return { ok: false, error: 'invalid_arguments', messages: [message] };
  }
  return { ok: true };
}

export type BlockCheck =
  | { readonly ok: true }
  | { readonly ok: false; readonly error: string; readonly messages: readonly string[] };

/** Measured by others around 13,200 for one block and 126 less for each further one (slackapi/bolt-js issue 2509). */
const MESSAGE_CHARACTERS = 13_200;
const BLOCK_OVERHEAD = 126;

const escapedLength = (text: string): number =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').length;

const limited = (max: number) =>
  z
    .string()
    .min(1, 'must be more than 0 characters')
    .refine((text) => escapedLength(text) <= max, `must be less than ${max + 1} characters`);

const plainText = (max: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: limited(max), emoji: z.boolean().optional() });
const anyText = (max: number) =>
  z.discriminatedUnion('type', [
    plainText(max),
    z.strictObject({ type: z.literal('mrkdwn'), text: limited(max), verbatim: z.boolean().optional() }),
  ]);
const id = z.string().min(1).max(255);

const button = z.strictObject({
  type: z.literal('button'),
  action_id: id.optional(),
  text: plainText(75),
  value: z.string().max(2000).optional(),
  url: z
    .url({ protocol: /^https?$/ })
    .max(3000)
    .optional(),
  style: z.literal(['primary', 'danger']).optional(),
});

const richTextElement = z.strictObject({
  type: z.literal(['rich_text_preformatted', 'rich_text_section', 'rich_text_quote']),
  elements: z
    .array(
      z.strictObject({ type: z.literal('text'), text: z.string().min(1, 'must be more than 0 characters') }),
    )
    .min(1),
});

const header = z.strictObject({ type: z.literal('header'), block_id: id.optional(), text: plainText(150) });
const section = z
  .strictObject({
    type: z.literal('section'),
    block_id: id.optional(),
    text: anyText(3000).optional(),
    fields: z.array(anyText(2000)).min(1).max(10, 'no more than 10 items allowed').optional(),
  })
  .refine((block) => block.text !== undefined || block.fields !== undefined, 'text or fields is required');
const context = z.strictObject({
  type: z.literal('context'),
  block_id: id.optional(),
  elements: z.array(anyText(3000)).min(1).max(10),
});
const actions = z.strictObject({
  type: z.literal('actions'),
  block_id: id.optional(),
  elements: z.array(button).min(1).max(25),
});
const divider = z.strictObject({ type: z.literal('divider'), block_id: id.optional() });
const richText = z.strictObject({
  type: z.literal('rich_text'),
  block_id: id.optional(),
  elements: z.array(richTextElement).min(1),
});
const input = z.strictObject({
  type: z.literal('input'),
  block_id: id.optional(),
  label: plainText(2000),
  optional: z.boolean().optional(),
  element: z.strictObject({
    type: z.literal('plain_text_input'),
    action_id: id.optional(),
    multiline: z.boolean().optional(),
    min_length: z.int().min(0).max(3000).optional(),
    max_length: z.int().min(1).max(3000).optional(),
    placeholder: plainText(150).optional(),
  }),
});

const messageBlock = z.discriminatedUnion('type', [header, section, context, actions, divider, richText]);
const viewBlock = z.discriminatedUnion('type', [header, section, context, actions, divider, richText, input]);

const view = z.strictObject({
  type: z.literal('modal'),
  callback_id: z.string().max(255).optional(),
  private_metadata: z.string().max(3000).optional(),
  title: plainText(24),
  submit: plainText(24).optional(),
  close: plainText(24).optional(),
  clear_on_close: z.boolean().optional(),
  notify_on_close: z.boolean().optional(),
  blocks: z.array(viewBlock).min(1).max(100),
});
export type ModalView = z.infer<typeof view>;

function invalid(error: string, fault: z.ZodError, root: string): BlockCheck {
  const messages = fault.issues.map(
    (issue) => `[ERROR] ${issue.message} [json-pointer:${[root, ...issue.path].join('/')}]`,
  );
  return { ok: false, error, messages };
}

function repeatedId(blocks: readonly z.infer<typeof messageBlock>[]): string | null {
  const blockIds = blocks.flatMap((block) => block.block_id ?? []);
  if (new Set(blockIds).size < blockIds.length)
    return '[ERROR] block_id must be unique [json-pointer:/blocks]';
  for (const [at, block] of blocks.entries()) {
    if (block.type !== 'actions') continue;
    const actionIds = block.elements.flatMap((element) => element.action_id ?? []);
    if (new Set(actionIds).size < actionIds.length) {
      return `[ERROR] action_id must be unique within a block [json-pointer:/blocks/${at}/elements]`;
    }
  }
  return null;
}

/** The length of every `text` in a block, however deep. */
function textOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + textOf(one), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [key, inner]) =>
      sum + (key === 'text' && typeof inner === 'string' ? escapedLength(inner) : textOf(inner)),
    0,
  );
}
