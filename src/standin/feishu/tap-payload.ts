import { randomBytes, randomUUID } from 'node:crypto';
import type { JsonObject } from '../../json.ts';
import type { StandinButton } from './card-buttons.ts';
import type { StandinMessage } from './message-store.ts';
import type { FeishuStandinOptions, StandinUser } from './standin-options.ts';

/** The `card.action.trigger` callback of one tap (open.feishu.cn, "Card callback communication"). */
export function tapPayload(input: {
  readonly options: FeishuStandinOptions;
  readonly message: StandinMessage;
  readonly button: StandinButton;
  readonly user: StandinUser;
  /** The operator's own tenant; another than the app's for somebody from outside. */
  readonly tenant: string;
  readonly formValue: Readonly<Record<string, string>>;
  readonly nowMs: number;
}): JsonObject {
  const { options, message, button, user } = input;
  return {
    schema: '2.0',
    header: {
      event_id: randomUUID().replaceAll('-', ''),
      token: options.verificationToken,
      // Microseconds here, unlike in events.
      create_time: `${input.nowMs}000`,
      event_type: 'card.action.trigger',
      tenant_key: options.tenant,
      app_id: options.appId,
    },
    event: {
      operator: {
        tenant_key: input.tenant,
        open_id: user.openId,
        ...(!user.onlyOpenIdInCallbacks && {
          ...(user.userId !== undefined && { user_id: user.userId }),
          union_id: user.unionId,
        }),
      },
      token: `c-${randomBytes(20).toString('hex')}`,
      action: {
        tag: 'button',
        timezone: 'Asia/Shanghai',
        ...(button.value && { value: button.value }),
        ...(button.name !== null && { name: button.name }),
        ...(button.form && { form_value: formValues(button.form.inputs, input.formValue) }),
      },
      host: 'im_message',
      context: { open_message_id: message.messageId, open_chat_id: message.chat },
    },
  };
}

/** Every input of the form, an untouched one as an empty text. */
const formValues = (inputs: readonly string[], typed: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(inputs.map((name) => [name, typed[name] ?? '']));
