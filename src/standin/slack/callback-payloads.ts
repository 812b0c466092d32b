import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../json.ts';
import type { SlackMessage, SlackModal } from './platform.ts';
import { BOT, messageAsSlackTells, type Workspace } from './web-api-methods.ts';

/** Who acts, and in which team's name; another team's than the workspace's only where a test says so. */
export interface Actor {
  readonly user: string;
  readonly team: string;
  /** Named by their id in the organization, and in its name. */
  readonly throughGrid: boolean;
}

/** A tap on a button of a message, in the shape of Slack's `block_actions`. */
export function blockActionsPayload(input: {
  readonly workspace: Workspace;
  readonly actor: Actor;
  readonly message: SlackMessage;
  readonly blockId: string;
  readonly button: JsonObject;
}): JsonObject {
  const { workspace, actor, message, blockId, button } = input;
  const { platform } = workspace;
  const { channel } = message;
  const style = button.style === undefined ? {} : { style: button.style };
  const value = button.value === undefined ? {} : { value: button.value };
  return {
    type: 'block_actions',
    ...envelope(workspace, actor),
    container: { type: 'message', message_ts: message.ts, channel_id: channel, is_ephemeral: false },
    trigger_id: platform.newTrigger(actor.user),
    channel: { id: channel, name: platform.isDirect(channel) ? 'directmessage' : 'finance' },
    message: messageAsSlackTells(message, workspace),
    state: { values: {} },
    response_url: `https://hooks.slack.com/actions/${actor.team}/1/${randomBytes(12).toString('hex')}`,
    actions: [
      {
        action_id: button.action_id ?? '',
        block_id: blockId,
        text: button.text ?? null,
        ...value,
        ...style,
        type: 'button',
        action_ts: platform.nextTs(),
      },
    ],
  };
}

/** A submitted modal, in the shape of Slack's `view_submission`. */
export function viewSubmissionPayload(input: {
  readonly workspace: Workspace;
  readonly actor: Actor;
  readonly modal: SlackModal;
  /** What was typed, by block id and action id; null where nothing was. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string | null>>>>;
}): JsonObject {
  const { workspace, actor, modal } = input;
  const values: JsonObject = {};
  for (const [blockId, inputs] of Object.entries(input.values)) {
    values[blockId] = Object.fromEntries(
      Object.entries(inputs).map(([actionId, value]) => [actionId, { type: 'plain_text_input', value }]),
    );
  }
  const view = modal.view as unknown as JsonObject;
  return {
    type: 'view_submission',
    ...envelope(workspace, actor),
    trigger_id: workspace.platform.newTrigger(actor.user),
    view: {
      close: null,
      submit: null,
      clear_on_close: false,
      notify_on_close: false,
      external_id: '',
      previous_view_id: null,
      root_view_id: modal.id,
      ...view,
      id: modal.id,
      team_id: actor.team,
      app_id: workspace.appId,
      app_installed_team_id: workspace.team,
      bot_id: BOT.bot,
      hash: `${workspace.platform.nextTs()}.${randomBytes(4).toString('hex')}`,
      state: { values },
    },
    response_urls: [],
  };
}

function envelope({ appId, users }: Workspace, { user, team, throughGrid }: Actor): JsonObject {
  const known = users.find(({ id }) => id === user);
  const name = known?.name ?? user.toLowerCase();
  const grid = throughGrid ? known?.grid : undefined;
  return {
    user: { id: grid?.user ?? user, username: name, name, team_id: grid?.organization ?? team },
    api_app_id: appId,
    // The deprecated verification token, which Slack still sends and nobody may rely on.
    token: 'deprecated-verification-token',
    team: { id: team, domain: 'acme' },
    enterprise: grid === undefined ? null : { id: grid.organization, name: 'Acme Group' },
    is_enterprise_install: false,
  };
}
