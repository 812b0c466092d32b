/**
 * The manifest of an app with everything that Countersign can use (docs.slack.dev, "App manifest reference"), as JSON:
 * what "Create an app → From a manifest" takes.
 */
export function slackManifest(input: {
  readonly name: string;
  /** Where Slack sends taps; null: the app connects by itself (Socket Mode). */
  readonly callbackUrl: string | null;
}): string {
  const { name, callbackUrl } = input;
  const manifest = {
    display_information: {
      name,
      description: 'Asks the right people before an agent’s call runs.',
    },
    features: {
      // Direct messages are shown only where the messages tab is on.
      app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: true },
      bot_user: { display_name: name, always_online: true },
    },
    oauth_config: { scopes: { bot: BOT_SCOPES } },
    settings: {
      interactivity: { is_enabled: true, ...(callbackUrl !== null && { request_url: callbackUrl }) },
      org_deploy_enabled: false,
      socket_mode_enabled: callbackUrl === null,
      token_rotation_enabled: false,
    },
  };
  return JSON.stringify(manifest, null, 2);
}

const BOT_SCOPES = [
  'chat:write',
  // To look for a card before it is sent a second time.
  'channels:history',
  'groups:history',
  'im:history',
  // Direct messages (`notify: direct` and `both`).
  'im:write',
  // People who are configured by their address, and each person's language.
  'users:read',
  'users:read.email',
];
